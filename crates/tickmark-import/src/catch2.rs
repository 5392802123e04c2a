//! Catch2's XML reporter: the mean of each benchmark, ns.

use super::begin;
use super::number::label;
use crate::Imported;
use quick_xml::Reader;
use quick_xml::events::Event;
use tickmark_wire::Printed;

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<BenchmarkResults ")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("Catch2", name);
    found.is_one_replicate = true;
    let (mut reader, mut case, mut benchmark) = (Reader::from_str(text), String::new(), String::new());
    if !["</Catch>", "</Catch2TestRun>"].iter().any(|end| text.trim_end().ends_with(end)) {
        found.left_out.push("the end of the XML is missing: it was interrupted".to_owned());
    }
    loop {
        let event = reader.read_event().map_err(|error| format!("no complete XML: {error}"))?;
        let (Event::Start(element) | Event::Empty(element)) = event else {
            if event == Event::Eof {
                break;
            }
            continue;
        };
        let attribute = |key: &str| {
            let found = element.try_get_attribute(key).ok().flatten()?;
            found.unescape_value().ok().map(std::borrow::Cow::into_owned)
        };
        match element.name().as_ref() {
            b"TestCase" => case = label(&attribute("name").unwrap_or_default()),
            b"BenchmarkResults" => {
                benchmark = label(&attribute("name").unwrap_or_default());
                // One name in several cases.
                if found.series.contains_key(&format!("catch2.{benchmark}")) {
                    benchmark = format!("{case}.{benchmark}");
                }
            }
            what @ (b"mean" | b"standardDeviation") if !benchmark.is_empty() => {
                let metric = if what == b"mean" {
                    format!("catch2.{benchmark}")
                } else {
                    format!("catch2.{benchmark}.deviation")
                };
                if let Some(value) = attribute("value").and_then(|value| Printed::parse(value.as_bytes())) {
                    found.time(&metric, value, 1.0);
                }
            }
            _ => {}
        }
    }
    found.remarks.push("the format has the mean of each benchmark and no samples".to_owned());
    Ok(vec![found])
}
