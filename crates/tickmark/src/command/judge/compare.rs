//! Recordings side by side.

use crate::cli::{Compare, CompareFormat, FailOn, Format};
use crate::error::{Code, Error};
use crate::selection::Named;
use tickmark_analysis::comparison::{
    self, Against, CompareOptions, GroupLine, Line, Model, NoClaimReason, RowSelection, Side,
};
use tickmark_render::comparison as render;
use tickmark_store::{Entry, Recording, Store};

pub(in crate::command) fn run(store: &Store, options: &Compare) -> Result<Code, Error> {
    let sides = std::iter::once(&options.base).chain(&options.candidates).map(|name| side(store, name));
    let sides: Vec<Side> = sides.collect::<Result<_, _>>()?;
    let metrics = || sides.iter().flat_map(|side| &side.recordings).flat_map(|one| &one.meta.plan.metrics);
    let only = Named::new("--only", &options.only, metrics());
    let planned = if options.primary.is_empty() { planned_primary(&sides) } else { Vec::new() };
    let primary = Named::new("--primary", &options.primary, metrics());
    let asked_for = CompareOptions {
        margin: options.margin,
        unit: options.unit.into(),
        correction: options.correct.into(),
        accepts_missing: options.accept_missing,
    };
    let figures: Vec<&'static str> = options.figure.iter().map(|figure| figure.name()).collect();
    let picks = RowSelection {
        only: &|group, row| only.picks(group, row),
        primary: &|group, row| match planned.is_empty() {
            true => primary.picks(group, row),
            false => planned.contains(&row.metric),
        },
        figures: &figures,
    };
    let model = compared(store, &sides, asked_for, picks);
    // A name that fits nothing is told before that nothing is left.
    only.each_fits()?;
    primary.each_fits()?;
    let model = model?;
    let code = code(&model, options.fail_on);
    if options.lmbench {
        let format = match options.format {
            CompareFormat::Text => Format::Text,
            CompareFormat::Json => Format::Json,
            _ => return Err(Error::Usage("--lmbench has the formats text and json".to_owned())),
        };
        if let Some(side) = sides.iter().find(|side| side.recordings.len() > 1) {
            let count = side.recordings.len();
            return Err(Error::Usage(format!(
                "--lmbench shows one recording a side; here one side has {count}"
            )));
        }
        let recordings: Vec<&Recording> = sides.iter().filter_map(|side| side.recordings.first()).collect();
        let lines = model.against.iter().flat_map(|against| &against.lines);
        let own = if options.floor { "floor" } else { "mean" };
        let real: Vec<&str> = lines
            .filter(|line| line.changed() && (line.figure == own || line.figure == "value"))
            .map(|line| line.metric.as_str())
            .collect();
        crate::command::lmbench_tables(&recordings, &real, options.floor, format)?;
        return Ok(code);
    }
    show(&model, options.format)?;
    Ok(code)
}

/// The metrics that were to carry the claims of an experiment, if all sides are its settings.
pub(in crate::command) fn planned_primary(sides: &[Side]) -> Vec<String> {
    let mut arms = sides.iter().flat_map(|side| &side.recordings).map(|one| one.meta.arm.as_ref());
    let Some(Some(first)) = arms.next() else { return Vec::new() };
    let same = arms.all(|arm| arm.is_some_and(|arm| arm.experiment == first.experiment));
    if same { first.primary.clone() } else { Vec::new() }
}

/// Compares sides; where they are too few, earlier recordings of these machines say how far they spread.
pub(in crate::command) fn compared(
    store: &Store,
    sides: &[Side],
    options: CompareOptions,
    picks: RowSelection<'_>,
) -> Result<Model, Error> {
    let host = |recording: &Recording| {
        recording.environment().and_then(|facts| facts.get("host.name")).map(str::to_owned)
    };
    let hosts: Vec<Option<String>> = sides.iter().flat_map(|side| &side.recordings).map(host).collect();
    let list = || {
        let entries = store.list().unwrap_or_default().into_iter().rev();
        entries.filter(|entry| entry.complete && hosts.contains(&entry.host)).collect()
    };
    let earlier = comparison::Earlier { list: &list, read: &|id| store.read(id).ok() };
    comparison::build(sides, options, picks, &earlier)
        .map_err(|why| Error::Usage(tickmark_render::incomparable(&why)))
}

/// Prints a comparison.
pub(in crate::command) fn show(model: &Model, format: CompareFormat) -> Result<(), Error> {
    match format {
        CompareFormat::Text => crate::command::print(&render::text(model)),
        CompareFormat::Json => {
            crate::command::print_page(&tickmark_render::json::ComparisonPage::new(model, None))
        }
        CompareFormat::Markdown => crate::command::write(&render::markdown(model)),
        CompareFormat::Html => crate::command::write(&render::html(model)),
    }
}

/// A condition on a line.
type Is = fn(&Line) -> bool;

/// 3 where what was asked about is there; 5, with a warning, where some figure cannot be judged: it may be there all the
/// same.
pub(in crate::command) fn code(model: &Model, fail_on: Option<FailOn>) -> Code {
    let (fails, open): (Is, Is) = match fail_on {
        None => return Code::Done,
        Some(FailOn::Changed) => (Line::changed, |line| !line.decided()),
        // What changed may have done so by more than is shown.
        Some(FailOn::Beyond) => (Line::beyond, |line| !line.decided() || line.changed()),
        Some(FailOn::Worse) => {
            (Line::worse, |line| !line.decided() || (line.changed() && !line.has_direction()))
        }
    };
    let groups = || model.against.iter().flat_map(|against| &against.groups);
    // A group's change below the margin is none to fail on, as a figure's is.
    let groups = || groups().filter(|group| (group.ratio - 1.0).abs() > model.margin);
    let together = match fail_on {
        Some(FailOn::Changed) => groups().any(|group| group.changed),
        Some(FailOn::Worse) => groups().any(GroupLine::worse),
        Some(FailOn::Beyond) | None => false,
    };
    if model.any(fails) || together {
        return Code::Differs;
    }
    // What carries no claim is not asked about.
    let open = |line: &Line| open(line) && line.why != Some(NoClaimReason::Secondary);
    let lines =
        || model.against.iter().flat_map(|against| against.lines.iter().map(move |line| (against, line)));
    let open: Vec<(&Against, &Line)> = lines().filter(|(_, line)| open(line)).collect();
    // A metric that broke on the other side is not known to be as good.
    let gone = model.against.iter().find_map(|against| against.lost.as_ref());
    let Some((against, first)) = open.first() else {
        let Some(metric) = gone else { return Code::Done };
        crate::notice!(
            "tickmark: warning: {metric} cannot be judged for --fail-on: one side has no figure of it"
        );
        return Code::Unjudged;
    };
    crate::notice!(
        "tickmark: warning: {} of {} figures cannot be judged for --fail-on, such as {} {}: {}",
        open.len(),
        lines().count(),
        first.metric,
        first.figure,
        render::why_open(first, &against.basis, model.margin)
    );
    Code::Unjudged
}

/// A recording; of a setting to which blocks were added, all recordings of it.
pub(in crate::command) fn parts(store: &Store, found: Recording) -> Result<Vec<Recording>, Error> {
    let Some(arm) = found.meta.arm.clone().filter(|arm| !arm.pilot) else { return Ok(vec![found]) };
    let same = |entry: &Entry| {
        let own = entry
            .arm
            .as_ref()
            .is_some_and(|own| !own.pilot && (&own.experiment, own.number) == (&arm.experiment, arm.number));
        own && entry.id != found.meta.id
    };
    let others: Vec<Entry> = store.list()?.into_iter().filter(same).collect();
    let mut all = vec![found];
    for entry in others {
        all.push(store.read(&entry.id)?);
    }
    Ok(all)
}

/// All recordings whose name fits a pattern; none where the text is no pattern.
pub(in crate::command) fn matching(store: &Store, text: &str) -> Result<Option<Vec<Recording>>, Error> {
    if !text.contains(['*', '?']) || text.contains('/') {
        return Ok(None);
    }
    let pattern = glob::Pattern::new(text).map_err(|e| Error::Usage(format!("{text}: {e}")))?;
    let entries = store.list()?;
    let named = entries.iter().filter(|entry| pattern.matches(&entry.name));
    let found = named.map(|entry| store.read(&entry.id)).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() {
        let (name, near) = (text.to_owned(), String::new());
        return Err(tickmark_store::Error::Unknown { name, near, store: store.root().to_owned() }.into());
    }
    Ok(Some(found))
}

/// A side: recordings with commas between them, each by its name, id or path, or all whose name fits a pattern.
fn side(store: &Store, text: &str) -> Result<Side, Error> {
    let mut recordings: Vec<Recording> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        recordings.extend(match matching(store, part)? {
            Some(found) => found,
            None => parts(store, store.find(part)?)?,
        });
    }
    if recordings.is_empty() {
        return Err(Error::Usage("a side of the comparison is empty".to_owned()));
    }
    recordings.sort_by(|a, b| (a.meta.created, &a.meta.id).cmp(&(b.meta.created, &b.meta.id)));
    recordings.dedup_by(|a, b| a.meta.id == b.meta.id);
    Ok(Side { recordings })
}
