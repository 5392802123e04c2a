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
}
