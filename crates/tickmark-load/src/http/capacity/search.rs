//! Up and down in the logarithm of a rate.

/// After so many turns the steps are small, and rates count.
const TURNS: u32 = 4;
/// That many have to.
const COUNTS: usize = 6;
/// The first step doubles or halves; none is smaller than 3 %.
const FIRST: f64 = std::f64::consts::LN_2;
const SMALLEST: f64 = 0.03;
/// No rate is above this.
const MOST: f64 = 10e6;

pub(super) struct Search {
    /// Logarithms of the rate that is next, and of the lowest.
    next: f64,
    least: f64,
    step: f64,
    last: Option<bool>,
    turns: u32,
    slices: u32,
    counts: Vec<f64>,
    kept: Option<f64>,
    broke: Option<f64>,
}

/// The capacity found: requests a second.
#[derive(Debug)]
pub(super) struct CapacityFound {
    pub(super) rate: f64,
    /// The highest that kept the limit, the lowest that did not.
    pub(super) kept: f64,
    pub(super) broke: f64,
}

impl Search {
    pub(super) fn new(first: f64, least: f64) -> Self {
        let next = first.max(least).ln();
        let (last, kept, broke) = (None, None, None);
        Self {
            next,
            least: least.ln(),
            step: FIRST,
            last,
            turns: 0,
            slices: 0,
            counts: Vec::new(),
            kept,
            broke,
        }
    }

    /// To be tried next.
    pub(super) fn rate(&self) -> f64 {
        self.next.exp()
    }

    /// Slices so far.
    pub(super) fn slices(&self) -> u32 {
        self.slices
    }

    /// True if that kept the limit.
    pub(super) fn take(&mut self, kept: bool) {
        let rate = self.rate();
        if kept {
            self.kept = Some(self.kept.map_or(rate, |most| most.max(rate)));
        } else {
            self.broke = Some(self.broke.map_or(rate, |least| least.min(rate)));
        }
        self.slices += 1;
        if self.last.is_some_and(|last| last != kept) {
            self.turns += 1;
            self.step = (self.step / 2.0).max(SMALLEST);
        }
        self.last = Some(kept);
        if self.turns >= TURNS {
            self.counts.push(self.next);
        }
        self.next = (self.next + if kept { self.step } else { -self.step }).clamp(self.least, MOST.ln());
    }

    /// The mean of the rates that count.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn found(&self) -> Result<CapacityFound, String> {
        let found = |(kept, broke): (f64, f64)| {
            let mean = self.counts.iter().sum::<f64>() / self.counts.len() as f64;
            CapacityFound { rate: mean.exp(), kept, broke }
        };
        match (self.kept, self.broke) {
            (None, None) => Err("no slice was measured".to_owned()),
            (None, Some(least)) if least <= self.least.exp() => Err(format!(
                "even {least:.0} requests a second broke the limit, and slices of this length cannot tell of fewer: give a longer --duration"
            )),
            (None, Some(least)) => Err(format!("even {least:.0} requests a second broke the limit")),
            (Some(most), None) => {
                Err(format!("{most:.0} requests a second kept the limit, and more were not tried"))
            }
            (Some(_), Some(_)) if self.counts.len() < COUNTS => {
                Err(format!("{} slices were too few to find it: give a longer --duration", self.slices))
            }
            (Some(kept), Some(broke)) => Ok(found((kept, broke))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_probe::random;

    /// A limit that is kept with a probability of one half at 10,000 a second, with a width.
    fn searched(first: f64, width: f64, seed: u64) -> f64 {
        let (mut search, mut state) = (Search::new(first, 10.0), seed);
        for _ in 0..30 {
            let uniform = (random::next(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
            let kept = uniform < 1.0 / (1.0 + ((search.rate() / 10_000.0).ln() / width).exp());
            search.take(kept);
        }
        search.found().unwrap().rate
    }

    #[test]
    fn it_ends_where_half_of_the_slices_keep_the_limit() {
        for first in [2_000.0, 9_000.0, 40_000.0] {
            for width in [0.001, 0.05, 0.15] {
                let mut all: Vec<f64> = (1..200).map(|seed| searched(first, width, seed * 77)).collect();
                all.sort_unstable_by(f64::total_cmp);
                let middle = all[all.len() / 2];
                assert!((middle / 10_000.0 - 1.0).abs() < 0.04, "{first} {width}: {middle}");
            }
        }
    }

    #[test]
    fn what_was_not_found_is_said() {
        let mut never = Search::new(1_000.0, 10.0);
        (0..30).for_each(|_| never.take(false));
        let why = never.found().unwrap_err();
        assert!(
            why.starts_with("even 10 requests a second") && why.ends_with("give a longer --duration"),
            "{why}"
        );
        let mut always = Search::new(1_000.0, 10.0);
        (0..10).for_each(|_| always.take(true));
        assert!(always.found().unwrap_err().contains("more were not tried"));
        let mut short = Search::new(1_000.0, 10.0);
        (0..6).for_each(|at| short.take(at % 2 == 0));
        assert!(short.found().unwrap_err().contains("longer --duration"));
    }
}
