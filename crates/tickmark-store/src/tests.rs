//! The store on real folders.

mod index;

use super::index::Index;
use super::{Elsewhere, Entry, Error, Id, Meta, Recording, Status, Store, load};
use std::fs;
use std::path::Path;
use tickmark_wire::{
    Better, Event, FORMAT, Group, Metric, Name, Nanos, Observations, Observed, Part, Plan, Reason, RunId,
    RunPlan, Settings, Started, Unit, Values,
};

fn meta(id: &str, name: &str) -> Meta {
    let run = |id| RunPlan::new(RunId(id), 1, Name::new("syscall.null"), Nanos::from_millis(5));
    let metrics: Vec<Metric> =
        vec![Metric::of_values("syscall.null", "getppid()", Group::SystemCall, Unit::Time, Better::Lower)];
    Meta {
        format: FORMAT,
        id: self::id(id),
        name: name.to_owned(),
        created: format!("2026-11-20T14:0{}:00Z", id.len() % 10).parse().unwrap(),
        program: "test".to_owned(),
        select: Vec::new(),
        plan: Plan { settings: Settings::default(), metrics, runs: vec![run(0), run(1)] },
        arm: None,
        target: None,
    }
}

fn id(text: &str) -> Id {
    Id::try_from(text.to_owned()).unwrap()
}

fn store(folder: &Path) -> Store {
    Store::at(Some(folder.to_owned()), |_| {}).unwrap()
}

fn failed(id: u32) -> Event {
    Event::Failed(RunId(id), Reason::new("no"))
}

#[test]
fn a_recording_is_found_by_every_way_to_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    for (id, name) in [("aa01", "web"), ("aa022", "web"), ("bb0333", "db")] {
        let mut writer = store.create(&meta(id, name)).unwrap();
        writer.write(&failed(0)).unwrap();
        store.index(writer.folder());
    }
    let id = |name: &str| store.find(name).map(|r| r.meta.id.as_str().to_owned());
    assert_eq!(id("last").unwrap(), "bb0333");
    assert_eq!(id("last~2").unwrap(), "aa01");
    assert_eq!(id("web").unwrap(), "aa022", "the newest of that name");
    assert_eq!(id("bb").unwrap(), "bb0333");
    assert!(matches!(id("aa"), Err(Error::Ambiguous { .. })));
    assert!(matches!(id("cc"), Err(Error::Unknown { .. })));
    assert!(matches!(id("last~3"), Err(Error::NoneUsable { .. })));
    let path = folder.path().join("recordings/aa01");
    assert_eq!(id(path.to_str().unwrap()).unwrap(), "aa01");
}

/// One that failed and one of the doctor's are in the list, and no command takes them for the last; a command takes what it can use.
#[test]
fn the_last_is_what_measured_something() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let make = |id: &str, change: &dyn Fn(&mut Meta), events: &[Event]| {
        let mut meta = meta(id, "ls /");
        change(&mut meta);
        let mut writer = store.create(&meta).unwrap();
        events.iter().for_each(|event| writer.write(event).unwrap());
        store.index(writer.folder());
    };
    let ended = |run: u32| {
        let values = Values { values: vec![1.0], step: 0.0, over: 0 };
        Event::Observed(Observed {
            run: RunId(run),
            metric: Name::new("syscall.null"),
            part: Part::Whole,
            observations: Observations::Values(values),
            segments: Vec::new(),
        })
    };
    make("aa01", &|_| {}, &[ended(0), ended(1)]);
    make("bb02", &|_| {}, &[failed(0), failed(1)]);
    make("cc03", &|meta| meta.select = vec![crate::DOCTOR.to_owned()], &[ended(0), ended(1)]);
    let id = |name: &str| store.find(name).map(|recording| recording.meta.id.to_string());
    assert_eq!(id("last").unwrap(), "aa01");
    assert!(id("last~1").is_err() && store.id("last").unwrap().as_str() == "aa01");
    assert_eq!(id("ls /").unwrap(), "cc03", "a name with a slash is a name");
    let failed: Vec<bool> = store.list().unwrap().iter().map(Entry::failed).collect();
    assert_eq!(failed, [false, true, false]);
    assert!(matches!(store.find_usable("last", &|_| false), Err(Error::NoneUsable { .. })));
    assert_eq!(store.find_usable("bb02", &|_| false).unwrap().meta.id.as_str(), "bb02");
}

#[test]
fn lines_that_are_no_event_are_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut writer = store.create(&meta("aa01", "web")).unwrap();
    writer.write(&failed(0)).unwrap();
    let events = writer.folder().join("events.jsonl");
    drop(writer);
    let mut bytes = fs::read(&events).unwrap();
    bytes.extend_from_slice(b"{\"invented_later\":{\"a\":1}}\n\xff\xfe garbage\n{\"failed\":[1,{\"mess");
    fs::write(&events, bytes).unwrap();
    let recording = store.find("aa01").unwrap();
    assert!(matches!(recording.runs[0].status, Status::Failed(_)), "what was whole is kept");
    assert_eq!(recording.runs[1].status, Status::Open);
    let [newer, broken, half] = &recording.warnings[..] else { panic!("{:?}", recording.warnings) };
    assert!(newer.contains("line 2") && newer.contains("invented_later"), "{newer}");
    assert!(broken.contains("line 3") && broken.contains("not an event"), "{broken}");
    assert!(half.contains("line 4") && half.contains("half an event"), "{half}");

    // Going on after half a line loses nothing of what follows.
    let (recording, mut writer) = Store::resume(&store.find("aa01").unwrap()).unwrap();
    assert_eq!(recording.open().count(), 1);
    writer.write(&failed(1)).unwrap();
    drop(writer);
    assert!(store.find("aa01").unwrap().complete());
}

#[test]
fn a_second_try_replaces_what_an_interrupted_one_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut writer = store.create(&meta("aa01", "web")).unwrap();
    let started = || {
        Event::Started(Started {
            run: RunId(0),
            probe: Name::new("syscall.null"),
            arguments: tickmark_wire::Arguments::new(),
            gives: Vec::new(),
            round: 1,
            at: Nanos::ZERO,
            monotonic: None,
        })
    };
    let observed = || -> Event {
        serde_json::from_str(
            r#"{"observed":{"run":0,"metric":"syscall.null","observations":{"latencies":[1]}}}"#,
        )
        .unwrap()
    };
    for event in [started(), observed(), started(), observed()] {
        writer.write(&event).unwrap();
    }
    assert_eq!(store.find("aa01").unwrap().runs[0].observed.len(), 1);
    // Also of a run that had ended: killed in its second try, it is open again.
    writer.write(&failed(0)).unwrap();
    writer.write(&started()).unwrap();
    assert_eq!(store.find("aa01").unwrap().open().count(), 2);
}

#[test]
fn what_a_kill_at_the_very_start_leaves_is_no_recording() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.create(&meta("aa01", "web")).unwrap();
    fs::create_dir(folder.path().join("recordings/aa02")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(store.create(&meta("aa01", "db")).is_err(), "no recording is written over");
    assert_eq!(store.find("aa01").unwrap().meta.name, "web");
}

#[test]
fn another_format_and_other_folders_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let writer = store.create(&meta("aa01", "web")).unwrap();
    let path = writer.folder().join("meta.json");
    drop(writer);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"major\": 1", "\"major\": 2")).unwrap();
    let recording = path.parent().unwrap().to_str().unwrap().to_owned();
    assert!(matches!(store.find(&recording), Err(Error::NewerFormat { .. })));
    fs::write(&path, text.replace("\"minor\": 0", "\"minor\": 9")).unwrap();
    assert!(store.find(&recording).is_ok(), "a newer minor version is read");
    fs::write(&path, "{}").unwrap();
    assert!(matches!(store.find(&recording), Err(Error::NotARecording { .. })));
    assert!(matches!(store.find("/"), Err(Error::NotARecording { .. })));
}

#[test]
fn a_recording_in_use_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let writer = store.create(&meta("aa01", "web")).unwrap();
    assert!(matches!(Store::resume(&store.find("aa01").unwrap()), Err(Error::InUse(_))));
    drop(writer);
    assert!(Store::resume(&store.find("aa01").unwrap()).is_ok());
}

/// A fixture's copy whose meta.json and events a test may change.
fn copied(folder: &Path, version: &str) -> std::path::PathBuf {
    let from = format!("{}/../../fixtures/format-{version}", env!("CARGO_MANIFEST_DIR"));
    let to = folder.join("copy");
    fs::create_dir_all(&to).unwrap();
    for file in ["meta.json", "events.jsonl"] {
        fs::copy(format!("{from}/{file}"), to.join(file)).unwrap();
    }
    to
}

/// A definition by difference from which a part is gone would be another figure.
#[test]
fn a_run_that_lacks_a_line_of_its_observations_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let copy = copied(folder.path(), "1.1");
    let text = fs::read_to_string(copy.join("events.jsonl")).unwrap();
    let parts = |line: &&str| line.starts_with("{\"observed\"") && line.contains("\"part\":\"less\"");
    let gone = text.lines().position(|line| parts(&line)).expect("a definition by difference");
    let event: serde_json::Value = serde_json::from_str(text.lines().nth(gone).unwrap()).unwrap();
    let run = event["observed"]["run"].as_u64().unwrap() as u32;
    let status = |text: &str| {
        fs::write(copy.join("events.jsonl"), text).unwrap();
        let recording = store.find(&copy.to_string_lossy()).unwrap();
        recording.runs.iter().find(|other| other.planned.id.0 == run).unwrap().status.clone()
    };
    assert_eq!(status(&text), Status::Ok);
    let without: Vec<&str> =
        text.lines().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| line).collect();
    assert!(matches!(status(&(without.join("\n") + "\n")), Status::Failed(_)), "gone");
    let damaged: Vec<&str> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == gone { &line[..line.len() / 2] } else { line })
        .collect();
    assert!(matches!(status(&(damaged.join("\n") + "\n")), Status::Failed(_)), "damaged");
}

#[test]
fn a_meta_that_no_recording_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let copy = copied(folder.path(), "1.1");
    let text = fs::read_to_string(copy.join("meta.json")).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut meta);
        fs::write(copy.join("meta.json"), meta.to_string()).unwrap();
        store
            .find(&copy.to_string_lossy())
            .map(|recording| recording.meta.name)
            .map_err(|error| error.to_string())
    };
    for id in ["../../x", "", "a/b", "a\u{1b}[2J"] {
        assert!(changed(&|meta| meta["id"] = id.into()).unwrap_err().contains("its id is none"), "{id:?}");
    }
    let rounds = |meta: &mut serde_json::Value| meta["plan"]["runs"][0]["round"] = u32::MAX.into();
    assert!(changed(&rounds).unwrap_err().contains("4294967295"));
    let padding = |meta: &mut serde_json::Value| meta["plan"]["runs"][0]["padding"] = u32::MAX.into();
    assert!(changed(&padding).unwrap_err().contains("padding"));
    let name = changed(&|meta| meta["name"] = "a\u{1b}]0;b\u{7}\nc".into()).unwrap();
    assert!(!name.contains(char::is_control) && name.contains("\\u{1b}"), "{name:?}");
}

/// A finished recording with an environment, in a store, and its id.
fn store_recording(folder: &Path) -> Id {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format-1.5");
    let id = load(&fixture).unwrap().meta.id;
    let place = folder.join("recordings").join(id.as_str());
    fs::create_dir_all(&place).unwrap();
    for file in ["meta.json", "events.jsonl"] {
        fs::copy(fixture.join(file), place.join(file)).unwrap();
    }
    id
}

/// Replicates are those of one configuration, measured as often and as long.
#[test]
fn a_signature_is_of_the_configuration() {
    let recording = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format-1.5")).unwrap();
    let own = Entry::from_recording(&recording).signature;
    let changed = |change: &dyn Fn(&mut Recording)| {
        let mut other = recording.clone();
        change(&mut other);
        Entry::from_recording(&other).signature
    };
    assert_eq!(changed(&|other| other.meta.name = "another".to_owned()), own);
    assert_ne!(changed(&|other| other.meta.plan.settings.small = true), own);
    assert_ne!(
        changed(&|other| other.meta.plan.runs.iter_mut().for_each(|run| run.budget = Nanos::new(1))),
        own
    );
    let source = |other: &mut Recording| {
        other.sessions.iter_mut().for_each(|hello| hello.environment.know("clock.source", "a test", "hpet"));
    };
    assert_ne!(changed(&source), own);
}

#[test]
fn recordings_are_deleted_renamed_and_what_kills_left_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    for id in ["aa01", "aa02"] {
        let writer = store.create(&meta(id, "web")).unwrap();
        store.index(writer.folder());
        assert!(matches!(store.delete(&self::id(id)), Err(Error::InUse(_))), "it is being written");
    }
    store.rename(&id("aa01"), "before").unwrap();
    assert_eq!(store.find("before").unwrap().meta.id, id("aa01"));
    assert!(store.rename(&id("aa01"), " ").is_err());
    store.delete(&id("aa01")).unwrap();
    assert!(store.find("before").is_err() && store.list().unwrap().len() == 1);
    let left = folder.path().join("recordings/aa03");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("meta.json.draft"), "{").unwrap();
    drop(store.create(&meta("aa04", "web")).unwrap());
    assert!(left.exists(), "somebody may be making it");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::open(&left).unwrap().set_modified(long_ago).unwrap();
    let other = folder.path().join("recordings/mine");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("notes.txt"), "mine").unwrap();
    fs::File::open(&other).unwrap().set_modified(long_ago).unwrap();
    // Once by each program.
    drop(store.create(&meta("aa05", "web")).unwrap());
    assert!(left.exists());
    drop(self::store(folder.path()).create(&meta("aa06", "web")).unwrap());
    assert!(!left.exists() && other.exists());
}

/// Killed before it said anything, or after: a guest is not resumed on the machine that booted it.
#[test]
fn a_guest_is_not_resumed_here() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let guest = Meta { target: Some("a guest: q35, kernel x86_64".to_owned()), ..meta("aa01", "lab") };
    drop(store.create(&guest).unwrap());
    let why = store.find("aa01").unwrap().elsewhere().unwrap();
    assert!(matches!(&why, Elsewhere::Target { place } if place.contains("a guest: q35")), "{why:?}");
    drop(store.create(&meta("aa02", "here")).unwrap());
    assert_eq!(store.find("aa02").unwrap().elsewhere(), None);
}
