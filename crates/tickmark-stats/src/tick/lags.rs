//! Which periods are worth a look: lags at which gaps follow one another more often than at the lags around.

use super::comb::Marked;

/// Width of a bin of lags, in ns: somewhat more than the jitter of a timer interrupt.
const BIN: f64 = 8_000.0;
/// Gaps that are looked at, at most: the longest, which a tick's are among; and the time that they are taken from, in ns.
const MOST: usize = 2_000;
const STRETCH: f64 = 1.5e9;
/// Lags that are taken at most, the shortest, and into how many periods one may be divided: while other tasks have their
/// turns, what is seen of the tick lies several periods apart.
const PEAKS: usize = 16;
const PARTS: u32 = 16;
/// The share of a train's neighbours that are seen at least.
const NEIGHBOURS: f64 = 0.3;
/// A lag stands out by this many standard deviations of what chance gives.
const STANDS_OUT: f64 = 5.0;

/// Periods from `shortest` to `longest`, in ns, shortest first.
pub(super) fn periods(gaps: &Marked, shortest: f64, longest: f64) -> Vec<f64> {
    let all = Lags::from_starts(&longest_gaps(gaps), longest);
    // Where tasks take turns, the tick begins their turns: seldom, and hidden among what the loop sees in its own.
    let each = gaps.preempted.iter().zip(&gaps.length).zip(&gaps.start);
    let turns = each.filter(|((preempted, length), _)| **preempted && **length > 0.5 * shortest);
    let begun: Vec<f64> = turns.map(|(_, start)| *start).take(MOST).collect();
    let turns = Lags::from_starts(&begun, longest);
    // Of a train that fills its slots most neighbours are seen, in the time that the loop had the CPU.
    let reach = STRETCH.min(gaps.span);
    let away = gaps.preempted.iter().zip(&gaps.length).filter(|(preempted, _)| **preempted);
    let here = reach * (1.0 - away.map(|(_, length)| length).sum::<f64>() / gaps.span);
    let of_all = all.peaks(|lag| NEIGHBOURS * here / lag).into_iter().map(|lag| all.refined(lag));
    let of_turns = turns.peaks(|_| NEIGHBOURS * begun.len() as f64).into_iter().take(2).flat_map(|lag| {
        let parts = (1..=PARTS).map(move |parts| lag / f64::from(parts));
        parts.map(|period| turns.refined(period))
    });
    let mut periods: Vec<f64> = of_all.chain(of_turns).filter(|period| *period >= shortest).collect();
    periods.sort_unstable_by(f64::total_cmp);
    periods.dedup_by(|a, b| (*a / *b - 1.0).abs() < 2e-5);
    periods
}

/// When the longest gaps of the first stretch began, ascending.
fn longest_gaps(gaps: &Marked) -> Vec<f64> {
    let early = gaps.start.partition_point(|start| *start < STRETCH);
    let each = gaps.length.iter().zip(&gaps.start).zip(&gaps.taken).take(early);
    let mut all: Vec<(f64, f64)> =
        each.filter(|(_, taken)| !**taken).map(|((length, start), _)| (*length, *start)).collect();
    if all.len() > MOST {
        all.select_nth_unstable_by(MOST, |a, b| b.0.total_cmp(&a.0));
        all.truncate(MOST);
        all.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    }
    all.into_iter().map(|(_, start)| start).collect()
}

/// How many pairs of gaps lie how far apart.
struct Lags {
    counts: Vec<f64>,
    /// The sum of the lags in each bin, in ns.
    moments: Vec<f64>,
    /// Sums over all bins before each.
    sums: Vec<f64>,
}

/// A lag and by how much it stands out.
struct Peak {
    lag: f64,
    excess: f64,
}

impl Lags {
    fn from_starts(starts: &[f64], longest: f64) -> Self {
        let bins = (longest / BIN) as usize + 2;
        let (mut counts, mut moments) = (vec![0.0; bins], vec![0.0; bins]);
        for (i, from) in starts.iter().enumerate() {
            for to in &starts[i + 1..] {
                let lag = to - from;
                let bin = (lag / BIN) as usize;
                if bin >= bins {
                    break;
                }
                counts[bin] += 1.0;
                moments[bin] += lag;
            }
        }
        let mut sums = vec![0.0];
        for count in &counts {
            sums.push(sums[sums.len() - 1] + count);
        }
        Self { counts, moments, sums }
    }

    fn sum(&self, from: usize, to: usize) -> f64 {
        let last = self.counts.len();
        self.sums[to.min(last)] - self.sums[from.min(last)]
    }

    /// The lag around this bin, where three bins stand out from the sixty around them.
    fn peak(&self, bin: usize) -> Option<Peak> {
        let (near, far) = (self.sum(bin - 1, bin + 2), self.sum(bin.saturating_sub(30), bin + 31));
        let around = (far - self.sum(bin.saturating_sub(3), bin + 4)) / 54.0;
        let excess = near - 3.0 * around;
        if near < 6.0 || excess < STANDS_OUT * (3.0 * around + 1.0).sqrt() {
            return None;
        }
        // The mean of the lags, without those that chance puts into each bin.
        let moment: f64 = self.moments[bin - 1..=bin + 1].iter().sum();
        let centre = (bin as f64 + 0.5) * BIN;
        Some(Peak { lag: (moment - 3.0 * around * centre) / excess, excess })
    }

    /// The shortest lags that stand out, by so many pairs at least.
    fn peaks(&self, least: impl Fn(f64) -> f64) -> Vec<f64> {
        let highest = |bin: &usize| {
            let own = self.sum(bin - 1, bin + 2);
            (bin.saturating_sub(3)..=bin + 3).all(|other| own >= self.sum(other.saturating_sub(1), other + 2))
        };
        let last = self.counts.len().saturating_sub(2);
        let peaks = (4..last).filter(highest).filter_map(|bin| self.peak(bin));
        peaks.filter(|peak| peak.excess > least(peak.lag)).take(PEAKS).map(|peak| peak.lag).collect()
    }

    /// The same period by the farthest of its multiples that stand out: an error of a lag is shared by as many periods.
    fn refined(&self, mut period: f64) -> f64 {
        let mut multiple = 2.0;
        // Below a few bins a lag is hardly told from none.
        if period < 8.0 * BIN {
            return period;
        }
        while (multiple * period / BIN) as usize + 2 < self.counts.len() {
            let bin = (multiple * period / BIN) as usize;
            let bins = (bin - 2..=bin + 2).filter(|bin| bin + 2 < self.counts.len());
            let found = bins.filter_map(|bin| self.peak(bin)).max_by(|a, b| a.excess.total_cmp(&b.excess));
            let near = |peak: &Peak| (peak.lag - multiple * period).abs() < 4.0 * BIN;
            if let Some(peak) = found.filter(near) {
                period = peak.lag / multiple;
            }
            multiple *= 2.0;
        }
        period
    }
}
