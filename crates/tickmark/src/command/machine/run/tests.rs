//! What an agent says is kept, and a refusal says whose fault it is.

use super::*;
use std::path::PathBuf;
use tickmark_drive::{AgentLine, Error as Drive};
use tickmark_wire::{LineContent, RefusalKind};

type On<'a> = dyn FnMut(AgentLine) -> Result<(), Drive> + 'a;

/// An agent that replays the events of a recording: the same on every machine.
struct Replay<'a>(&'a Path);

impl Target for Replay<'_> {
    fn run(&mut self, _: &Plan, on: &mut On<'_>) -> Result<(), Drive> {
        let text = std::fs::read_to_string(self.0.join("events.jsonl")).unwrap();
        let heard =
            |line: &str| AgentLine { line: line.into(), said: LineContent::parse(line.as_bytes()).unwrap() };
        text.lines().map(heard).try_for_each(on)
    }
}

struct Refuses(RefusalKind);

impl Target for Refuses {
    fn run(&mut self, _: &Plan, on: &mut On<'_>) -> Result<(), Drive> {
        let refusal = tickmark_wire::Refusal { kind: self.0, message: "no".to_owned() };
        on(AgentLine::from_event(Event::Refused(refusal)))
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format-1.0")
}

fn begun(store: &Store) -> (Plan, Writer) {
    let recording = tickmark_store::load(&fixture()).unwrap();
    let writer = store.create(&recording.meta).unwrap();
    (recording.meta.plan, writer)
}

#[test]
fn what_the_agent_says_is_kept_to_the_letter() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::command::open(Some(folder.path().to_owned())).unwrap();
    let (plan, mut writer) = begun(&store);
    measure(&mut Replay(&fixture()), &plan, &mut writer, Progress::hidden(&plan)).unwrap();
    let bytes = |folder: &Path| std::fs::read(folder.join("events.jsonl")).unwrap();
    assert_eq!(bytes(writer.folder()), bytes(&fixture()), "each line as it came");
    let mut recording = store.find("last").unwrap();
    assert!(recording.complete());
    // One metric is unsupported: no failure of a suite, but of one that was asked for by its name.
    let code = |recording: &Recording, stopped| {
        exit_code(recording, &report::build(recording, &|_| true, false), stopped)
    };
    recording.meta.select = vec!["clock".to_owned()];
    assert_eq!(code(&recording, false), Code::Done);
    assert_eq!(code(&recording, true), Code::Partly);
    recording.meta.select = vec!["clock.realtime_alarm.read".to_owned()];
    assert_eq!(code(&recording, false), Code::Partly);
    recording.runs.clear();
    assert_eq!(code(&recording, false), Code::Failed, "no figure is left");
}

#[test]
fn a_refusal_says_whose_fault_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::command::open(Some(folder.path().to_owned())).unwrap();
    let (plan, mut writer) = begun(&store);
    let hidden = || Progress::hidden(&plan);
    let mut code = |kind| measure(&mut Refuses(kind), &plan, &mut writer, hidden()).unwrap_err().code();
    assert_eq!(code(RefusalKind::Usage), Code::Usage);
    assert_eq!(code(RefusalKind::System), Code::Failed);
}
