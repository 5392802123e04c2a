//! Starts an agent on each machine: one step of Slurm, or any command that does the same.

use super::gather::SAID;
use super::slurm::{self, down};
use super::{Answer, Gathering, Survey};
use crate::{Control, Error};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tickmark_probe::session::{TOKEN, Token};
use tickmark_process::{Child, End, Keeper, Lines, Until};
use tickmark_wire::pieces;
use tickmark_wire::text::quoted;

/// After the time of its machines a launcher may take so long to end.
pub(super) const GRACE: Duration = Duration::from_secs(15);
/// How often it is asked whether the user ended it.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// After so long nothing more is expected of a launcher that has ended.
const SILENCE: Duration = Duration::from_millis(500);
/// Bytes of a line that are read: a piece of an agent has less than a thousand, with what a launcher puts before it.
pub const LINE: usize = 64 << 10;
/// Lines that may wait to be taken; whoever writes more of them waits.
const QUEUE: usize = 1024;
/// A word of a command line may have so many bytes (Linux: MAX_ARG_STRLEN, 128 KiB).
const LONGEST: usize = 128 << 10;

/// How agents get to run.
#[derive(Debug, Clone)]
pub enum LaunchMethod {
    /// `srun`, with options of the user's; the agent is copied to each node first where it is to be shipped.
    Slurm {
        /// Beside what is always said.
        options: Vec<String>,
        /// `srun --bcast`.
        ship: bool,
    },
    /// A command line of a shell: `{nodes}` are the machines with commas, `{count}` how many, `{command}` what each is to run.
    Command(String),
}

/// A launch of agents.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// How.
    pub way: LaunchMethod,
    /// The agent's program with the words before its own, as the machines find it.
    pub agent: Vec<String>,
    /// How long may pass until the first machine answers: a queue may be long.
    pub patience: Duration,
}

/// Where an agent that is shipped lies on a node.
fn shipped(survey: &Survey) -> String {
    format!("/tmp/tickmark-agent-{}", survey.request.id)
}

impl Launcher {
    /// The command that has an agent carry out the plan on each of these machines.
    ///
    /// # Errors
    /// A plan that is too long for a command line.
    pub fn command(&self, survey: &Survey, nodes: &[String]) -> Result<Command, Error> {
        let plan = pieces::word(&serde_json::to_string(&survey.request.plan).unwrap_or_default());
        if plan.len() >= LONGEST {
            return Err(Error::Usage(format!(
                "the plan is {} bytes long, and a word of a command line at most {LONGEST}: select fewer probes, or give fewer --runs",
                plan.len()
            )));
        }
        let own = ["survey".to_owned(), survey.request.limit_s.to_string(), plan];
        Ok(self.starts(survey, nodes, &own, None))
    }

    /// The command that starts an agent with these words on each of these machines, with a token that it is to know. Slurm passes the environment on; a
    /// launcher of another kind has the token in the command line.
    pub(super) fn starts(
        &self,
        survey: &Survey,
        nodes: &[String],
        own: &[String],
        token: Option<&Token>,
    ) -> Command {
        let (list, count) = (nodes.join(","), nodes.len().to_string());
        match &self.way {
            LaunchMethod::Slurm { options, ship } => {
                let mut srun = Command::new("srun");
                srun.envs(token.map(|token| (TOKEN, token.reveal())));
                // One task a node with all of it; a node that dies does not end the others' step.
                srun.args([
                    "--nodes",
                    &count,
                    "--ntasks",
                    &count,
                    "--ntasks-per-node=1",
                    "--nodelist",
                    &list,
                ]);
                srun.args(["--no-kill", "--kill-on-bad-exit=0", "--wait=0", "--input=none", "--exclusive"]);
                srun.args(["--cpu-bind=none", "--mem=0"]);
                srun.arg(format!("--job-name={}", job(survey))).args(options);
                if *ship {
                    srun.arg(format!("--bcast={}", shipped(survey)));
                }
                srun.args(&self.agent).args(own);
                srun
            }
            LaunchMethod::Command(template) => {
                let known = token.map(|token| ["env".to_owned(), format!("{TOKEN}={}", token.reveal())]);
                let all = known.iter().flatten().chain(&self.agent).chain(own);
                let line = all.map(|word| quoted(word).into_owned()).collect::<Vec<_>>().join(" ");
                let filled =
                    template.replace("{nodes}", &list).replace("{count}", &count).replace("{command}", &line);
                let mut shell = Command::new("sh");
                shell.args(["-c", &filled]);
                shell
            }
        }
    }
}

impl Launcher {
    /// Those of these machines that can be asked, and why the others cannot.
    ///
    /// # Errors
    /// As [`down`].
    pub(super) fn usable(&self, nodes: &[String]) -> Result<(Vec<String>, BTreeMap<String, String>), Error> {
        let known = match &self.way {
            LaunchMethod::Slurm { .. } => down(nodes)?,
            LaunchMethod::Command(_) => BTreeMap::new(),
        };
        Ok((nodes.iter().filter(|node| !known.contains_key(*node)).cloned().collect(), known))
    }

    /// Ends what a launcher that was ended by force may have left on the nodes.
    pub(super) fn clear(&self, survey: &Survey, end: &std::io::Result<End>) {
        if let [program, words @ ..] = &self.clearing(survey)[..]
            && !matches!(end, Ok(End::Exited(..)))
        {
            let _ = slurm::ask(program, &words.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// The command that ends it; none where the end of the launcher's group does.
    pub(super) fn clearing(&self, survey: &Survey) -> Vec<String> {
        match self.way {
            LaunchMethod::Slurm { .. } => {
                ["scancel".to_owned(), "--quiet".to_owned(), format!("--name={}", job(survey))].into()
            }
            LaunchMethod::Command(_) => Vec::new(),
        }
    }
}

/// A launcher that runs.
pub(super) struct Started {
    pub(super) child: Child,
    /// Its output.
    pub(super) lines: Receiver<Line>,
    /// Its program.
    pub(super) name: String,
    /// Ends what it started, where this program is killed.
    pub(super) keeper: Keeper,
}

impl Started {
    /// Starts it; `after` is what ends on the machines what it leaves there when it is killed.
    pub(super) fn spawn(mut command: Command, after: &[String]) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let refused = |error: std::io::Error| Error::Refused(format!("{name}: {error}"));
        let mut child = Child::start(command).map_err(refused)?;
        let keeper = child.keep(after).map_err(refused)?;
        let (send, lines) = sync_channel(QUEUE);
        read(child.stdout.take(), send.clone(), Line::Output, Some(Line::End));
        read(child.stderr.take(), send, Line::Complaint, None);
        Ok(Self { child, lines, name, keeper })
    }
}

/// The name of a survey's jobs.
fn job(survey: &Survey) -> String {
    format!("tickmark-{}", survey.request.id)
}

/// A line of a launcher's output.
pub(super) enum Line {
    Output(String),
    Complaint(String),
    /// Nothing more comes of its output; its complaints may be held open by what it leaves behind.
    End,
}

/// Starts an agent on each of these machines and gathers what they write until all have ended, or their time is over. `tell` hears of progress.
///
/// # Errors
/// The launcher cannot be started, or a recording cannot be written.
pub fn launch(
    survey: &Survey,
    launcher: &Launcher,
    nodes: &[String],
    control: &Control,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Answer>, Error> {
    let (usable, known) = launcher.usable(nodes)?;
    let mut gathering = Gathering::new(survey)?;
    if usable.is_empty() {
        return gathering.finish(nodes, &|node| known.get(node).cloned());
    }
    let Started { mut child, lines, name, keeper: _keeper } =
        Started::spawn(launcher.command(survey, &usable)?, &launcher.clearing(survey))?;
    let mut complaints: Vec<String> = Vec::new();
    let mut deadline = Instant::now() + launcher.patience;
    let mut begun = 0;
    let late = loop {
        match lines.recv_timeout(LOOK) {
            Ok(Line::Output(line)) => gathering.take(&line)?,
            Ok(Line::Complaint(line)) => {
                gathering.hear(&line);
                keep(&mut complaints, &line);
            }
            Ok(Line::End) | Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (answering, ended) = gathering.progress();
        // A launcher may start them in groups: each has its time from when it begins.
        if gathering.answering() > begun {
            begun = gathering.answering();
            deadline = Instant::now() + Duration::from_secs(survey.request.limit_s) + GRACE;
        }
        tell(answering, ended);
        if ended == usable.len() || control.stopped() || Instant::now() > deadline {
            break ended < usable.len();
        }
    };
    let until = Until { limit: Some(if late { Duration::ZERO } else { GRACE }), stop: &|| control.stopped() };
    let end = child.wait(&until);
    // What was written is not lost for being late. The channel ends with both pipes, or is silent where something holds one open.
    let drained = Instant::now() + GRACE;
    while let Ok(line) = lines.recv_timeout(SILENCE) {
        // What it left behind may write for ever.
        if Instant::now() > drained {
            break;
        }
        match line {
            Line::Output(line) => gathering.take(&line)?,
            Line::Complaint(line) => {
                gathering.hear(&line);
                keep(&mut complaints, &line);
            }
            Line::End => {}
        }
    }
    launcher.clear(survey, &end);
    let failed = matches!(&end, Ok(End::Exited(status, _)) if !status.success());
    let said = gathering.said().map(str::to_owned).filter(|_| failed);
    if gathering.answering() == 0 && failed && usable.len() == nodes.len() {
        let why = said.unwrap_or_else(|| "it said nothing".to_owned());
        return Err(Error::Refused(format!("{name} started no agent: {why}")));
    }
    let stopped = control.stopped();
    gathering.finish(nodes, &|node| {
        let own = || complaints.iter().rev().find(|line| mentions(line, node)).cloned();
        let over = || {
            let seconds = survey.request.limit_s;
            (late && !stopped).then(|| format!("no word of it within {seconds} s and {} s", GRACE.as_secs()))
        };
        let ended = || stopped.then(|| "interrupted".to_owned());
        known.get(node).cloned().or_else(own).or_else(ended).or_else(over)
    })
}

/// Keeps what was said of a machine that failed, which is not said often.
fn keep(complaints: &mut Vec<String>, line: &str) {
    if complaints.len() < 10_000 {
        complaints.push(line.chars().take(SAID).collect());
    }
}

/// True if a line has a machine's name as a word.
pub(super) fn mentions(line: &str, node: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)))
        .any(|word| word.trim_end_matches(['.', '-']) == node)
}

/// Reads a pipe line by line in a thread of its own.
fn read(
    pipe: Option<impl Read + Send + 'static>,
    send: SyncSender<Line>,
    kind: fn(String) -> Line,
    end: Option<Line>,
) {
    std::thread::spawn(move || {
        let Some(pipe) = pipe else { return };
        for line in Lines::new(pipe, LINE).map_while(Result::ok) {
            // Read also when nobody listens any more: who writes must not wait.
            let _ = send.send(kind(String::from_utf8_lossy(&line.into_bytes()).into_owned()));
        }
        end.into_iter().for_each(|end| {
            let _ = send.send(end);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_about_the_machine_that_it_names() {
        assert!(mentions("srun: error: Node failure on n3", "n3"));
        assert!(mentions("n3: ssh: connect: no route", "n3") && mentions("error: n3.", "n3"));
        assert!(!mentions("srun: error: Node failure on n31", "n3"));
    }
}
