//! For a page of a project: tables as GitHub and GitLab read them.

use super::model::Model;
use std::fmt::Write;

/// Facts that are listed.
const LISTED: usize = 20;

pub(crate) fn render(model: &Model) -> String {
    let mut out = String::new();
    for against in &model.against {
        let (base, other) = (escape(&model.base.label), escape(&against.party.label));
        let _ = writeln!(out, "## {other} against {base}\n");
        let parties = model.parties(against);
        for line in parties.iter().chain(&model.environment(against, LISTED)).chain(&against.notes) {
            let _ = writeln!(out, "- {}", escape(line));
        }
        let _ = writeln!(
            out,
            "\n| metric | figure | {base} | {other} | change | {} | verdict |",
            against.basis.range()
        );
        let _ = writeln!(out, "|---|---|---:|---:|---:|---:|---|");
        for line in &against.lines {
            let cells = [
                &line.metric,
                line.figure,
                &line.shown[0],
                &line.shown[1],
                &line.change,
                &line.interval,
                &line.words,
            ];
            let _ = writeln!(out, "| {} |", cells.map(escape).join(" | "));
        }
        let _ = writeln!(out, "\n{}", escape(&against.summary()));
        for line in model.without(against) {
            let _ = writeln!(out, "\n{}", escape(&line));
        }
        if let Some(command) = &against.experiment {
            let _ = writeln!(out, "\nWhat would decide: `{command}`");
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", escape(&model.legend()));
    out
}

/// A cell's text: what would end it or be read as markup.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '\\' | '[' | ']' | '~' | '&') {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}
