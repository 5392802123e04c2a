//! Results of other programs become recordings.

use crate::cli::{Format, Import};
use crate::error::{Code, Error};
use crate::lmbench::{self, Imported, Series};
use crate::report;
use crate::store::{Meta, Store};
use rand::RngExt;
use serde_json::json;
use std::fmt::Write;
use tickmark_wire::{
    Better, Environment, Event, FORMAT, Group, Headline, ImportedFrom, Metric, Name, Nanos, Observations,
    Observed, Part, Picos, Plan, RunId, RunPlan, Settings, Unit, Values,
};

/// No result file is larger, in bytes.
const MOST: u64 = 64 << 20;

pub(super) fn run(store: &Store, import: &Import) -> Result<Code, Error> {
    let read = |path: &std::path::PathBuf| {
        let length = std::fs::metadata(path).map_err(Error::store("read", path))?.len();
        if length > MOST {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path} has {} MB: too much for results of lmbench",
                length >> 20
            )));
        }
        let bytes = std::fs::read(path).map_err(Error::store("read", path))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let texts = import.files.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    let (found, warnings) = lmbench::read(&texts).map_err(|name| {
        Error::Usage(format!(
            "{name} is neither a result file of lmbench 2 or 3 nor a summary page of lmbench; nothing was imported"
        ))
    })?;
    if import.name.is_some() && found.len() > 1 {
        let hosts: Vec<&str> = found.iter().map(|host| host.host.as_str()).collect();
        return Err(Error::Usage(format!("--name is for one host; these are {}", hosts.join(", "))));
    }
    let mut kept = Vec::new();
    for host in &found {
        kept.push((keep(store, host, import.name.as_deref())?, host));
    }
    for warning in &warnings {
        anstream::eprintln!("tickmark: warning: {warning}");
    }
    if import.output.format == Format::Json {
        let row = |(id, host): &(String, &Imported)| {
            json!({
                "id": id,
                "name": host.host,
                "tool": host.tool,
                "runs": host.rounds,
                "metrics": host.series.len(),
            })
        };
        let rows: Vec<_> = kept.iter().map(row).collect();
        super::print_json(&json!({ "recordings": rows, "warnings": warnings }))?;
    } else {
        let mut text = String::new();
        for (id, host) in &kept {
            let (runs, metrics) = (report::count(host.rounds, "run"), host.series.len());
            let _ = writeln!(text, "{} ({}, {runs}, {metrics} metrics) kept as {id}", host.host, host.tool);
        }
        if let [.., (id, _)] = &kept[..] {
            let _ = writeln!(text, "tickmark show {id} --lmbench");
        }
        super::print(&text)?;
    }
    Ok(if warnings.is_empty() { Code::Done } else { Code::Partly })
}

/// Writes one host's figures as a recording; its id.
fn keep(store: &Store, host: &Imported, name: Option<&str>) -> Result<String, Error> {
    let mut metrics: Vec<Metric> = host.series.keys().map(|name| metric(name)).collect();
    let place =
        |metric: &Metric| tickmark_probe::all().position(|probe| probe.spec.name == metric.name.as_str());
    metrics.sort_by_key(|metric| place(metric).unwrap_or(usize::MAX));
    let mut runs = Vec::new();
    let mut events = Vec::new();
    for (name, Series { values }) in &host.series {
        for (round, value, step) in values {
            let id = RunId(runs.len() as u32);
            runs.push(RunPlan { id, round: *round, probe: Name::new(name), budget: Nanos::ZERO, padding: 0 });
            let values = Values { values: vec![*value], step: *step };
            events.push(Event::Observed(Observed {
                run: id,
                metric: Name::new(name),
                part: Part::Whole,
                observations: Observations::Values(values),
                segments: Vec::new(),
            }));
        }
    }
    let meta = Meta {
        format: FORMAT,
        id: format!("{:08x}", rand::rng().random::<u32>()),
        name: name.unwrap_or(&host.host).to_owned(),
        created: jiff::Timestamp::now(),
        program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
        select: Vec::new(),
        plan: Plan { settings: Settings::default(), metrics, runs },
    };
    let mut facts = Environment::default();
    host.facts.iter().for_each(|(name, value, source)| facts.know(name, source, value));
    let from = Event::Imported(Box::new(ImportedFrom { tool: host.tool.clone(), environment: facts }));
    let mut writer = store.create(&meta)?;
    let folder = writer.folder().to_owned();
    let written = std::iter::once(&from).chain(&events).try_for_each(|event| writer.write(event));
    if let Err(error) = written.and_then(|()| writer.finish()) {
        // Half a recording would pass for a whole one.
        let _ = std::fs::remove_dir_all(&folder);
        return Err(error);
    }
    store.index(&folder);
    Ok(meta.id)
}

/// A metric as our own probes define it, or as the tables have it.
fn metric(name: &str) -> Metric {
    if let Some(probe) = tickmark_probe::find(name) {
        return Metric { headline: Headline::Median, physical_floor: Picos::ZERO, ..probe.spec.metric() };
    }
    let column = lmbench::metrics().find(|column| column.metric == name);
    let (unit, better) = column.map_or((Unit::Time, Better::Lower), |column| (column.unit, column.better));
    let words = column.map_or(String::new(), |column| column.head.join(" ").trim().to_owned());
    let groups = Group::ALL.into_iter();
    let group = match name.split('.').next().unwrap_or_default() {
        "vm" => Group::File,
        first => groups.clone().find(|group| group.suite() == first).unwrap_or(Group::Machine),
    };
    Metric {
        name: Name::new(name),
        title: if words.is_empty() { name.to_owned() } else { words },
        group,
        unit,
        better,
        headline: Headline::Median,
        physical_floor: Picos::ZERO,
        sleeps: false,
        roams: false,
    }
}
