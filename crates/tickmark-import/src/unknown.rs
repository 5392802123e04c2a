//! What a text of no known format looks like, and the command that would read it.

use super::table::{Lines, Table, TableOptions, counted, figure, is_json, read};

/// A text is described by so much of its beginning, bytes.
const DESCRIBED: usize = 64 << 10;

/// Forms of known programs that are not read, by two words in them, and the form that is.
const OTHER_FORMS: &[(&str, &str, &str)] = &[
    ("# JMH version", "# Benchmark:", "JMH's text: run it with -rf json, and import jmh-result.json"),
    ("is a Catch", "benchmark name", "Catch2's text: run it with -r xml"),
    (
        r#""type":"Metric""#,
        r#""type":"Point""#,
        "k6's stream of points: --summary-export FILE has the figures",
    ),
    ("Bucket", "Histogram", "a histogram of vegeta: vegeta report -type=json has the figures"),
    ("test session starts", "benchmark", "pytest's text: run it with --benchmark-json FILE"),
    ("BenchmarkDotNet", "Mean", "BenchmarkDotNet's summary: run it with --exporters json"),
    ("Time (mean \u{b1} \u{3c3})", "Range", "hyperfine's text: run it with --export-json FILE"),
    ("time             counts unit events", "", "perf stat in intervals: run it with -x, as well"),
    (": Mean +- std dev", "", "pyperf's text: run it with -o FILE"),
    ("Benchmark ", " Score ", "JMH's table: run it with -rf json, and import jmh-result.json"),
];

/// Beginnings of compressed files and archives, as they are where bytes that are no UTF-8 are replaced, and what unpacks them.
const PACKED: [(&str, &str); 6] = [
    ("\u{1f}\u{fffd}", "compressed: gunzip it"),
    ("\u{fffd}7zXZ", "compressed: unxz it"),
    ("(\u{fffd}/\u{fffd}", "compressed: unzstd it"),
    ("BZh", "compressed: bunzip2 it"),
    ("PK\u{3}\u{4}", "an archive: unzip it"),
    ("\u{7f}ELF", "a program"),
];

/// What a file is that is no text; none of texts.
pub(super) fn binary(text: &str) -> Option<&'static str> {
    let known = PACKED.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|(_, what)| *what);
    // Each file in an archive of tar begins with a head that has this in it.
    let is_tar = || text.get(257..262) == Some("ustar");
    let is_data = text.contains('\0');
    known.filter(|_| is_data || text.contains('\u{fffd}')).or_else(|| match (is_data, is_data && is_tar()) {
        (_, true) => Some("an archive: untar it"),
        (true, false) => Some("no text: it has bytes of zero"),
        _ => None,
    })
}

/// True of a text that ends at the mark in a number, as no other line of it does.
pub(super) fn is_cut(text: &str) -> bool {
    let ends_so = |line: &str| {
        line.trim_end().strip_suffix('.').is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
    };
    !text.ends_with('\n') && ends_so(text) && text.lines().filter(|line| ends_so(line)).count() == 1
}

/// What a text of no known format looks like, and the command that would read it.
pub(super) fn description(name: &str, text: &str) -> String {
    // The beginning says what it is.
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let beginning = &text[..text.floor_char_boundary(DESCRIBED)];
    let other =
        OTHER_FORMS.iter().find(|(one, other, _)| beginning.contains(one) && beginning.contains(other));
    if let Some((_, _, what)) = other {
        return (*what).to_owned();
    }
    if text.len() > DESCRIBED && is_json(text.trim_start()) {
        return "JSON of no known program".to_owned();
    }
    if lines == 0 {
        return "empty".to_owned();
    }
    let text = beginning;
    let text = if lines > 1 { &text[..text.rfind('\n').map_or(text.len(), |at| at + 1)] } else { text };
    let trimmed = text.trim_start();
    if trimmed.starts_with('<') {
        return "XML or HTML of no known program".to_owned();
    }
    let parsed = |decimal_comma| {
        let table = Table::parse(text, decimal_comma).ok()?;
        let has_figures = table
            .rows
            .iter()
            .any(|(_, cells)| cells.iter().any(|cell| figure(cell, decimal_comma).is_some()));
        Some((table, decimal_comma)).filter(|_| has_figures || !decimal_comma)
    };
    let plain = parsed(false);
    let has_figures = |found: &Option<(Table, bool)>| {
        found.as_ref().is_some_and(|(table, _)| {
            table.rows.iter().any(|(_, cells)| cells.iter().any(|cell| figure(cell, false).is_some()))
        })
    };
    // "a;1,5" has figures with a decimal comma alone.
    let found = if has_figures(&plain) { plain } else { parsed(true).or(plain) };
    let Some((table, decimal_comma)) = found else {
        return "damaged JSON".to_owned();
    };
    let is_json = is_json(trimmed);
    let width = table.width();
    let whole = table.rows.iter().filter(|(_, cells)| cells.len() == width).count();
    let is_figures = |at: usize| {
        let figures = table
            .rows
            .iter()
            .filter(|(_, cells)| cells.get(at).is_some_and(|cell| figure(cell, decimal_comma).is_some()))
            .count();
        figures * 4 >= table.rows.len() * if width == 1 { 2 } else { 3 }
    };
    let numeric: Vec<usize> = (0..width).filter(|at| is_figures(*at)).collect();
    // Words with a number among them.
    let is_prose = table.heads.is_empty()
        && !is_json
        && !text.contains([',', ';', '\t', '|'])
        && numeric.len() * 2 < width;
    if table.rows.is_empty()
        || numeric.is_empty()
        || whole * 4 < table.rows.len() * 3
        || width > 100
        || is_prose
    {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let first: String = first.trim().chars().take(60).collect();
        return if is_json {
            "JSON of no known program".to_owned()
        } else {
            format!("text of no known program (it begins {first:?})")
        };
    }
    if table.heads.is_empty() && width == 2 && text.contains(',') && !text.contains([';', '\t']) {
        return "numbers with commas: --decimal , where the comma is the decimal mark, --columns A,B where it separates two columns".to_owned();
    }
    let is_ragged = !table.heads.is_empty() && table.heads.len() != width;
    if is_ragged {
        return format!(
            "a table whose lines have {} below {}: --columns names each, and - leaves one out",
            counted(width, "cell"),
            counted(table.heads.len(), "heading")
        );
    }
    let named = |at: usize| table.heads.get(at).cloned().unwrap_or_else(|| (at + 1).to_string());
    // A column that rises is a size or a time.
    let rises = |at: &usize| {
        let value = |cells: &Vec<String>| Some(figure(cells.get(*at)?, decimal_comma)?.0.value);
        let values: Vec<f64> = table.rows.iter().filter_map(|(_, cells)| value(cells)).collect();
        values.len() > 1 && values.windows(2).all(|pair| pair[0] < pair[1])
    };
    let group = (0..width)
        .find(|at| !numeric.contains(at))
        .or_else(|| numeric.first().copied().filter(|at| numeric.len() > 1 && rises(at)));
    let mut options = TableOptions { decimal_comma, ..TableOptions::default() };
    options.values = numeric.iter().filter(|at| Some(**at) != group).take(4).map(|at| named(*at)).collect();
    options.groups = group.map(&named).into_iter().collect();
    if group.is_none() {
        options.lines = Some(Lines::Repetitions);
    }
    // The command is tried before it is named.
    for _ in 0..4 {
        match read(name, text, &options) {
            Err(why) if why.contains(" again: ") => options.lines = Some(Lines::Repetitions),
            Err(why) if why.contains("--missing") => {
                let word = why.split('"').nth(1).unwrap_or_default();
                options.missing.push(word.to_owned());
            }
            _ => break,
        }
    }
    let mut command = format!("tickmark import {}", tickmark_wire::text::quoted(name));
    let mut add =
        |option: &str, value: &str| command += &format!(" {option} {}", tickmark_wire::text::quoted(value));
    options.values.iter().for_each(|value| add("--value", value));
    options.groups.iter().for_each(|group| add("--group", group));
    if options.lines.is_some() {
        add("--lines", "repetitions");
    }
    if decimal_comma {
        add("--decimal", ",");
    }
    options.missing.iter().for_each(|missing| add("--missing", missing));
    format!(
        "{} of {} and {}; what they are is not known: {command}",
        if is_json { "JSON objects" } else { "a table" },
        counted(width, "column"),
        counted(lines - usize::from(!table.heads.is_empty() && !is_json), "line"),
    )
}
