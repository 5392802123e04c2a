//! For a page of a project: tables as GitHub and GitLab read them.

use super::words;
use std::fmt::Write;
use tickmark_analysis::comparison::Model;

/// Facts that are listed.
const LISTED: usize = 20;

/// The whole comparison.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut out = String::new();
    for against in &model.against {
        let (base, other) = (escape(&words::label(&model.base)), escape(&words::label(&against.party)));
        let _ = writeln!(out, "## {other} against {base}\n");
        let parties = words::parties(model, against);
        for line in
            parties.iter().chain(&words::environment(model, against, LISTED)).chain(&words::notes(against))
        {
            let _ = writeln!(out, "- {}", escape(line));
        }
        let _ = writeln!(
            out,
            "\n| metric | figure | {base} | {other} | change | {} | verdict |",
            words::range(&against.basis)
        );
        let _ = writeln!(out, "|---|---|---:|---:|---:|---:|---|");
        for line in &against.lines {
            let printed = words::printed(line, &against.basis, model.margin);
            let [base, other] = &printed.means;
            let cells = [
                &line.metric,
                line.figure,
                base,
                other,
                &printed.change,
                &printed.interval,
                &printed.verdict,
            ];
            let _ = writeln!(out, "| {} |", cells.map(escape).join(" | "));
        }
        let _ = writeln!(out, "\n{}", escape(&words::summary(against)));
        for group in words::groups(against) {
            let _ = writeln!(out, "\n{}", escape(&group));
        }
        for line in words::without(model, against) {
            let _ = writeln!(out, "\n{}", escape(&line));
        }
        if let Some(deciding) = &against.experiment {
            let _ = writeln!(out, "\nTo decide, run: `{}`", words::command(deciding));
        }
        out.push('\n');
    }
    for (at, line) in model.doses.iter().flat_map(words::doses).enumerate() {
        let _ = writeln!(out, "{}{}", if at == 0 { "" } else { "- " }, escape(&line));
    }
    let _ = writeln!(out, "{}", escape(&words::legend(model)));
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
