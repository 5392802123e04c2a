//! What an instruction of the kernel costs on a real machine: the times of its paths there beside their counts in the lab. A change that is
//! counted has so a price before it is booted.

use std::collections::BTreeMap;

/// Paths that are needed: a further one lies within the range of five with a chance of two thirds.
const LEAST: usize = 5;
/// The largest price of an instruction over the least, from which on their number says little.
const WIDE: f64 = 4.0;

/// The price of an instruction, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Paths that were both counted and measured.
    pub paths: usize,
    /// On the cheapest of them.
    pub low: f64,
    /// The median over them.
    pub median: f64,
    /// On the dearest.
    pub high: f64,
}

impl Price {
    /// Of paths by name: instructions of each, and ns of each. None where too few are in both.
    #[must_use]
    pub fn new(instructions: &BTreeMap<String, f64>, nanos: &BTreeMap<String, f64>) -> Option<Self> {
        let one = |(name, count): (&String, &f64)| {
            nanos.get(name).map(|nanos| nanos / count).filter(|price| price.is_finite() && *price > 0.0)
        };
        let mut prices: Vec<f64> = instructions.iter().filter_map(one).collect();
        prices.sort_unstable_by(f64::total_cmp);
        let (low, high) = (*prices.first()?, *prices.last()?);
        let median = tickmark_stats::median(prices.iter().copied())?;
        (prices.len() >= LEAST).then_some(Self { paths: prices.len(), low, median, high })
    }

    /// The chance that a further path like these lies in their range: (n - 1) / (n + 1), whatever their distribution (David and Nagaraja,
    /// Order Statistics, 7.3).
    #[must_use]
    pub fn coverage(&self) -> f64 {
        (self.paths as f64 - 1.0) / (self.paths as f64 + 1.0)
    }

    /// True if caches and mispredictions make the price more than the number of instructions does.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.high / self.low > WIDE
    }

    /// What so many instructions more cost: at the least, in the middle, at the most; in ns.
    #[must_use]
    pub fn predict(&self, instructions: f64) -> [f64; 3] {
        let mut all = [self.low, self.median, self.high].map(|price| price * instructions);
        all.sort_unstable_by(f64::total_cmp);
        all
    }
}

/// Prices by kind of path.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Over all paths.
    pub all: Price,
    /// Of kinds with enough paths of their own, by name.
    pub kinds: BTreeMap<String, Price>,
    /// The kind of each path.
    kind_of: BTreeMap<String, String>,
    /// The time of each that was measured, in ns.
    nanos: BTreeMap<String, f64>,
}

/// What a change of a path costs, in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// At the cheapest, the median and the dearest price.
    pub nanos: [f64; 3],
    /// The kind whose prices these are; none where too few of its kind were measured, and those of all paths are.
    pub kind: Option<String>,
}

impl Prices {
    /// Of the instructions of paths, the kind of each, and the times of those that were measured. None where too few are in both.
    #[must_use]
    pub fn new(
        instructions: &BTreeMap<String, f64>,
        kind_of: BTreeMap<String, String>,
        nanos: BTreeMap<String, f64>,
    ) -> Option<Self> {
        let all = Price::new(instructions, &nanos)?;
        let of_kind = |wanted: &String| {
            let own = nanos.iter().filter(|(path, _)| kind_of.get(*path) == Some(wanted));
            let own = own.map(|(path, nanos)| (path.clone(), *nanos)).collect();
            Some((wanted.clone(), Price::new(instructions, &own)?))
        };
        let kinds = kind_of.values().filter_map(of_kind).collect();
        Some(Self { all, kinds, kind_of, nanos })
    }

    /// What so many instructions more of a path cost, by the prices of its kind.
    #[must_use]
    pub fn predict(&self, path: &str, instructions: f64) -> Prediction {
        let own = self.kind_of.get(path).and_then(|kind| self.kinds.get_key_value(kind));
        let (kind, price) = own.map_or((None, &self.all), |(kind, price)| (Some(kind.clone()), price));
        Prediction { nanos: price.predict(instructions), kind }
    }

    /// What two machines, or one at two times, have between them: by the paths whose instructions did not change. None where too few of these
    /// were measured in both.
    #[must_use]
    pub fn compared<'a>(
        &self,
        unchanged: impl IntoIterator<Item = &'a str>,
        after: &BTreeMap<String, f64>,
    ) -> Option<Pace> {
        let ratio = |path: &str| Some(after.get(path)? / self.nanos.get(path)?);
        let is_ratio = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let all: Vec<f64> = unchanged.into_iter().filter_map(ratio).filter(is_ratio).collect();
        let ratio = tickmark_stats::median(all.iter().copied()).filter(|_| all.len() >= LEAST)?;
        let noise = all.iter().fold(0.0, |most: f64, one| most.max((one / ratio - 1.0).abs()));
        Some(Pace { ratio, noise })
    }

    /// What another recording with the new kernel says of a predicted change. None where the path is not in both.
    #[must_use]
    pub fn grade(
        &self,
        path: &str,
        predicted: &Prediction,
        after: &BTreeMap<String, f64>,
        pace: Pace,
    ) -> Option<Grade> {
        let before = *self.nanos.get(path)?;
        let (measured, noise) = (after.get(path)? / pace.ratio - before, pace.noise * before.abs());
        let [least, _, most] = predicted.nanos;
        let holds = |nanos: f64| nanos + noise >= least && nanos - noise <= most;
        // Where no change at all would hold as well, nothing is told.
        let held = if holds(measured) { (!holds(0.0)).then_some(true) } else { Some(false) };
        Some(Grade { measured, noise, held })
    }
}

/// The times of a recording beside those of another, of paths with the same instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The median of their ratios: another machine's pace.
    pub ratio: f64,
    /// By which share a path differs from that, at most.
    pub noise: f64,
}

/// A prediction beside what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// By how many ns the path takes longer, at the pace of the machine whose prices these are.
    pub measured: f64,
    /// By how many it may differ anyway.
    pub noise: f64,
    /// True if that is in the predicted range, to within the noise; none where no change at all would be, too.
    pub held: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(all: &[f64]) -> BTreeMap<String, f64> {
        all.iter().enumerate().map(|(number, value)| (format!("path.{number}"), *value)).collect()
    }

    #[test]
    fn a_price_is_the_range_of_what_paths_cost() {
        let counts = paths(&[100.0, 200.0, 400.0, 100.0, 50.0, 10.0]);
        let mut nanos = paths(&[30.0, 50.0, 80.0, 40.0, 15.0]);
        nanos.insert("another".to_owned(), 1e9);
        let price = Price::new(&counts, &nanos).unwrap();
        assert_eq!((price.paths, price.low, price.median, price.high), (5, 0.2, 0.3, 0.4));
        assert!((price.coverage() - 2.0 / 3.0).abs() < 1e-12 && !price.is_wide());
        assert_eq!(price.predict(100.0), [20.0, 30.0, 40.0]);
        assert_eq!(price.predict(-100.0), [-40.0, -30.0, -20.0]);
        nanos.insert("path.0".to_owned(), 300.0);
        assert!(Price::new(&counts, &nanos).unwrap().is_wide());
        nanos.remove("path.1");
        assert_eq!(Price::new(&counts, &nanos), None, "four are too few");
        assert_eq!(Price::new(&BTreeMap::new(), &nanos), None);
    }

    #[test]
    fn a_kind_with_enough_paths_has_prices_of_its_own_and_is_graded() {
        let nanos = paths(&[30.0, 31.0, 32.0, 33.0, 34.0, 200.0, 300.0]);
        let kind = |path: &String| if path.as_str() < "path.5" { "calls" } else { "switches" };
        let kinds: BTreeMap<_, _> = nanos.keys().map(|path| (path.clone(), kind(path).to_owned())).collect();
        let prices = Prices::new(&paths(&[100.0; 7]), kinds, nanos.clone()).unwrap();
        assert_eq!((prices.all.paths, prices.all.high, prices.kinds.len()), (7, 3.0, 1));
        let call = prices.predict("path.0", 10.0);
        let is_near = |(nanos, wanted): (&f64, f64)| (nanos - wanted).abs() < 1e-9;
        assert!(call.nanos.iter().zip([3.0, 3.2, 3.4]).all(is_near), "{call:?}");
        assert_eq!(call.kind.as_deref(), Some("calls"));
        let switch = prices.predict("path.5", 10.0);
        assert_eq!((switch.nanos[2], switch.kind), (30.0, None));
        // Another machine is twice as fast, but for half a percent.
        let unchanged = ["path.1", "path.2", "path.3", "path.4", "path.5"];
        let mut after: BTreeMap<_, _> =
            nanos.iter().map(|(path, nanos)| (path.clone(), nanos / 2.0)).collect();
        after.insert("path.1".to_owned(), 31.0 * 1.005 / 2.0);
        let pace = prices.compared(unchanged, &after).unwrap();
        assert!((pace.ratio - 0.5).abs() < 1e-12 && (pace.noise - 0.005).abs() < 1e-12, "{pace:?}");
        assert!(prices.compared(["path.1"], &after).is_none());
        let mut grade = |nanos: f64, noise: f64| {
            after.insert("path.0".to_owned(), nanos / 2.0);
            prices.grade("path.0", &call, &after, Pace { noise, ..pace }).unwrap()
        };
        let held = grade(33.5, pace.noise);
        assert!(held.held == Some(true) && (held.measured - 3.5).abs() < 1e-9, "{held:?}");
        assert_eq!(grade(35.0, pace.noise).held, Some(false));
        assert_eq!(grade(30.0, pace.noise).held, Some(false), "no change is none of 3 to 3.4");
        assert_eq!(grade(33.2, 0.12).held, None, "a noise of 3.6 ns holds no change as well");
        assert_eq!(grade(40.0, 0.12).held, Some(false));
        assert_eq!(prices.grade("path.9", &call, &after, pace), None);
    }
}
