//! The minimal process is minimal, whatever the program that measures holds.

use super::*;
use crate::sys::{ALONE, exec};

/// Ticks that make several children.
const LENGTH: u64 = 200_000_000;

fn run(call: Call, child: Child, program: &[&CStr]) -> Result<Vec<ChildRecord>, CallError> {
    run_for(LENGTH, call, child, program)
}

fn run_for(length: u64, call: Call, child: Child, program: &[&CStr]) -> Result<Vec<ChildRecord>, CallError> {
    let _alone = ALONE.lock();
    let mut forker = Forker::new(call, child, program, BALLAST).unwrap();
    std::thread::spawn(move || forker.run(length)).join().unwrap()
}

/// The largest resident size of any child of a fresh process that holds `megabytes` more, in kB.
fn child_size_with(megabytes: usize) -> u64 {
    let _alone = ALONE.lock();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["sys::forker::tests::prints_the_size_of_a_child", "--exact", "--ignored", "--nocapture"])
        .env("RESIDENT_MB", megabytes.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let size = text.lines().find_map(|line| line.split_once("child_kb=").map(|(_, kb)| kb.to_owned()));
    size.unwrap_or_else(|| panic!("{text}")).trim().parse().unwrap()
}

#[test]
#[ignore = "a helper process of the test below"]
fn prints_the_size_of_a_child() {
    let megabytes: usize = std::env::var("RESIDENT_MB").map_or(0, |mb| mb.parse().unwrap());
    let held = vec![1u8; megabytes << 20];
    std::hint::black_box(&held);
    let made = run(Call::Fork, Child::Exit, &[]).unwrap();
    assert!(made.len() > 3 && made.iter().all(|made| made.status == 0), "{made:?}");
    // SAFETY: rusage is plain numbers, and valid to write to.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    println!("child_kb={}", usage.ru_maxrss);
}

#[test]
fn a_child_inherits_the_same_whatever_the_parent_holds() {
    let (small, large) = (child_size_with(0), child_size_with(64));
    assert!(small > 0 && small < 1024, "{small} kB");
    // The kernel counts pages a CPU at a time, so some 100 kB are noise; 64 MB are not.
    assert!(large.abs_diff(small) <= 1024, "{small} kB, and {large} kB with 64 MB more in the parent");
}

#[test]
fn stamps_rise_and_every_child_is_counted() {
    for call in [Call::Fork, Call::Vfork] {
        // Kept off its CPU it makes one in its time.
        let tries = || std::iter::repeat_with(|| run(call, Child::Exit, &[]).unwrap()).take(20);
        let made = tries().find(|made| made.len() > 3).unwrap_or_else(|| panic!("{call:?}: three at most"));
        assert!(made.iter().all(|m| m.start < m.end && m.status == 0), "{call:?}: {made:?}");
        assert!(made.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(made.windows(2).all(|pair| pair[0].counts.switches <= pair[1].counts.switches));
    }
}

#[test]
fn however_short_the_time_one_child_is_made() {
    assert_eq!(run_for(0, Call::Fork, Child::Exit, &[]).unwrap().len(), 1);
}

#[test]
fn an_executed_program_gives_its_status_and_a_missing_one_127() {
    let folder = std::env::temp_dir().join(format!("tickmark-forker-{}", std::process::id()));
    let installed = ALONE.lock();
    exec::install_tiny_program(&folder).unwrap();
    drop(installed);
    let path = std::ffi::CString::new(folder.join("a/b/tiny").to_str().unwrap()).unwrap();
    let status = |program: &[&CStr]| {
        let made = run(Call::Fork, Child::Exec, program).unwrap();
        assert!(made.windows(2).all(|pair| pair[0].status == pair[1].status));
        made[0].status
    };
    assert_eq!(status(&[&path]), exec::TINY_STATUS);
    assert_eq!(status(&[c"/bin/sh", c"-c", &path]), exec::TINY_STATUS);
    assert_eq!(status(&[c"/nowhere"]), 127);
    std::fs::remove_dir_all(&folder).unwrap();
}
