//! What fork and exec cost does not depend on the program that measures. In a file of its own, so that no
//! other test runs beside it.

mod common;

use common::{Bench, row};

#[test]
fn fork_and_exec_do_not_weigh_the_program_or_its_samples() {
    // The same probes from the large program, with few samples and with many, in turns; the medians of
    // five pairs are compared, as one pair is noise.
    let bench = Bench::new();
    for metric in ["process.fork", "process.exec"] {
        let floor = |budget: &str| {
            let model = bench.json(&["run", metric, "--runs", "1", "--budget", budget]);
            row(&model, metric)["value"].as_f64().unwrap()
        };
        let mut ratios: Vec<f64> = (0..5).map(|_| floor("600ms") / floor("100ms")).collect();
        ratios.sort_by(f64::total_cmp);
        assert!((ratios[2] - 1.0).abs() < 0.1, "{metric}: {ratios:?}");
    }
}
