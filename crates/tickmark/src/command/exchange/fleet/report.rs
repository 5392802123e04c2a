//! What a survey says.

use super::tables;
use crate::cli::{FleetReport, Format};
use crate::command::report::write;
use crate::command::{print, print_json};
use crate::error::{Code, Error};
use tickmark_analysis::fleet::{self, Rule};
use tickmark_drive::fleet::Survey;

pub(super) fn run(asked: &FleetReport) -> Result<Code, Error> {
    let survey = Survey::open(&asked.survey)?;
    let rule = Rule { false_alarm: asked.false_alarm, margin: asked.margin };
    let mut model = fleet::examine(&tables::read_survey(&survey)?, rule);
    let when = survey.asked.created.strftime("%Y-%m-%d %H:%M UTC").to_string();
    if let Some(file) = &asked.file {
        write(file, &tickmark_render::fleet::html(&model, survey.asked.id.short(), &when))?;
        return Ok(Code::Done);
    }
    match asked.output.format {
        Format::Json => print_json(
            &serde_json::json!({ "survey": survey.asked.id, "created": survey.asked.created, "report": model }),
        )?,
        Format::Text => {
            let hidden = model.worst.len().saturating_sub(asked.worst);
            model.worst.truncate(asked.worst);
            print(&tickmark_render::fleet::text(&model, survey.asked.id.short(), &when, hidden))?;
        }
    }
    Ok(Code::Done)
}
