//! BenchmarkDotNet's JSON: each value of a benchmark is a repetition, in ns an operation.

use super::begin;
use super::json::{number, numbers, page, text_of};
use super::number::label;
use crate::Imported;

pub(super) fn recognizes(text: &str) -> bool {
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
    let all = page["Benchmarks"].as_array().ok_or("no list of benchmarks")?;
    for one in all {
        let mut metric =
            format!("dotnet.{}.{}", label(&text_of(&one["Type"])), label(&text_of(&one["Method"])));
        let parameters = text_of(&one["Parameters"]);
        for parameter in parameters.split(['&', ',']).filter(|part| !part.trim().is_empty()) {
            metric += &format!(".{}", label(parameter));
        }
        // "Md5.Hash: .NET 8.0(Runtime=.NET 8.0) [N=1000]": the job tells measurements of one method apart.
        let same = |other: &&serde_json::Value| {
            ["Type", "Method", "Parameters"].iter().all(|key| other[*key] == one[*key])
        };
        if all.iter().filter(same).count() > 1 {
            let display = text_of(&one["DisplayInfo"]);
            let job = display.split_once(": ").map_or(display.as_str(), |(_, rest)| rest);
            metric += &format!(".job={}", label(job.split(['(', '[']).next().unwrap_or_default()));
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
