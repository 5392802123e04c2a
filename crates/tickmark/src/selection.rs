//! From what a person types to probes: suites, names, patterns.

use crate::error::Error;
use tickmark_import::lmbench;
use tickmark_probe::Probe;
use tickmark_wire::Group;

/// The suite of everything that stands in lmbench's tables, with the other rows of its rings.
const LMBENCH: &str = "lmbench";

/// The suites: one for each group, lmbench's columns, and all of them.
pub(crate) fn suites() -> impl Iterator<Item = &'static str> {
    let groups = Group::ALL.into_iter().filter(|group| *group != Group::Selftest).map(Group::suite);
    ["all", LMBENCH].into_iter().chain(groups)
}

/// The probes that the names select, each once, in the order of the registry. No name selects all.
///
/// # Errors
/// A name that is neither a suite nor a probe, or a pattern that fits none.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Probe>, Error> {
    let all = ["all".to_owned()];
    let names = if names.is_empty() { &all[..] } else { names };
    let known = |name: &str| tickmark_probe::all().any(|probe| fits(name, probe));
    let mut givers = Vec::new();
    for name in names.iter().filter(|name| !known(name)) {
        let unknown = || Error::UnknownProbe { name: name.clone(), suggestion: nearest(name) };
        givers.push(of_row(name, tickmark_probe::all().map(|probe| probe.spec.name)).ok_or_else(unknown)?);
    }
    let chosen =
        |probe: &Probe| givers.contains(&probe.spec.name) || names.iter().any(|name| fits(name, probe));
    Ok(tickmark_probe::all().filter(|probe| chosen(probe)).collect())
}

/// What the rows of metrics with several are called, behind the metric's name.
const ROWS: [&str; 10] = ["rate", "cost", "share", "lost", "offset", "backwards", "l1", "l2", "l3", "main"];

/// The metric that gives a row: of `tick.rate` it is `tick`.
pub(crate) fn of_row<'a>(row: &str, mut metrics: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (metric, figure) = row.rsplit_once('.')?;
    metrics.find(|known| *known == metric).filter(|_| ROWS.contains(&figure))
}

fn fits(name: &str, probe: &Probe) -> bool {
    let spec = &probe.spec;
    if spec.name == name || spec.title.trim() == name || spec.group.suite() == name {
        return true;
    }
    // Self-tests run only when they are named.
    if spec.group == Group::Selftest {
        return false;
    }
    if name == LMBENCH {
        return is_column(spec.name);
    }
    let is_pattern = name.contains(['*', '?', '[']);
    name == "all" || is_pattern && glob::Pattern::new(name).is_ok_and(|pattern| pattern.matches(spec.name))
}

/// Whether a column of lmbench's tables comes from a probe.
fn is_column(probe: &str) -> bool {
    let of = |metric: &str| {
        metric.strip_prefix(probe).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    probe.starts_with("switch.") || lmbench::metrics().any(|column| of(column.metric))
}

fn nearest(name: &str) -> Option<String> {
    let names = tickmark_probe::all().map(|probe| probe.spec.name).chain(suites());
    let close = names.map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let (likeness, best) = close.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.5).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(select_by: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = select_by.iter().map(|s| (*s).to_owned()).collect();
        select(&names).unwrap().into_iter().map(|probe| probe.spec.name).collect()
    }

    #[test]
    fn suites_names_and_patterns() {
        assert_eq!(names(&["syscall.null"]), ["syscall.null"]);
        assert_eq!(names(&["tick", "tick", "tic?"]), ["tick", "tick.spin"]);
        assert_eq!(names(&["null call (getppid)", "tick.rate"]), ["tick", "syscall.null"]);
        assert_eq!(names(&["switch.2p.0k.across"]), ["switch.2p.0k.across"]);
        assert!(names(&["clock"]).iter().all(|name| name.starts_with("clock.")));
        assert!(names(&["op.int32.*"]).len() == 5);
        let lmbench = names(&["lmbench"]);
        for column in lmbench::metrics().filter(|column| column.metric != "machine.load") {
            let of = |probe: &&str| column.metric.starts_with(*probe);
            assert!(lmbench.iter().any(of), "{} is measured", column.metric);
        }
        assert!(!lmbench.contains(&"tick") && !lmbench.contains(&"ipc.futex.round_trip"));
        assert_eq!(names(&["selftest.hang"]), ["selftest.hang"]);
        assert!(!names(&[]).iter().chain(&names(&["*"])).any(|name| name.starts_with("selftest")));
    }

    #[test]
    fn a_typing_error_gets_the_nearest_name() {
        let error = select(&["syscal.nul".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("syscall.null"), "{error}");
        for typed in ["switch.2p.0k.acros", "syscall.null.foo", "nothing.*"] {
            assert!(select(&[typed.to_owned()]).is_err(), "{typed}");
        }
        assert!(select(&["[".to_owned()]).is_err());
    }
}
