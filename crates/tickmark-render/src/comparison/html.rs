//! A page that stands alone: no script, nothing to fetch.

use super::{strip, words};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use tickmark_analysis::comparison::{Against, Line, Model};

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
    let base = words::label(&model.base);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "tickmark: " (base) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for against in &model.against { (one(model, &base, against)) }
                @if let Some(doses) = &model.doses {
                    ul { @for line in words::doses(doses) { li { (line) } } }
                }
                p { (words::legend(model)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// One candidate against the baseline.
fn one(model: &Model, base: &str, against: &Against) -> Markup {
    let other = words::label(&against.party);
    let lines = [
        words::parties(model, against).to_vec(),
        words::environment(model, against, LISTED),
        words::notes(against),
    ];
    html! {
        h1 { (other) " against " (base) }
        p { (words::summary(against)) }
        @for group in words::groups(against) { p { (group) } }
        ul {
            @for line in lines.iter().flatten() { li { (line) } }
        }
        table {
            thead {
                tr {
                    th { "metric" } th { "figure" } th { (base) } th { (other) } th { "change" }
                    th { (words::range(&against.basis)) } th { "values" } th { "verdict" }
                }
            }
            tbody {
                @for line in &against.lines { (row(model, against, line)) }
            }
        }
        @for line in words::without(model, against) { p { (line) } }
        @if let Some(deciding) = &against.experiment {
            p { "To decide, run: " code { (words::command(deciding)) } }
        }
    }
}

fn row(model: &Model, against: &Against, line: &Line) -> Markup {
    let class = match line {
        line if line.worse() => Some("worse"),
        line if line.changed() => Some("changed"),
        _ => None,
    };
    let printed = words::printed(line, &against.basis, model.margin);
    let [base, other] = &printed.means;
    html! {
        "\n"
        tr class=[class] {
            td { (line.metric) }
            td { (line.figure) }
            @for number in [base, other, &printed.change, &printed.interval] { td class="n" { (number) } }
            td { (dots(&strip::places(&line.values))) }
            td { (printed.verdict) }
        }
    }
}

/// The strip as a picture: the first side above, the other below.
fn dots(places: &[Vec<usize>; 2]) -> Markup {
    let (step, height) = (6, 18);
    let rows = places.iter().zip([("b", 5), ("o", 13)]);
    html! {
        svg width=(step * strip::WIDTH) height=(height) role="img" {
            @for (side, (class, y)) in rows {
                @for place in side { circle class=(class) cx=(place * step + step / 2) cy=(y) r="2.5" {} }
            }
        }
    }
}
