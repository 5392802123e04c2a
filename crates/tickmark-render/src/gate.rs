//! Results of the gate: as text, JSON, markdown, JUnit's XML, GitLab's Code Quality, and annotations of GitHub Actions.

mod calibration;
mod limits;
mod xml;

use crate::comparison::difference;
use crate::fold::wrapped;
use crate::grid::table;
use crate::number::{self, change, count, value};
use crate::suggest::command;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;
use tickmark_analysis::gate::{Checked, FEWEST, Lack, Line, Name};

pub use calibration::Calibration;
pub use limits::{Limit, Limits};
use xml::{Case, Outcome};
pub use xml::{Suite, code_quality, junit};

const MARK: Style = AnsiColor::Yellow.on_default().bold();
/// The test of the gate itself.
const CAN_JUDGE: &str = "the gate can judge";
/// Figures that are shown where none of them failed.
const SHOWN: usize = 12;

/// A result that could not be judged: as an annotation of GitHub Actions, and as markdown.
#[must_use]
pub fn unjudged(name: &str, why: &str) -> (String, String) {
    let text = if name.is_empty() { why.to_owned() } else { format!("{name}: {why}") };
    let page = format!("## tickmark: not judged\n\n{}\n\n", xml::markdown(&text));
    (xml::annotation("warning", "tickmark", &format!("not judged: {text}")), page)
}

/// New recordings against earlier ones.
pub struct Page<'a> {
    /// Id of the newest recording.
    pub id: String,
    /// Name of the newest recording.
    pub name: String,
    /// The result.
    pub checked: &'a Checked,
    /// How well the gate can tell, where that was measured.
    pub calibration: Option<Calibration>,
    /// How many earlier ones are left out, as a figure had another level then, and which figure.
    pub older: Option<(usize, Name)>,
    /// True if the earlier ones were chosen.
    pub is_baseline: bool,
    /// True if they are results of another program.
    pub is_imported: bool,
    /// True if a figure fails.
    pub fails: &'a dyn Fn(&Line) -> bool,
    /// The exit code.
    pub code: u8,
}

impl Page<'_> {
    /// The name of a result of a file, which may have several.
    fn whose(&self) -> String {
        if self.is_imported { format!("{}: ", self.name) } else { String::new() }
    }

    fn failing(&self) -> Vec<&Line> {
        self.checked.lines.iter().filter(|line| (self.fails)(line) && !line.contended).collect()
    }

    /// In a line.
    pub(crate) fn verdict(&self) -> String {
        let [earlier, new] = self.checked.counts;
        let all = self.checked.lines.len();
        let failing = self.failing().len();
        let beside = format!("{} beside {} earlier", count(new as u32, "new recording"), earlier);
        match self.code {
            3 => format!("{failing} of {} changed ({beside})", count(all as u32, "figure")),
            0 => match self.checked.lines.iter().filter(|line| line.changed()).count() {
                0 => format!("no change of {} ({beside})", count(all as u32, "figure")),
                changed => format!(
                    "{changed} of {} changed, in no way that fails ({beside})",
                    count(all as u32, "figure")
                ),
            },
            _ => format!("not judged: {} ({beside})", self.why_open()),
        }
    }

    fn why_open(&self) -> String {
        let checked = self.checked;
        let first = |is: &dyn Fn(&Line) -> bool| {
            let line = checked.lines.iter().find(|line| is(line))?;
            Some(format!("{} {}", line.metric, line.figure))
        };
        let open = checked.lines.iter().filter(|line| line.is_open());
        let farthest =
            open.max_by(|a, b| (a.judged.ratio - 1.0).abs().total_cmp(&(b.judged.ratio - 1.0).abs()));
        let never_varied = farthest.map(|line| format!("{} {}", line.metric, line.figure));
        let contended = first(&|line| line.contended && (self.fails)(line));
        let partly = first(&|line| line.partly);
        let undirected = first(&|line| line.changed() && !line.has_direction());
        match () {
            () if checked.counts[0] < FEWEST => {
                format!(
                    "{FEWEST} earlier recordings are needed for a claim at 5 %; until then --max and --min judge by limits"
                )
            }
            () if checked.lines.is_empty() => "no figure that all of them have".to_owned(),
            () if !checked.without.is_empty() => self.lacks(),
            () if never_varied.is_some() => format!(
                "{} moved, and earlier ones never varied: how likely that is nobody can say; --max and --min judge by limits",
                never_varied.unwrap_or_default()
            ),
            () => match (contended, partly, undirected, &self.calibration) {
                (Some(name), ..) => format!("{name} changed while other tasks had the CPU: measure again"),
                (_, Some(name), ..) => format!("runs of {name} gave nothing"),
                (_, _, Some(name), _) => format!("{name} changed, and neither direction of it is worse"),
                (.., None) if !checked.by_labels() => format!(
                    "no change is seen, by so few earlier recordings that no calibration holds ({} makes more)",
                    command("check --calibrate")
                ),
                (.., None) => format!(
                    "no change is seen, and how well this gate sees was not measured ({})",
                    command("check --calibrate")
                ),
                (.., Some(of)) => format!(
                    "no change is seen, by a gate that is not armed{}",
                    of.unarmed_reason().map_or_else(String::new, |why| format!(": {why}"))
                ),
            },
        }
    }

    fn lacks(&self) -> String {
        let of = |by_new: bool| {
            let names: Vec<String> = self
                .checked
                .without
                .iter()
                .filter(|lack| lack.by_new == by_new)
                .map(|Lack { name, .. }| calibration::named(name))
                .collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        match (of(true), of(false)) {
            (Some(names), _) => format!("the new recordings lack {names}, or measured it over another size"),
            (None, names) => format!("not all earlier recordings have {}", names.unwrap_or_default()),
        }
    }

    /// Earlier ones that are no measure any more.
    fn older(&self) -> Option<String> {
        let (count, (metric, figure)) = self.older.as_ref()?;
        Some(format!(
            "Left out, as {metric} {figure} had another level then: {} before ({}).",
            number::count(*count as u32, "earlier recording"),
            command(&format!("history {metric}"))
        ))
    }

    /// How small a change of one figure would be seen, where few earlier recordings judge.
    fn visible(&self) -> Option<String> {
        let (least, most) = self.checked.visible()?;
        let [least, most] = [least, most].map(number::percent);
        let range = if least == most {
            least
        } else {
            format!("{least} on, and in those that vary most from {most} on")
        };
        Some(format!(
            "By so few earlier recordings a change for the worse in one figure is seen in at least four of five cases from {range}; in a figure that never varied none is, and one that moved to its worse side is not judged."
        ))
    }

    /// The figures that are shown and whose earlier values fall into two states, a sentence each.
    fn states(&self) -> impl Iterator<Item = String> {
        self.shown().into_iter().filter_map(|line| {
            let states = line.states?;
            let shown = |number: f64| value(number, Some(number.abs() * 1e-2), line.unit);
            let share = |share: f64| format!("{:.0} %", share * 100.0);
            Some(format!(
                "Earlier values of {} {} fall into two states: {} near {}, {} near {}.",
                line.metric,
                line.figure,
                share(states.low_share()),
                shown(states.low.centre),
                share(1.0 - states.low_share()),
                shown(states.high.centre)
            ))
        })
    }

    /// The failed lines, or else those with the largest differences.
    fn shown(&self) -> Vec<&Line> {
        let failing = self.failing();
        if !failing.is_empty() {
            return failing;
        }
        let mut all: Vec<&Line> = self.checked.lines.iter().collect();
        // First those of which nobody can say how likely they are.
        all.sort_by(|a, b| {
            b.is_open()
                .cmp(&a.is_open())
                .then(a.p().total_cmp(&b.p()))
                .then(b.judged.far.abs().total_cmp(&a.judged.far.abs()))
        });
        all.truncate(SHOWN);
        all
    }

    fn cells(&self, line: &Line) -> Vec<String> {
        let shown = |number: f64| value(number, Some(number.abs() * 1e-3), line.unit);
        let said = match line {
            line if line.changed() && line.contended => "contended",
            line if line.worse() => "worse",
            line if line.changed() => "changed",
            line if line.is_open() => "not judged",
            _ => "as before",
        };
        vec![
            line.metric.clone(),
            line.figure.clone(),
            shown(line.earlier),
            shown(line.new),
            change(line.judged.ratio, 2),
            format!("{} of {}", line.beyond, self.checked.counts[0]),
            format!("{:.3}", line.p()),
            said.to_owned(),
        ]
    }

    const HEADS: [&'static str; 8] = ["metric", "figure", "earlier", "new", "change", "as far", "p", ""];

    /// For a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{MARK}{}{MARK:#}\n", self.verdict());
        for one in &self.checked.differences {
            let _ = writeln!(out, "  {}", difference(one));
        }
        // Without a history there is nothing to show, and what to do stands above.
        if self.checked.lines.is_empty() {
            return out;
        }
        out.push('\n');
        let heads = Self::HEADS.map(str::to_owned).to_vec();
        table(
            &mut out,
            std::iter::once(heads).chain(self.shown().into_iter().map(|line| self.cells(line))),
            2..7,
        );
        let hidden = self.checked.lines.len() - self.shown().len();
        if hidden > 0 {
            let _ = writeln!(
                out,
                "and {} nearer to the earlier ones (--format json)",
                count(hidden as u32, "figure")
            );
        }
        out.push('\n');
        let baseline = match (self.is_baseline, self.is_imported) {
            (true, _) => "recordings are those of the saved baseline",
            (false, true) => "results are those of the same program that measured the same",
            (false, false) => "recordings are the newest of this machine that measured the same",
        };
        let note = format!(
            "Earlier {baseline}. As far: how many of them are as far from their middle, on the side where the new figure lies. p is the chance of any figure as far off on that side where nothing changed, if recordings are alike{}; at .05 or below a change is claimed.",
            if self.checked.by_labels() {
                ""
            } else {
                " and their logarithms normal (few: by Student's t, corrected by Holm)"
            }
        );
        for line in self
            .older()
            .into_iter()
            .chain(self.states())
            .chain(self.visible())
            .chain([note])
            .flat_map(|note| wrapped(&note, 0))
        {
            let _ = writeln!(out, "{line}");
        }
        for line in self.calibration.iter().flat_map(|of| wrapped(&of.words(), 0)) {
            let _ = writeln!(out, "{line}");
        }
        out
    }

    /// For a page of a project.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out =
            format!("## tickmark: {}{}\n\n", xml::markdown(&self.whose()), xml::markdown(&self.verdict()));
        for one in &self.checked.differences {
            let _ = writeln!(out, "- {}", xml::markdown(&difference(one)));
        }
        let _ = writeln!(out, "\n| {} |\n|---|---|---:|---:|---:|---:|---:|---|", Self::HEADS.join(" | "));
        for line in self.shown() {
            let cells: Vec<String> = self.cells(line).iter().map(|cell| xml::markdown(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        if let Some(of) = &self.calibration {
            let _ = writeln!(out, "\n{}", xml::markdown(&of.words()));
        }
        out.push('\n');
        out
    }

    /// A test for each figure, and one of the gate itself.
    #[must_use]
    pub fn suite(&self) -> Suite {
        let case = |line: &Line| {
            let text = self.cells(line).join(" ");
            Case {
                name: format!("{} {}", line.metric, line.figure),
                outcome: match ((self.fails)(line), line.contended) {
                    (true, false) => Outcome::Failed(text),
                    (true, true) => Outcome::Error(text),
                    _ => Outcome::Passed,
                },
            }
        };
        let gate = match self.code {
            0 | 3 => Outcome::Passed,
            _ => Outcome::Error(self.verdict()),
        };
        let cases: Vec<Case> = self
            .checked
            .lines
            .iter()
            .map(case)
            .chain([Case { name: CAN_JUDGE.to_owned(), outcome: gate }])
            .collect();
        Suite { name: format!("tickmark check {}", self.name), cases }
    }

    /// A line each.
    #[must_use]
    pub fn annotations(&self) -> String {
        let mut out = String::new();
        for line in self.failing() {
            let [metric, figure, earlier, new, change, ..] = &self.cells(line)[..] else { continue };
            out += &xml::annotation(
                "error",
                "tickmark",
                &format!("{}{metric} {figure}: {earlier} became {new} ({change})", self.whose()),
            );
        }
        let level = match self.code {
            0 => "notice",
            3 => "error",
            _ => "warning",
        };
        out + &xml::annotation(level, "tickmark", &(self.whose() + &self.verdict()))
    }
}

#[cfg(test)]
mod tests;
