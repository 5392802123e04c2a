//! What each symbol by which two configurations of a kernel differ costs: configurations between them are built and booted once each.

mod ends;

use self::ends::{End, SourceTree};
use super::exact::{Candidate, Exact, changes_or_interruption, changes_title, in_words, waits};
use super::one_counted;
use crate::cli::{Format, LabConfigCost};
use crate::command::pages::LabConfigCostPage;
use crate::error::{Code, Error};
use crate::progress::{Steps, control};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use tickmark_analysis::explain::Change;
use tickmark_drive::lab::{Bench, Measured, SymbolChange, cost, costs, differing, next_place, with};
use tickmark_lab::{Cache, Configuration, digest};
use tickmark_render::explain::{changes_by_function, instructions, more};
use tickmark_store::Store;

/// Symbols of a step that are named; --format json has all.
const NAMED: usize = 6;

/// What came of it.
pub(in crate::command) struct ConfigCosts {
    pub(in crate::command) metric: String,
    pub(in crate::command) names: [String; 2],
    /// All symbols by which they differ.
    pub(in crate::command) symbols: Vec<SymbolChange>,
    pub(in crate::command) measured: Vec<Measured>,
    /// The steps that cost something, the largest first.
    pub(in crate::command) steps: Vec<ConfigStep>,
    /// What the operation's functions have more after the largest step.
    pub(in crate::command) changes: Vec<Change>,
    each: bool,
    margin: f64,
}

/// A step between two configurations.
pub(in crate::command) struct ConfigStep {
    pub(in crate::command) cost: f64,
    /// The symbols that change with it.
    pub(in crate::command) symbols: Vec<SymbolChange>,
    /// Why those between could not be measured.
    pub(in crate::command) failed: Vec<String>,
}

pub(super) fn run(store: &Store, options: &LabConfigCost) -> Result<Code, Error> {
    let metric = one_counted(&options.probe)?;
    let names = [options.first.clone(), options.second.clone()];
    let [first, second] = [End::parse(&names[0])?, End::parse(&names[1])?];
    if first.arch() != second.arch() {
        return Err(Error::Usage(format!(
            "{} is for {} and {} for {}: both configurations must be for the same architecture",
            names[0],
            first.arch().name(),
            names[1],
            second.arch().name()
        )));
    }
    if options.tree.is_some() && [&first, &second].iter().any(|end| end.names_a_source()) {
        return Err(Error::Usage("source= means nothing with --tree: the source is the tree's".to_owned()));
    }
    if options.tree.is_none() && first.source() != second.source() {
        return Err(Error::Usage(format!(
            "{} is of Linux {} and {} of {}: versions are compared by lab gate and lab explain --against",
            names[0],
            first.source(),
            names[1],
            second.source()
        )));
    }
    let control = control();
    let stop = || control.stopped();
    let source = SourceTree::find(options.tree.as_deref(), first.source())?;
    let builds = Cache::at(None)?.series_of_configurations(&source.key, first.arch(), &mut waits, &stop)?;
    let bench = Bench::new(control.clone())?;
    let (probe, guest) = (&options.probe, &options.guest);
    let mut exact = Exact { bench, control: control.clone(), store, builds, probe, metric: &metric, guest };
    exact.check(first.arch().name())?;
    let mut steps = Steps::new();
    let tree = source.ready(&exact.builds, &stop, &mut steps).map_err(|why| exact.or_interrupted(why))?;
    let mut work = Work { exact, tree, symbols: Vec::new(), texts: Vec::new(), steps };
    let ends = [work.whole(&first, &names[0])?, work.whole(&second, &names[1])?];
    let symbols = differing(&ends[0], &ends[1]);
    let last = symbols.len();
    let modules: Vec<&str> =
        symbols.iter().filter(|symbol| symbol.is_module()).map(|symbol| symbol.name.as_str()).collect();
    if !modules.is_empty() {
        let (named, more) =
            (modules[..modules.len().min(NAMED)].join(", "), modules.len().saturating_sub(NAMED));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        crate::notice!(
            "tickmark: the guest loads no modules: what is built as one costs nothing here ({named}{more})"
        );
    }
    work.symbols.clone_from(&symbols);
    work.texts = vec![None; last + 1];
    // The second one's, also where it lacks what the first one's symbols bring.
    let [first, second] = ends;
    (work.texts[0], work.texts[last]) = (Some(first), Some(second));
    let measured = if last == 0 {
        Vec::new()
    } else {
        crate::notice!("{}", builds_ahead(last, options.each));
        work.measure(options.margin, options.each)?
    };
    for at in [0, last] {
        if let Some(why) = measured.get(at).and_then(Measured::failed) {
            let (name, place) = (&names[usize::from(at > 0)], work.exact.builds.folder().display());
            return Err(Error::Refused(format!(
                "{name}: {why} (its sources and objects are kept in {place})"
            )));
        }
    }
    let found = costs(&measured, options.margin);
    let changes = match found.first() {
        Some((from, to)) => work.changes(*from, *to),
        None => Ok(Vec::new()),
    };
    let (changes, interrupted) = changes_or_interruption(&control, changes)?;
    let steps = found.into_iter().map(|step| work.step(&measured, step)).collect::<Result<_, _>>()?;
    if interrupted.is_none() {
        // Gigabytes, which only who goes on needs.
        work.exact.builds.remove();
    }
    let (each, margin) = (options.each, options.margin);
    let of = ConfigCosts { metric: metric.clone(), names, symbols, steps, measured, changes, each, margin };
    match options.output.format {
        Format::Json => crate::command::print_page(&LabConfigCostPage::new(&of))?,
        Format::Text => crate::command::print(&of.text())?,
    }
    interrupted.map_or(Ok(Code::Done), Err)
}

/// How many kernels two configurations with so many symbols between them take.
fn builds_ahead(symbols: usize, each: bool) -> String {
    let range = if each || symbols == 1 { "" } else { "2 to " };
    let differ = tickmark_render::count(symbols as u32, "symbol");
    format!(
        "{differ} to tell apart: {range}{} kernels, each built in minutes where it was not measured before; after Ctrl-C the same command goes on",
        symbols + 1
    )
}

struct Work<'a> {
    exact: Exact<'a>,
    tree: PathBuf,
    symbols: Vec<SymbolChange>,
    /// The configurations from the first to the second one, as far as they were needed.
    texts: Vec<Option<String>>,
    steps: Steps,
}

impl Work<'_> {
    /// What a configuration is with all that follows from it; says what of a file has no effect.
    fn whole(&self, end: &End, name: &str) -> Result<String, Error> {
        let configuration = match end {
            End::Lab(kernel) => Configuration::Lab(kernel),
            End::File { text, .. } => Configuration::Text { text, what: name },
        };
        let whole = self.complete(configuration)?;
        let lost = end.without_effect(&whole);
        if !lost.is_empty() {
            let some = lost.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let rest =
                if lost.len() > NAMED { format!(" and {} more", lost.len() - NAMED) } else { String::new() };
            self.steps.warn(&format!("without effect in {name}, by make olddefconfig: {some}{rest}"));
        }
        Ok(whole)
    }

    fn complete(&self, configuration: Configuration<'_>) -> Result<String, Error> {
        let control = &self.exact.control;
        let whole = self.exact.builds.complete(configuration, &self.tree, &|| control.stopped());
        whole.map_err(|why| self.exact.or_interrupted(why.into()))
    }

    /// What a configuration is called.
    fn title(&self, at: usize) -> String {
        format!("configuration {} of {}", at + 1, self.texts.len())
    }

    /// A configuration: the first one with so many symbols of the second.
    fn text(&mut self, at: usize) -> Result<String, Error> {
        if let Some(Some(known)) = self.texts.get(at) {
            return Ok(known.clone());
        }
        let first = self.texts[0].as_deref().unwrap_or_default();
        let text = with(first, &self.symbols[..at]);
        let text = self.complete(Configuration::Text { text: &text, what: &self.title(at) })?;
        self.texts[at] = Some(text.clone());
        Ok(text)
    }

    fn measure(&mut self, margin: f64, each: bool) -> Result<Vec<Measured>, Error> {
        let mut journal = self.exact.journal("config-cost")?;
        let mut all = vec![Measured::Open; self.texts.len()];
        // A symbol without effect leaves the same configuration.
        let mut known: BTreeMap<String, Measured> = BTreeMap::new();
        let mut taken_up = 0;
        while let Some(at) = next_place(&all, margin, each) {
            let title = self.title(at);
            self.steps.at(&format!("{title} ({} measured)", known.len()));
            let text = self.text(at).inspect_err(|_| self.steps.finish())?;
            let name = name(&text);
            let mut measured = known.get(&name).cloned().unwrap_or(Exact::earlier(&journal, &name));
            if measured != Measured::Open {
                taken_up += usize::from(!known.contains_key(&name));
            } else {
                let tree = || Ok(self.tree.clone());
                let configuration = Configuration::Text { text: &text, what: &title };
                let candidate = Candidate { name: &name, configuration, tree: &tree };
                let recording = format!("lab config-cost, {title}");
                let made = self.exact.measure(candidate, &recording, &mut journal);
                measured = made.inspect_err(|_| self.steps.finish())?;
                if let (Some(why), true) = (measured.failed(), at > 0 && at + 1 < all.len()) {
                    self.steps.warn(&format!("{title} is left out: {why}"));
                }
            }
            known.insert(name, measured.clone());
            all[at] = measured;
        }
        Exact::taken_up(&journal, taken_up, &mut self.steps);
        self.steps.finish();
        Ok(all)
    }

    fn changes(&mut self, from: usize, to: usize) -> Result<Vec<Change>, Error> {
        let texts = [self.text(from)?, self.text(to)?];
        let names = [name(&texts[0]), name(&texts[1])];
        let titles = [self.title(from), self.title(to)];
        let tree = || Ok(self.tree.clone());
        let one = |number: usize| Candidate {
            name: &names[number],
            configuration: Configuration::Text { text: &texts[number], what: &titles[number] },
            tree: &tree,
        };
        self.exact.changes([one(0), one(1)])
    }

    fn step(&mut self, measured: &[Measured], (from, to): (usize, usize)) -> Result<ConfigStep, Error> {
        Ok(ConfigStep {
            cost: cost(measured, (from, to)),
            symbols: differing(&self.text(from)?, &self.text(to)?),
            failed: measured[from..to].iter().filter_map(Measured::failed).map(str::to_owned).collect(),
        })
    }
}

/// What tells a configuration from the others.
fn name(text: &str) -> String {
    digest(text.as_bytes())[..16].to_owned()
}

impl ConfigCosts {
    fn value(&self, at: usize) -> f64 {
        self.measured.get(at).and_then(Measured::value).unwrap_or(f64::NAN)
    }

    /// In words.
    pub(in crate::command) fn answer(&self) -> String {
        let [first, second] = &self.names;
        let count = tickmark_render::count(self.symbols.len() as u32, "symbol");
        let (before, after) = (self.value(0), self.value(self.symbols.len()));
        let metric = in_words(&self.metric);
        if self.symbols.is_empty() {
            return format!("{first} and {second} are the same configuration after make olddefconfig.");
        }
        let whole = after - before;
        let rest = whole - self.steps.iter().map(|step| step.cost).sum::<f64>();
        let mut which = match self.steps.len() {
            0 if whole.abs() > self.margin => format!("No step costs more than --margin {}.", self.margin),
            0 if self.each => "No step costs anything.".to_owned(),
            0 => "What cancels out was not looked for: --each measures every step.".to_owned(),
            1 => "One step is the cause.".to_owned(),
            steps => format!("{steps} steps are the cause."),
        };
        if !self.steps.is_empty() && rest.abs() > 0.05 {
            which += &format!(" Smaller ones are {} together.", more(rest));
        }
        format!(
            "{metric} takes {} instructions with {first} and {} with {second} ({}), which differ by {count}. {which}",
            instructions(before),
            instructions(after),
            more(after - before),
        )
    }

    /// What was not looked at.
    fn looked_at(&self) -> String {
        let known = self.measured.iter().filter(|one| one.value().is_some()).count();
        let rest = if self.measured.contains(&Measured::Open) {
            "; between two that give the same count nothing was measured (--each measures all)"
        } else {
            ""
        };
        format!(
            "{known} of {} configurations from the one to the other were measured, each with one symbol more{rest}. What a symbol costs may depend on those before it.",
            self.measured.len()
        )
    }

    fn text(&self) -> String {
        let width = tickmark_render::width();
        let mut text = tickmark_render::paragraph(&self.answer()) + "\n";
        if self.symbols.is_empty() {
            return text;
        }
        text.push('\n');
        for step in &self.steps {
            let named = step.symbols.iter().take(NAMED).map(SymbolChange::text);
            let mut what = named.collect::<Vec<_>>().join(", ");
            if step.symbols.len() > NAMED {
                let _ = write!(what, " and {} more", step.symbols.len() - NAMED);
            }
            for why in &step.failed {
                let _ = write!(what, " (not told apart: {why})");
            }
            let indent = format!("{:>10}  ", more(step.cost));
            let options =
                tickmark_render::folding(width).initial_indent(&indent).subsequent_indent("            ");
            text += &textwrap::fill(&what, options);
            text.push('\n');
        }
        if !self.steps.is_empty() {
            text.push('\n');
        }
        text += &tickmark_render::paragraph(&self.looked_at());
        text.push('\n');
        changes_by_function(&mut text, &changes_title(&self.metric, "What the largest step"), &self.changes);
        text
    }
}
