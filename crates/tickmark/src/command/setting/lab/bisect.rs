//! With which commit of a kernel's tree an operation's instructions changed: each commit is built and booted once.

use super::exact::{Candidate, Exact, changes_or_interruption, changes_title, in_words, waits};
use super::one_counted;
use crate::cli::{Format, LabBisect};
use crate::command::pages::LabBisectPage;
use crate::error::{Code, Error};
use crate::progress::{Steps, control};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use tickmark_analysis::explain::Change;
use tickmark_drive::bisect::{Commit, Tree};
use tickmark_drive::lab::{Bench, Measured, Next, next_step};
use tickmark_lab::{Cache, Configuration, Kernel, Source};
use tickmark_render::explain::{changes_by_function, instructions, more};
use tickmark_store::Store;

/// Letters of a commit.
const SHORT: usize = 12;

/// What came of it.
pub(in crate::command) struct LabBisected {
    pub(in crate::command) metric: String,
    pub(in crate::command) kernel: String,
    pub(in crate::command) commits: Vec<Commit>,
    pub(in crate::command) measured: Vec<Measured>,
    /// The commits of which the last one, or one of those that cannot be measured before it, changed it.
    pub(in crate::command) found: Option<RangeInclusive<usize>>,
    /// What the operation's functions have more since then; nothing where they were not explained.
    pub(in crate::command) changes: Vec<Change>,
    margin: f64,
}

/// The lab's configuration that commits are built with.
fn configuration(text: &str) -> Result<Kernel, Error> {
    if Path::new(text).is_file() {
        return Err(Error::Usage(format!(
            "--kernel {text} is a file: commits are built with a configuration of the lab, such as x86_64:hz=100"
        )));
    }
    let kernel: Kernel = text.parse()?;
    if kernel.source != Source::USUAL {
        return Err(Error::Usage(
            "--kernel: source= means nothing here: the source is the tree's".to_owned(),
        ));
    }
    Ok(kernel)
}

pub(super) fn run(store: &Store, options: &LabBisect) -> Result<Code, Error> {
    let metric = one_counted(&options.probe)?;
    let kernel = configuration(&options.kernel)?;
    let control = control();
    let commits = Tree::commits(&options.tree, &options.range)?;
    if commits.len() < 2 {
        return Err(Error::Usage(format!("{} has no commit to find", options.range)));
    }
    let place = options.tree.canonicalize().map_err(Error::file("open", &options.tree))?;
    let stop = || control.stopped();
    let place = place.to_string_lossy();
    let builds = Cache::at(None)?.series_of_commits(&place, &kernel, &mut waits, &stop)?;
    let tree = Tree::open(&options.tree, builds.folder())?;
    let bench = Bench::new(control.clone())?;
    let (probe, guest) = (&options.probe, &options.guest);
    let mut exact = Exact { bench, control, store, builds, probe, metric: &metric, guest };
    exact.check(&options.kernel)?;
    let mut work = Work { exact, tree, kernel: &kernel };
    let measured = work.bisect(&commits, options.margin)?;
    let found = match next_step(&measured, options.margin) {
        Next::Found(found) => Some(found),
        Next::NoEnd(_) | Next::NoChange | Next::Measure(_) => None,
    };
    let end = [0, commits.len() - 1].into_iter().find_map(|end| match &measured[end] {
        Measured::Failed(why) => Some((&commits[end].id, why)),
        _ => None,
    });
    if let Some((id, why)) = end {
        return Err(Error::Refused(format!("commit {id}, an end of the range: {why}; choose another end")));
    }
    let changes = match &found {
        Some(found) => work.changes(&commits, last_before(&measured, found), *found.end()),
        None => Ok(Vec::new()),
    };
    // What is known is said, also where its functions were interrupted.
    let (changes, interrupted) = changes_or_interruption(&work.exact.control, changes)?;
    if interrupted.is_none() {
        // Gigabytes, which only who goes on needs.
        work.exact.builds.remove();
    }
    let of = LabBisected {
        metric,
        kernel: kernel.to_string(),
        commits,
        measured,
        found,
        changes,
        margin: options.margin,
    };
    match options.output.format {
        Format::Json => crate::command::print_page(&LabBisectPage::new(&of))?,
        Format::Text => crate::command::print(&of.text())?,
    }
    match interrupted {
        Some(why) => Err(why),
        None => Ok(if of.found.is_some() { Code::Done } else { Code::Unjudged }),
    }
}

struct Work<'a> {
    exact: Exact<'a>,
    tree: Tree,
    kernel: &'a Kernel,
}

impl Work<'_> {
    /// Measures commits until one is found; what was measured before is taken up.
    fn bisect(&mut self, commits: &[Commit], margin: f64) -> Result<Vec<Measured>, Error> {
        let ends = [commits.first(), commits.last()].map(|commit| commit.map_or("", |commit| &commit.id));
        let mut steps = Steps::new();
        let mut journal = self.exact.journal(&format!("{ends:?}"))?;
        let mut all: Vec<Measured> =
            commits.iter().map(|commit| Exact::earlier(&journal, &commit.id)).collect();
        let known = all.iter().filter(|one| **one != Measured::Open).count();
        Exact::taken_up(&journal, known, &mut steps);
        // Both ends, and as often as what is between them can be halved.
        let most = 2 + (commits.len() - 1).next_power_of_two().ilog2() as usize;
        if let (Next::Measure(_), builds @ 1..) = (next_step(&all, margin), most.saturating_sub(known)) {
            crate::notice!(
                "this takes about {} of {} commits, some 2 to 5 minutes each on two CPUs",
                tickmark_render::count(builds as u32, "build"),
                commits.len()
            );
        }
        while let Next::Measure(at) = next_step(&all, margin) {
            let commit = &commits[at];
            let done = all.iter().filter(|one| **one != Measured::Open).count();
            steps.at(&format!("commit {} ({} of about {most})", &commit.id[..SHORT], done + 1));
            let title = format!("lab bisect {}", &commit.id[..SHORT]);
            let tree = || Ok(self.tree.check_out(commit)?.to_owned());
            let configuration = Configuration::Lab(self.kernel);
            let candidate = Candidate { name: &commit.id, configuration, tree: &tree };
            all[at] = self.exact.measure(candidate, &title, &mut journal).inspect_err(|_| steps.finish())?;
            // An end of the range is the error that ends it.
            if let (Measured::Failed(why), true) = (&all[at], at > 0 && at + 1 < commits.len()) {
                steps.warn(&format!("commit {} is left out: {why}", &commit.id[..SHORT]));
            }
        }
        steps.finish();
        Ok(all)
    }

    /// What the functions of the operation have more with a commit than with another.
    fn changes(&mut self, commits: &[Commit], before: usize, after: usize) -> Result<Vec<Change>, Error> {
        let [before, after] = [before, after].map(|at| &commits[at]);
        let of = |commit: &Commit| Ok(self.tree.check_out(commit)?.to_owned());
        let (first, second) = (|| of(before), || of(after));
        let configuration = Configuration::Lab(self.kernel);
        self.exact.changes([
            Candidate { name: &before.id, configuration, tree: &first },
            Candidate { name: &after.id, configuration, tree: &second },
        ])
    }
}

/// The last commit that was measured before those that were found.
fn last_before(measured: &[Measured], found: &RangeInclusive<usize>) -> usize {
    (0..*found.start()).rev().find(|at| measured[*at].value().is_some()).unwrap_or(0)
}

impl LabBisected {
    fn value(&self, at: usize) -> f64 {
        self.measured.get(at).and_then(Measured::value).unwrap_or(f64::NAN)
    }

    /// In words.
    pub(in crate::command) fn answer(&self) -> String {
        let last = self.commits.len() - 1;
        let (metric, kernel) = (in_words(&self.metric), &self.kernel);
        let Some(found) = &self.found else {
            return format!(
                "{metric} takes {} instructions at one end of the range and {} at the other, on {kernel}: no more than --margin {} apart, and no commit to find.",
                instructions(self.value(0)),
                instructions(self.value(last)),
                self.margin
            );
        };
        let (before, after) = (self.value(last_before(&self.measured, found)), self.value(*found.end()));
        let (by, whole) = (after - before, self.value(last) - self.value(0));
        let commit = &self.commits[*found.end()];
        let which = match found.clone().count() {
            1 => format!("commit {} ({})", &commit.id[..SHORT], commit.subject),
            more => format!(
                "one of {more} commits up to {} ({}), as those before it cannot be measured",
                &commit.id[..SHORT],
                commit.subject
            ),
        };
        let rest = if (whole - by).abs() > 0.5 {
            format!(" Other commits of the range changed it by {} together.", more(whole - by))
        } else {
            String::new()
        };
        format!(
            "{metric} takes {} instructions {} since {which}: {} against {} on {kernel}.{rest}",
            instructions(by.abs()),
            if by > 0.0 { "more" } else { "fewer" },
            instructions(after),
            instructions(before)
        )
    }

    fn text(&self) -> String {
        let width = tickmark_render::width();
        let mut text = tickmark_render::paragraph(&self.answer()) + "\n\n";
        for (at, (commit, measured)) in self.commits.iter().zip(&self.measured).enumerate() {
            let figure = match measured {
                Measured::Open => continue,
                Measured::Failed(_) => "     none".to_owned(),
                Measured::Value(value) => format!("{:>9}", instructions(*value)),
            };
            let mark = if self.found.as_ref().is_some_and(|found| found.contains(&at)) { '>' } else { ' ' };
            let line = format!("{mark} {} {figure}  {}", &commit.id[..SHORT], commit.subject);
            let _ = writeln!(text, "{}", line.chars().take(width).collect::<String>());
        }
        changes_by_function(&mut text, &changes_title(&self.metric, "What it"), &self.changes);
        text
    }
}
