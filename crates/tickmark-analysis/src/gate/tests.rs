use super::*;

pub(super) fn figure(value: f64, better: Better) -> Figure {
    let unit = Unit::Nanoseconds;
    Figure { value, over: 0, contended: false, partly: false, unit, better }
}

fn recording(costs: f64, rates: f64) -> Figures {
    Figures::from([
        (("cost".to_owned(), "floor".to_owned()), figure(costs, Better::Lower)),
        (("rate".to_owned(), "value".to_owned()), figure(rates, Better::Higher)),
    ])
}

pub(super) fn many(count: usize, shift: usize) -> Vec<Figures> {
    let part = |number: usize| 1.0 + ((number * 7 + shift) % 11) as f64 * 1e-3;
    (0..count).map(|number| recording(100.0 * part(number), 5e4 * part(number + 3))).collect()
}

#[test]
fn a_slowdown_is_found_in_its_direction() {
    let earlier = many(20, 0);
    let same = check(&earlier, &many(1, 5), None);
    assert!(same.can_tell() && same.lines.len() == 2 && !same.lines.iter().any(Line::changed), "{same:?}");
    let slower = check(&earlier, &[recording(110.0, 5.02e4)], None);
    assert!(slower.lines[0].worse() && !slower.lines[1].changed(), "{slower:?}");
    let faster = check(&earlier, &[recording(100.5, 6e4)], None);
    assert!(faster.lines[1].changed() && !faster.lines[1].worse(), "{faster:?}");
    assert!(check(&earlier, &[recording(100.5, 4e4)], None).lines[1].worse());
    // Fewer earlier ones judge by Student's t, and say what they would see; one does not spread.
    let few = check(&earlier[..5], &many(1, 2), None);
    let (least, most) = few.visible().unwrap();
    assert!(few.can_tell() && !few.by_labels() && !few.lines.iter().any(Line::changed), "{few:?}");
    assert!(least > 0.005 && most < 0.1, "{least} to {most}");
    assert!(check(&earlier[..5], &[recording(110.0, 5.02e4)], None).lines[0].worse());
    assert!(!check(&earlier[..1], &many(1, 2), None).can_tell());
}

#[test]
fn what_never_varied_and_moves_to_its_worse_side_is_open() {
    let earlier: Vec<Figures> = (0..8).map(|_| recording(64.0, 5e4)).collect();
    let open = |costs, rates| {
        let checked = check(&earlier, &[recording(costs, rates)], None);
        checked.lines.iter().map(Line::is_open).collect::<Vec<_>>()
    };
    assert_eq!(open(6400.0, 5e4), [true, false]);
    assert_eq!(open(64.0, 4e4), [false, true]);
    assert_eq!(open(32.0, 6e4), [false, false], "better is no question");
    // What has no exact logarithm is the same all the same.
    for value in [5.0, 7.0, 80.0, 160.0, 1024.0, 4096.0] {
        let earlier: Vec<Figures> = (0..8).map(|_| recording(value, value)).collect();
        let checked = check(&earlier, &[recording(value, value)], None);
        assert!(!checked.lines.iter().any(Line::is_open), "{value}: {checked:?}");
    }
    // Earlier ones that vary judge, and enough of them do by their labels.
    assert!(!check(&many(8, 0), &[recording(6400.0, 5e4)], None).lines[0].is_open());
    let enough: Vec<Figures> = (0..20).map(|_| recording(64.0, 5e4)).collect();
    assert!(check(&enough, &[recording(6400.0, 5e4)], None).lines[0].worse());
}

#[test]
fn what_is_not_there_any_more_is_told() {
    let earlier = many(20, 0);
    let key = |name: &str, figure: &str| (name.to_owned(), figure.to_owned());
    let other = Figures::from([(key("new", "floor"), figure(1.0, Better::Lower))]);
    let none = check(&earlier, &[other], None);
    assert!(none.lines.is_empty() && !none.can_tell(), "{none:?}");
    let lacks: Vec<(&str, bool)> =
        none.without.iter().map(|lack| (lack.name.0.as_str(), lack.by_new)).collect();
    assert_eq!(lacks, [("cost", true), ("new", false), ("rate", true)]);
    // A probe that fails now, a size that is another one.
    let mut gone = many(1, 5);
    gone[0].remove(&key("cost", "floor"));
    let judged = check(&earlier, &gone, None);
    assert!(judged.lines.len() == 1 && judged.without[0].by_new, "{judged:?}");
    let sized = |mut all: Vec<Figures>, over: u64| {
        all.iter_mut().flat_map(Figures::values_mut).for_each(|figure| figure.over = over);
        all
    };
    let larger = check(&sized(earlier.clone(), 1 << 20), &sized(many(1, 5), 1 << 30), None);
    assert!(larger.lines.is_empty() && larger.without.len() == 2, "{larger:?}");
    // A 99th percentile that one earlier recording lacks hides nothing; neither does what only few had.
    let mut tails = [earlier, many(1, 5)].concat();
    for figures in &mut tails[1..] {
        figures.insert(key("cost", "p99"), figure(200.0, Better::Lower));
    }
    tails[4].insert(key("odd", "value"), figure(1.0, Better::Lower));
    let judged = check(&tails[..20], &tails[20..], None);
    assert!(judged.lines.len() == 2 && judged.without.is_empty(), "{judged:?}");
}
