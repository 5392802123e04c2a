//! Interruptions of a spinning loop, as text and as JSON.

use crate::fold::wrapped;
use crate::grid::{fitting, lines, width};
use crate::number::{count, percent, time};
use crate::{reason, witness};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::noise::{Accounts, Evidence, GapCause, Kind, Noise, Osnoise};

pub(crate) const HEADING: Style = Style::new().bold();
/// Causes whose time is shown over time: those that took most.
const HEATED: usize = 5;
/// From a quiet stretch to one that is lost.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A page of one loop.
#[must_use]
pub fn text(noise: &Noise) -> String {
    let mut out = String::new();
    let seconds = noise.span / 1e9;
    let gaps: usize = noise.kinds.iter().map(|kind| kind.count).sum();
    let _ = writeln!(
        out,
        "CPU {} · watched for {:.2} s · {} of it lost to {}",
        noise.cpu,
        seconds,
        share(noise.lost() / noise.span),
        count(u32::try_from(gaps).unwrap_or(u32::MAX), "gap"),
    );
    let witness = noise.witness.as_ref().and_then(|witness| witness.as_ref().ok());
    if let Some(witness) = witness {
        let _ = writeln!(out, "{}", wrapped(&witness::summary(witness), 0).join("\n"));
    } else {
        let [named, unseen] = noise.named();
        let _ = writeln!(
            out,
            "a name for {} of the lost time; in {} nothing of this kernel ran",
            percent(named),
            percent(unseen)
        );
    }
    let _ = writeln!(out, "{}", wrapped(&tick(noise), 0).join("\n"));
    let _ = writeln!(out, "{}", wrapped(&accounts(&noise.accounts), 0).join("\n"));
    match &noise.osnoise {
        None => {}
        Some(Ok(Osnoise { lost, interrupts })) => {
            let _ = writeln!(
                out,
                "osnoise, the kernel's own tracer, alternately: {} lost, {interrupts:.0} interrupts/s",
                share(*lost)
            );
        }
        Some(Err(why)) => {
            let _ = writeln!(out, "osnoise, the kernel's own tracer, is not available: {why}");
        }
    }
    for line in witness.and_then(|witness| witness::remedies(witness, noise.cpu)).iter() {
        let _ = writeln!(out, "{}", wrapped(line, 0).join("\n"));
    }
    out.push('\n');
    out += &witness.map_or_else(|| tables(noise), witness::tables);
    for note in witness.map_or_else(|| notes(noise), |own| witness::notes(own, noise.lost() / noise.span)) {
        let _ = writeln!(out, "\n{}", wrapped(&note, 0).join("\n"));
    }
    out
}

/// Causes by the kernel's counters, when they came, and the longest gaps.
fn tables(noise: &Noise) -> String {
    let (mut out, seconds) = (String::new(), noise.span / 1e9);
    let heading = ["cause", "of the CPU", "times/s", "median", "p99", "longest"].map(str::to_owned);
    let row = |kind: &Kind| {
        let at = |q| kind.lengths.quantile(q).map_or_else(String::new, time);
        vec![
            what(&kind.what),
            share(kind.total / noise.span),
            format!("{:.1}", kind.count as f64 / seconds),
            at(0.5),
            at(0.99),
            at(1.0),
        ]
    };
    let rows = std::iter::once(heading.to_vec()).chain(noise.kinds.iter().map(row));
    for (number, line) in
        fitting(&rows.collect::<Vec<_>>(), &[1, 2, 3, 4, 5], &[4, 3, 2, 5]).into_iter().enumerate()
    {
        let _ = if number == 0 {
            writeln!(out, "  {HEADING}{line}{HEADING:#}")
        } else {
            writeln!(out, "  {line}")
        };
    }
    let of_kind = |kind: &Kind| (what(&kind.what), kind.over_time.clone());
    let all = ("all".to_owned(), noise.over_time.clone());
    let rows = std::iter::once(all).chain(noise.kinds.iter().take(HEATED).map(of_kind)).collect();
    out += &heat(seconds, rows);
    let _ = writeln!(out, "\n{HEADING}Longest{HEADING:#}");
    let row = |gap: &tickmark_analysis::noise::Gap| {
        vec![format!("at {:.6} s", gap.start / 1e9), time(gap.length), what(&gap.what)]
    };
    lines(noise.longest().into_iter().map(row), [0, 1]).into_iter().for_each(|line| {
        let _ = writeln!(out, "  {line}");
    });
    out
}

/// A table with a line for each CPU, and when each lost how much.
#[must_use]
pub fn table<'a>(cpus: impl Iterator<Item = &'a Noise> + Clone) -> String {
    let mut out = String::new();
    let heading = ["CPU", "lost", "tick", "interrupts", "tasks", "outside", "unknown", "longest"];
    let row = |noise: &Noise| {
        let of = |class: Class| {
            let own = noise.kinds.iter().filter(|kind| class_of(&kind.what) == class);
            share(own.map(|kind| kind.total).sum::<f64>() / noise.span)
        };
        let longest = noise.longest();
        let mut cells = vec![noise.cpu.to_string(), share(noise.lost() / noise.span)];
        cells.extend([Class::Tick, Class::Interrupts, Class::Tasks, Class::Outside, Class::Unknown].map(of));
        cells.push(longest.first().map_or_else(String::new, |gap| time(gap.length)));
        cells
    };
    let rows = std::iter::once(heading.map(str::to_owned).to_vec()).chain(cpus.clone().map(row));
    for (number, line) in lines(rows, 0..8).into_iter().enumerate() {
        let _ =
            if number == 0 { writeln!(out, "{HEADING}{line}{HEADING:#}") } else { writeln!(out, "{line}") };
    }
    let seconds = cpus.clone().map(|noise| noise.span / 1e9).fold(0.0, f64::max);
    let named = cpus.clone().map(|noise| (format!("CPU {}", noise.cpu), noise.over_time.clone())).collect();
    out += &heat(seconds, named);
    for noise in cpus.clone() {
        if let Some(Ok(own)) = &noise.witness {
            let line = format!("CPU {} by the kernel's events: {}", noise.cpu, witness::largest(own));
            let _ = writeln!(out, "\n{}", wrapped(&line, 0).join("\n"));
        }
    }
    // The header says it of the first.
    for noise in cpus.skip(1) {
        if !noise.changed.is_empty() {
            let what = noise.changed.join(", ");
            let _ = writeln!(
                out,
                "\nCPU {}: changed while it was watched: {what}; not all of this is its own",
                noise.cpu
            );
        }
    }
    let note = "Shares of each CPU's time. outside: periodic gaps that are not this kernel's, steal, and gaps in which none of its counters moved. \
        Page faults count as interrupts, tickmark's own processes as tasks. Each CPU's time begins with its own loop.";
    let _ = writeln!(out, "\n{}", wrapped(note, 0).join("\n"));
    out
}

/// The column of a table.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Tick,
    Interrupts,
    Tasks,
    Outside,
    Unknown,
}

fn class_of(what: &GapCause) -> Class {
    match what {
        GapCause::Tick => Class::Tick,
        GapCause::Timer | GapCause::Interrupt(_) | GapCause::SoftInterrupt(_) | GapCause::Fault => {
            Class::Interrupts
        }
        GapCause::Task | GapCause::Quota | GapCause::RealTimeReserve => Class::Tasks,
        GapCause::Outside(_) | GapCause::Unseen => Class::Outside,
        GapCause::Unknown => Class::Unknown,
    }
}

/// When how much of the time was lost: a line each, all on the scale of the highest stretch of any.
pub(crate) fn heat(seconds: f64, rows: Vec<(String, Vec<f64>)>) -> String {
    let most = rows.iter().flat_map(|(_, shares)| shares).copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    // Beside the names; neighbours are one column where there is no room for both.
    let longest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let room = width().saturating_sub(longest + 4).max(8);
    let stretches = rows.first().map_or(1, |(_, shares)| shares.len().max(1));
    let together = rows.first().map_or(1, |(_, shares)| shares.len().div_ceil(room).max(1));
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let rows: Vec<(String, Vec<f64>)> =
        rows.into_iter().map(|(name, shares)| (name, shares.chunks(together).map(mean).collect())).collect();
    let most = rows.iter().flat_map(|(_, shares)| shares).copied().fold(0.0, f64::max);
    let level = |share: &f64| if *share > 0.0 { LEVELS[((share / most * 8.0) as usize).min(7)] } else { ' ' };
    let mut out = format!(
        "\n{HEADING}Over time{HEADING:#}  (a column: {}; █ = {} of it lost)\n",
        time(seconds * 1e9 * together as f64 / stretches as f64),
        share(most)
    );
    let bar = |(name, shares): (String, Vec<f64>)| vec![shares.iter().map(level).collect(), name];
    for line in lines(rows.into_iter().map(bar), []) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Cost of the tick, or the reason why it is unknown.
fn tick(noise: &Noise) -> String {
    match &noise.tick {
        Err(why) => format!("no tick found: {}", reason::no_figure(why)),
        Ok(tick) => {
            let cost = tick.cost.map_or_else(
                || "its cost is not known beside other tasks".to_owned(),
                |cost| {
                    let [low, middle, high] = cost.length.map(time);
                    format!(
                        "{middle} each in the median ({low} to {high}), CPU time lost to ticks {}",
                        share(cost.share)
                    )
                },
            );
            let how = if tick.confirmed { "" } else { " (the kernel's count does not confirm it)" };
            format!("the tick: {:.4} Hz{how}, {cost}", tick.frequency)
        }
    }
}

/// The kernel's counts over the same time.
fn accounts(accounts: &Accounts) -> String {
    let known = [
        accounts.waited.map(|waited| format!("{} waiting for the CPU", share(waited))),
        accounts.timer_interrupts.map(|rate| format!("{rate:.1} timer interrupts/s")),
        accounts.steal.map(|steal| format!("steal {}", share(steal))),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let known = if known.is_empty() { "not readable".to_owned() } else { known.join(", ") };
    format!("by the kernel's own accounts: {known}")
}

/// Notes on the names.
fn notes(noise: &Noise) -> Vec<String> {
    let mut notes = Vec::new();
    match noise.looked {
        None => notes.push(
            "The kernel's interrupt counters were not read: causes come from periodic gaps and context switches alone."
                .to_owned(),
        ),
        Some(share_read) => notes.push(format!(
            "Causes come from /proc/interrupts, /proc/softirqs, context switches, page faults and CPU time, read after one gap in three at random, \
             which took {} of the time, and from gaps that recur periodically. An interrupt that was counted came near the gap, and need not have made it. Nothing of this kernel ran: \
             all of its counters stood still; on a guest that is the hypervisor, else firmware (SMI) or the processor itself.",
            percent(share_read)
        )),
    }
    notes.extend(not_asked(noise));
    if let Some(Err(why)) = &noise.witness {
        notes.push(format!("The kernel's own events, which name every gap, were not recorded: {why}."));
    }
    notes
}

/// Likely causes of gaps whose counters were not read: those of examined gaps that no train and no task explains.
fn not_asked(noise: &Noise) -> Option<String> {
    let count = |is: &dyn Fn(&GapCause) -> bool| -> usize {
        noise.kinds.iter().filter(|kind| is(&kind.what)).map(|kind| kind.count).sum()
    };
    let unseen = count(&|what| *what == GapCause::Unseen);
    let counted = count(&|what| {
        matches!(
            what,
            GapCause::Timer | GapCause::Interrupt(_) | GapCause::SoftInterrupt(_) | GapCause::Fault
        )
    });
    let has_unknown = count(&|what| *what == GapCause::Unknown) > 0;
    (has_unknown && unseen + counted > 0).then(|| {
        format!(
            "Not asked about: no counter was read after these gaps. In {} of the {} others that are neither ticks nor tasks nothing of this kernel ran.",
            unseen,
            unseen + counted
        )
    })
}

/// A share in per cent with three digits.
pub(crate) fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "<0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p => format!("{p:.1} %"),
    }
}

/// A name in words.
pub(crate) fn what(what: &GapCause) -> String {
    match what {
        GapCause::Tick => "the tick".to_owned(),
        GapCause::Timer => "a timer's interrupt was counted".to_owned(),
        GapCause::Interrupt(line) => format!("interrupt {} was counted", interrupt(line)),
        GapCause::SoftInterrupt(line) => format!("soft interrupt {line} was counted"),
        GapCause::Fault => "page fault".to_owned(),
        GapCause::Task => "another task".to_owned(),
        GapCause::Quota => "throttled by a cgroup's CPU quota".to_owned(),
        GapCause::RealTimeReserve => "real-time throttling (the kernel's reserve for other tasks)".to_owned(),
        GapCause::Outside(Evidence::Train(rate)) => {
            format!("not this kernel's: periodic, {:.2} Hz", *rate as f64 / 1e3)
        }
        GapCause::Outside(Evidence::Steal) => "hypervisor: steal".to_owned(),
        GapCause::Unseen => "nothing of this kernel ran".to_owned(),
        GapCause::Unknown => "not asked about".to_owned(),
    }
}

/// The kernel's abbreviations, as it explains them itself.
fn interrupt(line: &str) -> String {
    let meaning = match line {
        "RES" => "rescheduling",
        "CAL" => "function call from another CPU",
        "TLB" => "TLB shootdown",
        "IWI" => "IRQ work",
        "NMI" => "non-maskable",
        "PMI" => "performance monitoring",
        "HYP" => "hypervisor callback",
        "MCE" | "MCP" => "machine check",
        "TRM" => "thermal event",
        _ => return line.to_owned(),
    };
    format!("{line} ({meaning})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_analysis::noise;

    /// A recording of a real guest beside other work.
    #[test]
    fn what_interrupted_a_cpu_is_a_page() {
        let folder = format!("{}/../../fixtures/format-1.6", env!("CARGO_MANIFEST_DIR"));
        let recording = tickmark_store::load(std::path::Path::new(&folder)).unwrap();
        let noise = noise::summarize_noise(&recording).unwrap();
        insta::assert_snapshot!(text(&noise));
        let header = tickmark_analysis::report::build(&recording, &|_| false, false).header;
        let rates = tickmark_analysis::what_if::predict_rates(&noise, &recording, &[100.0, 1000.0], &[]);
        let page = crate::json::CpuNoise::new(header, &noise, Some(&rates));
        let value = serde_json::to_value(page).unwrap();
        assert_eq!(value["hz_what_if"]["at"][1]["hz"], 1000.0);
        assert_eq!(value["kinds"].as_array().unwrap().len(), noise.kinds.len());
        assert!(value["tick"]["mean_interval"][0].as_f64() < value["tick"]["mean"].as_f64());
    }
}
