//! Report of a survey.

use super::tables;
use crate::cli::{FleetReport, Format};
use crate::command::pages::FleetReportPage;
use crate::command::report::write;
use crate::command::{print, print_page};
use crate::error::{Code, Error};
use tickmark_analysis::fleet::{self, Rule};
use tickmark_drive::fleet::Survey;

pub(super) fn run(options: &FleetReport) -> Result<Code, Error> {
    let survey = Survey::open(&options.survey)?;
    let rule = Rule { false_alarm: options.false_alarm, margin: options.margin };
    let mut model = fleet::examine(&tables::read_survey(&survey)?, rule);
    let when = survey.request.created.strftime("%Y-%m-%d %H:%M UTC").to_string();
    if let Some(file) = &options.file {
        write(file, &tickmark_render::fleet::html(&model, survey.request.id.short(), &when))?;
        return Ok(Code::Done);
    }
    match options.output.format {
        Format::Json => {
            print_page(&FleetReportPage::new(&survey.request.id, survey.request.created, model))?;
        }
        Format::Text => {
            let hidden = model.worst.len().saturating_sub(options.worst);
            model.worst.truncate(options.worst);
            print(&tickmark_render::fleet::text(&model, survey.request.id.short(), &when, hidden))?;
        }
    }
    Ok(Code::Done)
}
