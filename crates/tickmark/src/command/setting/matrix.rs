//! A matrix carried out: every setting on every machine at every speed, then what came of it.

use crate::cli::{CompareFormat, FailOn};
use crate::command::answers::Answers;
use crate::command::lab::explain::{self, ExplainedGuest};
use crate::command::lab::explained::{ExplainedSetting, ExplainedSettings, guest_label, guest_name};
use crate::command::lab::one_operation;
use crate::command::{arms, compare};
use crate::error::{Code, Error};
use crate::progress::{Steps, control};
use crate::selection;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};
use tickmark_analysis::balance::Balanced;
use tickmark_analysis::comparison;
use tickmark_drive::experiment::{Experiment, Halt};
use tickmark_drive::knob::Boot;
use tickmark_drive::lab::{self, Bench, BootTarget, GuestRequest, Machine, MatrixRequest, Report, kernel_of};
use tickmark_drive::{Control, plan};
use tickmark_lab::{Module, Need};
use tickmark_render::json::{Balance, ComparisonPage};
use tickmark_store::{Id, Recording, Store};
use tickmark_wire::text::quoted;
use tickmark_wire::{Nanos, Offer, names};

/// How it is carried out and shown, beside what the matrix says.
#[derive(Debug, Clone, Copy)]
pub(in crate::command) struct MatrixOutput<'a> {
    /// Of each boot, on the wall.
    pub(in crate::command) limit: Option<Duration>,
    /// Where the matrix stands, from which an interrupted one is resumed.
    pub(in crate::command) file: Option<&'a Path>,
    pub(in crate::command) format: CompareFormat,
    pub(in crate::command) fail_on: Option<FailOn>,
}

/// Results of one machine at one speed.
pub(in crate::command) struct MachineOutcome {
    model: comparison::Model,
    /// Effect of HZ on its command, where it was requested.
    pub(in crate::command) balance: Option<Balanced>,
    /// The command, and where it ran.
    command: String,
    /// True if nothing else was measured.
    alone: bool,
    margin: f64,
    boots: usize,
    code: Code,
    /// What its guests execute, where the matrix says so.
    pub(in crate::command) explained: Vec<ExplainedSettings>,
}

/// Boots everything; of a matrix that was interrupted what is left, from the recordings with this name on.
pub(in crate::command) fn carry_out(
    store: &Store,
    from: &MatrixRequest,
    mut resumed: Option<(String, Vec<Id>)>,
    shown: MatrixOutput<'_>,
) -> Result<(Code, Vec<MachineOutcome>), Error> {
    let control = control();
    // Every name is looked at before the first minute is spent.
    let selected = from
        .machines
        .iter()
        .map(|machine| {
            explain::check(machine)?;
            let command = machine.offer()?;
            // Where there is a command, no probe is none.
            let probes = if command.is_some() && machine.probes.is_empty() {
                Vec::new()
            } else {
                selection::select(&machine.probes)?
            };
            Ok(probes.into_iter().chain(command).collect())
        })
        .collect::<Result<Vec<Vec<Offer>>, Error>>()?;
    let mut bench = ready(from, shown.limit, &control)?;
    if let (Some(answers), CompareFormat::Text) = (&from.answers, shown.format) {
        crate::command::print(&format!("{}: {answers}\n\n", from.name))?;
    }
    if resumed.is_none() {
        let each = from.machines.iter().map(|machine| {
            machine.speeds.len() * boots(machine, machine.blocks.unwrap_or(from.blocks), from.settings.len())
        });
        let all = tickmark_render::count(each.sum::<usize>() as u32, "boot");
        let explains = from.machines.iter().any(|machine| !machine.explain.is_empty());
        let more = if explains { ", and those that explain operations" } else { "" };
        let is_long = from.machines.iter().any(|machine| machine.blocks.unwrap_or(from.blocks) > 1);
        let then = if is_long { "; how long that is will be known after the first block" } else { "" };
        crate::notice!("this takes {all}{more}{then}");
    }
    let (mut code, mut made_boots, mut all) = (Code::Done, 0, Vec::new());
    let measuring = Instant::now();
    for (machine, probes) in from.machines.iter().zip(&selected) {
        for (number, speed) in machine.speeds.iter().enumerate() {
            let name =
                machine.host().map_or_else(|| format!("{}@{speed}", machine.name), |_| machine.name.clone());
            // What came before the interrupted one is whole.
            if resumed.as_ref().is_some_and(|(known, _)| *known != name) {
                continue;
            }
            let again = resumed.take().map(|(_, ids)| ids).unwrap_or_default();
            let Some(shift) = lab::shift(*speed) else { continue };
            let settings = from.settings.iter();
            let places = settings.map(|setting| bench.place(machine, setting, shift, shown.limit));
            let boot = Boot::new(places.collect::<Result<_, _>>()?)?;
            let resumed = again.iter().map(|id| store.read(id)).collect::<Result<Vec<_>, _>>()?;
            let experiment = experiment(from, machine, probes, name, boot, again);
            // First, so that what is compared are the last recordings; said behind them.
            let explained = if number == 0 {
                let mut known = ExplainedSettings::from_store(store, &resumed)?;
                // Which is tried again.
                known.iter_mut().for_each(|of| of.failed.clear());
                let name = &experiment.knob_name;
                explained(store, &mut bench, (from, machine, name), (shift, shown.limit), known)?
            } else {
                Vec::new()
            };
            let made = run_machine(store, from, machine, (&experiment, explained), &control, shown)?;
            made_boots += made.boots;
            code = code.worse(made.code);
            all.push(made);
        }
    }
    if let Some((name, _)) = resumed {
        return Err(Error::Usage(format!(
            "no machine {name} in this file: the interrupted recording is of another one"
        )));
    }
    let text = format!("{made_boots} boots in {:.0} s", measuring.elapsed().as_secs_f64());
    if shown.format == CompareFormat::Text {
        crate::command::print(&format!("{text}\n"))?;
    } else {
        crate::notice!("{text}");
    }
    Ok((code, all))
}

/// What a machine's guests execute, operation by operation; what is known of a guest is not counted again.
fn explained(
    store: &Store,
    bench: &mut Bench,
    (from, machine, experiment): (&MatrixRequest, &Machine, &str),
    (shift, limit): (u8, Option<Duration>),
    mut known: Vec<ExplainedSettings>,
) -> Result<Vec<ExplainedSettings>, Error> {
    let mut all = Vec::new();
    let mut steps = Steps::new();
    for (probe, number) in machine.explain.iter().zip(1..) {
        let count = machine.explain.len();
        steps.at(&format!("{}: {probe} by kernel function, {number} of {count}", machine.name));
        let metric = one_operation(probe)?;
        let is_it = |of: &ExplainedSettings| of.is_of(&metric, machine.caches.is_some());
        let mut of = known.iter().position(is_it).map_or_else(Default::default, |at| known.swap_remove(at));
        let mut guests = Vec::new();
        for setting in &from.settings {
            let name = guest_name(experiment, &setting.name);
            if of.labelled(&guest_label(&name)).is_some() {
                continue;
            }
            if let BootTarget::Guest(guest) = bench.place(machine, setting, shift, limit)? {
                guests.push(ExplainedGuest { name, guest: *guest });
            }
        }
        explain::settings(store, bench, (machine, probe), guests, &mut of)?;
        let labels: Vec<String> =
            from.settings.iter().map(|own| guest_label(&guest_name(experiment, &own.name))).collect();
        let order = |one: &ExplainedSetting| labels.iter().position(|own| *own == one.label);
        of.all.sort_by_key(order);
        all.push(of);
    }
    steps.finish();
    Ok(all)
}

/// Refuses what cannot be booted, then builds the kernels.
fn ready(from: &MatrixRequest, limit: Option<Duration>, control: &Control) -> Result<Bench, Error> {
    let mut bench = Bench::new(control.clone())?;
    let (mut kernels, mut need) = (Vec::new(), Need::Image);
    for machine in from.machines.iter().filter(|machine| machine.target.is_none()) {
        for setting in &from.settings {
            let wanted = GuestRequest::for_setting(machine, setting, 0, limit);
            let modules = wanted.as_ref().is_ok_and(|wanted| wanted.modules.iter().any(Module::is_built));
            need = if modules { Need::Modules } else { need };
            wanted.and_then(|wanted| bench.check(&wanted)).map_err(|error| match error {
                tickmark_drive::Error::Usage(why) => {
                    Error::Usage(format!("machine {}, setting {}: {why}", machine.name, setting.name))
                }
                other => other.into(),
            })?;
            kernels.push(kernel_of(machine, setting));
        }
    }
    bench.kernels(kernels.iter(), need)?;
    Ok(bench)
}

/// The experiment of one machine at one speed.
fn experiment(
    from: &MatrixRequest,
    machine: &Machine,
    probes: &[Offer],
    name: String,
    boot: Boot,
    resumed: Vec<Id>,
) -> Experiment {
    Experiment {
        knob_name: format!("{}, {name}", from.name),
        name,
        knob: Box::new(boot),
        settings: from.settings.iter().map(|setting| setting.name.clone()).collect(),
        probes: probes.to_vec(),
        outcomes: Vec::new(),
        programs: Vec::new(),
        looks: Vec::new(),
        primary: Vec::new(),
        blocks: machine.blocks.unwrap_or(from.blocks),
        slice: Nanos::new(from.slice.get() * i64::from(plan::weight(probes)) / 10),
        budget: None,
        measured: tickmark_wire::Settings { small: machine.host().is_none(), ..Default::default() },
        resumed,
        added: None,
    }
}

/// How many boots so many blocks are: the first of each guest is booted twice.
fn boots(machine: &Machine, blocks: u32, settings: usize) -> usize {
    let blocks = if machine.host().is_some() { blocks } else { blocks + 1 };
    blocks as usize * settings
}

/// Boots all settings of one machine at one speed, and shows what came of it.
fn run_machine(
    store: &Store,
    from: &MatrixRequest,
    machine: &Machine,
    (experiment, explained): (&Experiment, Vec<ExplainedSettings>),
    control: &Control,
    shown: MatrixOutput<'_>,
) -> Result<MachineOutcome, Error> {
    let interrupted = |made: u32, kept: &str| {
        let resume = shown.file.map_or(String::new(), |file| {
            let any = kept.split_whitespace().next().unwrap_or("REC");
            let file = file.display().to_string();
            let again = crate::suggest::command(&format!("lab run {} --resume {any}", quoted(&file)));
            format!("; resume with `{again}`")
        });
        Error::Refused(format!("interrupted after {made} blocks{resume}; saved as {kept}"))
    };
    let ended = experiment.guarded::<_, tickmark_drive::Error>(store, control, |guard| {
        let mut random = StdRng::from_rng(&mut rand::rng());
        let begun = Instant::now();
        let after = |_: &[Id], block: u32| {
            if block == 1 && !std::io::stderr().is_terminal() {
                let of = |blocks| boots(machine, blocks, experiment.settings.len()) as f64;
                let left = begun.elapsed().as_secs_f64() / of(1) * (of(experiment.blocks) - of(1));
                crate::notice!(
                    "this takes about {} more: {}",
                    tickmark_render::rough_time(left),
                    experiment.name
                );
            }
            false
        };
        experiment.run(store, guard, control, &mut random, begun, &after)
    });
    let ((ids, made, halt), _) = ended.map_err(|error| match error {
        // In the middle of a boot, or between two.
        tickmark_drive::Error::Kept { blocks, ids, .. } if control.stopped() => interrupted(blocks, &ids),
        other => other.into(),
    })?;
    let kept = Id::all(&ids);
    if made < 1 || halt == Halt::Stopped {
        return Err(interrupted(made, &kept));
    }
    arms::require_figure(store, &ids)?;
    let is_partly = arms::failed(store, &ids, made) || explained.iter().any(|of| !of.failed.is_empty());
    let code = if is_partly { Code::Partly } else { Code::Done };
    let recordings = ids.iter().map(|id| store.read(id)).collect::<Result<Vec<_>, _>>()?;
    let settings: Vec<Vec<Id>> = ids.iter().map(|id| vec![id.clone()]).collect();
    let asks = from.report.contains(&Report::BreakEven);
    let boots = boots(machine, made, ids.len());
    let model = arms::model(store, &settings, from.margin)?;
    let balance = asks.then(|| tickmark_analysis::balance::balance_of_hz(&recordings, from.margin)).flatten();
    let made = MachineOutcome {
        command: format!("{} ({})", machine.command.join(" "), experiment.name),
        alone: match from.report[..] {
            [Report::BreakEven] => machine.probes.is_empty() && balance.is_some(),
            // Every figure of the comparison stands in the tables.
            [Report::Scenarios] => {
                experiment.probes.iter().all(|probe| probe.probe.as_str() == names::SCENARIO)
            }
            _ => false,
        },
        balance,
        margin: from.margin,
        code: code.worse(compare::code(&model, shown.fail_on)),
        boots,
        model,
        explained,
    };
    made.show(from, &ids, &recordings, shown.format)?;
    Ok(made)
}

impl MachineOutcome {
    /// For programs: the comparison, and what HZ is to the command where that was asked for.
    pub(in crate::command) fn page(&self) -> ComparisonPage {
        ComparisonPage::new(&self.model, self.balance())
    }

    /// Effect of HZ on the command.
    pub(in crate::command) fn balance(&self) -> Option<Balance> {
        let balance = self.balance.as_ref()?;
        Some(Balance::new(balance, &self.command, self.margin))
    }

    fn show(
        &self,
        from: &MatrixRequest,
        ids: &[Id],
        recordings: &[Recording],
        format: CompareFormat,
    ) -> Result<(), Error> {
        let model = &self.model;
        // JSON is one value: it is printed when all is there.
        if format != CompareFormat::Text {
            return if format == CompareFormat::Json { Ok(()) } else { compare::show(model, format) };
        }
        let balance = self.balance.as_ref().map_or_else(String::new, |balance| {
            tickmark_render::balance::text(balance, &self.command, self.margin)
        });
        let Answers { answer, prediction, tables } =
            Answers::from_settings(&from.report, recordings, model, &self.explained)?;
        let answer = balance + &answer;
        // The answer, then what it stands on.
        let gap = if answer.is_empty() { "" } else { "\n" };
        crate::command::print(&format!("{answer}{gap}"))?;
        // Where nothing else was measured, the page of its two or three figures says nothing more.
        if !self.alone {
            compare::show(model, format)?;
        }
        crate::command::print(&prediction)?;
        crate::command::print(&tables)?;
        crate::command::print(&format!("saved as {}\n\n", Id::all(ids)))?;
        self.explained.iter().try_for_each(|of| crate::command::print(&format!("{}\n", of.summary())))
    }
}
