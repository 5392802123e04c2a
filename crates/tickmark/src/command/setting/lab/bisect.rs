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
use tickmark_analysis::explain::Change;
use tickmark_drive::Control;
use tickmark_drive::bisect::{Commit, Tree};
use tickmark_drive::lab::{Bench, Measured, Next, build_commit, next_step};
use tickmark_lab::{Cache, CommitBuilds, Kernel};
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
}

pub(super) fn run(store: &Store, options: &LabBisect) -> Result<Code, Error> {
    let metric = one_operation(&options.probe)?;
    let kernel: Kernel = options.kernel.parse()?;
    let control = control();
    let place = options.tree.canonicalize().map_err(Error::file("open", &options.tree))?;
    let stop = || control.stopped();
    let builds = Cache::at(None)?.commit_builds(&place.to_string_lossy(), &kernel, &stop)?;
    let tree = Tree::open(&options.tree, builds.folder())?;
    let commits = tree.commits(&options.range)?;
    let mut work =
        Work { bench: Bench::new(control.clone())?, control, store, tree, builds, options, metric: &metric };
    let measured = work.bisect(&commits)?;
    let found = match next_step(&measured, options.margin) {
        Next::Found(found) => Some(found),
        Next::NoEnd(_) | Next::NoChange | Next::Measure(_) => None,
    };
    let changes = match &found {
        Some(found) => work.changes(&commits, &measured, found),
        None => Ok(Vec::new()),
    };
    // Gigabytes, which only who goes on needs.
    let Work { builds, control, .. } = work;
    if !control.stopped() {
        builds.remove();
    }
    let changes = changes.or_else(|why| match control.stopped() {
        true => Err(why),
        false => {
            anstream::eprintln!("tickmark: warning: its functions are not told: {why}");
            Ok(Vec::new())
        }
    })?;
    let end = [0, commits.len() - 1].into_iter().find_map(|end| match &measured[end] {
        Measured::Failed(why) => Some((&commits[end].id, why)),
        _ => None,
    });
    if let Some((id, why)) = end {
        return Err(Error::Refused(format!("commit {id}, an end of the range: {why}; choose another end")));
    }
    let of = LabBisected { metric, kernel: kernel.to_string(), commits, measured, found, changes };
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
        let LabBisect { kernel, guest, .. } = self.options;
        let key = format!("lab {ends:?} {} {kernel} {guest:?}", self.metric);
        let mut journal = Journal::open(self.store, &key)?;
        let mut all = vec![Measured::Open; commits.len()];
        for kept in &journal.earlier {
            if let Some(at) = commits.iter().position(|commit| commit.id == kept.commit) {
                all[at] = Measured::Value(kept.value);
            }
        }
        let mut steps = Steps::new();
        while let Next::Measure(at) = next_step(&all, self.options.margin) {
            let commit = &commits[at];
            let done = all.iter().filter(|one| **one != Measured::Open).count();
            // Both ends, and as often as the range can be halved.
            let most = commits.len().ilog2() as usize + 3;
            steps.at(&format!("commit {} ({} of about {most})", &commit.id[..SHORT], done + 1));
            all[at] = match self.measure(commit) {
                Ok(value) => {
                    journal.add(&Kept { commit: commit.id.clone(), value })?;
                    Measured::Value(value)
                }
                Err(_) if self.control.stopped() => {
                    steps.finish();
                    return Err(Error::Refused(
                        "interrupted: what was built and measured is kept; the same command goes on"
                            .to_owned(),
                    ));
                }
                Err(why) => {
                    // An end of the range is the error that ends it.
                    if at > 0 && at + 1 < commits.len() {
                        steps.warn(&format!("commit {} is left out: {why}", &commit.id[..SHORT]));
                    }
                    Measured::Failed(why.to_string())
                }
            };
        }
        steps.finish();
        Ok(all)
    }

    /// The image of a commit, built where it is not there.
    fn image(&self, commit: &Commit) -> Result<String, Error> {
        let image = build_commit(&self.builds, &self.tree, commit, &self.control)?;
        Ok(image.to_string_lossy().into_owned())
    }

    /// Instructions of the operation where nothing interrupts it.
    fn measure(&mut self, commit: &Commit) -> Result<f64, Error> {
        let image = self.image(commit)?;
        let boot = operation_boot(&image, self.metric, &self.options.guest);
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
        let before = (0..*found.start()).rev().find(|at| measured[*at].value().is_some()).unwrap_or(0);
        let mut functions = Vec::new();
        for at in [before, *found.end()] {
            let image = self.image(&commits[at])?;
            let boot = operation_boot(&image, &self.options.probe, &self.options.guest);
            let guest = guest_of_one(&mut self.bench, boot)?;
            let (_, explanation) = explained(self.store, &self.bench, (&image, self.metric), guest, None)?;
            functions.push(explanation.functions);
        }
        Ok(tickmark_analysis::explain::difference(&functions[0], &functions[1]))
    }
}

impl LabBisected {
    fn value(&self, at: usize) -> f64 {
        self.measured.get(at).and_then(Measured::value).unwrap_or(f64::NAN)
    }

    /// The last one that was measured before those that were found.
    fn before(&self, found: &RangeInclusive<usize>) -> usize {
        (0..*found.start()).rev().find(|at| self.measured[*at].value().is_some()).unwrap_or(0)
    }

    /// In words.
    pub(in crate::command) fn answer(&self) -> String {
        let last = self.commits.len() - 1;
        let (metric, kernel) = (&self.metric, &self.kernel);
        let Some(found) = &self.found else {
            return format!(
                "{metric} takes as many instructions at both ends of the range, {} and {} on {kernel}: there is no commit to find.",
                instructions(self.value(0)),
                instructions(self.value(last))
            );
        };
        let (before, after) = (self.value(self.before(found)), self.value(*found.end()));
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
            format!(" Other commits of the range changed it by {}.", more(whole - by))
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
