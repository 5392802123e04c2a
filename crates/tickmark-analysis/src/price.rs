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
        prices.sort_by(f64::total_cmp);
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
        all.sort_by(f64::total_cmp);
        all
    }
}

/// Times of a real machine's paths, in ns, each with the kind of path that it is.
pub type TimedPaths = BTreeMap<String, (String, f64)>;

/// Prices by kind of path.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Over all paths.
    pub all: Price,
    /// Of kinds with enough paths of their own, by name.
    pub kinds: BTreeMap<String, Price>,
    /// The kind of each path, and the time that it takes.
    timed: TimedPaths,
}

/// What a change of a path costs, in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// At the cheapest, the median and the dearest price.
    pub nanos: [f64; 3],
    /// The kind whose prices these are; none where those of all paths are.
    pub kind: Option<String>,
}

impl Prices {
    /// Of the instructions of paths, and the times of those that were measured. None where too few are in both.
    #[must_use]
    pub fn new(instructions: &BTreeMap<String, f64>, timed: TimedPaths) -> Option<Self> {
        let of = |wanted: Option<&String>| {
            let own = timed.iter().filter(|(_, (kind, _))| wanted.is_none_or(|wanted| kind == wanted));
            let nanos = own.map(|(name, (_, nanos))| (name.clone(), *nanos)).collect();
            Price::new(instructions, &nanos)
        };
        let all = of(None)?;
        let kinds = timed.values().filter_map(|(kind, _)| Some((kind.clone(), of(Some(kind))?))).collect();
        Some(Self { all, kinds, timed })
    }

    /// What so many instructions more of a path cost, by the prices of its kind.
    #[must_use]
    pub fn predict(&self, path: &str, instructions: f64) -> Prediction {
        let own = self.timed.get(path).and_then(|(kind, _)| self.kinds.get_key_value(kind));
        let (kind, price) = own.map_or((None, &self.all), |(kind, price)| (Some(kind.clone()), price));
        Prediction { nanos: price.predict(instructions), kind }
    }

    /// What another recording, with the new kernel or of another machine with it, says of a predicted change: by how many ns the path's
    /// time differs, and whether that is in the range, to within the noise. None where the path is not in both.
    #[must_use]
    pub fn grade(&self, path: &str, predicted: &Prediction, after: &TimedPaths, noise: f64) -> Option<Grade> {
        let (before, after) = (self.timed.get(path)?.1, after.get(path)?.1);
        let measured = after - before;
        let [least, _, most] = predicted.nanos;
        let by = noise * before;
        Some(Grade { measured, noise: by, held: measured + by >= least && measured - by <= most })
    }

    /// The share by which the times of paths differ whose instructions do not, at most; none where there are too few such paths.
    #[must_use]
    pub fn noise<'a>(&self, unchanged: impl IntoIterator<Item = &'a str>, after: &TimedPaths) -> Option<f64> {
        let share = |path: &str| Some((after.get(path)?.1 / self.timed.get(path)?.1 - 1.0).abs());
        let all: Vec<f64> = unchanged.into_iter().filter_map(share).collect();
        (all.len() >= LEAST).then(|| all.into_iter().fold(0.0, f64::max))
    }
}

/// A prediction beside what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// By how many ns the path takes longer.
    pub measured: f64,
    /// By how many it differs anyway.
    pub noise: f64,
    /// True if that is in the predicted range, to within the noise.
    pub held: bool,
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

    fn timed(kinds: &[(&str, f64)]) -> TimedPaths {
        let one = |(number, (kind, nanos)): (usize, &(&str, f64))| {
            (format!("path.{number}"), ((*kind).to_owned(), *nanos))
        };
        kinds.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_kind_with_enough_paths_has_prices_of_its_own_and_is_graded() {
        let calls = [30.0, 31.0, 32.0, 33.0, 34.0].map(|nanos| ("calls", nanos));
        let times: Vec<_> = calls.into_iter().chain([("switches", 200.0), ("switches", 300.0)]).collect();
        let prices = Prices::new(&paths(&[100.0; 7]), timed(&times)).unwrap();
        assert_eq!((prices.all.paths, prices.all.high, prices.kinds.len()), (7, 3.0, 1));
        let call = prices.predict("path.0", 10.0);
        let is_near = |(nanos, wanted): (&f64, f64)| (nanos - wanted).abs() < 1e-9;
        assert!(call.nanos.iter().zip([3.0, 3.2, 3.4]).all(is_near), "{call:?}");
        assert_eq!(call.kind.as_deref(), Some("calls"));
        let switch = prices.predict("path.5", 10.0);
        assert_eq!((switch.nanos[2], switch.kind), (30.0, None));
        // One call takes longer, the others a percent more or less.
        let moved: Vec<_> = times.iter().map(|(kind, nanos)| (*kind, nanos * 1.01)).collect();
        let mut after = timed(&moved);
        let unchanged = ["path.1", "path.2", "path.3", "path.4", "path.5"];
        let noise = prices.noise(unchanged, &after).unwrap();
        assert!((noise - 0.01).abs() < 1e-12 && prices.noise(["path.1"], &after).is_none());
        after.insert("path.0".to_owned(), ("calls".to_owned(), 33.5));
        let grade = prices.grade("path.0", &call, &after, noise).unwrap();
        assert!(grade.held && (grade.measured - 3.5).abs() < 1e-12, "{grade:?}");
        after.insert("path.0".to_owned(), ("calls".to_owned(), 35.0));
        assert!(!prices.grade("path.0", &call, &after, noise).unwrap().held);
        assert_eq!(prices.grade("path.9", &call, &after, noise), None);
    }
}
