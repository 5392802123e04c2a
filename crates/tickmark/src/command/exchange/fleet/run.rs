//! Starts agents on many machines, or reads what they wrote; keeps a recording of each.

use super::tables;
use crate::cli::{FleetGather, FleetRun, Format, Launching};
use crate::command::pages::SurveyPage;
use crate::error::{Code, Error};
use crate::{progress, selection};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickmark_analysis::doctor;
use tickmark_drive::fleet::{
    self, Answer, Gathering, LINE, LaunchMethod, Launcher, Outcome, Survey, SurveyRequest,
};
use tickmark_drive::plan;
use tickmark_drive::target::static_program;
use tickmark_lab::StaticProgram;
use tickmark_process::Lines;
use tickmark_store::Id;
use tickmark_wire::{Offer, Settings};

pub(super) fn run(options: &FleetRun) -> Result<Code, Error> {
    // Who takes part is known before an agent is built, which may take a minute.
    let nodes = if options.resume.is_none() { machines(options)? } else { Vec::new() };
    let launcher = launcher(&options.launching)?;
    let survey = match &options.resume {
        Some(folder) => Survey::open(folder)?,
        None => begin(options, nodes)?,
    };
    if let Some(image) = &options.manifest {
        crate::command::write(&manifest(&survey, image)?)?;
        return Ok(Code::Done);
    }
    let _ours = survey.lock()?;
    let open: Vec<String> = match options.resume {
        Some(_) => {
            let answers = survey.answers()?;
            let open = answers.into_iter().filter(|answer| answer.outcome != Outcome::Complete);
            open.map(|answer| answer.node).filter(|node| survey.request.nodes.contains(node)).collect()
        }
        None => survey.request.nodes.clone(),
    };
    if open.is_empty() {
        let folder = survey.folder().display();
        return Err(Error::Usage(format!("{folder} is complete; nothing is left to resume")));
    }
    let control = progress::control();
    let bar = bar(open.len(), "machines ended");
    let launched = fleet::launch(&survey, &launcher, &open, &control, &mut |answering, ended| {
        bar.set_position(ended as u64);
        bar.set_message(format!("{answering} of {} answer", open.len()));
    });
    bar.finish_and_clear();
    if let Err(error) = launched {
        // A survey of which nothing came is not kept.
        if options.resume.is_none() && survey.store()?.list()?.is_empty() {
            let _ = std::fs::remove_dir_all(survey.folder());
        }
        return Err(error.into());
    }
    finish(&survey, options.output.format)
}

/// How agents get to run.
pub(super) fn launcher(launching: &Launching) -> Result<Launcher, Error> {
    let way = match &launching.launcher {
        Some(command) => LaunchMethod::Command(command.clone()),
        None => {
            let options = launching.srun.as_deref().unwrap_or_default();
            LaunchMethod::Slurm {
                options: options.split_whitespace().map(str::to_owned).collect(),
                ship: launching.ship,
            }
        }
    };
    Ok(Launcher {
        way,
        agent: agent(launching.agent.as_deref())?,
        patience: launching.patience.to_duration(),
    })
}

/// The machines that are asked for, else those that Slurm has.
fn machines(options: &FleetRun) -> Result<Vec<String>, Error> {
    match &options.nodes {
        Some(list) => fleet::expand(list).map_err(|why| Error::Usage(format!("--nodes: {why}"))),
        None if options.launching.launcher.is_some() => {
            Err(Error::Usage("give --nodes LIST with --launcher".to_owned()))
        }
        None => Ok(fleet::members()?),
    }
}

/// A new survey; a plan for every machine.
fn begin(options: &FleetRun, nodes: Vec<String>) -> Result<Survey, Error> {
    let (select, offers) = selected(options)?;
    let settings = Settings { small: true, ..Settings::default() };
    let plan = plan::make(
        &offers,
        options.runs,
        Some(options.budget),
        settings,
        options.runs == 1,
        &mut rand::rng(),
    );
    let limit_s = u64::try_from(options.limit.get() / 1_000_000_000).unwrap_or(0).max(1);
    let survey = SurveyRequest {
        format: 0,
        id: Id::random(),
        created: jiff::Timestamp::now(),
        program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
        nodes,
        select,
        limit_s,
        plan,
    };
    let folder = options.survey.as_deref().unwrap_or(Path::new("survey"));
    Ok(Survey::create(folder, survey)?)
}

/// The requested probes, or those of the doctor's checks, which explain an outlying machine.
fn selected(options: &FleetRun) -> Result<(Vec<String>, Vec<Offer>), Error> {
    if !options.select.is_empty() {
        return Ok((options.select.clone(), selection::select(&options.select)?));
    }
    let mut probes: Vec<String> =
        doctor::checks().flat_map(|check| check.probes).map(|name| (*name).to_owned()).collect();
    probes.sort_unstable();
    probes.dedup();
    let mut offers = selection::select(&["all".to_owned()])?;
    offers.retain(|offer| probes.iter().any(|probe| probe == offer.probe.as_str()));
    Ok((probes, offers))
}

/// The agent as the machines find it: by the path that it has here.
fn agent(named: Option<&Path>) -> Result<Vec<String>, Error> {
    let path = match named {
        Some(path) if path.is_absolute() => path.to_owned(),
        Some(path) => return Err(Error::Usage(format!("--agent {}: give the path from /", path.display()))),
        None => match static_program(StaticProgram::Agent, &progress::control()) {
            Ok(path) => path.canonicalize().unwrap_or(path),
            // This program is an agent, too, where its libraries are there.
            Err(_) => {
                let own = std::env::current_exe().map_err(|error| Error::Refused(error.to_string()))?;
                return Ok(vec![own.to_string_lossy().into_owned(), "agent".to_owned()]);
            }
        },
    };
    Ok(vec![path.to_string_lossy().into_owned()])
}

pub(super) fn bar(all: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(all as u64);
    if let Ok(style) =
        ProgressStyle::with_template(&format!("{{bar:30}} {{pos}} of {{len}} {what}; {{msg}}  {{elapsed}}"))
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

pub(super) fn gather(options: &FleetGather) -> Result<Code, Error> {
    let survey = Survey::open(&options.survey)?;
    let _ours = survey.lock()?;
    let mut gathering = Gathering::new(&survey)?;
    let mut take = |input: Box<dyn Read>, name: &Path| -> Result<(), Error> {
        for line in Lines::new(input, LINE) {
            let line = line.map_err(Error::file("read", name))?;
            gathering.take(&String::from_utf8_lossy(&line.into_bytes()))?;
        }
        Ok(())
    };
    if options.files.is_empty() {
        take(Box::new(std::io::stdin()), Path::new("standard input"))?;
    }
    for path in &options.files {
        let file = std::fs::File::open(path).map_err(Error::file("read", path))?;
        take(Box::new(file), path)?;
    }
    // Those that are whole already need not answer again.
    let known = survey.answers()?;
    let open: Vec<String> = known
        .into_iter()
        .filter(|answer| answer.outcome != Outcome::Complete)
        .map(|answer| answer.node)
        .collect();
    gathering.finish(&open, &|_| None)?;
    finish(&survey, options.output.format)
}

/// Writes the tables, and says what came of it.
fn finish(survey: &Survey, format: Format) -> Result<Code, Error> {
    let answers = survey.answers()?;
    tables::of_survey(survey)?;
    let folder = survey.folder();
    match format {
        Format::Json => {
            crate::command::print_page(&SurveyPage::new(&survey.request.id, folder, answers.clone()))?;
        }
        Format::Text => crate::command::print(&tickmark_render::fleet::ended(
            &nodes_of_answers(&answers),
            &folder.display().to_string(),
        ))?,
    }
    let complete = answers.iter().filter(|answer| answer.outcome == Outcome::Complete).count();
    Ok(match complete {
        0 if answers.iter().all(|answer| answer.recording.is_none()) => Code::Failed,
        all if all == answers.len() => Code::Done,
        _ => Code::Partly,
    })
}

/// The machines as the analysis has them.
pub(super) fn nodes_of_answers(answers: &[Answer]) -> Vec<tickmark_analysis::fleet::Node> {
    let one = |answer: &Answer| tickmark_analysis::fleet::Node {
        name: answer.node.clone(),
        outcome: word(answer.outcome).to_owned(),
        why: answer.why.clone(),
        recording: answer.recording.as_ref().map(ToString::to_string),
    };
    answers.iter().map(one).collect()
}

/// As it stands in the tables.
pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Partly => "partly",
        Outcome::Refused => "refused",
        Outcome::Silent => "silent",
    }
}

/// An Indexed Job: one pod a node, spread over the nodes, whose logs are the survey.
fn manifest(survey: &Survey, image: &str) -> Result<String, Error> {
    let launcher = Launcher {
        way: LaunchMethod::Command("{command}".to_owned()),
        agent: vec!["tickmark-agent".to_owned()],
        patience: Duration::ZERO,
    };
    let command = launcher.command(survey, &survey.request.nodes)?;
    let line = command.get_args().last().map(|line| line.to_string_lossy().into_owned()).unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    let count = survey.request.nodes.len();
    Ok(format!(
        "# kubectl apply -f this; then kubectl logs --prefix --tail=-1 --selector=job-name=tickmark --max-log-requests={count} | tickmark fleet gather {}\n\
         apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: tickmark\nspec:\n  completionMode: Indexed\n  completions: {count}\n  parallelism: {count}\n  backoffLimit: 0\n  \
         activeDeadlineSeconds: {}\n  template:\n    metadata:\n      labels:\n        app: tickmark\n    spec:\n      restartPolicy: Never\n      affinity:\n        podAntiAffinity:\n          \
         requiredDuringSchedulingIgnoredDuringExecution:\n            - labelSelector:\n                matchLabels:\n                  app: tickmark\n              topologyKey: kubernetes.io/hostname\n      \
         containers:\n        - name: agent\n          image: {}\n          command: {}\n          env:\n            - name: TICKMARK_NODE\n              valueFrom:\n                fieldRef:\n                  \
         fieldPath: spec.nodeName\n",
        PathBuf::from(survey.folder()).display(),
        survey.request.limit_s + 600,
        serde_json::json!(image),
        serde_json::json!(words),
    ))
}
