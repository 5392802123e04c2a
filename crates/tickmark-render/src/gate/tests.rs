use super::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use tickmark_analysis::gate::{Calibrated, DetectionCounts, Figure, Figures, check};
use tickmark_analysis::report::Unit;
use tickmark_wire::Better;

const HOSTILE: &str = "</testsuite><script>&\"'\u{1b}[31m|`::error::%0A\nx";

fn recording(cost: f64) -> Figures {
    let (unit, better) = (Unit::Nanoseconds, Better::Lower);
    let figure = Figure { value: cost, over: 0, contended: false, partly: false, unit, better };
    [("syscall.null", "floor"), (HOSTILE, "mean")]
        .map(|(metric, name)| ((metric.to_owned(), name.to_owned()), figure))
        .into()
}

fn checked(new: f64) -> Checked {
    let earlier: Vec<Figures> =
        (0..20).map(|number| recording(100.0 + f64::from(number * 7 % 11) * 0.1)).collect();
    check(&earlier, &[recording(new)], None)
}

fn page(checked: &Checked, code: u8) -> Page<'_> {
    let found =
        |metric: &str, counts| DetectionCounts { name: (metric.to_owned(), "floor".to_owned()), counts };
    let found = vec![found("syscall.null", [3, 22, 40]), found(HOSTILE, [3, 22, 12])];
    let calibrated = Calibrated { trials: 40, earlier: 20, alarms: 1, found };
    let calibration = Calibration {
        at: "2026-11-24 12:00 UTC".to_owned(),
        kernel: "6.18".to_owned(),
        false_alarm: 0.15,
        detect: (0.05, 0.8),
        enough: Some((3, 1.5)),
        calibrated,
    };
    Page {
        id: "7f3a".to_owned(),
        name: HOSTILE.to_owned(),
        checked,
        calibration: Some(calibration),
        older: None,
        is_baseline: false,
        is_imported: false,
        fails: &Line::changed,
        code,
    }
}

/// Every element that is opened is closed, and the texts come back as they were, without what XML has no characters for.
fn read(xml: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    let (mut names, mut depth) = (Vec::new(), 0);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}")) {
            Event::Eof => break,
            Event::Start(of) => {
                depth += 1;
                names.push(String::from_utf8_lossy(of.name().as_ref()).into_owned());
            }
            Event::Empty(of) => names.push(String::from_utf8_lossy(of.name().as_ref()).into_owned()),
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{xml}");
    names
}

#[test]
fn a_change_fails_in_every_format() {
    let observed = checked(110.0);
    let page = page(&observed, 3);
    let text = anstream::adapter::strip_str(&page.text()).to_string();
    assert!(
        text.contains("2 of 2 figures changed") && text.contains("+9.4") && text.contains("not armed"),
        "{text}"
    );
    let json = crate::json::value(&crate::json::CheckPage::new(&page));
    assert_eq!(
        (json["figures"].as_array().map(Vec::len), &json["figures"][0]["fails"]),
        (Some(2), &true.into())
    );
    assert_eq!(json["calibration"]["false_alarms"]["rate"], 0.025);
    let names = read(&junit(&[page.suite()]));
    assert_eq!(names.iter().filter(|name| *name == "failure").count(), 2, "{names:?}");
    assert!(
        !names.contains(&"script".to_owned())
            && names.iter().filter(|name| *name == "testsuite").count() == 1
    );
    let lines = page.annotations();
    assert!(
        lines.lines().count() == 3 && lines.lines().all(|line| line.starts_with("::error title=tickmark::")),
        "{lines}"
    );
    let markdown = page.markdown();
    assert!(!markdown.contains("<script>") && markdown.contains("\\|"), "{markdown}");
}

#[test]
fn what_cannot_be_judged_is_no_pass() {
    let observed = checked(100.5);
    let open = page(&observed, 5);
    assert!(
        open.verdict().contains("not armed") && read(&junit(&[open.suite()])).contains(&"error".to_owned())
    );
    assert!(open.annotations().starts_with("::warning"), "{}", open.annotations());
    let page = Page { calibration: None, ..open };
    assert!(page.verdict().contains("--calibrate"), "{}", page.verdict());
    let few = check(&[recording(100.0), recording(101.0), recording(99.0)], &[recording(100.5)], None);
    let few = Page { checked: &few, ..page };
    let text = few.text().replace('\n', " ");
    assert!(text.contains("By so few earlier recordings") && text.contains("Student's t"), "{text}");
    let none = check(&[recording(100.0)], &[recording(100.0)], None);
    let none = Page { checked: &none, ..few };
    assert!(none.verdict().contains("2 earlier recordings are needed"), "{}", none.verdict());
    let passed = Page { checked: &observed, code: 0, ..none };
    assert!(
        passed.verdict().starts_with("no change of 2 figures")
            && !read(&junit(&[passed.suite()])).contains(&"error".to_owned())
    );
    assert!(passed.annotations().starts_with("::notice"));
}
