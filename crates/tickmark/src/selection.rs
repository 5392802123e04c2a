//! From what a person types to probes: suites, names, patterns.

mod named;

pub(crate) use named::Named;

use crate::error::Error;
use std::collections::BTreeSet;
use tickmark_analysis::report::row_names;
use tickmark_drive::ThisMachine;
use tickmark_import::lmbench;
use tickmark_store::did_you_mean;
use tickmark_wire::{Catalogue, Group, Metric, Offer};

/// The suite of everything that stands in lmbench's tables, with the other rows of its rings.
const LMBENCH: &str = "lmbench";

/// The suites: one for each group, lmbench's columns, and all of them.
pub(crate) fn suites() -> impl Iterator<Item = &'static str> {
    let groups = Group::ALL.into_iter().filter(|group| *group != Group::Selftest).map(Group::suite);
    ["all", LMBENCH].into_iter().chain(groups)
}

/// Probes of this machine's agent that the names select, each once, in the order of its catalogue. No name selects all. A
/// probe with parameters takes others than the suites' as PROBE:PARAMETER=VALUE,...
///
/// # Errors
/// A name that is neither a suite nor a probe, a pattern that fits none, or what a probe cannot be told.
pub(crate) fn select(names: &[String]) -> Result<Vec<Offer>, Error> {
    let (with_arguments, names): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| is_told(name));
    let catalogue = ThisMachine::catalogue(&[])?;
    let mut chosen =
        if names.is_empty() && !with_arguments.is_empty() { Vec::new() } else { choose(&catalogue, &names)? };
    if !with_arguments.is_empty() {
        for offer in ThisMachine::catalogue(&with_arguments)?.offers {
            // Each once, however often and in whatever way it was named.
            if !chosen.contains(&offer) {
                chosen.push(offer);
            }
        }
    }
    Ok(chosen)
}

/// True if a name says what a probe is told: no name or title has a colon.
pub(crate) fn is_told(name: &str) -> bool {
    name.contains(':')
}

fn choose(catalogue: &Catalogue, names: &[String]) -> Result<Vec<Offer>, Error> {
    let all = ["all".to_owned()];
    let names = if names.is_empty() { &all[..] } else { names };
    let columns = columns(catalogue);
    let fits = |name: &str, offer: &Offer| fits(name, offer, &columns);
    let metrics = || catalogue.offers.iter().flat_map(|offer| &offer.metrics);
    let mut givers = Vec::new();
    for name in names.iter().filter(|name| !catalogue.offers.iter().any(|offer| fits(name, offer))) {
        let unknown = || Error::UnknownProbe { name: name.clone(), near: near(name, catalogue) };
        givers.push(of_row(name, metrics()).ok_or_else(unknown)?);
    }
    let chosen = |offer: &&Offer| {
        offer.metrics.iter().any(|metric| givers.contains(&metric))
            || names.iter().any(|name| fits(name, offer))
    };
    Ok(catalogue.offers.iter().filter(chosen).cloned().collect())
}

/// The metric that gives a row: of `tick.rate` it is `tick`.
pub(crate) fn of_row<'a>(row: &str, mut metrics: impl Iterator<Item = &'a Metric>) -> Option<&'a Metric> {
    let (metric, figure) = row.rsplit_once('.')?;
    metrics.find(|known| known.name.as_str() == metric && row_names(known).contains(&figure))
}

fn fits(name: &str, offer: &Offer, columns: &BTreeSet<&str>) -> bool {
    let metrics = &offer.metrics;
    let named = |metric: &Metric| metric.name.as_str() == name || metric.title.trim() == name;
    let group = offer.metric().map(|metric| metric.group);
    if offer.probe.as_str() == name
        || metrics.iter().any(named)
        || group.is_some_and(|group| group.suite() == name)
    {
        return true;
    }
    // Self-tests run only when they are named.
    if group == Some(Group::Selftest) {
        return false;
    }
    if name == LMBENCH {
        return columns.contains(offer.probe.as_str());
    }
    let is_pattern = name.contains(['*', '?', '[']);
    let fits = |pattern: &glob::Pattern| metrics.iter().any(|metric| pattern.matches(metric.name.as_str()));
    name == "all" || is_pattern && glob::Pattern::new(name).is_ok_and(|pattern| fits(&pattern))
}

/// The probes that a column of lmbench's tables comes from, with all of their cases.
fn columns(catalogue: &Catalogue) -> BTreeSet<&str> {
    let of = |metric: &Metric| {
        let name = metric.name.as_str();
        let own = |column: &str| {
            column.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        lmbench::metrics().any(|column| own(column.metric))
    };
    let give = |offer: &&Offer| offer.metrics.iter().any(of);
    catalogue.offers.iter().filter(give).map(|offer| offer.probe.as_str()).collect()
}

fn near(name: &str, catalogue: &Catalogue) -> String {
    let metrics = catalogue.offers.iter().flat_map(|offer| &offer.metrics);
    let suites = suites().map(|suite| -> &str { suite });
    let names = metrics.map(|metric| metric.name.as_str()).chain(suites);
    did_you_mean(name, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(names: &[&str]) -> Result<Vec<Offer>, Error> {
        let names: Vec<String> = names.iter().map(|s| (*s).to_owned()).collect();
        choose(&tickmark_agent::catalogue(&[]).unwrap(), &names)
    }

    fn names(select_by: &[&str]) -> Vec<String> {
        select(select_by).unwrap().iter().map(|offer| offer.metrics[0].name.to_string()).collect()
    }

    #[test]
    fn suites_names_and_patterns() {
        assert_eq!(names(&["syscall.null"]), ["syscall.null"]);
        assert_eq!(names(&["tick", "tick", "tic?"]), ["tick", "tick.spin"]);
        assert_eq!(names(&["null call (getppid)", "tick.rate"]), ["tick", "syscall.null"]);
        assert_eq!(names(&["switch.2p.0k.across"]), ["switch.2p.0k.across"]);
        assert_eq!(names(&["switch"]).len(), 27, "a probe with all its cases");
        assert!(names(&["clock"]).iter().all(|name| name.starts_with("clock.")));
        assert!(names(&["op.int32.*"]).len() == 5);
        let lmbench = names(&["lmbench"]);
        for column in lmbench::metrics().filter(|column| column.metric != "machine.load") {
            let of = |metric: &String| column.metric.starts_with(metric.as_str());
            assert!(lmbench.iter().any(of), "{} is measured", column.metric);
        }
        assert!(
            !["tick", "ipc.futex.round_trip"].iter().any(|name| lmbench.iter().any(|known| known == name))
        );
        let plan = tickmark_drive::plan::make(
            &select(&["lmbench"]).unwrap(),
            5,
            None,
            tickmark_wire::Settings::default(),
            false,
            &mut rand::rng(),
        );
        let nanos: i64 = plan.runs.iter().map(|run| run.budget.get()).sum();
        assert!(
            (25..49).contains(&(nanos / 1_000_000_000)),
            "less than a minute with starting processes: {nanos}"
        );
        assert_eq!(names(&["selftest.hang"]), ["selftest.hang"]);
        assert!(!names(&[]).iter().chain(&names(&["*"])).any(|name| name.starts_with("selftest")));
    }

    #[test]
    fn a_typing_error_gets_the_nearest_name() {
        let error = select(&["syscal.nul"]).err().unwrap().to_string();
        assert!(error.contains("syscall.null"), "{error}");
        for typed in ["switch.2p.0k.acros", "syscall.null.foo", "nothing.*"] {
            assert!(select(&[typed]).is_err(), "{typed}");
        }
        assert!(select(&["["]).is_err());
    }
}
