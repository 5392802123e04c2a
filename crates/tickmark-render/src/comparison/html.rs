//! A page that stands alone: no script, nothing to fetch.

use super::{strip, words};
use std::fmt::Write;
use tickmark_analysis::comparison::Model;

/// Facts that are listed.
const LISTED: usize = 1000;

const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.changed td{background:#fff1c9}tr.worse td{background:#ffdcd6}
svg{display:block}.b{fill:#1f6feb}.o{fill:#d1471f}code{background:#eee;padding:0 .3rem}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}th,td{border-color:#333}tr.changed td{background:#4a3f14}
tr.worse td{background:#552016}code{background:#2a2d33}.b{fill:#6ea8ff}.o{fill:#ff8a66}}";

/// The whole comparison.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>tickmark: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escape(&words::label(&model.base))
    );
    for against in &model.against {
        let (base, other) = (escape(&words::label(&model.base)), escape(&words::label(&against.party)));
        let _ = writeln!(
            out,
            "<h1>{other} against {base}</h1>\n<p>{}</p>\n<ul>",
            escape(&words::summary(against))
        );
        let parties = words::parties(model, against);
        for line in
            parties.iter().chain(&words::environment(model, against, LISTED)).chain(&words::notes(against))
        {
            let _ = writeln!(out, "<li>{}</li>", escape(line));
        }
        let _ = writeln!(
            out,
            "</ul>\n<table>\n<thead><tr><th>metric</th><th>figure</th><th>{base}</th><th>{other}</th><th>change</th><th>{}</th>\
             <th>values</th><th>verdict</th></tr></thead>\n<tbody>",
            words::range(&against.basis)
        );
        for line in &against.lines {
            let class = if line.worse() {
                "worse"
            } else if line.changed() {
                "changed"
            } else {
                ""
            };
            let number = |text: &str| format!("<td class=\"n\">{}</td>", escape(text));
            let printed = words::printed(line, &against.basis, model.margin);
            let numbers = [&printed.means[0], &printed.means[1], &printed.change, &printed.interval]
                .map(|text| number(text))
                .concat();
            let (metric, figure, words) = (escape(&line.metric), line.figure, escape(&printed.verdict));
            let _ = writeln!(
                out,
                "<tr class=\"{class}\"><td>{metric}</td><td>{figure}</td>{numbers}<td>{}</td><td>{words}</td></tr>",
                dots(&strip::places(&line.values))
            );
        }
        out.push_str("</tbody>\n</table>\n");
        for line in words::without(model, against) {
            let _ = writeln!(out, "<p>{}</p>", escape(&line));
        }
        if let Some(deciding) = &against.experiment {
            let _ =
                writeln!(out, "<p>To decide, run: <code>{}</code></p>", escape(&words::command(deciding)));
        }
    }
    let _ = writeln!(out, "<p>{}</p>\n</body>\n</html>", escape(&words::legend(model)));
    out
}

/// The strip as a picture: the first side above, the other below.
fn dots(places: &[Vec<usize>; 2]) -> String {
    let (step, height) = (6, 18);
    let mut out = format!("<svg width=\"{}\" height=\"{height}\" role=\"img\">", step * strip::WIDTH);
    for ((side, class), y) in places.iter().zip(["b", "o"]).zip([5, 13]) {
        for place in side {
            let _ = write!(
                out,
                "<circle class=\"{class}\" cx=\"{}\" cy=\"{y}\" r=\"2.5\"/>",
                place * step + step / 2
            );
        }
    }
    out + "</svg>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
