//! Carries out a plan: starts a fresh process a run, waits for it no longer than its limit, passes on
//! what it wrote.

use crate::child::Request;
use crate::scratch::{self, Scratch};
use crate::survey::Survey;
use crate::{environment, settle, sizes};
use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tickmark_probe::sys::peer::{PEER_ENDED, PEER_TOLD};
use tickmark_probe::sys::{busiest, guest, host, limits, maps, osnoise};
use tickmark_wire::shared::{self, MOST_PADDING};
use tickmark_wire::{
    Event, FORMAT, Hello, Nanos, Plan, Reason, Refusal, RefusalKind, RunPlan, Settled, Started, names,
};

/// A run's own timer comes first; this much later it is killed.
const GRACE: Nanos = Nanos::from_millis(500);

/// A run that is asked to end, and writes what it has, is killed this much later.
const END_GRACE: Nanos = Nanos::from_millis(5_000);

/// A limit below this leaves no time to start a process.
const LEAST_LIMIT: Nanos = Nanos::from_millis(10);

/// Reads a plan from standard input, or from the words of a survey, and carries it out.
pub(crate) fn run(prefix: &[&str], words: Option<&[String]>) -> ExitCode {
    let mut out = Output { out: std::io::stdout(), survey: words.and_then(Survey::from_words) };
    let plan = match words.map_or_else(read_plan, Survey::plan) {
        Ok(plan) => plan,
        Err(message) => {
            let refusal = Refusal { kind: RefusalKind::Usage, message: format!("not a plan: {message}") };
            out.event(&Event::Refused(refusal));
            return ExitCode::from(2);
        }
    };
    if let Some(run) = plan.runs.iter().find(|run| run.padding > MOST_PADDING) {
        let message =
            format!("run {} has a padding of {} bytes, up to {MOST_PADDING}", run.id.0, run.padding);
        out.event(&Event::Refused(Refusal { kind: RefusalKind::Usage, message }));
        return ExitCode::from(2);
    }
    if let Some(run) = plan.runs.iter().find(|run| run.limit.is_some_and(|limit| limit < LEAST_LIMIT)) {
        let message =
            format!("run {} has a limit of less than {} ms", run.id.0, LEAST_LIMIT.get() / 1_000_000);
        out.event(&Event::Refused(Refusal { kind: RefusalKind::Usage, message }));
        return ExitCode::from(2);
    }
    let settled = match settle::settle(&plan.settings) {
        Ok(settled) => settled,
        Err(refusal) => {
            out.event(&Event::Refused(refusal));
            return ExitCode::FAILURE;
        }
    };
    let scratch = Scratch::make();
    let mut environment = environment::collect(&settled);
    match scratch.describe() {
        Some((place, kind)) => environment.know("scratch", &place, kind),
        None => environment.miss("scratch", "TMPDIR, /dev/shm, /run", "no directory can be written to"),
    }
    let sizes = sizes::choose(&mut environment, plan.settings.small);
    if sizes.short {
        maps::read_sparingly();
    } else if let Some(folder) = scratch.path() {
        let source = "/proc/kpageflags";
        match tickmark_probe::folios(&folder) {
            Ok(words) => environment.know("scratch.folios", source, words),
            Err(why) => environment.miss("scratch.folios", source, why),
        }
    }
    let clock_source = environment.get("clock.source").map(str::to_owned);
    let hz = environment.get("kernel.config.HZ").and_then(|hz| hz.parse::<i64>().ok()).unwrap_or(1000);
    out.event(&Event::Hello(Box::new(Hello {
        format: FORMAT,
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        agent_bytes: settle::program_bytes(),
        settings: plan.settings.clone(),
        settled: settled.clone(),
        environment,
    })));
    let batch = shared::longest_batch(hz);
    let (plan, settled, scratch) = (&plan, &settled, &scratch);
    let ends = out.survey.as_ref().map(|survey| survey.ends);
    let supervisor = Supervisor { prefix, plan, settled, scratch, sizes, batch, clock_source, ends };
    let others = busiest::Watch::begin();
    let complete = plan.runs.iter().all(|run| supervisor.carry_out(run, &mut out));
    let mut state = environment::state(settled.cpu);
    if let Some(words) = others.and_then(busiest::Watch::end) {
        state.know(names::OTHER_TASKS, "/proc/PID/stat, with children that were waited for", words);
    }
    out.event(&Event::Goodbye { complete, state });
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read_plan() -> Result<Plan, String> {
    let mut line = String::new();
    // Nothing follows the line: later, only the end of standard input is waited for.
    std::io::stdin().lock().read_line(&mut line).map_err(|e| e.to_string())?;
    serde_json::from_slice(line.as_bytes()).map_err(|e| e.to_string())
}

/// Standard output, a line an event, flushed each time. Once nobody reads, events are dropped.
struct Output {
    out: std::io::Stdout,
    survey: Option<Survey>,
}

impl Output {
    fn event(&mut self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            self.raw((line + "\n").as_bytes());
        }
    }

    fn raw(&mut self, lines: &[u8]) {
        let _ = match &mut self.survey {
            Some(survey) => survey.tell(&mut self.out, lines),
            None => self.out.write_all(lines).and_then(|()| self.out.flush()),
        };
        self.drain();
    }

    /// Waits until the serial line has sent everything, before the next run begins.
    fn drain(&self) {
        guest::drain(self.out.as_fd());
    }
}

struct Supervisor<'a> {
    prefix: &'a [&'a str],
    plan: &'a Plan,
    settled: &'a Settled,
    scratch: &'a Scratch,
    sizes: tickmark_probe::Sizes,
    batch: Nanos,
    clock_source: Option<String>,
    /// When it stops, a survey's; none is with the end of standard input.
    ends: Option<Instant>,
}

/// How waiting for a run ended.
enum End {
    Exited(ExitStatus, Vec<u8>),
    Limit,
    /// With what the run wrote when it was asked to end.
    Stopped(Vec<u8>),
}

impl Supervisor<'_> {
    /// Makes one run; false when the agent was told to stop.
    fn carry_out(&self, run: &RunPlan, out: &mut Output) -> bool {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started = Started {
            run: run.id,
            probe: run.probe.clone(),
            arguments: run.arguments.clone(),
            gives: run.gives.clone(),
            round: run.round,
            at: at.into(),
            monotonic: tickmark_probe::sys::clock::read(libc::CLOCK_MONOTONIC).ok(),
        };
        out.event(&Event::Started(started));
        let much =
            tickmark_load::REGISTRY.find(run.probe.as_str()).is_some_and(|probe| probe.spec.much_memory);
        let memory = if much { self.sizes.memory } else { 0 };
        let limit = run.limit.unwrap_or_else(|| shared::limit(run.budget, memory, self.sizes.short));
        let request = Request {
            run: run.id,
            parent: std::process::id(),
            probe: run.probe.clone(),
            arguments: run.arguments.clone(),
            budget: run.budget,
            batch: self.batch,
            limit,
            cpu: self.settled.cpu,
            allowed: self.settled.allowed.clone(),
            priority: self.settled.priority,
            slack: self.plan.settings.slack,
            scratch: self.scratch.path(),
            sizes: self.sizes.into(),
            deny: self.plan.settings.deny.clone(),
            only_needed: self.plan.settings.only_needed,
            phase: self.plan.settings.phase,
            stop_above: self.plan.settings.stop_above,
            stop_tracing: self.plan.settings.stop_tracing,
            tsc_is_nanoseconds: self.plan.settings.tsc_is_nanoseconds,
            send: self.plan.settings.send,
            clock_source: self.clock_source.clone(),
        };
        let end = self.start(&request, run.padding).and_then(|child| {
            let id = child.0.id();
            let folder = self.scratch.path().map(|path| path.join(format!("run-{id}")));
            // A loop that waits for a long gap keeps what it has seen.
            let ends_itself = request.stop_above.is_some();
            let end = wait(child, limit, self.ends, ends_itself);
            // A run that was ended left its files.
            folder.iter().for_each(|folder| scratch::remove(folder));
            osnoise::put_away(id);
            tickmark_load::put_away(run.probe.as_str());
            end
        });
        let event = match end {
            Ok(End::Exited(status, lines)) => match status.signal() {
                None if (status.success() || status.code() == Some(PEER_TOLD)) && !lines.is_empty() => {
                    out.raw(words(&lines));
                    return true;
                }
                Some(libc::SIGALRM | libc::SIGXCPU) => timed_out(run, limit),
                None if matches!(status.code(), Some(PEER_ENDED | PEER_TOLD)) => {
                    Event::Failed(run.id, Reason::new("a process that the probe measured with was ended"))
                }
                Some(libc::SIGKILL) => {
                    let why = "the run's process was killed (SIGKILL): out of memory, or by hand";
                    Event::Failed(run.id, Reason::new(why))
                }
                _ => Event::Failed(run.id, Reason::new(format!("the run's process ended with {status}"))),
            },
            Ok(End::Limit) => timed_out(run, limit),
            Ok(End::Stopped(lines)) => {
                if !lines.is_empty() {
                    out.raw(words(&lines));
                }
                return false;
            }
            Err(error) => Event::Failed(
                run.id,
                Reason {
                    message: format!("cannot start the run's process: {error}"),
                    call: None,
                    errno: error.raw_os_error(),
                },
            ),
        };
        out.event(&event);
        true
    }

    fn start(&self, request: &Request, padding: u32) -> std::io::Result<Running> {
        let child = Command::new(own_program())
            .args(self.prefix)
            .arg("one")
            .env("TICKMARK_PADDING", "x".repeat(padding as usize))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(nowhere())
            .process_group(0)
            .spawn()?;
        let mut running = Running(child);
        // Without /dev/null what it complains about goes into a pipe that nobody reads.
        drop(running.0.stderr.take());
        if let Some(mut stdin) = running.0.stdin.take() {
            writeln!(stdin, "{}", serde_json::to_string(request)?)?;
        }
        Ok(running)
    }
}

/// Where nobody reads; without a /dev/null that can be written, a pipe.
fn nowhere() -> Stdio {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    null.map_or_else(|_| Stdio::piped(), Stdio::from)
}

/// This very program: by its path, by the kernel's handle where the file was replaced meanwhile, by the
/// name it was executed as where there is no /proc. Whoever runs the agent in an emulator of programs, whose kernel cannot
/// execute it, names what starts it.
fn own_program() -> OsString {
    if let Some(named) = std::env::var_os("TICKMARK_AGENT_STARTER") {
        return named;
    }
    let handle = Path::new("/proc/self/exe");
    match std::env::current_exe() {
        Ok(path) if path.exists() => path.into_os_string(),
        _ if handle.exists() => handle.into(),
        _ => host::executed_as().unwrap_or_default(),
    }
}

/// The lines that a run's process and its peers wrote: all of them if the run succeeded, the first one if it failed, because later ones may
/// only complain about the lost other side.
fn words(lines: &[u8]) -> &[u8] {
    let failed = [&b"{\"skipped\""[..], b"{\"failed\""].iter().any(|kind| lines.starts_with(kind));
    let first = lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |at| at + 1);
    if failed { &lines[..first] } else { lines }
}

fn timed_out(run: &RunPlan, limit: Nanos) -> Event {
    let seconds = limit.as_f64() / 1e9;
    Event::TimedOut(run.id, Reason::new(format!("ended after its limit of {seconds:.1} s")))
}

/// A run's process; it and its peers end when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            limits::kill_group(self.0.id());
            let _ = self.0.wait();
        }
    }
}

/// Reads what a run still writes once it is asked to end, for up to [`END_GRACE`]; true if that was all of it. It is asked again and again: a
/// loop sees the signal only where it looks.
fn read_rest(run: u32, pipe: &mut ChildStdout, lines: &mut Vec<u8>) -> std::io::Result<bool> {
    let deadline = Instant::now() + END_GRACE.to_duration();
    let mut chunk = [0; 64 << 10];
    while Instant::now() < deadline {
        limits::request_termination(run);
        let ready = limits::wait_readable([pipe.as_fd(); 2], Nanos::from_millis(100));
        if !ready.map_err(|e| std::io::Error::from_raw_os_error(e.errno))?[0] {
            continue;
        }
        match pipe.read(&mut chunk)? {
            0 => return Ok(true),
            count => lines.extend_from_slice(&chunk[..count]),
        }
    }
    Ok(false)
}

/// Reads the output of a run until it ends, its time limit has passed (a timeout: what hangs is killed), or it is time to stop: that of a
/// survey or when nobody reads it any more, or the end of standard input. A run
/// that `ends_itself` then gets SIGTERM, and up to [`END_GRACE`] to write what it has.
fn wait(
    mut running: Running,
    limit: Nanos,
    ends: Option<Instant>,
    ends_itself: bool,
) -> std::io::Result<End> {
    let deadline = Instant::now() + limit.to_duration() + GRACE.to_duration();
    let mut lines = Vec::new();
    let Some(mut pipe) = running.0.stdout.take() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    let mut chunk = [0; 64 << 10];
    let end = loop {
        let now = Instant::now();
        if ends.is_some_and(|ends| now >= ends) {
            break Some(End::Stopped(Vec::new()));
        }
        let left =
            Nanos::from(ends.map_or(deadline, |ends| ends.min(deadline)).saturating_duration_since(now));
        if now >= deadline {
            break Some(End::Limit);
        }
        // Who takes part in a survey has no standard input that says so.
        let ready = if ends.is_some() {
            limits::wait_readable_or_unread(pipe.as_fd(), stdout.as_fd(), left)
        } else {
            limits::wait_readable([pipe.as_fd(), stdin.as_fd()], left)
        };
        match ready.map_err(|e| std::io::Error::from_raw_os_error(e.errno))? {
            [true, _] => match pipe.read(&mut chunk)? {
                0 => break None,
                count => lines.extend_from_slice(&chunk[..count]),
            },
            [false, true] if ends.is_some() || stdin.lock().read(&mut chunk)? == 0 => {
                break Some(End::Stopped(Vec::new()));
            }
            _ => {}
        }
    };
    let is_asked = ends_itself && matches!(end, Some(End::Stopped(_)));
    let is_whole = is_asked && read_rest(running.0.id(), &mut pipe, &mut lines)?;
    // A run that closed its output and still lives, or whose peers live, ends here.
    limits::kill_group(running.0.id());
    let status = running.0.wait()?;
    Ok(match end {
        None => End::Exited(status, lines),
        Some(End::Stopped(_)) if is_whole && status.success() => End::Stopped(lines),
        Some(end) => end,
    })
}
