//! Where between two commits a figure changed, by measurements that are noisy: each adds to what is known of every place (as in Burnashev and
//! Zigangirov, An interval estimation problem for controlled observations, 1974).

use crate::two::Difference;

/// Values of either end before they are compared, and how often as many again are measured before nothing is said to have changed.
const FIRST: usize = 5;
/// So many measurements it takes at least: of both ends.
pub const LEAST: usize = 2 * FIRST;
const LOOKS: usize = 4;
/// More measurements tell no more.
const MOST: usize = 400;
/// Values of the commits on both sides of an answer.
const CONFIRMED: usize = 4;
/// Values farther than so many standard deviations of the ends from the nearer end count as that far.
const CLIP: f64 = 3.0;

/// Measurements of commits in their order.
#[derive(Debug, Clone)]
pub struct Bisection {
    /// The figures of each commit.
    values: Vec<Vec<f64>>,
    /// Commits that cannot be measured.
    unusable: Vec<bool>,
    /// The chance of a wrong answer that is accepted.
    error: f64,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Measure this commit.
    Measure(usize),
    /// It changed with one of these commits, of which the last alone can be measured.
    Found(std::ops::RangeInclusive<usize>),
    /// So many measurements tell no more than that it is one of these.
    Within(std::ops::RangeInclusive<usize>),
    /// The ends do not differ.
    NoChange,
}

impl Bisection {
    /// Of so many commits, the first without the change and the last with it. None of fewer than two.
    #[must_use]
    pub fn new(commits: usize, error: f64) -> Option<Self> {
        let values = vec![Vec::new(); commits];
        (commits > 1).then(|| Self { values, unusable: vec![false; commits], error })
    }

    /// Adds a figure of a commit.
    pub fn add(&mut self, commit: usize, value: f64) {
        self.values[commit].push(value);
    }

    /// Says that a commit cannot be measured.
    pub fn leave_out(&mut self, commit: usize) {
        self.unusable[commit] = true;
    }

    /// How many figures there are.
    #[must_use]
    pub fn measured(&self) -> usize {
        self.values.iter().map(Vec::len).sum()
    }

    /// The means of both ends.
    #[must_use]
    pub fn ends(&self) -> [f64; 2] {
        [0, self.values.len() - 1].map(|end| {
            let own = &self.values[end];
            own.iter().sum::<f64>() / own.len() as f64
        })
    }

    /// The next measurement, or the answer.
    #[must_use]
    pub fn step(&self) -> Step {
        let last = self.values.len() - 1;
        let (first, second) = (&self.values[0], &self.values[last]);
        let count = first.len().min(second.len());
        // The ends first, by turns.
        let differ = (0..LOOKS).map(|look| FIRST << look).take_while(|most| *most <= count).any(|most| {
            let difference = Difference::welch(&first[..most], &second[..most]);
            difference.is_some_and(|difference| difference.p() <= self.error / LOOKS as f64)
                || (difference.is_none() && first[0] != second[0])
        });
        if !differ {
            // What never varies needs no more looks.
            let is_constant = count >= FIRST && first.iter().chain(second).all(|value| *value == first[0]);
            let is_over = count >= FIRST << (LOOKS - 1) || is_constant;
            let next = if first.len() <= second.len() { 0 } else { last };
            return if is_over { Step::NoChange } else { Step::Measure(next) };
        }
        let chances = self.chances();
        if let Some(found) = self.answer(&chances) {
            // A single value far off leads astray: both sides of the place are measured again.
            let sides = [found.start() - 1, *found.end()];
            let least = sides.into_iter().min_by_key(|side| self.values[*side].len());
            let few = least.filter(|side| self.values[*side].len() < CONFIRMED && !self.unusable[*side]);
            return few.map_or(Step::Found(found), Step::Measure);
        }
        if self.measured() >= MOST {
            return Step::Within(self.within(&chances));
        }
        // Beside each commit an end: what drifts does so for all.
        if count * 2 < self.measured() - first.len() - second.len() {
            return Step::Measure(if first.len() <= second.len() { 0 } else { last });
        }
        Step::Measure(self.middle(&chances))
    }

    /// The chance of each commit that the change came with it; the first is none. Of each place both sides have a mean and all have one
    /// variance, of which nothing is known beforehand: the marginal likelihood of a normal model with reference priors.
    #[must_use]
    pub fn chances(&self) -> Vec<f64> {
        let values = self.clipped();
        let sums = |commits: &[Vec<f64>]| {
            commits.iter().flatten().fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value))
        };
        let (count, all) = sums(&values);
        let middle = all / count;
        let squares: f64 = values.iter().flatten().map(|value| (value - middle).powi(2)).sum();
        let one = |place: usize| {
            let ((before, old), (after, new)) = (sums(&values[..place]), sums(&values[place..]));
            if before * after == 0.0 {
                return f64::NEG_INFINITY;
            }
            let taken = before * after / count * (new / after - old / before).powi(2);
            let left = (squares - taken).max(squares * 1e-12);
            -(count - 2.0) / 2.0 * left.ln() - 0.5 * (before * after).ln()
        };
        let logarithms: Vec<f64> = (0..values.len()).map(one).collect();
        let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logarithms.iter().map(|own| (own - most).exp()).sum();
        logarithms.iter().map(|own| (own - most).exp() / sum).collect()
    }

    /// The shortest range of commits that has it with all but the accepted chance.
    fn within(&self, chances: &[f64]) -> std::ops::RangeInclusive<usize> {
        let last = chances.len() - 1;
        let until = |from: usize| {
            let mut sum = 0.0;
            (from..=last).find(|at| {
                sum += chances[*at];
                sum >= 1.0 - self.error
            })
        };
        let all = (1..=last).filter_map(|from| Some(from..=until(from)?));
        all.min_by_key(|range| range.end() - range.start()).unwrap_or(1..=last)
    }

    /// True if commits on one side of a place differ from its end, in all but 1 of 100 cases where one commit alone changed it.
    #[must_use]
    pub fn has_more(&self, place: usize) -> bool {
        let last = self.values.len() - 1;
        let inner = |commits: &[Vec<f64>]| commits.concat();
        let differs = |end: &[f64], others: Vec<f64>| {
            others.len() > 1
                && match Difference::welch(end, &others) {
                    Some(difference) => difference.p() < 0.005,
                    None => others.iter().any(|value| *value != end[0]),
                }
        };
        differs(&self.values[0], inner(&self.values[1..place]))
            || differs(&self.values[last], inner(&self.values[place..last]))
    }

    /// The values with those far off drawn in, in units of the difference of the ends.
    fn clipped(&self) -> Vec<Vec<f64>> {
        let last = self.values.len() - 1;
        let ends = self.ends();
        let deviation = Difference::welch(&self.values[0], &self.values[last]);
        let spread = deviation.map_or(0.0, |of| of.error / (2.0 / self.values[0].len() as f64).sqrt());
        let (low, high) = (ends[0].min(ends[1]) - CLIP * spread, ends[0].max(ends[1]) + CLIP * spread);
        let unit = (high - low).max(f64::MIN_POSITIVE);
        let draw =
            |values: &Vec<f64>| values.iter().map(|value| (value.clamp(low, high) - low) / unit).collect();
        self.values.iter().map(draw).collect()
    }

    /// The commits between which nothing can be measured, where one of them has it with nearly all of the chance.
    fn answer(&self, chances: &[f64]) -> Option<std::ops::RangeInclusive<usize>> {
        let mut from = 1;
        for at in 1..chances.len() {
            if self.unusable[at] && at + 1 < chances.len() {
                continue;
            }
            // Half of the error is for what the model does not know.
            if chances[from..=at].iter().sum::<f64>() >= 1.0 - self.error / 2.0 {
                return Some(from..=at);
            }
            from = at + 1;
        }
        None
    }

    /// The commit before which the change lies with about half of the chance; the nearest one that can be measured and is no end.
    fn middle(&self, chances: &[f64]) -> usize {
        let last = chances.len() - 1;
        let mut sum = 0.0;
        let mut before = |at: &usize| {
            sum += chances[*at];
            (*at, (sum - 0.5_f64).abs())
        };
        let all: Vec<(usize, f64)> = (1..last).map(|at| before(&at)).collect();
        let usable = all.iter().filter(|(at, _)| !self.unusable[*at]);
        usable.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(last, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn run(
        commits: usize,
        at: usize,
        step: f64,
        seed: u64,
        noise: fn(f64) -> f64,
        broken: &[usize],
    ) -> (Step, usize) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut bisection = Bisection::new(commits, 0.05).unwrap();
        loop {
            match bisection.step() {
                Step::Within(_) => return (bisection.step(), bisection.measured()),
                Step::Measure(commit) if broken.contains(&commit) => bisection.leave_out(commit),
                Step::Measure(commit) => {
                    let level = if commit >= at { 100.0 + step } else { 100.0 };
                    bisection.add(commit, level + noise(random.random_range(1e-9..1.0 - 1e-9)));
                }
                done => return (done, bisection.measured()),
            }
        }
    }

    fn skewed(p: f64) -> f64 {
        -p.ln() - 1.0
    }

    /// The commit is right in 95 of 100, whatever the noise; the more it is in the noise, the more is measured.
    #[test]
    fn the_commit_is_found_with_the_stated_error() {
        let normal: fn(f64) -> f64 = crate::student::normal_point;
        for (name, noise, step, most) in [
            ("normal", normal, 4.0, 40),
            ("normal", normal, 1.5, 120),
            ("normal", normal, 0.8, 250),
            ("exponential", skewed, 1.5, 160),
        ] {
            let (mut right, mut wrong, mut measured) = (0, 0, 0);
            for seed in 0..200u64 {
                let at = 1 + (seed as usize * 7) % 63;
                let (found, count) = run(64, at, step, seed, noise, &[]);
                right += usize::from(found == Step::Found(at..=at));
                wrong += usize::from(matches!(found, Step::Found(_)) && found != Step::Found(at..=at));
                measured += count;
            }
            println!(
                "{name}, a step of {step}: {right} of 200 right, {wrong} wrong, {} measured each",
                measured / 200
            );
            assert!(
                wrong <= 18 && (step < 1.0 || right >= 180) && measured / 200 <= most,
                "{name}, {step}: {right}, {}",
                measured / 200
            );
        }
    }

    #[test]
    fn ends_that_do_not_differ_are_no_change_and_what_does_not_build_is_in_the_answer() {
        let none = (0..200)
            .filter(|seed| run(16, 99, 0.0, *seed, crate::student::normal_point, &[]).0 == Step::NoChange);
        assert!(none.count() >= 185);
        let (found, _) = run(16, 8, 5.0, 1, crate::student::normal_point, &[7, 8, 9]);
        assert_eq!(found, Step::Found(7..=10));
        // Without noise two more are enough for each half.
        let (found, count) = run(1024, 700, 1.0, 1, |_| 0.0, &[]);
        assert!(found == Step::Found(700..=700) && count <= 60, "{found:?} {count}");
        assert!(Bisection::new(1, 0.05).is_none());
        // Two commits that changed it: it ends, and says so.
        let mut two = Bisection::new(10, 0.05).unwrap();
        let place = loop {
            match two.step() {
                Step::Measure(commit) => two.add(
                    commit,
                    if commit >= 7 {
                        102.0
                    } else if commit >= 3 {
                        101.0
                    } else {
                        100.0
                    },
                ),
                Step::Found(place) | Step::Within(place) => break *place.end(),
                Step::NoChange => panic!("{two:?}"),
            }
        };
        assert!(two.has_more(place), "{place}");
    }
}
