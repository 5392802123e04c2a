//! All values of both sides on one line: x the baseline, o the candidate, * both in one place.

/// Columns.
pub(crate) const WIDTH: usize = 21;

/// Where each value lies, as columns of the strip: of the first side, and of the other.
pub(crate) fn places(sides: &[Vec<f64>; 2]) -> [Vec<usize>; 2] {
    let all = || sides.iter().flatten().copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let place = |value: &f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        (share * (WIDTH - 1) as f64).round() as usize
    };
    sides.each_ref().map(|values| {
        let mut places: Vec<usize> = values.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        places
    })
}

/// The strip as text.
pub(super) fn text(places: &[Vec<usize>; 2]) -> String {
    let cell = |column: usize| match (places[0].contains(&column), places[1].contains(&column)) {
        (true, true) => '*',
        (true, false) => 'x',
        (false, true) => 'o',
        (false, false) => '.',
    };
    if places.iter().all(Vec::is_empty) { String::new() } else { (0..WIDTH).map(cell).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_place() {
        let strip = |a: &[f64], b: &[f64]| text(&places(&[a.to_vec(), b.to_vec()]));
        assert_eq!(strip(&[1.0, 2.0], &[2.0, 3.0]), "x.........*.........o");
        assert_eq!(strip(&[5.0], &[5.0]), "..........*..........");
        assert_eq!(strip(&[], &[]), "");
    }
}
