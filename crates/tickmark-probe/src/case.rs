//! A probe with what it is told: what can be run. A probe without parameters is one case.

use crate::{Params, Probe, Routine, Spec, Unavailable};
use tickmark_wire::{Arguments, Metric, Name, Offer};

/// A parameter of a probe.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, which stands in braces in the texts of the spec.
    pub name: &'static str,
    /// Description, with its unit.
    pub about: &'static str,
    /// The values that suites take. Without any, and without numbers, it is any text, and no suite has its probe.
    pub values: &'static [Value],
    /// Other numbers that it takes, from and to; none where it takes no others.
    pub numbers: Option<(u32, u32)>,
}

impl Parameter {
    /// Any text; no suite has a probe with such a parameter.
    #[must_use]
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, about, values: &[], numbers: None }
    }

    /// A number within two limits.
    #[must_use]
    pub const fn number(name: &'static str, about: &'static str, from: u32, to: u32) -> Self {
        Self { name, about, values: &[], numbers: Some((from, to)) }
    }

    /// One of some values.
    #[must_use]
    pub const fn choice(name: &'static str, about: &'static str, values: &'static [Value]) -> Self {
        Self { name, about, values, numbers: None }
    }

    /// The same, which takes other numbers within two limits, too.
    #[must_use]
    pub const fn or_numbers(mut self, from: u32, to: u32) -> Self {
        self.numbers = Some((from, to));
        self
    }
}

/// A value of a parameter, and what stands for it in the texts of the spec.
#[derive(Debug, Clone, Copy)]
pub struct Value {
    /// As it is told.
    pub value: &'static str,
    /// In the metric's name.
    pub name: &'static str,
    /// In its title.
    pub title: &'static str,
    /// In what is timed.
    pub timed: &'static str,
}

impl Value {
    /// One that is called so in names, and so in what people read.
    #[must_use]
    pub const fn named(value: &'static str, name: &'static str, title: &'static str) -> Self {
        Self { value, name, title, timed: title }
    }

    /// One that stands everywhere for itself.
    #[must_use]
    pub const fn plain(value: &'static str) -> Self {
        Self { value, name: value, title: value, timed: value }
    }
}

/// A probe and its arguments.
#[derive(Debug, Clone)]
pub struct Case {
    probe: &'static Probe,
    /// Its arguments.
    pub arguments: Arguments,
    /// As the arguments make it; its texts still have their braces.
    spec: Spec,
}

/// Which of a value's texts is meant.
type Form = fn(&Value) -> &'static str;

impl Probe {
    /// Every case that suites take, the last parameter changing fastest.
    pub fn cases(&'static self) -> impl Iterator<Item = Case> {
        let mut all = vec![Arguments::new()];
        for parameter in self.spec.parameters {
            let with = |arguments: &Arguments, value: &Value| {
                let mut arguments = arguments.clone();
                arguments.insert(parameter.name.to_owned(), value.value.to_owned());
                arguments
            };
            all = all
                .iter()
                .flat_map(|known| parameter.values.iter().map(move |value| with(known, value)))
                .collect();
        }
        all.into_iter().map(move |arguments| Case::new(self, arguments))
    }

    /// The case of these arguments; a parameter that is not named has its first value.
    ///
    /// # Errors
    /// A parameter that it has not, or a value that it does not take.
    pub fn case(&'static self, arguments: &Arguments) -> Result<Case, String> {
        let parameters = self.spec.parameters;
        if let Some(name) = arguments.keys().find(|name| !parameters.iter().any(|known| known.name == **name))
        {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("{} has no parameter {name}; it has {known}", self.spec.name));
        }
        let mut whole = Arguments::new();
        for parameter in parameters {
            let first = || parameter.values.first().map_or("", |value| value.value).to_owned();
            let value = arguments.get(parameter.name).cloned().unwrap_or_else(first);
            parameter.check(&value).map_err(|why| format!("{}: {why}", self.spec.name))?;
            whole.insert(parameter.name.to_owned(), value);
        }
        Ok(Case::new(self, whole))
    }
}

impl Parameter {
    fn check(&self, value: &str) -> Result<(), String> {
        if self.values.is_empty() && self.numbers.is_none() {
            return Ok(());
        }
        let known = self.values.iter().any(|known| known.value == value);
        // One number has one text, and so one metric.
        let number = value.parse().ok().filter(|number: &u32| number.to_string() == value);
        if known || self.numbers.zip(number).is_some_and(|((from, to), number)| (from..=to).contains(&number))
        {
            return Ok(());
        }
        let values: Vec<&str> = self.values.iter().map(|known| known.value).collect();
        let values = (!values.is_empty()).then(|| values.join(", "));
        let range = self.numbers.map(|(from, to)| format!("a number from {from} to {to}"));
        let possible: Vec<String> = values.into_iter().chain(range).collect();
        Err(format!("{} cannot be {value:?}; give {}", self.name, possible.join(", or ")))
    }
}

impl Case {
    fn new(probe: &'static Probe, arguments: Arguments) -> Self {
        let mut spec = probe.spec;
        (spec.tune)(&mut spec, &arguments);
        Self { probe, arguments, spec }
    }

    /// Its specification.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The name of the metric that it stands for.
    #[must_use]
    pub fn name(&self) -> String {
        self.fill(self.spec.metric, |value| value.name)
    }

    /// Title of its row.
    #[must_use]
    pub fn title(&self) -> String {
        self.fill(self.spec.title, |value| value.title)
    }

    /// The work between two timestamps.
    #[must_use]
    pub fn timed(&self) -> String {
        self.fill(self.spec.timed, |value| value.timed)
    }

    /// The metrics that it gives, as a recording keeps them; the first is the one that it stands for.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let spec = &self.spec;
        let first = Metric {
            name: Name::new(self.name()),
            title: self.title(),
            group: spec.group,
            unit: spec.unit,
            better: spec.better,
            headline: spec.headline,
            physical_floor: spec.physical_floor,
            sleeps: spec.sleeps,
            roams: spec.roams,
            parts: spec.parts.to_vec(),
        };
        let also = spec.also.iter().map(|also| Metric {
            name: Name::new(self.fill(also.metric, |value| value.name)),
            title: self.fill(also.title, |value| value.title),
            unit: also.unit,
            better: also.better,
            headline: also.headline,
            physical_floor: tickmark_wire::Picos::ZERO,
            parts: Vec::new(),
            ..first.clone()
        });
        std::iter::once(first.clone()).chain(also).collect()
    }

    /// The same for the catalogue.
    #[must_use]
    pub fn offer(&self) -> Offer {
        let parameters = self.spec.parameters.iter().map(|parameter| tickmark_wire::Parameter {
            name: parameter.name.to_owned(),
            about: parameter.about.to_owned(),
            values: parameter.values.iter().map(|value| value.value.to_owned()).collect(),
            numbers: parameter.numbers,
        });
        Offer {
            probe: Name::new(self.spec.name),
            arguments: self.arguments.clone(),
            parameters: parameters.collect(),
            metrics: self.metrics(),
            timed: self.timed(),
            source: self.spec.source.to_owned(),
            needs: self.spec.needs.iter().map(|call| call.name().to_owned()).collect(),
            weight: self.spec.weight,
        }
    }

    /// Makes it ready.
    ///
    /// # Errors
    /// This system lacks something, or refuses it.
    pub fn prepare(&self, params: &Params) -> Result<Box<dyn Routine>, Unavailable> {
        (self.probe.prepare)(&self.spec, &Params { arguments: self.arguments.clone(), ..params.clone() })
    }

    fn fill(&self, text: &str, form: Form) -> String {
        let mut text = text.to_owned();
        for parameter in self.spec.parameters {
            let Some(given) = self.arguments.get(parameter.name) else { continue };
            let value =
                parameter.values.iter().find(|value| value.value == given).map_or(given.as_str(), form);
            text = text.replace(&format!("{{{}}}", parameter.name), value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch() -> &'static Probe {
        crate::registry::PROBES.find("switch").unwrap()
    }

    fn arguments(pairs: &[(&str, &str)]) -> Arguments {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_metric_that_the_host_knows_by_name_is_there() {
        use tickmark_wire::names::{self, FAST_CLOCKS};
        let metrics: Vec<String> = crate::registry::PROBES.cases().map(|case| case.name()).collect();
        let clocks = FAST_CLOCKS.iter().flat_map(|c| [names::clock_read(c), names::clock_syscall(c)]);
        let others = [names::TICK, names::SPIN, names::SLEEP, names::BETWEEN_CPUS].map(str::to_owned);
        for name in clocks.chain(others) {
            assert!(metrics.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_ring_is_one_probe_with_what_it_is_told() {
        let names: Vec<String> = switch().cases().map(|case| case.name()).collect();
        assert_eq!((names.len(), names[0].as_str()), (27, "switch.2p.0k"));
        assert!(names.contains(&"switch.16p.64k.unpinned".to_owned()));
        let case =
            switch().case(&arguments(&[("processes", "5"), ("kib", "3"), ("place", "across")])).unwrap();
        assert_eq!(
            (case.name(), case.title()),
            ("switch.5p.3k.across".to_owned(), "context switch 5p/3K, across CPUs".to_owned())
        );
        assert!(case.spec().sleeps && case.spec().expected.switches.is_none());
        assert_eq!(
            switch().case(&Arguments::new()).unwrap().name(),
            "switch.2p.0k",
            "what is not said is the first"
        );
    }

    #[test]
    fn plans_of_earlier_formats_name_the_metric() {
        let case = crate::registry::PROBES.case("switch.8p.64k.across", &Arguments::new()).unwrap();
        assert_eq!(
            (case.name().as_str(), case.arguments["place"].as_str()),
            ("switch.8p.64k.across", "across")
        );
        assert!(
            crate::registry::PROBES
                .case("switch.3p.64k", &Arguments::new())
                .unwrap_err()
                .contains("no probe switch.3p.64k")
        );
    }

    #[test]
    fn what_a_probe_cannot_be_told_is_refused() {
        let why =
            |pairs: &[(&str, &str)]| switch().case(&arguments(pairs)).map(|case| case.name()).unwrap_err();
        assert!(why(&[("colour", "red")]).contains("it has processes, kib, place"));
        assert!(why(&[("processes", "1")]).contains("from 2 to"));
        assert!(why(&[("processes", "02")]).contains("cannot be \"02\""));
        assert!(why(&[("place", "moon")]).contains("same, across, unpinned"));
        let plain = crate::registry::PROBES.find("syscall.null").unwrap();
        assert!(plain.case(&arguments(&[("a", "b")])).unwrap_err().contains("it has none"));
    }
}
