//! One recording, read again.

use crate::cli::{Format, Show};
use crate::error::{Code, Error};
use crate::selection::of_row;
use tickmark_analysis::report;
use tickmark_render::report::ShownRows;
use tickmark_store::Store;
use tickmark_store::did_you_mean;
use tickmark_wire::Metric;

pub(in crate::command) fn run(store: &Store, show: &Show) -> Result<Code, Error> {
    let recording = store.find(&show.recording)?;
    if show.lmbench {
        return crate::command::lmbench_tables(&[&recording], &[], show.floor, show.output.format);
    }
    let fits = |name: &str, metric: &Metric| {
        let known = metric.name.as_str();
        known == name
            || metric.title.trim() == name
            || metric.group.suite() == name
            || glob::Pattern::new(name).is_ok_and(|p| p.matches(known))
    };
    let metrics = || recording.meta.plan.metrics.iter();
    let mut givers = Vec::new();
    for name in show.metrics.iter().filter(|name| !metrics().any(|metric| fits(name, metric))) {
        let unknown = || {
            let near = did_you_mean(name, metrics().map(|metric| metric.name.as_str()));
            Error::Usage(format!("recording {} has no metric {name}{near}", recording.meta.id))
        };
        givers.push(of_row(name, metrics()).ok_or_else(unknown)?);
    }
    let is_wanted = |metric: &Metric| show.metrics.iter().any(|name| fits(name, metric));
    let chosen = |metric: &Metric| show.metrics.is_empty() || givers.contains(&metric) || is_wanted(metric);
    let model = report::build(&recording, &chosen, !show.metrics.is_empty());
    match show.output.format {
        Format::Json => crate::command::print_page(&tickmark_render::json::Report::new(&model))?,
        Format::Text => {
            let shown = if show.environment { ShownRows::Environment } else { ShownRows::Rows };
            crate::command::print(&tickmark_render::report::text(&model, shown))?;
        }
    }
    Ok(Code::Done)
}
