//! Settings that are numbers, three of them or more: how a figure follows them.

use super::basis::Basis;
use super::figures::SideRows;
use crate::report::Unit;
use std::collections::BTreeMap;
use tickmark_stats::multiple::holm;
use tickmark_stats::trend::{Trend, trend};
use tickmark_wire::text;

/// How one figure follows the settings of an experiment.
#[derive(Debug, Clone)]
pub struct TrendLine {
    /// Of the row.
    pub metric: String,
    /// `floor`, `mean`, `value` or `p99`.
    pub figure: &'static str,
    /// Of the figure.
    pub unit: Unit,
    /// The slope, in the figure's unit for each unit of the setting, and the test of a trend in one direction.
    pub trend: Trend,
    /// The mean over blocks at the least setting.
    pub base: f64,
    /// How many blocks have all settings.
    pub blocks: usize,
    /// The chance of the trend, corrected for all figures.
    pub adjusted: f64,
    /// True if a trend is claimed.
    pub rises_or_falls: bool,
}

/// The settings as numbers, and how each figure follows them.
#[derive(Debug, Clone)]
pub struct Doses {
    /// In ascending order, as they were given.
    pub settings: Vec<String>,
    /// The same as numbers: times in ns.
    pub doses: Vec<f64>,
    /// A figure each.
    pub lines: Vec<TrendLine>,
}

/// A setting as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Dose {
    value: f64,
    kind: Kind,
}

/// Of what a setting is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    PerCent,
    /// In ns.
    Time,
}

fn dose(setting: &str) -> Option<Dose> {
    let number = |text: &str| text::number(text.as_bytes()).filter(|number| number.is_finite());
    let of = |kind| move |value| Dose { value, kind };
    let per_cent = || setting.strip_suffix('%').and_then(number).map(of(Kind::PerCent));
    let time = || text::duration(setting).ok().map(tickmark_wire::Nanos::as_f64).map(of(Kind::Time));
    number(setting).map(of(Kind::Plain)).or_else(per_cent).or_else(time)
}

/// Of sides that are settings of one experiment, all of them numbers, three or more.
pub(super) fn trend_lines(
    read: &[SideRows<'_>],
    basis: &[Basis],
    level: f64,
    sound: &dyn Fn(&str, &str) -> bool,
) -> Option<Doses> {
    let arm = |side: &SideRows<'_>| side.side.recordings.first()?.meta.arm.clone();
    // Each look at an experiment has its part of the level.
    let part = basis.iter().map(Basis::part).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)?;
    let level = level * part;
    // The number of a CPU counts nothing.
    if read.len() < 3 || read.first().and_then(arm).is_none_or(|arm| arm.knob == "cpu") {
        return None;
    }
    let mut sides: Vec<(Dose, String, &SideRows<'_>)> = read
        .iter()
        .map(|side| {
            let setting = arm(side)?.setting;
            Some((dose(&setting)?, setting, side))
        })
        .collect::<Option<_>>()?;
    let ascend = |sides: &[(Dose, String, &SideRows<'_>)]| {
        sides.windows(2).all(|pair| pair[0].0.value < pair[1].0.value)
    };
    if !ascend(&sides) {
        sides.reverse();
    }
    // Numbers that are given in no order may be names, as 6.1, 6.6 and 6.12 are.
    if !ascend(&sides) || sides.windows(2).any(|pair| pair[0].0.kind != pair[1].0.kind) {
        return None;
    }
    let doses: Vec<f64> = sides.iter().map(|(dose, ..)| dose.value).collect();
    let one = |(metric, figure, unit): (String, &'static str, Unit)| {
        let columns: Vec<BTreeMap<u32, f64>> =
            sides.iter().map(|(.., side)| side.column(&metric, figure)).collect();
        let whole = |block: &u32| columns.iter().map(|column| column.get(block).copied()).collect();
        let blocks: Vec<Vec<f64>> = columns.first()?.keys().filter_map(whole).collect();
        let trend = trend(&blocks, &doses, 1.0 - level)?;
        let base = blocks.iter().map(|block| block[0]).sum::<f64>() / blocks.len() as f64;
        let blocks = blocks.len();
        Some(TrendLine { metric, figure, unit, trend, base, blocks, adjusted: 1.0, rises_or_falls: false })
    };
    let names = read.first()?.names().into_iter().filter(|(metric, figure, _)| sound(metric, figure));
    let mut lines: Vec<TrendLine> = names.filter_map(one).collect();
    let adjusted = holm(&lines.iter().map(|line| line.trend.p).collect::<Vec<_>>());
    for (line, adjusted) in lines.iter_mut().zip(adjusted) {
        (line.adjusted, line.rises_or_falls) = (adjusted, adjusted < level);
    }
    let settings = sides.iter().map(|(_, setting, _)| setting.clone()).collect();
    (!lines.is_empty()).then_some(Doses { settings, doses, lines })
}

#[cfg(test)]
mod tests {
    use super::{Kind, dose};

    #[test]
    fn settings_as_numbers() {
        assert_eq!(
            ["100", "0x10", "5%", "50us"].map(|text| dose(text).map(|dose| (dose.value, dose.kind))),
            [(100.0, Kind::Plain), (16.0, Kind::Plain), (5.0, Kind::PerCent), (50_000.0, Kind::Time)]
                .map(Some)
        );
        assert_eq!(["tsc", "nan", "fifo:50", ""].map(dose), [None; 4]);
    }
}
