use super::*;
use crate::permutation::Labels;

fn apart<'a>(a: &'a [f64], b: &'a [f64]) -> Sides<'a> {
    Sides::apart(a, b)
}

fn paired<'a>(a: &'a [f64], b: &'a [f64]) -> Sides<'a> {
    Sides::paired(a, b)
}

fn in_steps<'a>(a: &'a [f64], b: &'a [f64], step: f64) -> Sides<'a> {
    Sides::Paired { values: [a, b], blocks: None, step }
}

fn compare_one(sides: Sides<'_>, margin: f64) -> Comparison {
    compare_all(&[sides], Rule { margin, ..Rule::default() })[0].unwrap()
}

fn verdict(sides: Sides<'_>, margin: f64) -> Verdict {
    compare_one(sides, margin).verdict
}

const NULL: (&[f64], &[f64]) = (&[6.19, 6.20, 6.20, 6.20, 6.20], &[5.83, 5.82, 5.83, 5.83, 5.81]);
/// The headline of the 1000 Hz page: "nearly 20 % faster".
const TWO: (&[f64], &[f64]) = (&[34.8, 23.2, 30.1, 25.9, 32.6], &[23.4, 25.0, 23.2, 24.8, 23.3]);
const UP: (&[f64], &[f64]) = (
    &[14067.0, 14098.0, 14104.0, 14107.0, 14116.0, 14116.0, 14135.0, 14136.0, 14155.0, 14178.0],
    &[14141.0, 14149.0, 14153.0, 14159.0, 14169.0, 14170.0, 14179.0, 14185.0, 14197.0, 14257.0],
);

#[test]
fn the_documents_get_the_verdicts_that_they_deserve() {
    assert_eq!(verdict(apart(NULL.0, NULL.1), 0.01), Verdict::Beyond);
    let two = verdict(apart(TWO.0, TWO.1), 0.01);
    assert!(matches!(two, Verdict::Undecided { needed: Some(runs) } if runs > 5), "{two:?}");
    assert_eq!(verdict(apart(UP.0, UP.1), 0.01), Verdict::BelowMargin, "real, but below one per cent");
}

#[test]
fn a_difference_that_is_always_the_same_is_a_change() {
    let base: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 7)).collect();
    let more: Vec<f64> = base.iter().map(|a| a * 1.05).collect();
    assert_eq!(verdict(paired(&base, &more), 0.01), Verdict::Beyond);
    let flat = compare_one(paired(&[100.0; 20], &[105.0; 20]), 0.01);
    assert_eq!(flat.verdict, Verdict::Beyond);
    assert_eq!(flat.interval, Some(Interval { low: 1.05, high: 1.05 }));
    let (nines, others) = ([100.0; 9], [120.0; 9]);
    let apart = compare_one(apart(&nines, &others), 0.01);
    assert_eq!(apart.verdict, Verdict::Beyond);
    assert!((apart.p.unwrap() - 2.0 / 48_620.0).abs() < 1e-4, "{apart:?}");
    // Five blocks cannot tell it from chance: 1 in 16.
    assert_eq!(verdict(paired(&[100.0; 5], &[105.0; 5]), 0.01), Verdict::Undecided { needed: Some(6) });
}

#[test]
fn a_spike_hides_no_shift() {
    let base: Vec<f64> = (0..20).map(|i| 100.0 + 0.1 * f64::from(i % 3)).collect();
    let mut more: Vec<f64> = base.iter().enumerate().map(|(i, a)| a * 1.05 + 0.1 * (i % 4) as f64).collect();
    more[7] = 400.0;
    let c = compare_one(paired(&base, &more), 0.01);
    assert!(c.by_middle && c.verdict == Verdict::Beyond, "{c:?}");
    let (ratio, interval) = c.change();
    assert!(ratio.is_some_and(|r| (1.05..1.053).contains(&r)), "{c:?}");
    assert!(interval.is_some_and(|i| i.low > 1.049 && i.high < 1.054), "{c:?}");
    let (half, other) = (&base[..10], &more[..10]);
    let c = compare_one(apart(half, other), 0.01);
    assert!(c.by_middle && c.verdict.is_change(), "{c:?}");
}

#[test]
fn what_is_coarser_than_the_margin_is_not_equivalent() {
    // 101 and 104, printed in tens; once 106.
    let mut a = [100.0; 10];
    a[4] = 110.0;
    assert!(matches!(verdict(in_steps(&a, &a, 10.0), 0.01), Verdict::Undecided { .. }));
    let mut b = [100.0; 10];
    b[4] = 100.5;
    assert_eq!(verdict(in_steps(&b, &b, 0.5), 0.01), Verdict::Equivalent);
    let c = compare_one(in_steps(&a, &[110.0; 10], 10.0), 0.01);
    assert!(!c.verdict.is_change(), "104.9 and 105.1 would be printed so: {c:?}");
    assert_eq!(verdict(in_steps(&a, &[130.0; 10], 10.0), 0.01), Verdict::Beyond);
    // Where values vary by more than a step, rounding evens out.
    let varied: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i * 7 % 20)).collect();
    let c = compare_one(in_steps(&varied, &varied, 1.0), 0.01);
    assert_eq!(c.verdict, Verdict::Equivalent, "{c:?}");
}

#[test]
fn many_metrics_ask_for_more_and_none_is_claimed_of_nothing() {
    let same: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i) * 0.01).collect();
    let other: Vec<f64> = same.iter().rev().map(|v| v + 0.002).collect();
    assert_eq!(verdict(apart(&same, &other), 0.01), Verdict::Equivalent);
    // A chance of 2 % is a claim alone and none among fifty that share nothing.
    let (a, b) = ([10.0, 10.2, 9.8, 10.1, 9.9], [10.4, 10.5, 10.2, 10.3, 10.1]);
    let alone = compare_one(apart(&a, &b), 0.01);
    assert!(alone.p.is_some_and(|p| p < LEVEL && p > LEVEL / 50.0), "{alone:?}");
    assert!(alone.verdict.is_change());
    let among: Vec<_> = (0..50).map(|_| apart(&a, &b)).collect();
    assert!(matches!(compare_all(&among, Rule::default())[7].unwrap().verdict, Verdict::Undecided { .. }));
    // The same figure fifty times is one figure, where all are relabelled together.
    let family = Family::once(among);
    assert!(compare(&[family], Rule::default())[0][7].unwrap().verdict.is_change());
}

#[test]
fn what_does_not_vary_says_little() {
    assert_eq!(verdict(apart(&[5.0, 5.0], &[5.0, 5.0]), 0.01), Verdict::Equivalent);
    assert_eq!(verdict(apart(&[5.0, 5.0], &[6.0, 6.0]), 0.01), Verdict::Undecided { needed: Some(4) });
    assert_eq!(verdict(apart(&[5.0], &[6.0]), 0.01), Verdict::Undecided { needed: None });
    assert!(compare_all(&[apart(&[], &[1.0])], Rule::default())[0].is_none());
}

#[test]
fn there_is_no_ratio_to_nothing() {
    let to_zero = compare_one(apart(&[-1.0, 0.0, 1.0], &[9.0, 10.0, 11.0]), 0.01);
    assert_eq!((to_zero.ratio, to_zero.interval, to_zero.verdict), (None, None, Verdict::Changed));
    let below = compare_one(apart(&[-5.0, -4.0, -6.0], &[-5.1, -4.2, -6.0]), 0.01);
    assert!(below.ratio.is_none() && matches!(below.verdict, Verdict::Undecided { .. }), "{below:?}");
}

#[test]
fn pairs_take_out_what_they_share() {
    // Blocks that differ by 20 % and a change of 2 % in each: seen in pairs, not seen apart.
    let blocks = [100.0, 120.0, 95.0, 110.0, 105.0, 90.0];
    let other: Vec<f64> =
        blocks.iter().enumerate().map(|(i, v)| v * (1.02 + 0.0005 * (i % 3) as f64)).collect();
    let observed = [verdict(apart(&blocks, &other), 0.01), verdict(paired(&blocks, &other), 0.01)];
    assert!(matches!(observed, [Verdict::Undecided { needed: Some(_) }, Verdict::Beyond]), "{observed:?}");
}

#[test]
fn the_spread_of_earlier_replicates_judges_one_a_side() {
    let known = |other: f64| Sides::Known { means: [100.0, other], counts: [1, 1], deviation: 0.01, df: 9.0 };
    let verdict = |other| verdict(known(other), 0.05);
    // t(9) at 97.5 % is 2.262: 3.2 % of two replicates.
    assert!(matches!(verdict(103.0), Verdict::Undecided { .. } | Verdict::Equivalent));
    assert_eq!((verdict(104.0), verdict(100.5)), (Verdict::Changed, Verdict::Equivalent));
    assert_eq!(verdict(115.0), Verdict::Beyond);
}

#[test]
fn looking_again_costs_and_what_was_claimed_stays() {
    let base: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i * 3 % 5)).collect();
    let noise = |i: usize| [0.3, -0.4, 0.1, -0.2, 0.5, -0.1, 0.2, -0.3, 0.4, -0.5][i % 10];
    let more: Vec<f64> = base.iter().enumerate().map(|(i, a)| a + 0.22 + noise(i)).collect();
    let judged = |other: &[f64], looks: Option<&[usize]>, early| {
        let looks = looks.map_or(Looks::Once, |before| Looks::Added { before, early });
        let family = Family { looks, ..Family::once(vec![paired(&base, other)]) };
        compare(&[family], Rule::default())[0][0].unwrap()
    };
    let of = |looks: Option<&[usize]>, early| judged(&more, looks, early).adjusted.unwrap();
    let once = of(None, false);
    let near = |adjusted: f64, part: f64| (adjusted * part / once - 1.0).abs() < 1e-9;
    // Parts of the level: all of it, nine tenths, nine tenths of a tenth; .85 where it ended early.
    assert!(near(of(Some(&[]), false), 0.9) && near(of(Some(&[]), true), 0.9 * 0.85));
    let wide = |early| judged(&more, Some(&[]), early).interval.map_or(0.0, |i| i.high - i.low);
    assert!(wide(true) > 1.01 * wide(false), "an interval that ended its experiment is wider");
    let looks: [&[usize]; 3] = [&[], &[2], &[2, 3]];
    assert!(looks.map(|looks| of(Some(looks), false)).is_sorted(), "each look has less");
    // Claimed at an earlier look, be it of few blocks and by Student's t, and gone at the next: it was claimed.
    for first in [6, 10] {
        let mut fades: Vec<f64> = base.iter().enumerate().map(|(i, a)| a + 5.0 + noise(i)).collect();
        fades[first..].iter_mut().zip(&base[first..]).for_each(|(b, a)| *b = a - 5.0);
        let faded = judged(&fades, Some(&[first]), false);
        assert!(faded.adjusted.unwrap() < LEVEL && faded.p.unwrap() > 0.01, "{first}: {faded:?}");
        let [before, after] =
            [&[first][..], &[first, 14]].map(|looks| judged(&fades, Some(looks), false).adjusted);
        assert!(after <= before, "{first}: {before:?} {after:?}");
    }
    // What is clear at the first look stays so, however many blocks it had.
    for first in [3, 5, 8, 12] {
        let clear: Vec<f64> = base.iter().enumerate().map(|(i, a)| a + 9.0 + noise(i)).collect();
        let again = judged(&clear, Some(&[first]), false);
        assert!(again.verdict == Verdict::Beyond && again.p.unwrap() > 0.0, "{first}: {again:?}");
    }
    // A figure that ended before the block at which it was looked at.
    let blocks: Vec<usize> = (0..9).collect();
    let short = Sides::Paired { values: [&base[..9], &more[..9]], blocks: Some(&blocks), step: 0.0 };
    let family = Family { looks: Looks::Added { before: &[10], early: false }, ..Family::once(vec![short]) };
    assert!(compare(&[family], Rule::default())[0][0].is_some());
}

#[test]
fn which_test_judges_depends_on_numbers_alone() {
    let test = |sides: Sides<'_>, others: usize| {
        let all: Vec<Family<'_>> = std::iter::repeat_n(Family::once(vec![sides]), others).collect();
        compare(&all, Rule::default())[0][0].unwrap().test
    };
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5], [2.0, 3.1, 4.0, 5.2, 6.0, 7.0, 8.1, 9.0]);
    assert_eq!(test(paired(&a, &b), 1), Some(Test::Labels(Labels::Blocks(8))));
    assert_eq!(test(paired(&a[..7], &b[..7]), 1), Some(Test::Means));
    assert_eq!(test(apart(&a[..5], &b[..5]), 1), Some(Test::Labels(Labels::Groups(5, 5))));
    // One of 128 is no chance among ten pages that are corrected for each other.
    assert_eq!(test(paired(&a, &b), 10), Some(Test::Means));
    // Five pairs of a page with more blocks are five.
    let few = Sides::Paired { values: [&a[..5], &b[..5]], blocks: Some(&[0, 2, 4, 6, 7]), step: 0.0 };
    let family = Family::once(vec![paired(&a, &b), few]);
    let tests: Vec<_> = compare(&[family], Rule::default())[0].iter().map(|c| c.unwrap().test).collect();
    assert_eq!(tests[1], Some(Test::Means));
}

#[test]
fn what_may_be_rounding_is_no_change() {
    // Printed to a tenth, and to a hundredth: a step apart. One value is another, so that something varies.
    for (a, b, step) in [(0.7, 0.8, 0.1), (0.12, 0.13, 0.01), (4.6, 4.7, 0.1), (0.29, 0.28, 0.01)] {
        let mut first = [a; 10];
        first[3] = b;
        let c = compare_one(in_steps(&first, &[b; 10], step), 0.01);
        assert!(!c.verdict.is_change(), "{a} {b}: {c:?}");
    }
    for count in [6, 9, 10, 30] {
        let (mut a, b) = (vec![10.0; count], vec![11.0; count]);
        a[2] = 11.0;
        let apart = verdict(Sides::Apart { values: [&a, &b], step: 1.0, order: None }, 0.01);
        assert!(!apart.is_change(), "10.49 and 10.51 are printed so, {count} times: {apart:?}");
    }
}

#[test]
fn values_that_do_not_vary_are_exact_whatever_their_last_digit_is_worth() {
    let exact = |a: f64, m: usize, b: f64, n: usize| {
        let (a, b) = (vec![a; m], vec![b; n]);
        compare_one(Sides::Apart { values: [&a, &b], step: 1.0, order: None }, 0.01)
    };
    // In one of 126 choices of five of ten all fives are on one side, and in one more all sixes.
    let c = exact(5.0, 5, 6.0, 5);
    assert!(c.verdict == Verdict::Beyond && (c.p.unwrap() - 1.0 / 126.0).abs() < 1e-12, "{c:?}");
    assert_eq!(c.interval, Some(Interval { low: 1.2, high: 1.2 }));
    assert_eq!(exact(0.0, 4, 5.0, 5).verdict, Verdict::Changed, "there is no percentage of zero");
    for same in [5.0, 0.0, -5.0] {
        let c = exact(same, 4, same, 4);
        assert_eq!(c.verdict, Verdict::Equivalent, "{c:?}");
    }
    assert_eq!(exact(5.0, 4, 5.0, 4).interval, Some(Interval { low: 1.0, high: 1.0 }));
    // One of ten choices is no claim; one of 35 is.
    assert_eq!(exact(5.0, 3, 6.0, 3).verdict, Verdict::Undecided { needed: Some(4) });
    assert_eq!(exact(5.0, 4, 6.0, 4).verdict, Verdict::Beyond);
    // However many there are, of one side or of both.
    assert_eq!(exact(30.0, 3_000, 40.0, 3_000).verdict, Verdict::Beyond);
    assert_eq!(exact(30.0, 5, 40.0, 3_000).verdict, Verdict::Beyond);
    assert_eq!(exact(30.0, 3_000, 30.0, 3_000).verdict, Verdict::Equivalent);
    // Blocks are judged by the same rule.
    let c = compare_one(in_steps(&[5.0; 3_000], &[6.0; 3_000], 1.0), 0.01);
    assert_eq!(c.verdict, Verdict::Beyond, "{c:?}");
    let c = compare_one(in_steps(&[5.0; 10], &[6.0; 10], 1.0), 0.01);
    assert_eq!(c.verdict, Verdict::Beyond, "{c:?}");
}

#[test]
fn false_discoveries_are_a_choice() {
    // Ten that changed clearly beside thirty that did not, by too few blocks for the family.
    let base = [100.0, 101.0, 99.0, 100.5];
    let changed: Vec<[f64; 4]> =
        (0..10).map(|i| base.map(|a| a * 1.01 + 0.07 * (a * f64::from(i + 3)).sin())).collect();
    let same: Vec<[f64; 4]> = (0..30).map(|i| base.map(|a| a + 0.3 * (a * f64::from(i + 3)).sin())).collect();
    let figures: Vec<_> = changed.iter().chain(&same).map(|b| paired(&base, b)).collect();
    let claims = |correction| {
        let family = Family::once(figures.clone());
        let all = compare(&[family], Rule { correction, ..Rule::default() });
        all[0].iter().filter(|c| c.is_some_and(|c| c.verdict.is_change())).count()
    };
    let (wise, discovery) = (claims(Correction::FamilyWise), claims(Correction::Discovery));
    assert!(discovery > wise && discovery >= 5, "{wise} {discovery}");
}

#[test]
fn two_one_sided_tests_by_hand() {
    // ln 1.01 in errors of .01 x the root of 2 is .703594: Student's t with four degrees of freedom is above it in 26.024 %, by the
    // closed form 1/2 - 3/8 t / (1 + t^2 / 4)^(1/2) (1 - t^2 / (1 + t^2 / 4) / 12).
    let same = Sides::Known { means: [100.0, 100.0], counts: [1, 1], deviation: 0.01, df: 4.0 };
    assert!((same.within(0.01).unwrap() - 0.260_24).abs() < 1e-5, "{:?}", same.within(0.01));
}

#[test]
fn no_surer_than_earlier_recordings_were_ever_as_far() {
    let figure = Sides::Known { means: [100.0, 110.0], counts: [1, 1], deviation: 0.01, df: 9.0 };
    let claim = |earlier: Vec<f64>| {
        let family = Family { earlier, ..Family::once(vec![figure]) };
        compare(&[family], Rule::default())[0][0].unwrap()
    };
    // ln 1.1 is 6.74 errors: with nine degrees of freedom a deviate of 3.92, whose square is 15.4, and 12.7 of ten elevenths.
    assert!(claim(vec![1.0; 45]).verdict.is_change());
    assert!(claim(Vec::new()).adjusted.unwrap() < 1e-3);
    let observed = claim([vec![1.0; 44], vec![12.8]].concat());
    assert!(matches!(observed.verdict, Verdict::Undecided { .. }), "{observed:?}");
    assert!(
        (observed.adjusted.unwrap() - 4.0 / 46.0).abs() < 1e-12 && observed.p.unwrap() < 1e-3,
        "{observed:?}"
    );
}

#[test]
fn a_part_is_no_surer_than_the_whole() {
    let claim = compare_one(apart(NULL.0, NULL.1), 0.01);
    assert_eq!(claim.no_surer_than(0.0, LEVEL), claim);
    let known = claim.no_surer_than(0.04, LEVEL);
    assert_eq!((known.adjusted, known.verdict), (Some(0.04), claim.verdict));
    assert_eq!(claim.no_surer_than(LEVEL, LEVEL).verdict, Verdict::Undecided { needed: None });
    let same = compare_one(apart(&[5.0, 5.0], &[5.0, 5.0]), 0.01).no_surer_than(1.0, LEVEL);
    assert_eq!(same.verdict, Verdict::Equivalent);
}

/// Three differences that are taken off at the ends leave rounding, which is no score that hides what another figure shows.
#[test]
fn a_figure_that_hardly_varies_hides_no_other() {
    let base = [10.0; 20];
    let mut few = base;
    for (at, by) in [(3, 0.1), (8, 0.2), (15, 0.3)] {
        few[at] += by;
    }
    let clear: Vec<f64> = (0..20).map(|i| 10.5 + 0.1 * f64::from(i * 7 % 5)).collect();
    let family = Family::once(vec![paired(&base, &few), paired(&base, &clear)]);
    let all = compare(&[family], Rule::default());
    assert!(all[0][1].unwrap().adjusted.unwrap() < 0.001, "{all:?}");
}

/// Where each block says exactly the same there is no deviation: labels say it, as one of many settings and at a later look too.
#[test]
fn differences_that_never_vary_are_judged_wherever_labels_can() {
    let (a, b) = ([100.0; 10], [105.0; 10]);
    let pages: Vec<Family<'_>> =
        (0..6).map(|_| Family { looks: Looks::FIRST, ..Family::once(vec![paired(&a, &b)]) }).collect();
    let all = compare(&pages, Rule::default());
    assert!(all.iter().flatten().flatten().all(|c| c.verdict == Verdict::Beyond), "{all:?}");
    // Five blocks cannot: of so many as are said all of them are claimed.
    for settings in [1, 2, 3] {
        let page = |count: usize, looks: &'static [usize]| -> Vec<Option<Comparison>> {
            let one = || Family {
                looks: Looks::Added { before: looks, early: false },
                ..Family::once(vec![paired(&a[..count.min(10)], &b[..count.min(10)])])
            };
            compare(&(0..settings).map(|_| one()).collect::<Vec<_>>(), Rule::default()).remove(0)
        };
        let Verdict::Undecided { needed: Some(needed) } = page(5, &[])[0].unwrap().verdict else {
            panic!("{settings}: five blocks claim nothing")
        };
        let (more, other) = (vec![100.0; needed], vec![105.0; needed]);
        let one = || Family {
            looks: Looks::Added { before: &[5], early: false },
            ..Family::once(vec![paired(&more, &other)])
        };
        let all = compare(&(0..settings).map(|_| one()).collect::<Vec<_>>(), Rule::default());
        assert_eq!(all[0][0].unwrap().verdict, Verdict::Beyond, "{settings} settings, {needed} blocks");
    }
}
