//! A token that goes to and fro between two ends, with more of them on the way: juggle of FreeBSD's netrate.

use tickmark_probe::batch::{self, Shape};
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::sys::message::{self, End};
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::{CallError, limits};
use tickmark_probe::{Expected, Probe, Spec, Syscall, Unavailable};
use tickmark_wire::{Group, Picos};

/// Bytes of a token.
const TOKEN: usize = 128;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "ipc.juggle.{over}.{by}{pipeline}",
        timed: "a token of 128 bytes there and back over {over}, by {by}, while {pipeline} others are on their way",
        source: "Watson, FreeBSD tools/tools/netrate/juggle",
        physical_floor: Picos::new(100_000),
        expected: Expected::UNKNOWN,
        needs: &[Syscall::Read, Syscall::Write],
        parameters: &[
            Parameter::text("over", "what carries it: pipe, unix, unix-dgram, udp, tcp"),
            Parameter::choice(
                "by",
                "who is at the other end: this thread, another one, or another process; on the same CPU",
                &[
                    Value::named("one", "one", "one thread"),
                    Value::named("threads", "threads", "two threads"),
                    Value::named("processes", "processes", "two processes"),
                ],
            ),
            Parameter::choice(
                "pipeline",
                "tokens that are on their way beside the one that is waited for",
                &[
                    Value::named("0", "", "0"),
                    Value::named("1", ".1", "1"),
                    Value::named("2", ".2", "2"),
                    Value::named("3", ".3", "3"),
                    Value::named("4", ".4", "4"),
                ],
            ),
        ],
        ..Spec::cost(Group::Communication, "ipc.juggle", "juggle over {over}, {by}, pipeline {pipeline}")
    },
    prepare: |spec, params| {
        // Shared memory holds one message at a time.
        if !["pipe", "unix", "unix-dgram", "udp", "tcp"].contains(&params.argument("over")) {
            return Err(Unavailable::Missing("over is pipe, unix, unix-dgram, udp or tcp".to_owned()));
        }
        let (mut ours, mut theirs) = message::pair(params.argument("over"), TOKEN)?;
        let pipeline: usize = params.argument("pipeline").parse().unwrap_or(0);
        let (by, cpu) = (params.argument("by").to_owned(), params.cpu);
        let peer = match by.as_str() {
            "processes" => Some(Peer::start(|| {
                ours.close_copies();
                limits::pin(&[cpu])?;
                echo(&mut theirs)
            })?),
            _ => None,
        };
        let mut token = [7; TOKEN];
        let mut other = Some(theirs);
        if by == "threads"
            && let Some(mut theirs) = other.take()
        {
            let thread = std::thread::Builder::new().spawn(move || {
                limits::pin(&[cpu])?;
                echo(&mut theirs)
            });
            thread
                .map_err(|error| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &error))?;
        }
        let mut here = other.filter(|_| by == "one");
        for _ in 0..pipeline {
            ours.send(&token)?;
        }
        let pid = peer.as_ref().map(Peer::pid);
        let trip = move || {
            let _ = &peer;
            ours.send(&token)?;
            if let Some(theirs) = &mut here {
                theirs.receive(&mut token)?;
                theirs.send(&token)?;
            }
            ours.receive(&mut token)
        };
        Ok(batch::fallible(Shape::from_spec(spec), trip).with_peers(pid.as_slice()).boxed())
    },
}];

fn echo(end: &mut End) -> Result<(), CallError> {
    let mut token = [0; TOKEN];
    loop {
        end.receive(&mut token)?;
        end.send(&token)?;
    }
}
