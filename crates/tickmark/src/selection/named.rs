//! Rows that an option names.

use super::of_row;
use crate::error::Error;
use std::cell::RefCell;
use std::collections::BTreeSet;
use tickmark_analysis::report::Row;
use tickmark_wire::{Group, Metric};

/// The metrics that an option names, where it does not mean all.
pub(crate) struct Named<'a> {
    option: &'static str,
    names: Vec<(&'a str, Option<glob::Pattern>)>,
    /// Those of all sides.
    metrics: Vec<&'a Metric>,
    /// The names that fit something.
    matched: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Named<'a> {
    pub(crate) fn new(
        option: &'static str,
        names: &'a [String],
        metrics: impl Iterator<Item = &'a Metric>,
    ) -> Self {
        let metrics = metrics.collect();
        let names = names.iter().map(|name| (name.as_str(), glob::Pattern::new(name).ok())).collect();
        Self { option, names, metrics, matched: RefCell::default() }
    }

    /// By its suite, its name or its metric's, its title, or a pattern.
    pub(crate) fn picks(&self, group: Group, row: &Row) -> bool {
        let metric = of_row(&row.metric, self.metrics.iter().copied()).map(|metric| metric.name.as_str());
        let fits = |(name, pattern): &&(&'a str, Option<glob::Pattern>)| {
            let of_metric = metric == Some(name);
            let by_pattern = pattern.as_ref().is_some_and(|pattern| pattern.matches(&row.metric));
            of_metric || by_pattern || [row.metric.as_str(), row.title.trim(), group.suite()].contains(name)
        };
        let fitting: Vec<&str> = self.names.iter().filter(fits).map(|(name, _)| *name).collect();
        self.matched.borrow_mut().extend(&fitting);
        self.names.is_empty() || !fitting.is_empty()
    }

    pub(crate) fn each_fits(&self) -> Result<(), Error> {
        let observed = self.matched.borrow();
        match self.names.iter().find(|(name, _)| !observed.contains(name)) {
            Some((name, _)) => {
                let suites = super::suites().map(|suite| -> &str { suite });
                let names = self.metrics.iter().map(|metric| metric.name.as_str()).chain(suites);
                let near = tickmark_store::did_you_mean(name, names);
                Err(Error::Usage(format!("no metric of these recordings fits {} {name}{near}", self.option)))
            }
            None => Ok(()),
        }
    }
}
