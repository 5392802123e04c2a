//! What HZ is to a command.

use super::{Page, ends};
use crate::balance::sentence;
use crate::json_object;
use tickmark_analysis::balance::{Balanced, Level, Prefers};

json_object! {
    /// Cost of a command by HZ. Times in ns, rates in Hz; costs are the inverses of a number that is better higher.
    pub struct Balance(of: &Balanced, name: &str, margin: f64) {
        command: String = name.to_owned(),
        /// True if the cost is a number that the command prints.
        is_number: bool = of.is_number,
        is_inverse: bool = of.is_inverse,
        counts_instructions: bool = of.counted,
        levels: Vec<LevelPage> = of.levels.iter().map(LevelPage::new).collect(),
        /// The part of the cost that no tick changes.
        constant: Option<f64> = of.judged.and_then(|judged| judged.curve).map(|curve| curve.constant),
        /// What a tick more a second costs.
        per_hz: Option<f64> = of.judged.and_then(|judged| judged.curve).map(|curve| curve.per_hz),
        /// What each second more between two ticks costs.
        by_period: Option<f64> = of.judged.and_then(|judged| judged.curve).map(|curve| curve.by_period),
        /// Share by which the levels differ from the curve.
        misfit: Option<f64> = of.judged.map(|judged| judged.misfit),
        /// Share by which the worst level is above the best.
        range: Option<f64> = of.judged.map(|judged| judged.range),
        p: Option<f64> = of.judged.map(|judged| judged.p),
        margin: f64 = margin,
        /// `rate`, `neither` or `unknown`.
        prefers: &'static str = match of.judged.map(|judged| judged.prefers) {
            Some(Prefers::Neither) => "neither",
            Some(Prefers::Rate(..)) => "rate",
            Some(Prefers::Unknown) | None => "unknown",
        },
        best_hz: Option<f64> = best(of).map(|(hz, _)| hz),
        best_hz_interval: Option<[f64; 2]> = best(of).and_then(|(_, interval)| interval),
        /// For a person.
        text: String = sentence(of, margin),
    }

    struct LevelPage(of: &Level) {
        hz: f64 = of.hz,
        /// Mean of the boots; none where there is none.
        cost: Option<f64> = super::finite(of.cost),
        /// Value of each boot: where the number is better higher, its inverse is the cost.
        boots: Vec<f64> = of.values.clone(),
        planned: usize = of.planned,
    }
}

fn best(of: &Balanced) -> Option<(f64, Option<[f64; 2]>)> {
    match of.judged?.prefers {
        Prefers::Rate(hz, interval) => Some((hz, interval.map(ends))),
        Prefers::Neither | Prefers::Unknown => None,
    }
}

impl Page for Balance {
    const NAME: &'static str = "hz";
}
