//! With which commit of a kernel's tree an operation's instructions changed: each commit is built and booted once.

use super::explain::{explained, guest_of_one};
use super::{one_operation, operation_boot};
use crate::cli::{Format, LabBisect};
use crate::command::journal::{Journal, Kept};
use crate::command::lab::gate;
use crate::command::pages::LabBisectPage;
use crate::command::run;
use crate::error::{Code, Error};
use crate::progress::{Steps, control};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use tickmark_analysis::explain::Change;
use tickmark_drive::Control;
use tickmark_drive::bisect::{Commit, Tree};
use tickmark_drive::lab::{Bench, Measured, Next, build_commit, next_step};
use tickmark_lab::{Cache, CommitBuilds, Kernel, Source};
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
    if Path::new(text).exists() {
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
    let metric = one_operation(&options.probe)?;
    let kernel = configuration(&options.kernel)?;
    let control = control();
    let commits = Tree::commits(&options.tree, &options.range)?;
    if commits.len() < 2 {
        return Err(Error::Usage(format!("{} has no commit to find", options.range)));
    }
    let place = options.tree.canonicalize().map_err(Error::file("open", &options.tree))?;
    let stop = || control.stopped();
    let mut waits = || anstream::eprintln!("waiting: another tickmark builds commits");
    let place = place.to_string_lossy();
    let builds = Cache::at(None)?.commit_builds(&place, &kernel, &mut waits, &stop)?;
    let tree = Tree::open(&options.tree, builds.folder())?;
    let mut work =
        Work { bench: Bench::new(control.clone())?, control, store, tree, builds, options, metric: &metric };
    let measured = work.bisect(&commits)?;
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
        Some(found) => work.changes(&commits, &measured, found),
        None => Ok(Vec::new()),
    };
    let changes = match changes {
        Err(_) if work.control.stopped() => return Err(work.interrupted()),
        Err(why) => {
            anstream::eprintln!("tickmark: warning: its functions are not told: {why}");
            Vec::new()
        }
        Ok(changes) => changes,
    };
    // Gigabytes, which only who goes on needs.
    work.builds.remove();
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
    Ok(if of.found.is_some() { Code::Done } else { Code::Unjudged })
}

struct Work<'a> {
    bench: Bench,
    control: Control,
    store: &'a Store,
    tree: Tree,
    builds: CommitBuilds,
    options: &'a LabBisect,
    metric: &'a str,
}

impl Work<'_> {
    /// Measures commits until one is found; what was measured before is taken up.
    fn bisect(&mut self, commits: &[Commit]) -> Result<Vec<Measured>, Error> {
        let ends = [commits.first(), commits.last()].map(|commit| commit.map_or("", |commit| &commit.id));
        let (builds, guest) = (self.builds.key(), &self.options.guest);
        // Another version of the agent measures in another way.
        let key = format!("lab {ends:?} {} {builds} {guest:?} {}", self.metric, env!("CARGO_PKG_VERSION"));
        let mut journal = Journal::open(self.store, &key)?;
        let mut all = vec![Measured::Open; commits.len()];
        for kept in &journal.earlier {
            let at = commits.iter().position(|commit| commit.id == kept.commit);
            if let Some(at) = at.filter(|_| kept.value.is_finite()) {
                all[at] = Measured::Value(kept.value);
            }
        }
        let mut steps = Steps::new();
        if !journal.earlier.is_empty() {
            let count = tickmark_render::count(journal.earlier.len() as u32, "measurement");
            let path = journal.path.display();
            steps.warn(&format!("{count} from before are taken up; to measure anew, delete {path}"));
        }
        while let Next::Measure(at) = next_step(&all, self.options.margin) {
            let commit = &commits[at];
            let done = all.iter().filter(|one| **one != Measured::Open).count();
            // Both ends, and as often as the range can be halved.
            let most = commits.len().ilog2() as usize + 3;
            steps.at(&format!("commit {} ({} of about {most})", &commit.id[..SHORT], done + 1));
            let measured = self.measure(commit);
            if self.control.stopped() {
                steps.finish();
                return Err(self.interrupted());
            }
            all[at] = match measured.inspect_err(|_| steps.finish())? {
                Ok(value) => {
                    journal.add(&Kept { commit: commit.id.clone(), value })?;
                    Measured::Value(value)
                }
                Err(why) => {
                    // An end of the range is the error that ends it.
                    if at > 0 && at + 1 < commits.len() {
                        steps.warn(&format!("commit {} is left out: {why}", &commit.id[..SHORT]));
                    }
                    Measured::Failed(why)
                }
            };
        }
        steps.finish();
        Ok(all)
    }

    fn interrupted(&self) -> Error {
        let place = self.builds.folder().display();
        Error::Refused(format!(
            "interrupted: what was built is kept in {place}, what was measured in the store; the same command goes on"
        ))
    }

    /// The image of a commit, built where it is not there; or why the commit has none.
    fn image(&self, commit: &Commit) -> Result<Result<String, String>, Error> {
        let image = build_commit(&self.builds, &self.tree, commit, &self.control)?;
        Ok(image.map(|image| image.to_string_lossy().into_owned()))
    }

    /// Instructions of the operation where nothing interrupts it; or why the commit has none.
    fn measure(&mut self, commit: &Commit) -> Result<Result<f64, String>, Error> {
        let image = match self.image(commit)? {
            Ok(image) => image,
            Err(why) => return Ok(Err(why)),
        };
        match self.boot(commit, &image) {
            // What the store or a file refuses, it refuses of any commit.
            Err(why @ (Error::Store { .. } | Error::File { .. } | Error::Path { .. })) => Err(why),
            booted => Ok(booted.map_err(|why| why.to_string())),
        }
    }

    fn boot(&mut self, commit: &Commit, image: &str) -> Result<f64, Error> {
        let boot = operation_boot(image, self.metric, &self.options.guest);
        let (guest, plan) = super::guest_and_plan(&mut self.bench, &boot)?;
        let name = format!("lab bisect {}", &commit.id[..SHORT]);
        let (recording, _) =
            run::guest_recording(self.store, &self.control, &guest, &plan, &name, &commit.id)?;
        let paths = gate::instructions(&recording)?;
        paths.get(self.metric).copied().ok_or_else(|| Error::Refused(format!("no count of {}", self.metric)))
    }

    /// What the functions of the operation have more with the commit that was found.
    fn changes(
        &mut self,
        commits: &[Commit],
        measured: &[Measured],
        found: &RangeInclusive<usize>,
    ) -> Result<Vec<Change>, Error> {
        let before = last_before(measured, found);
        let mut functions = Vec::new();
        for at in [before, *found.end()] {
            let image = self.image(&commits[at])?.map_err(Error::Refused)?;
            let boot = operation_boot(&image, &self.options.probe, &self.options.guest);
            let guest = guest_of_one(&mut self.bench, boot)?;
            let (_, explanation) = explained(self.store, &self.bench, (&image, self.metric), guest, None)?;
            functions.push(explanation.functions);
        }
        Ok(tickmark_analysis::explain::difference(&functions[0], &functions[1]))
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
        let (metric, kernel) = (&self.metric, &self.kernel);
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
        let mut text = textwrap::fill(&self.answer(), width) + "\n\n";
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
        changes_by_function(&mut text, "What it changed in the kernel", &self.changes);
        text
    }
}
