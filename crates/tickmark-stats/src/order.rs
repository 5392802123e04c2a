//! Lists in the order of a number.
//!
//! The order is found of the numbers alone: sorting the lists themselves is compiled anew for each type, 4 KB each.

/// Sorts by a number, the largest first; equal ones stay as they stood.
pub fn largest_first<T>(list: &mut [T], number: impl Fn(&T) -> f64) {
    // A minus turns the whole order of `total_cmp` round.
    smallest_first(list, |one| -number(one));
}

/// Sorts by a number, the smallest first; equal ones stay as they stood.
pub fn smallest_first<T>(list: &mut [T], number: impl Fn(&T) -> f64) {
    let numbers: Vec<f64> = list.iter().map(number).collect();
    for (one, other) in swaps(&numbers) {
        list.swap(one, other);
    }
}

/// Pairs of places that, exchanged one after another, bring the values in rising order.
fn swaps(values: &[f64]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut pairs = Vec::new();
    for start in 0..order.len() {
        // Round each cycle, every place gets what belongs there; the last one has it then.
        let mut place = start;
        while order[place] != start {
            let from = std::mem::replace(&mut order[place], place);
            pairs.push((place, from));
            place = from;
        }
        order[place] = place;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_stay_as_they_stood_in_both_orders() {
        let list = || vec![("a", 1.0), ("b", 3.0), ("c", 1.0), ("d", -0.5), ("e", 3.0), ("f", f64::INFINITY)];
        let names = |list: &[(&str, f64)]| list.iter().map(|(name, _)| *name).collect::<String>();
        let (mut large, mut small) = (list(), list());
        largest_first(&mut large, |one| one.1);
        smallest_first(&mut small, |one| one.1);
        assert_eq!((names(&large), names(&small)), ("fbeacd".to_owned(), "dacbef".to_owned()));
        let mut by_hand = list();
        by_hand.sort_by(|a, b| b.1.total_cmp(&a.1));
        assert_eq!(large, by_hand);
        largest_first(&mut [0.0; 0], |one| *one);
        let special = [0.0, f64::NAN, -0.0, 1.0, -f64::NAN, f64::NEG_INFINITY, 0.0];
        let (mut ours, mut by_hand) = (special, special);
        largest_first(&mut ours, |one| *one);
        by_hand.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(ours.map(f64::to_bits), by_hand.map(f64::to_bits));
        for seed in 0_u64..40 {
            let mut mixed: Vec<f64> = (0..seed).map(|at| ((at * 7 + seed) % 11) as f64).collect();
            let mut sorted = mixed.clone();
            sorted.sort_by(f64::total_cmp);
            smallest_first(&mut mixed, |one| *one);
            assert_eq!(mixed, sorted);
        }
    }
}
