//! Which earlier recordings are of the level that figures have today.

use super::{Figures, LEVEL, Name};
use tickmark_stats::change::{self, Kind};

/// Earlier recordings that are of another level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderLevel {
    /// How many of the newest are of the level of today.
    pub kept: usize,
    /// The figure whose level is another one.
    pub name: Name,
}

/// The last place at which a figure changed its level or ended a slope, over earlier recordings with the newest first. All figures together show one
/// where there is none with a chance of the level; of figures that not all have nothing is looked for.
#[must_use]
pub fn of_an_older_level(earlier: &[Figures]) -> Option<OlderLevel> {
    let names =
        earlier.first()?.keys().filter(|name| earlier.iter().all(|figures| figures.contains_key(*name)));
    let names: Vec<&Name> = names.collect();
    let level = LEVEL / names.len().max(1) as f64;
    let newest = |name: &&Name| {
        let values: Vec<f64> = earlier.iter().rev().map(|figures| figures[*name].value.ln()).collect();
        let changes = change::find(&values, level).changes;
        let last = changes.iter().rfind(|change| matches!(change.kind, Kind::Level | Kind::Drift { .. }))?;
        Some(OlderLevel { kept: earlier.len() - last.end(), name: (*name).clone() })
    };
    // A slope that goes on has no level yet.
    names.iter().filter_map(newest).filter(|found| found.kept >= change::LEAST).min_by_key(|found| found.kept)
}

#[cfg(test)]
mod tests {
    use super::super::tests::many;
    use super::*;

    #[test]
    fn what_was_another_level_is_no_measure() {
        assert_eq!(of_an_older_level(&many(30, 0)), None);
        let mut all = many(30, 0);
        for figures in &mut all[12..] {
            figures.iter_mut().for_each(|(_, figure)| figure.value *= 0.9);
        }
        let found = of_an_older_level(&all).unwrap();
        assert_eq!((found.kept, found.name.1.as_str()), (12, "floor"));
    }
}
