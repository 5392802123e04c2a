//! Results of other programs become recordings.

use crate::cli::{self, Format, Import, TableArgs};
use crate::command::import_events;
use crate::command::pages::{ImportPage, ImportedPage};
use crate::error::{Code, Error};
use crate::suggest;
use std::borrow::Cow;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tickmark_drive::ThisMachine;
use tickmark_import::{Imported, Series, TableOptions, Value, lmbench};
use tickmark_store::{Id, Meta, Store};
use tickmark_wire::text::printable;
use tickmark_wire::{
    Better, Environment, Event, FORMAT, Group, Headline, ImportedFrom, Metric, Name, Nanos, Observations,
    Observed, Part, Picos, Plan, RunId, RunPlan, Settings, Unit, Values,
};

/// No result file is larger, in bytes.
const MOST: u64 = 64 << 20;

pub(in crate::command) fn run(store: &Store, import: &Import) -> Result<Code, Error> {
    let files = import.files.iter().map(|path| files(path)).collect::<Result<Vec<_>, Error>>()?;
    let texts = files.iter().flatten().map(|path| text(path)).collect::<Result<Vec<_>, Error>>()?;
    if let [(file, events)] = &texts[..]
        && import_events::is(events)
    {
        return own_events(store, import, file, events);
    }
    for (number, (name, text)) in texts.iter().enumerate() {
        // Measured again, some digit is another one.
        if let Some((same, _)) = texts[..number].iter().find(|(_, earlier)| earlier == text) {
            crate::notice!(
                "tickmark: warning: {} has the same content as {}: two runs, or one that is given twice?",
                printable(name, false),
                printable(same, false)
            );
        }
    }
    let nothing = |why| Error::Usage(format!("{why}; nothing was imported"));
    let (found, warnings) = tickmark_import::read(&texts, &table_options(&import.table)).map_err(nothing)?;
    let mut names = Imported::names(&found);
    if let Some(name) = &import.name {
        if names.len() > 1 {
            let more = names.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let first = names[..names.len().min(SHOWN)].join(", ");
            return Err(Error::Usage(format!("--name is for one system; these are {first}{more}")));
        }
        names = vec![name.clone()];
    }
    let mut kept = Vec::new();
    for (host, name) in found.iter().zip(&names) {
        match keep(store, host, name) {
            Ok(id) => kept.push((id, name, host)),
            Err(error) => {
                // All or nothing.
                kept.iter().for_each(|(id, ..)| store.discard(id));
                return Err(error);
            }
        }
    }
    for warning in &warnings {
        crate::notice!("tickmark: warning: {}", printable(warning, false));
    }
    if import.output.format == Format::Json {
        let row = |(id, name, host): &(Id, &String, &Imported)| {
            ImportedPage::new(id, name, &host.tool, u64::from(host.rounds), host.series.len(), Some(host))
        };
        crate::command::print_page(&ImportPage::new(kept.iter().map(row).collect(), &warnings))?;
    } else {
        let mut text = String::new();
        for (id, name, host) in &kept {
            text.push_str(&understood(id, name, host));
        }
        let _ = match &kept[..] {
            [(base, _, first), (candidate, _, second), ..]
                if first.series.keys().any(|metric| second.series.contains_key(metric)) =>
            {
                writeln!(
                    text,
                    "{}",
                    suggest::command(&format!("compare {base} {candidate}{}", tables(first)))
                )
            }
            [(id, _, first), ..] => {
                writeln!(text, "{}", suggest::command(&format!("show {id}{}", tables(first))))
            }
            [] => Ok(()),
        };
        crate::command::print(&text)?;
    }
    let is_whole = warnings.is_empty() && found.iter().all(|host| host.left_out.is_empty());
    Ok(if is_whole { Code::Done } else { Code::Partly })
}

/// The events of an agent.
fn own_events(store: &Store, import: &Import, file: &str, events: &str) -> Result<Code, Error> {
    let kept = import_events::keep(store, file, events, import.name.as_deref())?;
    for warning in &kept.warnings {
        crate::notice!("tickmark: warning: {}", printable(warning, false));
    }
    let import_events::ImportedStream { id, name, runs, metrics, warnings } = &kept;
    if import.output.format == Format::Json {
        let row = ImportedPage::new(id, name, "agent", *runs as u64, *metrics, None);
        crate::command::print_page(&ImportPage::new(vec![row], warnings))?;
    } else {
        let (runs, name) = (tickmark_render::count(*runs as u32, "run"), printable(name, false));
        crate::command::print(&format!(
            "{name} (events, {runs}, {metrics} metrics) saved as {id}\n{}\n",
            suggest::command(&format!("show {id}"))
        ))?;
    }
    Ok(if warnings.is_empty() { Code::Done } else { Code::Partly })
}

/// The roles of a table's columns.
pub(in crate::command) fn table_options(table: &TableArgs) -> TableOptions {
    TableOptions {
        columns: table.columns.clone(),
        values: table.value.clone(),
        groups: table.group.clone(),
        metric: table.metric.clone(),
        time: table.time.clone(),
        lines: table.lines.map(|lines| match lines {
            cli::Lines::Repetitions => tickmark_import::Lines::Repetitions,
            cli::Lines::Replicates => tickmark_import::Lines::Replicates,
        }),
        decimal_comma: table.decimal == ",",
        missing: table.missing.clone(),
        is_history: false,
    }
}

/// Metrics, lines and remarks that are shown of one recording.
const SHOWN: usize = 8;

/// What was understood of a file: its metrics with their values and repetitions, remarks, and lines that were left out.
fn understood(id: &Id, name: &str, host: &Imported) -> String {
    let mut text = String::new();
    let (metrics, runs) = (tickmark_render::count(host.series.len() as u32, "metric"), host.rounds);
    let runs = match (runs, host.is_one_replicate) {
        (0 | 1, _) => "1 value of each".to_owned(),
        (runs, true) => format!("up to {runs} repetitions, together 1 replicate"),
        (runs, false) => format!("{runs} runs, each a replicate"),
    };
    let at =
        host.at.map_or_else(String::new, |at| format!(", measured {}", at.strftime("%Y-%m-%d %H:%M UTC")));
    let _ =
        writeln!(text, "{}: {}, {metrics}, {runs}{at}", printable(name, false), printable(&host.tool, false));
    let mut all: Vec<(&String, &Series)> = host.series.iter().collect();
    all.sort_by(|(a, _), (b, _)| tickmark_import::natural_order(a, b));
    for (metric, series) in all.into_iter().take(SHOWN) {
        let values: Vec<f64> = series.values.iter().map(|value| value.value).collect();
        let unit = host.kinds.get(metric).map_or_else(|| self::metric(metric, &[]).unit, |kind| kind.unit);
        let middle = tickmark_stats::median(values.iter().copied()).unwrap_or_default();
        let middle = tickmark_render::figure(middle, unit);
        let count = if values.len() > 1 { format!("  median of {}", values.len()) } else { String::new() };
        let _ = writeln!(text, "  {:40} {middle:>12}{count}", printable(metric, false));
    }
    if host.series.len() > SHOWN {
        let more = tickmark_render::count((host.series.len() - SHOWN) as u32, "metric");
        let _ = writeln!(text, "  and {more} more: {}", suggest::command(&format!("show {id}")));
    }
    let mut list = |what: &str, all: &[String]| {
        for line in all.iter().take(SHOWN) {
            let _ = writeln!(text, "  {what}: {}", printable(line, false));
        }
        if all.len() > SHOWN {
            let _ = writeln!(text, "  {what}: {} more (--format json lists them)", all.len() - SHOWN);
        }
    };
    list("remark", &host.remarks);
    list("left out", &host.left_out);
    let _ = writeln!(text, "saved as {id}");
    text
}

/// Options of a command that shows lmbench's results as tables.
fn tables(of: &Imported) -> &'static str {
    if of.kinds.is_empty() { " --lmbench" } else { "" }
}

/// The file, or of criterion's folder the samples of each benchmark.
pub(in crate::command) fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut folders, mut found) = (vec![(path.to_owned(), 0)], Vec::new());
    while let Some((folder, depth)) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(Error::file("read", &folder))?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            if path.ends_with("new/sample.json") {
                found.push(path);
            } else if depth < DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((path, depth + 1));
            }
        }
    }
    found.sort();
    if found.is_empty() {
        let why = std::io::Error::other("it is a folder without criterion's new/sample.json; give its files");
        return Err(Error::file("read", path)(why));
    }
    Ok(found)
}

/// Folders below criterion's own are looked into so far.
const DEEPEST: usize = 6;

/// The name of a result: the file's, and of criterion's files the benchmark's path.
fn name(path: &Path) -> String {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    if !["sample.json", "estimates.json"].contains(&file.as_str()) {
        return file;
    }
    let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parts: Vec<String> = whole.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let end = parts.len().saturating_sub(2);
    let start = parts.iter().rposition(|part| part == "criterion").map_or(end.saturating_sub(1), |at| at + 1);
    if start < end { parts[start..end].join("/") } else { file }
}

/// The text of bytes: UTF-16 where its mark stands before it, as PowerShell writes, else UTF-8.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(bytes),
    };
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// How a Parquet file begins.
const PARQUET: &[u8] = b"PAR1";

/// The name of a file and its text. What is no UTF-8 in it is replaced; what is too long for results is refused.
pub(in crate::command) fn text(path: &Path) -> Result<(String, String), Error> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(Error::file("read", path))?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(Error::file("read", path))?;
    if bytes.len() as u64 > MOST {
        let (path, most) = (path.display(), MOST >> 20);
        return Err(Error::Usage(format!("{path} has more than {most} MiB: too much for results")));
    }
    let name = name(path);
    if bytes.starts_with(PARQUET) {
        return Ok((name, tickmark_tables::csv_from_parquet(path, MOST as usize)?));
    }
    let text = decoded(&bytes);
    Ok((name, text.trim_start_matches('\u{feff}').to_owned()))
}

/// Writes one host's figures as a recording of the store; its id.
fn keep(store: &Store, host: &Imported, name: &str) -> Result<Id, Error> {
    let id = write_recording(store, host, name)?;
    store.enter(&store.read(&id)?);
    Ok(id)
}

/// The same without an entry in the index: of a store that nobody lists.
pub(in crate::command) fn write_recording(store: &Store, host: &Imported, name: &str) -> Result<Id, Error> {
    let own = own_metrics()?;
    let known = |name: &String| host.kinds.get(name).cloned().unwrap_or_else(|| metric(name, own));
    let mut metrics: Vec<Metric> = host.series.keys().map(known).collect();
    let place = |metric: &Metric| own.iter().position(|known| known.name == metric.name);
    metrics.sort_by(|a, b| tickmark_import::natural_order(a.name.as_str(), b.name.as_str()));
    metrics.sort_by_key(|metric| place(metric).unwrap_or(usize::MAX));
    let mut runs = Vec::new();
    let mut events = Vec::new();
    for (name, Series { values }) in &host.series {
        for Value { round, value, step, over } in values {
            let id = RunId(runs.len() as u32);
            runs.push(RunPlan::new(id, *round, Name::new(name), Nanos::ZERO));
            let values = Values { values: vec![*value], step: *step, over: *over };
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
        id: Id::random(),
        name: name.to_owned(),
        created: host.at.unwrap_or_else(jiff::Timestamp::now),
        program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
        select: Vec::new(),
        plan: Plan { settings: Settings::default(), metrics, runs },
        arm: None,
        target: None,
    };
    let mut facts = Environment::default();
    host.facts.iter().for_each(|(name, value, source)| facts.know(name, source, value));
    let from = Event::Imported(Box::new(ImportedFrom {
        tool: host.tool.clone(),
        environment: facts,
        one_replicate: Some(host.is_one_replicate),
    }));
    let mut writer = store.create(&meta)?;
    let written = std::iter::once(&from).chain(&events).try_for_each(|event| writer.write(event));
    if let Err(error) = written.and_then(|()| writer.finish()) {
        // Half a recording would pass for a whole one.
        store.discard(&meta.id);
        return Err(error.into());
    }
    Ok(meta.id)
}

/// The metrics of our own probes, asked for once.
fn own_metrics() -> Result<&'static [Metric], Error> {
    static ALL: OnceLock<Vec<Metric>> = OnceLock::new();
    if let Some(known) = ALL.get() {
        return Ok(known);
    }
    let offers = ThisMachine::catalogue(&[])?.offers;
    Ok(ALL.get_or_init(|| offers.into_iter().flat_map(|offer| offer.metrics).collect()))
}

/// A metric as our own probes define it, or as the tables have it.
fn metric(name: &str, own: &[Metric]) -> Metric {
    if let Some(known) = own.iter().find(|metric| metric.name.as_str() == name) {
        // Another program's figure is one value, whatever ours is made of.
        let (headline, physical_floor, parts) = (Headline::Median, Picos::ZERO, Vec::new());
        return Metric { headline, physical_floor, parts, ..known.clone() };
    }
    // What lmbench measures at a stride stands where ours is at random.
    let other = name.replace("strided.l", "random.l").replace(".lmbench2", "");
    let column = lmbench::metrics().find(|column| column.metric == other);
    let (unit, better) = column.map_or((Unit::Time, Better::Lower), |column| (column.unit, column.better));
    let mut words = column.map_or(String::new(), |column| column.head.join(" ").trim().to_owned());
    if name != other {
        words += if name.ends_with("2") && name.starts_with("vm") { ", lmbench 2" } else { ", at a stride" };
    }
    let group = match name.split('.').next().unwrap_or_default() {
        "vm" => Group::File,
        first => Group::ALL.into_iter().find(|group| group.suite() == first).unwrap_or(Group::Machine),
    };
    let title = if words.is_empty() { name } else { &words };
    Metric::of_values(name, title, group, unit, better)
}
