//! The page in a browser without network: nothing is complained of, everything is drawn, and what can be done with it is done.

use crate::bench::{Bench, err, out, refused};
use headless_chrome::browser::tab::Tab;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network, Page};
use headless_chrome::{Browser, LaunchOptions};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
const CHROMIUM: &str = "/usr/bin/chromium";

/// A browser that has no network, and what it complained of or asked for.
struct OfflineBrowser {
    browser: Browser,
    said: Arc<Mutex<Vec<String>>>,
}

impl OfflineBrowser {
    fn new() -> Self {
        assert!(Path::new(CHROMIUM).exists(), "{CHROMIUM} is missing; `cargo xtask test` installs it");
        let quiet = [
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--disable-gpu",
        ];
        let options = LaunchOptions::default_builder()
            .path(Some(PathBuf::from(CHROMIUM)))
            .sandbox(false)
            .window_size(Some((1200, 900)))
            .args(quiet.iter().map(OsStr::new).collect())
            .idle_browser_timeout(Duration::from_secs(300))
            .build()
            .unwrap();
        Self { browser: Browser::new(options).unwrap(), said: Arc::default() }
    }

    fn open(&self, page: &Path) -> Arc<Tab> {
        let tab = self.browser.new_tab().unwrap();
        let said = Arc::clone(&self.said);
        tab.enable_log().unwrap().enable_runtime().unwrap();
        tab.call_method(Network::Enable {
            max_total_buffer_size: None,
            max_resource_buffer_size: None,
            max_post_data_size: None,
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })
        .unwrap();
        let listener = move |event: &Event| {
            let line = match event {
                Event::LogEntryAdded(entry) => format!("log: {}", entry.params.entry.text),
                Event::RuntimeExceptionThrown(thrown) => {
                    format!("exception: {:?}", thrown.params.exception_details)
                }
                Event::RuntimeConsoleAPICalled(call) => format!("console: {:?}", call.params.args),
                Event::NetworkRequestWillBeSent(request)
                    if !request.params.request.url.starts_with("file:") =>
                {
                    format!("request: {}", request.params.request.url)
                }
                _ => return,
            };
            said.lock().unwrap().push(line);
        };
        tab.add_event_listener(Arc::new(listener)).unwrap();
        tab.set_default_timeout(Duration::from_secs(60));
        tab.navigate_to(&format!("file://{}", page.display())).unwrap().wait_until_navigated().unwrap();
        tab
    }
}

/// Value of a JavaScript expression in the page.
fn evaluate(tab: &Tab, expression: &str) -> Value {
    // Through text, so that objects come whole.
    let all = format!("JSON.stringify({expression})");
    let given = tab.evaluate(&all, false).unwrap().value.unwrap_or_default();
    serde_json::from_str(given.as_str().unwrap_or("null")).unwrap()
}

fn page(bench: &Bench, name: &str, recordings: &[&str]) -> PathBuf {
    std::fs::create_dir_all(bench.store()).unwrap();
    let file = bench.store().join(name);
    let done = bench.run(&[&["report"], recordings, &["-o", file.to_str().unwrap()]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    file
}

/// A table is sorted by a column: its numbers ascend, and then descend.
fn sorts(tab: &Tab, table: &str, column: usize) {
    let values = || {
        let of = format!(
            "[...document.querySelector('{table}').tBodies[0].rows].map(r => r.cells[{column}].dataset.v).filter(v => v).map(Number)"
        );
        evaluate(tab, &of).as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect::<Vec<_>>()
    };
    let button = format!("{table} thead th:nth-child({}) button", column + 1);
    for ascends in [true, false] {
        // By the keyboard alone.
        evaluate(tab, &format!("document.querySelector('{button}').focus()"));
        tab.press_key("Enter").unwrap();
        let all = values();
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
    let (bench, observed) = (Bench::new(), OfflineBrowser::new());
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

    let tab = observed.open(&run);
    // Every drawing has an extent and its words.
    let drawn = evaluate(
        &tab,
        "[...document.querySelectorAll('figure svg')].map(s => [s.getBBox().width, s.textContent.length])",
    );
    let drawn = drawn.as_array().unwrap();
    assert!(
        drawn.len() > 5
            && drawn.iter().all(|one| one[0].as_f64() > Some(200.0) && one[1].as_f64() > Some(20.0)),
        "{drawn:?}"
    );
    let largest = "(all => { all.sort((a, b) => b.tBodies[0].rows.length - a.tBodies[0].rows.length)[0].id = 'largest'; return 1; })([...document.querySelectorAll('table.rows')])";
    evaluate(&tab, largest);
    sorts(&tab, "#largest", 1);
    let rows = "[...document.querySelector('#largest').tBodies[0].rows].filter(r => !r.hidden).length";
    let all = evaluate(&tab, rows).as_u64().unwrap();
    let word =
        evaluate(&tab, "document.querySelector('#largest tbody summary').textContent.trim().split(' ')[0]");
    evaluate(
        &tab,
        "(document.querySelector('#largest').closest('section').querySelector('input.filter').focus(), 1)",
    );
    tab.type_str(word.as_str().unwrap()).unwrap();
    let some = evaluate(&tab, rows).as_u64().unwrap();
    assert!(some > 0 && some < all, "{some} of {all}");
    // How a number came about is a click away, by the keyboard too.
    evaluate(&tab, "document.querySelector('#largest tbody tr:not([hidden]) summary').focus()");
    tab.press_key("Enter").unwrap();
    let opened = evaluate(&tab, "document.querySelector('details[open]').textContent");
    assert!(
        opened.as_str().unwrap().contains("runs") && opened.as_str().unwrap().contains("interval"),
        "{opened}"
    );
    // On a phone nothing but tables and texts in columns is wider than the screen.
    tab.call_method(Emulation::SetDeviceMetricsOverride {
        width: 390,
        height: 800,
        device_scale_factor: 1.0,
        mobile: true,
        ..device()
    })
    .unwrap();
    assert!(evaluate(&tab, "document.documentElement.scrollWidth").as_u64().unwrap() <= 391);
    // Dark where that is asked for, and open on paper.
    let dark = Emulation::MediaFeature { name: "prefers-color-scheme".to_owned(), value: "dark".to_owned() };
    tab.call_method(Emulation::SetEmulatedMedia { media: None, features: Some(vec![dark]) }).unwrap();
    assert_eq!(evaluate(&tab, "getComputedStyle(document.body).backgroundColor"), "rgb(22, 24, 28)");
    evaluate(&tab, "dispatchEvent(new Event('beforeprint'))");
    assert_eq!(evaluate(&tab, "document.querySelectorAll('details:not([open])').length"), 0);
    let shot = tab.capture_screenshot(Page::CaptureScreenshotFormatOption::Png, None, None, true).unwrap();
    assert!(shot.starts_with(b"\x89PNG"));

    let tab = observed.open(&wakes);
    let points = evaluate(
        &tab,
        "[...document.querySelectorAll('.dense')].map(d => [Number(d.dataset.drawn), d.querySelectorAll('canvas').length])",
    );
    let opened =
        evaluate(&tab, "(t => t.loadEventEnd - t.startTime)(performance.getEntriesByType('navigation')[0])");
    println!("{} points: open after {opened} ms", points[0][0]);
    assert!(points[0][0].as_u64() > Some(10_000) && points[0][1] == 1, "{points}");
    let width = || {
        evaluate(&tab, "(p => p.scales.x.max - p.scales.x.min)(document.querySelector('.dense').plot)")
            .as_f64()
            .unwrap()
    };
    let whole = width();
    evaluate(&tab, "document.querySelector('.dense').focus()");
    tab.send_character("+").unwrap();
    evaluate(
        &tab,
        "document.querySelector('.dense').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))",
    );
    let zoomed = width();
    assert!(zoomed < whole * 0.7, "{zoomed} of {whole}");
    evaluate(
        &tab,
        "document.querySelector('.dense').dispatchEvent(new KeyboardEvent('keydown', { key: '0' }))",
    );
    assert!((width() / whole - 1.0).abs() < 0.05);

    let tab = observed.open(&both);
    sorts(&tab, "table.sort", 2);
    // What it is stands first, a line a row, all of it on a screen and on a phone.
    let verdicts = evaluate(
        &tab,
        "[...document.querySelectorAll('table.compared tbody tr')].map(r => r.cells[0].textContent)",
    );
    let known = ["worse", "better", "changed", "undecided", "same", "not compared"];
    let verdicts = verdicts.as_array().unwrap();
    assert!(verdicts.iter().all(|word| known.contains(&word.as_str().unwrap())), "{verdicts:?}");
    for (width, height) in [(1280, 900), (768, 900), (390, 800)] {
        let size =
            Emulation::SetDeviceMetricsOverride { width, height, device_scale_factor: 1.0, ..device() };
        tab.call_method(size).unwrap();
        let table = "(t => [t.scrollWidth, Math.max(...[...t.tBodies[0].rows].map(r => r.offsetHeight))])(document.querySelector('table.compared'))";
        let table = evaluate(&tab, table);
        assert!(table[0].as_u64() <= Some(width.into()) && table[1].as_u64() <= Some(36), "{width}: {table}");
    }
    let marks = "document.querySelectorAll('table.compared th svg text').length";
    assert!(evaluate(&tab, marks).as_u64() >= Some(3), "the drawing has an axis");
    let bars = evaluate(&tab, "document.querySelectorAll('table.sort svg circle').length").as_u64().unwrap();
    assert!(bars > 10, "{bars}");
    let said = observed.said.lock().unwrap();
    assert!(said.is_empty(), "{said:?}");
}

fn device() -> Emulation::SetDeviceMetricsOverride {
    serde_json::from_value(
        serde_json::json!({ "width": 0, "height": 0, "deviceScaleFactor": 1.0, "mobile": true }),
    )
    .unwrap()
}

/// Names and facts of others: nothing of them runs, and nothing breaks the page.
#[test]
#[ignore = "second tier: Chromium"]
fn hostile_names_stay_text() {
    let (bench, observed) = (Bench::new(), OfflineBrowser::new());
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
    let tab = observed.open(&page(&bench, "hostile.html", &[copy.to_str().unwrap()]));
    assert_eq!(evaluate(&tab, "document.querySelectorAll('img').length"), 0);
    assert!(
        evaluate(&tab, "document.querySelector('h1').textContent").as_str().unwrap().contains("console.log")
    );
    assert!(observed.said.lock().unwrap().is_empty(), "{:?}", observed.said.lock().unwrap());
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
