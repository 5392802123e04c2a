//! What can be measured.

use crate::cli::{Format, List};
use crate::error::{Code, Error};
use crate::selection;
use std::fmt::Write;

pub(super) fn run(list: &List) -> Result<Code, Error> {
    let selected = selection::select(&list.select)?;
    let specs = selected.iter().map(|probe| &probe.spec);
    if list.output.format == Format::Json {
        let all: Vec<_> = specs
            .map(|spec| {
                serde_json::json!({
                    "name": spec.name,
                    "title": spec.title.trim(),
                    "suite": spec.group.suite(),
                    "unit": spec.unit,
                    "better": spec.better,
                    "headline": spec.headline,
                    "timed": spec.timed,
                    "needs": spec.needs.iter().map(|call| call.name()).collect::<Vec<_>>(),
                    "source": spec.source,
                    "physical_floor_ps": spec.physical_floor.get(),
                })
            })
            .collect();
        super::print_json(&all)?;
        return Ok(Code::Done);
    }
    let mut text = String::new();
    if list.syscalls {
        for spec in specs {
            let calls: Vec<&str> = spec.needs.iter().map(|call| call.name()).collect();
            let calls = if calls.is_empty() { "none of its own".to_owned() } else { calls.join(", ") };
            let _ = writeln!(text, "{:34} {calls}", spec.name);
        }
        let every: Vec<&str> = tickmark_probe::EVERY_RUN.iter().map(|(name, _)| *name).collect();
        let _ =
            writeln!(text, "\nbeside what every run takes once its process is started: {}", every.join(", "));
        super::print(&text)?;
        return Ok(Code::Done);
    }
    let mut last = None;
    for spec in specs {
        if last != Some(spec.group) {
            let gap = if last.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{} (suite {})", spec.group.title(), spec.group.suite());
            last = Some(spec.group);
        }
        let _ = writeln!(text, "  {:34} {}", spec.name, spec.timed);
    }
    super::print(&text)?;
    Ok(Code::Done)
}
