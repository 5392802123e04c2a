//! The page in a browser without network: nothing is complained of, everything is drawn, and what can be done with it is done.

use crate::bench::{Bench, err, out, refused};
use crate::chromium::Chromium;
use serde_json::{Value, json};
use std::path::PathBuf;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

fn page(bench: &Bench, name: &str, recordings: &[&str]) -> PathBuf {
    std::fs::create_dir_all(bench.store()).unwrap();
    let file = bench.store().join(name);
    let done = bench.run(&[&["report"], recordings, &["-o", file.to_str().unwrap()]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    file
}

/// A table is sorted by a column: its numbers ascend, and then descend.
fn sorts(browser: &mut Chromium, table: &str, column: usize) {
    let values = format!(
        "[...document.querySelector('{table}').tBodies[0].rows].map(r => r.cells[{column}].dataset.v).filter(v => v).map(Number)"
    );
    let button = format!("{table} thead th:nth-child({}) button", column + 1);
    for ascends in [true, false] {
        // By the keyboard alone.
        browser.evaluate(&format!("document.querySelector('{button}').focus()"));
        browser.press_enter();
        let all: Vec<f64> = serde_json::from_value(browser.evaluate(&values)).unwrap();
        assert!(all.len() > 3, "{all:?}");
        assert!(
            all.windows(2).all(|pair| if ascends { pair[0] <= pair[1] } else { pair[0] >= pair[1] }),
            "{ascends}: {all:?}"
        );
    }
}

#[test]
#[ignore = "second tier: Chromium"]
fn a_page_works_in_a_browser_without_network() {
    let (bench, mut browser) = (Bench::new(), Chromium::start());
    // A recording; some hundred thousand wake-ups; and both sides of a comparison.
    let done = bench
        .run(&["run", "clock", "syscall", "memory", "timer", "--runs", "2", "--budget", "3s", "--small"]);
    assert!(matches!(done.status.code(), Some(0 | 4)), "{}", err(&done));
    let run = page(&bench, "run.html", &[]);
    let done = bench.run(&[
        "timers",
        "--methods",
        "nanosleep",
        "--interval",
        "50us",
        "--duration",
        "12s",
        "--runs",
        "1",
        "--name",
        "wakes",
    ]);
    assert!(matches!(done.status.code(), Some(0 | 4)), "{}", err(&done));
    let wakes = page(&bench, "wakes.html", &["wakes"]);
    let both = page(
        &bench,
        "both.html",
        &[&format!("{FIXTURES}/format-1.2/base"), &format!("{FIXTURES}/format-1.2/candidate")],
    );
    assert!([&run, &wakes, &both].iter().all(|file| file.metadata().unwrap().len() < 1_000_000));

    browser.open(&run);
    // Every drawing has an extent and its words.
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('figure svg')].map(s => [s.getBBox().width, s.textContent.length])",
    );
    let drawn = drawn.as_array().unwrap();
    assert!(
        drawn.len() > 5
            && drawn.iter().all(|one| one[0].as_f64() > Some(200.0) && one[1].as_f64() > Some(20.0)),
        "{drawn:?}"
    );
    let largest = "(all => { all.sort((a, b) => b.tBodies[0].rows.length - a.tBodies[0].rows.length)[0].id = 'largest'; return 1; })([...document.querySelectorAll('table.rows')])";
    browser.evaluate(largest);
    sorts(&mut browser, "#largest", 1);
    let rows = "[...document.querySelector('#largest').tBodies[0].rows].filter(r => !r.hidden).length";
    let all = browser.evaluate(rows).as_u64().unwrap();
    let word =
        browser.evaluate("document.querySelector('#largest tbody summary').textContent.trim().split(' ')[0]");
    browser.evaluate(
        "(document.querySelector('#largest').closest('section').querySelector('input.filter').focus(), 1)",
    );
    browser.insert_text(word.as_str().unwrap());
    let some = browser.evaluate(rows).as_u64().unwrap();
    assert!(some > 0 && some < all, "{some} of {all}");
    // How a number came about is a click away, by the keyboard too.
    browser.evaluate("document.querySelector('#largest tbody tr:not([hidden]) summary').focus()");
    browser.press_enter();
    let opened = browser.evaluate("document.querySelector('details[open]').textContent");
    assert!(
        opened.as_str().unwrap().contains("runs") && opened.as_str().unwrap().contains("interval"),
        "{opened}"
    );
    // On a phone nothing but tables and texts in columns is wider than the screen.
    browser.resize(390, 800);
    assert!(browser.evaluate("document.documentElement.scrollWidth").as_u64().unwrap() <= 391);
    // Dark where that is asked for, and open on paper.
    let dark = json!({ "name": "prefers-color-scheme", "value": "dark" });
    browser.call("Emulation.setEmulatedMedia", &json!({ "features": [dark] }));
    assert_eq!(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(22, 24, 28)");
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.evaluate("document.querySelectorAll('details:not([open])').length"), 0);
    let shot = browser.call("Page.captureScreenshot", &json!({ "format": "png" }));
    // The beginning of a PNG file, in Base64.
    assert!(shot["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));

    browser.open(&wakes);
    let points = browser.evaluate("[...document.querySelectorAll('.dense')].map(d => [Number(d.dataset.drawn), d.querySelectorAll('canvas').length])",
    );
    let opened = browser
        .evaluate("(t => t.loadEventEnd - t.startTime)(performance.getEntriesByType('navigation')[0])");
    println!("{} points: open after {opened} ms", points[0][0]);
    // All wake-ups up to a hundred thousand, every so many-th beyond.
    let wakes = bench.json(&["timers", "--of", "wakes"])["ways"][0]["wakes"].as_u64().unwrap();
    let drawn = points[0][0].as_u64().unwrap();
    assert!(drawn >= wakes.min(100_000) / 2 && drawn > 500 && points[0][1] == 1, "{points} of {wakes}");
    let width = |browser: &mut Chromium| {
        let shown = "(p => p.scales.x.max - p.scales.x.min)(document.querySelector('.dense').plot)";
        browser.evaluate(shown).as_f64().unwrap()
    };
    let whole = width(&mut browser);
    browser.evaluate("document.querySelector('.dense').focus()");
    browser.insert_text("+");
    browser.evaluate(
        "document.querySelector('.dense').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))",
    );
    let zoomed = width(&mut browser);
    assert!(zoomed < whole * 0.7, "{zoomed} of {whole}");
    browser.evaluate(
        "document.querySelector('.dense').dispatchEvent(new KeyboardEvent('keydown', { key: '0' }))",
    );
    assert!((width(&mut browser) / whole - 1.0).abs() < 0.05);

    browser.open(&both);
    sorts(&mut browser, "table.sort", 2);
    // What it is stands first, a line a row, all of it on a screen and on a phone.
    let verdicts = browser.evaluate(
        "[...document.querySelectorAll('table.compared tbody tr')].map(r => r.cells[0].textContent)",
    );
    let known = ["worse", "better", "changed", "undecided", "same", "not compared"];
    let verdicts = verdicts.as_array().unwrap();
    assert!(verdicts.iter().all(|word| known.contains(&word.as_str().unwrap())), "{verdicts:?}");
    for (width, height) in [(1280, 900), (768, 900), (390, 800)] {
        browser.resize(width, height);
        let table = "(t => [t.scrollWidth, Math.max(...[...t.tBodies[0].rows].map(r => r.offsetHeight))])(document.querySelector('table.compared'))";
        let table = browser.evaluate(table);
        assert!(table[0].as_u64() <= Some(width.into()) && table[1].as_u64() <= Some(36), "{width}: {table}");
    }
    let marks = "document.querySelectorAll('table.compared th svg text').length";
    assert!(browser.evaluate(marks).as_u64() >= Some(3), "the drawing has an axis");
    let bars =
        browser.evaluate("document.querySelectorAll('table.sort svg circle').length").as_u64().unwrap();
    assert!(bars > 10, "{bars}");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// Names and facts of others: nothing of them runs, and nothing breaks the page.
#[test]
#[ignore = "second tier: Chromium"]
fn hostile_names_stay_text() {
    let (bench, mut browser) = (Bench::new(), Chromium::start());
    let hostile =
        "</script><script>console.log('ran')</script><img src=x onerror=alert(1)>\u{1b}[31m\" onload=\"x";
    let copy = bench.store().join("hostile");
    std::fs::create_dir_all(&copy).unwrap();
    let from = PathBuf::from(FIXTURES).join("format-1.6");
    let mut meta: Value =
        serde_json::from_str(&std::fs::read_to_string(from.join("meta.json")).unwrap()).unwrap();
    meta["name"] = hostile.into();
    std::fs::write(copy.join("meta.json"), meta.to_string()).unwrap();
    let mut lines = String::new();
    for line in std::fs::read_to_string(from.join("events.jsonl")).unwrap().lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        for fact in ["host.name", "cpu.model", "kernel.release"] {
            if let Some(value) = event.pointer_mut(&format!("/hello/environment/{fact}/value")) {
                *value = hostile.into();
            }
        }
        lines += &format!("{event}\n");
    }
    std::fs::write(copy.join("events.jsonl"), lines).unwrap();
    browser.open(&page(&bench, "hostile.html", &[copy.to_str().unwrap()]));
    assert_eq!(browser.evaluate("document.querySelectorAll('img').length"), 0);
    assert!(
        browser
            .evaluate("document.querySelector('h1').textContent")
            .as_str()
            .unwrap()
            .contains("console.log")
    );
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// The same drawings as files, and in the terminal; recordings of several versions of the format on one page; and what cannot be written.
#[test]
fn drawings_are_files_and_text_too() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.store()).unwrap();
    let recording = format!("{FIXTURES}/format-1.6");
    let plots = bench.store().join("plots");
    let done = bench.run(&["report", &recording, "--plots", plots.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let files: Vec<PathBuf> = std::fs::read_dir(&plots).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 3 && err(&done).contains(&format!("{} plots", files.len())), "{files:?}");
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.starts_with("<svg xmlns=") && text.trim_end().ends_with("</svg>"), "{}", file.display());
    }
    let shown = out(&bench.run(&["report", &recording]));
    assert!(shown.contains("every run") && shown.lines().count() > 20, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    // The oldest version beside the newest: what both have is compared, each is there.
    let old = format!("{FIXTURES}/format-1.0");
    let mixed = page(&bench, "mixed.html", &[&old, &recording]);
    let text = std::fs::read_to_string(&mixed).unwrap();
    assert_eq!(text.matches("Everything of this recording").count(), 2);
    for wrong in ["/nowhere/page.html", "/proc/page.html"] {
        refused(&bench.run(&["report", &recording, "-o", wrong]), 1, &["--output", wrong]);
    }
    refused(&bench.run(&["report", &recording, "--plots", "/proc/plots"]), 1, &["/proc/plots"]);
    // A page that was there stays where the new one cannot be made.
    let before = std::fs::read(&mixed).unwrap();
    assert_eq!(bench.run(&["report", "nothing", "-o", mixed.to_str().unwrap()]).status.code(), Some(2));
    assert_eq!(std::fs::read(&mixed).unwrap(), before);
}
