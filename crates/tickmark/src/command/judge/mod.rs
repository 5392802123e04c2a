//! Commands on recordings: show, compare, judge.

pub(in crate::command) mod check;
pub(in crate::command) mod compare;
pub(in crate::command) mod gates;
pub(in crate::command) mod history;
pub(in crate::command) mod recordings;
pub(in crate::command) mod report;
pub(in crate::command) mod show;
pub(in crate::command) mod stat;

use crate::error::Error;
use tickmark_store::{Entry, Store, did_you_mean};

/// The recordings that have facts like these.
fn with_facts(store: &Store, facts: &[(String, glob::Pattern)]) -> Result<Vec<Entry>, Error> {
    let all = store.list()?;
    let mut kept = all.clone();
    for (name, pattern) in facts {
        let values = store.fact(name, &all);
        if values.is_empty() && !all.is_empty() {
            let newest = all.iter().max_by_key(|entry| entry.created);
            let newest = newest.and_then(|entry| store.read(&entry.id).ok());
            let known = newest.as_ref().and_then(tickmark_store::Recording::environment);
            let known = known.into_iter().flat_map(tickmark_wire::Environment::iter).map(|(name, _)| name);
            let near = did_you_mean(name, known.filter(|name| !name.starts_with("state.")));
            return Err(Error::Usage(format!(
                "no recording has a fact {name}{near}; `{}` lists those of one",
                crate::suggest::command("show --format json")
            )));
        }
        kept.retain(|entry| values.get(&entry.id).is_some_and(|value| pattern.matches(value)));
    }
    Ok(kept)
}
