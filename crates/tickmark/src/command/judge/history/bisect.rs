//! With which commit a figure changed: commits between two are measured until one of them has it, as often as the noise asks for.

use crate::cli::{BisectArgs, Format};
use crate::command::journal::{Journal, KeptFigure};
use crate::error::{Code, Error};
use crate::progress::{Steps, control};
use tickmark_drive::bisect::{CommitCommand, Tree};
use tickmark_render::bisect::{Bisected, Outcome};
use tickmark_stats::bisection::{Bisection, Step};
use tickmark_store::Store;

/// Bisects `range`, or what `--range` says.
pub(super) fn run(
    store: &Store,
    command: &str,
    options: &BisectArgs,
    range: Option<String>,
    format: Format,
) -> Result<Code, Error> {
    let range = options.range.clone().or(range).ok_or_else(|| {
        Error::Usage("--bisect: no change between two commits is known; give --range GOOD..BAD".to_owned())
    })?;
    if !(options.error > 0.0 && options.error < 0.5) {
        return Err(Error::Usage("--error: a share above 0 and below 50%".to_owned()));
    }
    let scratch = tempfile::tempdir().map_err(Error::file("make", "a temporary folder"))?;
    let commits = Tree::commits(&options.tree, &range)?;
    let mut tree = Tree::open(&options.tree, scratch.path())?;
    let mut bisection = Bisection::new(commits.len(), options.error)
        .ok_or_else(|| Error::Usage(format!("{range} has no commit to measure")))?;
    let how = CommitCommand {
        prepare: options.prepare.clone(),
        command: command.to_owned(),
        printed: options.printed,
        limit: std::time::Duration::from_secs(options.limit),
    };
    let ends = [commits.first(), commits.last()].map(|commit| commit.map_or("", |commit| &commit.id));
    let CommitCommand { prepare, command, printed, .. } = &how;
    let mut journal = Journal::open(store, &format!("{ends:?} {prepare:?} {command:?} {printed}"))?;
    let mut values = vec![Vec::new(); commits.len()];
    let mut failed = vec![None; commits.len()];
    let mut take = |kept: &KeptFigure, bisection: &mut Bisection| {
        let at = commits.iter().position(|commit| commit.id == kept.commit);
        if let Some(at) = at.filter(|_| kept.value.is_finite()) {
            bisection.add(at, kept.value);
            values[at].push(kept.value);
        }
    };
    let mut steps = Steps::new();
    let earlier = std::mem::take(&mut journal.earlier);
    if !earlier.is_empty() {
        let count = tickmark_render::count(earlier.len() as u32, "measurement");
        steps.warn(&format!(
            "{count} from before are taken up; to measure anew, delete {}",
            journal.path.display()
        ));
    }
    earlier.iter().for_each(|kept| take(kept, &mut bisection));
    let left = tickmark_stats::bisection::LEAST.saturating_sub(bisection.measured());
    if left > 0 {
        crate::notice!(
            "this takes at least {} of {} commits, several times as many where they spread",
            tickmark_render::count(left as u32, "measurement"),
            commits.len()
        );
    }
    let control = control();
    let outcome = loop {
        let at = match bisection.step() {
            Step::Measure(at) => at,
            Step::Found(found) => break Outcome::Found { more: bisection.has_more(*found.end()), found },
            Step::Within(range) => break Outcome::Within(range),
            Step::NoChange => break Outcome::NoChange,
        };
        let commit = &commits[at];
        steps.at(&format!(
            "measurement {}: commit {}",
            bisection.measured() + 1,
            &commit.id[..commit.id.len().min(10)]
        ));
        match tree.measure(commit, &how, &control) {
            Ok(value) => {
                let kept = KeptFigure { commit: commit.id.clone(), value };
                journal.add(&kept)?;
                take(&kept, &mut bisection);
            }
            Err(_) if control.stopped() => {
                steps.finish();
                return Err(Error::Refused(
                    "interrupted: what was measured is kept; the same command goes on".to_owned(),
                ));
            }
            Err(why) if at == 0 || at + 1 == commits.len() => {
                steps.finish();
                return Err(Error::Refused(format!(
                    "commit {}, an end of the range: {why}; commands run in a copy of the commit: name what is not in it by its whole path, or choose another end",
                    commit.id
                )));
            }
            Err(why) => {
                steps.warn(&format!("commit {} is left out: {why}", commit.id));
                bisection.leave_out(at);
                failed[at] = Some(why.to_string());
            }
        }
    };
    steps.finish();
    let named: Vec<(String, String)> =
        commits.iter().map(|commit| (commit.id.clone(), commit.subject.clone())).collect();
    let page = Bisected {
        commits: &named,
        values: &values,
        failed: &failed,
        chances: &bisection.chances(),
        outcome,
        error: options.error,
        printed: options.printed,
    };
    match format {
        Format::Json => crate::command::print_page(&tickmark_render::json::BisectionPage::new(&page))?,
        Format::Text => crate::command::print(&page.text())?,
    }
    Ok(if matches!(page.outcome, Outcome::Found { .. }) { Code::Done } else { Code::Unjudged })
}
