//! Who measures with whom in which round: nobody twice in one, and no two twice in all.

use rand::Rng;
use rand::seq::SliceRandom;

/// Rounds among `n` machines: a round-robin tournament by the circle method, of which `count` rounds are drawn; there are `n - 1` at most (`n` where
/// that is odd, as one has a rest in each).
pub(super) fn of(n: usize, count: usize, random: &mut impl Rng) -> Vec<Vec<(usize, usize)>> {
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

/// These pairs in as few rounds as come by taking each into the first that has room for both.
pub(super) fn apart(pairs: &[(usize, usize)]) -> Vec<Vec<(usize, usize)>> {
    let mut rounds: Vec<Vec<(usize, usize)>> = Vec::new();
    for (a, b) in pairs {
        let has = |round: &&mut Vec<(usize, usize)>| {
            !round.iter().any(|(c, d)| [a, b].iter().any(|one| *one == c || *one == d))
        };
        match rounds.iter_mut().find(has) {
            Some(round) => round.push((*a, *b)),
            None => rounds.push(vec![(*a, *b)]),
        }
    }
    rounds
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
            let rounds = of(n, usize::MAX, &mut random);
            assert!(rounds.iter().all(|round| is_apart(round) && round.len() == n / 2), "{n}: {rounds:?}");
            let met: BTreeSet<(usize, usize)> =
                rounds.iter().flatten().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
            assert_eq!(met.len(), n * n.saturating_sub(1) / 2, "{n}: {rounds:?}");
            assert_eq!(rounds.iter().flatten().count(), met.len(), "nobody twice: {n}");
        }
        let some = of(10_000, 5, &mut random);
        assert!(some.len() == 5 && some.iter().all(|round| round.len() == 5_000 && is_apart(round)));
    }

    #[test]
    fn pairs_that_share_a_machine_are_in_other_rounds() {
        let rounds = apart(&[(0, 1), (1, 2), (3, 4), (0, 2)]);
        assert!(
            rounds.iter().all(|round| is_apart(round)) && rounds.iter().flatten().count() == 4,
            "{rounds:?}"
        );
        assert_eq!(rounds[0], [(0, 1), (3, 4)]);
    }
}
