//! The index over the recordings.

use super::*;

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
    assert_eq!(self::store(&folder.path().join("new")).rebuild().unwrap(), 0);
    assert_eq!(store.list().unwrap(), before);
    assert_eq!((before[0].runs_done, before[0].runs_planned, before[0].complete), (1, 2, false));
}

#[test]
fn what_the_index_knows_needs_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let id = store_recording(folder.path());
    let before = store.list().unwrap();
    let release = store.fact("kernel.release", &before);
    assert!(before[0].complete && before[0].signature.len() == 32 && before[0].boot.is_some());
    assert!(!release[&id].is_empty() && store.fact("state.load", &before).is_empty());
    store.rebuild().unwrap();
    fs::write(folder.path().join("recordings").join(id.as_str()).join("events.jsonl"), "").unwrap();
    assert_eq!(store.list().unwrap(), before);
    assert_eq!(store.fact("kernel.release", &before), release);
    // One that the index has never seen is read.
    fs::remove_file(folder.path().join("index.sqlite")).unwrap();
    Index::open(folder.path()).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format-1.5/events.jsonl");
    let place = folder.path().join("recordings").join(id.as_str());
    fs::copy(fixture, place.join("events.jsonl")).unwrap();
    assert_eq!(store.fact("kernel.release", &store.list().unwrap()), release);
}

#[test]
fn the_index_of_another_version_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let id = store_recording(folder.path());
    let index = folder.path().join("index.sqlite");
    let old = rusqlite::Connection::open(&index).unwrap();
    old.execute_batch("create table recordings (id text primary key) strict; pragma user_version = 1")
        .unwrap();
    drop(old);
    assert_eq!(store.list().unwrap()[0].id, id, "the folders are read");
    store.index(&folder.path().join("recordings").join(id.as_str()));
    let version = rusqlite::Connection::open(&index)
        .and_then(|index| index.query_row("pragma user_version", [], |row| row.get::<_, i64>(0)));
    assert_eq!(version.unwrap(), 5);
    assert_eq!(Index::open_existing(folder.path()).unwrap().all().unwrap().len(), 1);
}

#[test]
fn an_index_that_is_none_of_ours_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut writer = store.create(&meta("aa01", "web")).unwrap();
    writer.write(&failed(0)).unwrap();
    store.index(writer.folder());
    let before = store.list().unwrap();
    let index = folder.path().join("index.sqlite");
    let elsewhere = folder.path().join("elsewhere.sqlite");
    fs::rename(&index, &elsewhere).unwrap();
    let held = fs::read(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &index).unwrap();
    assert_eq!(store.list().unwrap(), before);
    store.index(writer.folder());
    assert_eq!(fs::read(&elsewhere).unwrap(), held, "what the link points to is left alone");
    fs::remove_file(&index).unwrap();
    let view = rusqlite::Connection::open(&index).unwrap();
    view.execute_batch(
        "create view recordings as select 'zz' as id, 'x' as name, '2026' as created, 1 as complete, 1 as runs_done, \
         1 as runs_planned, 1 as metrics, null as host, null as kernel, null as clock_source; pragma user_version = 3",
    )
    .unwrap();
    assert_eq!(store.list().unwrap(), before);
}
