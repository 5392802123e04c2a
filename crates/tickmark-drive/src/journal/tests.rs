//! A change is restored, once, and never over what another may have written.

use super::restore::{Restored, left, restore_store as restore};
use super::*;

fn begin(store: &Path, knob: &Path) -> Result<Journal, Error> {
    let path = knob.to_owned();
    Journal::begin(store, &[knob.display().to_string()], || {
        Ok(vec![Undo::Write { value: setting_file::bytes(&path)?.into(), path }])
    })
}

fn journals(store: &Path) -> Vec<PathBuf> {
    left(store).journals.into_iter().map(|(path, ..)| path).collect()
}

#[test]
fn what_was_changed_is_put_back_once() {
    let folder = tempfile::tempdir().unwrap();
    let knob = folder.path().join("knob");
    std::fs::write(&knob, "be  fore\n\n").unwrap();
    let journal = begin(folder.path(), &knob).unwrap();
    std::fs::write(&knob, "changed\n").unwrap();
    // Another that wants the same is told, also in another store.
    let elsewhere = tempfile::tempdir().unwrap();
    let second = begin(elsewhere.path(), &knob).map(drop).unwrap_err();
    assert!(second.to_string().contains("another experiment is changing"), "{second}");
    let alone = restore(folder.path()).unwrap();
    assert!((alone.done.len(), alone.busy) == (0, 1), "a running experiment is left alone: {alone:?}");
    journal.restore().unwrap();
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "be  fore\n\n");
    drop(journal);
    let again = begin(folder.path(), &knob).unwrap();
    again.restore().unwrap();
    assert!(
        std::fs::read_dir(folder.path().join("experiments")).unwrap().next().is_none(),
        "nothing is left"
    );
}

#[test]
fn a_panic_restores_and_leaves_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let knob = folder.path().join("knob");
    std::fs::write(&knob, "before\n").unwrap();
    let journal = begin(folder.path(), &knob).unwrap();
    let path = journal.path.clone();
    std::fs::write(&knob, "changed\n").unwrap();
    assert!(open().contains(&path));
    restore_journals(std::slice::from_ref(&path));
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before\n");
    drop(journal);
    assert_eq!(journals(folder.path()), std::slice::from_ref(&path));
    begin(&folder.path().join("other"), &knob).map(drop).unwrap_err();
    assert_eq!(restore(folder.path()).unwrap().done.len(), 1);
    begin(folder.path(), &knob).unwrap().restore().unwrap();
    assert!(
        !open().iter().any(|other| *other != path && other.starts_with(folder.path())),
        "one that is restored"
    );
}

#[test]
fn a_killed_experiment_is_put_back_by_hand_and_its_leftover_is_nobodys_original() {
    let folder = tempfile::tempdir().unwrap();
    let knob = folder.path().join("knob");
    std::fs::write(&knob, "before\n").unwrap();
    let journal = begin(folder.path(), &knob).unwrap();
    std::fs::write(&knob, "changed\n").unwrap();
    drop(journal);
    let refused = begin(folder.path(), &knob).map(drop).unwrap_err();
    assert!(refused.to_string().contains("--restore"), "{refused}");
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = begin(elsewhere.path(), &knob).map(drop).unwrap_err();
    let place = folder.path().display().to_string();
    assert!(refused.to_string().contains(&place), "{refused}");
    assert_eq!(restore(folder.path()).unwrap().done.len(), 1);
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before\n");
    assert_eq!(restore(folder.path()).unwrap(), Restored::default());
    // What is set on purpose after it was put back is no leftover.
    std::fs::write(&knob, "on purpose\n").unwrap();
    begin(elsewhere.path(), &knob).unwrap().restore().unwrap();
    std::fs::write(&knob, "before\n").unwrap();
    begin(elsewhere.path(), &knob).unwrap().restore().unwrap();
    // Its store is gone with its journal: what the file holds is no original all the same.
    let gone = tempfile::tempdir().unwrap();
    drop(begin(gone.path(), &knob).unwrap());
    std::fs::write(&knob, "changed\n").unwrap();
    drop(gone);
    let refused = begin(elsewhere.path(), &knob).map(drop).unwrap_err().to_string();
    assert!(refused.contains("at changed and not at before") && refused.contains("is gone"), "{refused}");
    std::fs::write(&knob, "before\n").unwrap();
    begin(elsewhere.path(), &knob).unwrap().restore().unwrap();
}

#[test]
fn only_a_setting_in_force_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let undo = |what: &str| Some(Undo::Run { command: format!("echo {what} >> {}", trace.display()) });
    let mut journal = Journal::begin(folder.path(), &[], || Ok(Vec::new())).unwrap();
    journal.push(undo("first")).unwrap();
    journal.pop(undo("first")).unwrap();
    journal.push(undo("second")).unwrap();
    drop(journal);
    assert_eq!(restore(folder.path()).unwrap().done.len(), 1);
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), "second\n");
}

#[test]
fn what_cannot_be_put_back_stays_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let undo = vec![Undo::Run { command: "exit 5".to_owned() }];
    let journal = Journal::begin(folder.path(), &[], || Ok(undo)).unwrap();
    assert!(journal.restore().unwrap_err().to_string().contains("exit 5"));
    drop(journal);
    assert!(restore(folder.path()).unwrap().wrong.len() == 1 && journals(folder.path()).len() == 1);
}

/// Every prefix of a journal, and bytes that are none of it: the copy has it, and without that nobody is told that all is well.
#[test]
fn a_damaged_journal_is_never_all_clear() {
    let folder = tempfile::tempdir().unwrap();
    let knob = folder.path().join("knob");
    std::fs::write(&knob, "before\n").unwrap();
    drop(begin(folder.path(), &knob).unwrap());
    let path = journals(folder.path()).remove(0);
    let whole = std::fs::read(&path).unwrap();
    let damaged = (0..whole.len() - 1).map(|length| whole[..length].to_vec());
    for bytes in damaged.chain([vec![0; whole.len()], b"[1]".to_vec()]) {
        std::fs::write(&path, &bytes).unwrap();
        assert!(Page::read(&path).is_ok_and(|page| page.undo.len() == 1), "the copy is read");
    }
    std::fs::write(path.with_extension("copy"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(&knob, "changed\n").unwrap();
    let refused = restore(folder.path()).unwrap().wrong.concat();
    assert!(refused.contains("what it held is not known") && path.exists(), "{refused}");
    assert!(Journal::begin(folder.path(), &[], || Ok(Vec::new())).is_err());
}

#[test]
fn a_journal_that_others_can_write_is_not_carried_out() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let undo = vec![Undo::Run { command: format!("touch {}", trace.display()) }];
    drop(Journal::begin(folder.path(), &[], || Ok(undo)).unwrap());
    let path = journals(folder.path()).remove(0);
    for path in [path.with_extension("copy"), path] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    }
    let refused = restore(folder.path()).unwrap().wrong.concat();
    assert!(refused.contains("was not carried out"), "{refused}");
    assert!(!trace.exists());
}
