//! BenchmarkDotNet's JSON: each value of a benchmark is a repetition, in ns an operation.

use super::begin;
use super::json::{number, numbers, page, text_of};
use super::number::label;
use crate::Imported;

pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"HostEnvironmentInfo\"")
        && text.contains("\"Benchmarks\"")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let host = &page["HostEnvironmentInfo"];
    let mut found =
        begin(format!("BenchmarkDotNet {}", text_of(&host["BenchmarkDotNetVersion"])).trim(), name);
    found.is_one_replicate = true;
    found.know("cpu.model", &text_of(&host["ProcessorName"]), name);
    found.know("dotnet.version", &text_of(&host["RuntimeVersion"]), name);
    for one in page["Benchmarks"].as_array().ok_or("no list of benchmarks")? {
        let mut metric =
            format!("dotnet.{}.{}", label(&text_of(&one["Type"])), label(&text_of(&one["Method"])));
        let parameters = text_of(&one["Parameters"]);
        for parameter in parameters.split(['&', ',']).filter(|part| !part.trim().is_empty()) {
            metric += &format!(".{}", label(parameter));
        }
        let statistics = &one["Statistics"];
        let mut values = numbers(&statistics["OriginalValues"]);
        if values.is_empty() {
            values.extend(number(&statistics["Mean"]));
        }
        if values.is_empty() {
            found.left_out.push(format!("{metric}: no statistics: the benchmark failed"));
        }
        for nanos in values {
            found.time(&metric, nanos, 1.0);
        }
    }
    Ok(vec![found])
}
