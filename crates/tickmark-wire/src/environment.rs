//! Environment of the numbers: facts about the machine, each with its source.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One fact, or why it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// The value as text; none where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The file or call that it came from.
    pub source: String,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Facts by dotted name. Those under `state.` change by themselves (load, steal, pressure); the rest
/// is configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Environment(BTreeMap<String, Fact>);

impl Environment {
    /// Keeps a value.
    pub fn know(&mut self, name: &str, source: &str, value: impl Into<String>) {
        let fact = Fact { value: Some(value.into()), source: source.to_owned(), missing: None };
        self.0.insert(name.to_owned(), fact);
    }

    /// Keeps why there is no value.
    pub fn miss(&mut self, name: &str, source: &str, why: impl Into<String>) {
        let fact = Fact { value: None, source: source.to_owned(), missing: Some(why.into()) };
        self.0.insert(name.to_owned(), fact);
    }

    /// The value of a fact; none where it is unknown.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.value.as_deref()
    }

    /// Changes every text: names, values, sources, reasons.
    pub fn change_texts(&mut self, change: impl Fn(&str) -> String) {
        let facts = std::mem::take(&mut self.0).into_iter();
        let one = |(name, fact): (String, Fact)| {
            let Fact { value, source, missing } = fact;
            let (value, missing) = (value.map(|text| change(&text)), missing.map(|text| change(&text)));
            (change(&name), Fact { value, source: change(&source), missing })
        };
        self.0 = facts.map(one).collect();
    }

    /// Every fact, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.0.iter().map(|(name, fact)| (name.as_str(), fact))
    }

    /// True if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
