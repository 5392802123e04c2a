//! The store on real folders.

use super::{Meta, Status, Store};
use crate::error::Error;
use std::fs;
use std::path::Path;
use tickmark_wire::{Event, FORMAT, Metric, Name, Nanos, Plan, Reason, RunId, RunPlan, Settings, Started};

fn meta(id: &str, name: &str) -> Meta {
    let run = |id| RunPlan {
        id: RunId(id),
        round: 1,
        probe: Name::new("syscall.null"),
        budget: Nanos::from_millis(5),
        padding: 0,
    };
    let metrics: Vec<Metric> = vec![tickmark_probe::find("syscall.null").unwrap().spec.metric()];
    Meta {
        format: FORMAT,
        id: id.to_owned(),
        name: name.to_owned(),
        created: format!("2026-11-20T14:0{}:00Z", id.len() % 10).parse().unwrap(),
        program: "test".to_owned(),
        select: Vec::new(),
        plan: Plan { settings: Settings::default(), metrics, runs: vec![run(0), run(1)] },
        arm: None,
        target: None,
    }
}

fn store(folder: &Path) -> Store {
    Store::at(Some(folder.to_owned())).unwrap()
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
    let id = |name: &str| store.find(name).map(|r| r.meta.id);
    assert_eq!(id("last").unwrap(), "bb0333");
    assert_eq!(id("last~2").unwrap(), "aa01");
    assert_eq!(id("web").unwrap(), "aa022", "the newest of that name");
    assert_eq!(id("bb").unwrap(), "bb0333");
    assert!(matches!(id("aa"), Err(Error::Ambiguous { .. })));
    assert!(matches!(id("cc"), Err(Error::NoRecording { .. })));
    assert!(matches!(id("last~3"), Err(Error::NoRecording { .. })));
    let path = folder.path().join("recordings/aa01");
    assert_eq!(id(path.to_str().unwrap()).unwrap(), "aa01");
}

#[test]
fn the_index_comes_back_from_the_folders() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut writer = store.create(&meta("aa01", "web")).unwrap();
    writer.write(&failed(0)).unwrap();
    store.index(writer.folder());
    let before = store.list().unwrap();
    fs::write(folder.path().join("index.sqlite"), "this is no database").unwrap();
    assert_eq!(store.list().unwrap(), before, "a broken index hides nothing");
    assert_eq!(store.rebuild().unwrap(), 1);
    assert_eq!(Store::at(Some(folder.path().join("new"))).unwrap().rebuild().unwrap(), 0);
    assert_eq!(store.list().unwrap(), before);
    assert_eq!((before[0].runs_done, before[0].runs_planned, before[0].complete), (1, 2, false));
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
    let (recording, mut writer) = store.resume("aa01").unwrap();
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
    assert!(matches!(store.resume("aa01"), Err(Error::InUse(_))));
    drop(writer);
    assert!(store.resume("aa01").is_ok());
}
