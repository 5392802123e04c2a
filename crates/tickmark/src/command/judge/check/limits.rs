//! Limits that were given.

use super::github;
use crate::cli::{Check, CheckFormat, LimitValue};
use crate::error::{Code, Error};
use tickmark_analysis::report::{self, Row, Unit};
use tickmark_render::gate as render;
use tickmark_store::{Recording, did_you_mean};
use tickmark_wire::Better;

/// Judges a recording by the limits; `is_one_of_several` leaves out limits of metrics that others have.
pub(super) fn run(
    recording: &Recording,
    options: &Check,
    is_one_of_several: bool,
    suites: &mut Vec<render::Suite>,
) -> Result<Code, Error> {
    let model = report::build(recording, &|_| true, false);
    let rows: Vec<&Row> = model.groups.iter().flat_map(|(_, rows)| rows).collect();
    let one = |option: &str, is_most: bool, (name, limit): &(String, LimitValue)| {
        let wrong = |why: String| Error::Usage(format!("{option} {name}: {why}"));
        let row = rows.iter().find(|row| row.metric == *name || row.title.trim() == name);
        if row.is_none() && is_one_of_several {
            return Ok(None);
        }
        let row = row.ok_or_else(|| {
            let near = did_you_mean(name, rows.iter().map(|row| row.metric.as_str()));
            wrong(format!("recording {} has no such metric{near}", recording.meta.id))
        })?;
        let limit = in_unit(*limit, row.unit).map_err(wrong)?;
        match (row.better, is_most) {
            (Better::Higher, true) => Err(wrong("more of it is better: give --min".to_owned())),
            (Better::Lower, false) => Err(wrong("less of it is better: give --max".to_owned())),
            _ => Ok(Some(render::Limit {
                row: (*row).clone(),
                limit,
                is_most,
                takes_single: recording.imported.is_some(),
            })),
        }
    };
    let most = options.max.iter().map(|limit| one("--max", true, limit));
    let least = options.min.iter().map(|limit| one("--min", false, limit));
    let all = most.chain(least).filter_map(Result::transpose);
    let all: Vec<render::Limit> = all.collect::<Result<_, Error>>()?;
    let code = match () {
        () if all.iter().any(|limit| limit.holds() == Some(false)) => Code::Differs,
        () if all.iter().any(|limit| limit.holds().is_none()) => Code::Unjudged,
        () => Code::Done,
    };
    let (id, name) = (recording.meta.id.to_string(), recording.meta.name.clone());
    let page = render::Limits { id, name, limits: &all, code: code.number() };
    match options.format {
        CheckFormat::Text => crate::command::print(&page.text())?,
        CheckFormat::Json => crate::command::print_page(&tickmark_render::json::LimitsPage::new(&page))?,
        CheckFormat::Markdown => crate::command::write(&page.markdown())?,
        CheckFormat::Junit | CheckFormat::Gitlab => suites.push(page.suite()),
        CheckFormat::Github => github(&page.annotations(), &page.markdown())?,
    }
    Ok(code)
}

/// The limit in the unit of the row.
pub(in crate::command) fn in_unit(limit: LimitValue, unit: Unit) -> Result<f64, String> {
    match (limit, unit) {
        (LimitValue::Time(ns), Unit::Nanoseconds) => Ok(ns),
        (LimitValue::Share(share), Unit::Share) => Ok(share),
        (LimitValue::Number(_), Unit::Nanoseconds) => Err("a time with its unit, such as 200ns".to_owned()),
        (LimitValue::Number(_), Unit::Share) => Err("a share, such as 5%".to_owned()),
        (LimitValue::Number(number), _) => Ok(number),
        _ => Err("its values are no times and no shares: give a plain number in its unit".to_owned()),
    }
}
