//! Who measures with whom in which round: nobody twice in one, and no two twice in all.

use rand::Rng;
use rand::seq::SliceRandom;

/// Rounds among `n` machines: a round-robin tournament by the circle method, of which `count` rounds are drawn; there are `n - 1` at most (`n` where
/// that is odd, as one has a rest in each).
pub(super) fn schedule_rounds(n: usize, count: usize, random: &mut impl Rng) -> Vec<Vec<(usize, usize)>> {
    let even = n + n % 2;
    let Some(circle) = even.checked_sub(1).filter(|_| n > 1) else { return Vec::new() };
    let mut numbers: Vec<usize> = (0..circle).collect();
    numbers.shuffle(random);
    numbers.truncate(count);
    // The last stands in the middle, the others around it: those across from each other meet.
    let pairs = |round: usize| {
        let around =
            (1..even / 2).map(move |step| ((round + step) % circle, (round + circle - step) % circle));
        std::iter::once((circle, round)).chain(around).filter(|(a, b)| *a < n && *b < n).collect()
    };
    numbers.into_iter().map(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn is_apart(round: &[(usize, usize)]) -> bool {
        let all: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
        all.len() == round.len() * 2
    }

    #[test]
    fn everybody_meets_everybody_once() {
        let mut random = rand::rng();
        for n in 0..20 {
            let rounds = schedule_rounds(n, usize::MAX, &mut random);
            assert!(rounds.iter().all(|round| is_apart(round) && round.len() == n / 2), "{n}: {rounds:?}");
            let met: BTreeSet<(usize, usize)> =
                rounds.iter().flatten().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
            assert_eq!(met.len(), n * n.saturating_sub(1) / 2, "{n}: {rounds:?}");
            assert_eq!(rounds.iter().flatten().count(), met.len(), "nobody twice: {n}");
        }
        let some = schedule_rounds(10_000, 5, &mut random);
        assert!(some.len() == 5 && some.iter().all(|round| round.len() == 5_000 && is_apart(round)));
    }
}
