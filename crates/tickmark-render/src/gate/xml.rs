//! JUnit's XML, annotations of GitHub Actions, and text in markdown: what others named ends none of them.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// The tests of one check, or of one limit's.
pub struct Suite {
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
}

impl Suite {
    /// Of a check that could not judge.
    #[must_use]
    pub fn unjudged(name: &str, why: &str) -> Self {
        let case = Case { name: super::CAN_JUDGE.to_owned(), outcome: Outcome::Error(why.to_owned()) };
        Self { name: format!("tickmark check {name}").trim_end().to_owned(), cases: vec![case] }
    }
}

/// A test.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// How it ended.
pub(super) enum Outcome {
    Passed,
    Failed(String),
    Error(String),
}

/// Replaces characters that XML 1.0 does not allow (section 2.2).
fn allowed(text: &str) -> String {
    text.chars()
        .filter(
            |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..),
        )
        .collect()
}

/// Suites of tests, in the form that Jenkins and GitLab read.
#[must_use]
pub fn junit(suites: &[Suite]) -> String {
    let written = || -> std::io::Result<String> {
        let mut out = Writer::new_with_indent(Vec::new(), b' ', 1);
        out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        out.write_event(Event::Start(BytesStart::new("testsuites")))?;
        suites.iter().try_for_each(|suite| write_suite(&mut out, suite))?;
        out.write_event(Event::End(BytesEnd::new("testsuites")))?;
        Ok(String::from_utf8_lossy(&out.into_inner()).into_owned() + "\n")
    };
    // Memory takes what is written to it.
    written().unwrap_or_default()
}

fn write_suite(out: &mut Writer<Vec<u8>>, Suite { name, cases }: &Suite) -> std::io::Result<()> {
    let of = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count().to_string();
    let mut begin = BytesStart::new("testsuite");
    begin.push_attribute(("name", allowed(name).as_str()));
    begin.push_attribute(("tests", cases.len().to_string().as_str()));
    begin.push_attribute(("failures", of(|one| matches!(one, Outcome::Failed(_))).as_str()));
    begin.push_attribute(("errors", of(|one| matches!(one, Outcome::Error(_))).as_str()));
    out.write_event(Event::Start(begin))?;
    for case in cases {
        let mut begin = BytesStart::new("testcase");
        begin.push_attribute(("classname", "tickmark"));
        begin.push_attribute(("name", allowed(&case.name).as_str()));
        let (element, text) = match &case.outcome {
            Outcome::Passed => {
                out.write_event(Event::Empty(begin))?;
                continue;
            }
            Outcome::Failed(text) => ("failure", text),
            Outcome::Error(text) => ("error", text),
        };
        out.write_event(Event::Start(begin))?;
        let mut inner = BytesStart::new(element);
        inner.push_attribute(("message", allowed(text).as_str()));
        out.write_event(Event::Start(inner))?;
        out.write_event(Event::Text(BytesText::new(&allowed(text))))?;
        out.write_event(Event::End(BytesEnd::new(element)))?;
        out.write_event(Event::End(BytesEnd::new("testcase")))?;
    }
    out.write_event(Event::End(BytesEnd::new("testsuite")))
}

/// What did not pass, as a list of GitLab's Code Quality: a change is major, what cannot be judged minor.
#[must_use]
pub fn code_quality(suites: &[Suite]) -> String {
    let issue = |suite: &Suite, case: &Case| {
        let (severity, text) = match &case.outcome {
            Outcome::Passed => return None,
            Outcome::Failed(text) => ("major", text),
            Outcome::Error(text) => ("minor", text),
        };
        Some(serde_json::json!({
            "description": text,
            "check_name": case.name,
            "fingerprint": format!("{}: {}", suite.name, case.name),
            "severity": severity,
            "location": { "path": "tickmark", "lines": { "begin": 1 } },
        }))
    };
    let all = suites.iter().flat_map(|suite| suite.cases.iter().filter_map(move |case| issue(suite, case)));
    format!("{:#}\n", serde_json::Value::Array(all.collect()))
}

/// A workflow command of GitHub Actions.
pub(super) fn annotation(level: &str, title: &str, text: &str) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={property}::{}\n", data(text))
}

/// Text in a cell or a paragraph.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
