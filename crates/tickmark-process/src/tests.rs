use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn run(script: &str, input: &[u8], until: &Until<'_>) -> Finished {
    output(shell(script), input.to_vec(), true, until).unwrap()
}

const LONG: Until<'static> = Until { limit: Some(Duration::from_secs(20)), stop: &|| false };

#[test]
fn what_it_writes_is_read_and_what_it_reads_is_written() {
    // More than a pipe holds, both ways at once.
    let input = vec![b'x'; 1 << 20];
    let done = run("tee /dev/stderr", &input, &LONG);
    assert!(matches!(done.end, End::Exited(status, _) if status.success()));
    assert_eq!((done.stdout.len(), done.stderr.len()), (1 << 20, 1 << 20));
    // One that reads nothing does not stop this program.
    let done = run("exit 3", &input, &LONG);
    assert!(matches!(done.end, End::Exited(status, _) if status.code() == Some(3)));
}

#[test]
fn it_ends_in_time_and_when_it_is_not_wanted() {
    let short = Until { limit: Some(Duration::from_millis(50)), stop: &|| false };
    assert_eq!(run("sleep 30", b"", &short).end, End::Late);
    assert_eq!(run("sleep 30", b"", &Until { limit: None, stop: &|| true }).end, End::Stopped);
}

#[test]
fn what_it_takes_of_processors_is_known_while_it_is_there() {
    let mut child = Child::start(shell("while :; do :; done")).unwrap();
    let spent = child.processor_time();
    let is_over = || spent().is_some_and(|spent| spent > Duration::from_millis(50));
    assert_eq!(child.wait(&Until { stop: &is_over, ..LONG }).unwrap(), End::Stopped);
    assert_eq!(spent(), None);
    let mut idle = Child::start(shell("sleep 30")).unwrap();
    let spent = idle.processor_time();
    let short = Until {
        limit: Some(Duration::from_millis(200)),
        stop: &|| spent().unwrap() > Duration::from_millis(150),
    };
    assert_eq!(idle.wait(&short).unwrap(), End::Late);
}

/// True if a process is there and has not ended.
fn lives(pid: &str) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// True if one that was killed ends.
fn ends(pid: &str) -> bool {
    let since = Instant::now();
    while lives(pid) && since.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    !lives(pid)
}

#[test]
fn what_it_left_running_ends_with_it_where_it_is_to_be_alone() {
    let done = run("sleep 30 & echo $!", b"", &LONG);
    let pid = String::from_utf8(done.stdout).unwrap().trim().to_owned();
    assert!(ends(&pid), "{pid}");
    // Left alone it goes on, and nobody waits for it.
    let done = output(shell("sleep 2 & echo $!"), Vec::new(), false, &LONG).unwrap();
    let pid = String::from_utf8(done.stdout).unwrap().trim().to_owned();
    assert!(lives(&pid));
}

#[test]
fn dropped_it_ends() {
    let mut command = shell("sleep 30 & echo $!; wait");
    let child = Child::start({
        command.stdout(Stdio::piped());
        command
    });
    let mut child = child.unwrap();
    let mut pid = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut pid).unwrap();
    assert!(lives(pid.trim()));
    drop(child);
    let since = Instant::now();
    while lives(pid.trim()) && since.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!lives(pid.trim()));
}

#[test]
fn what_is_done_before_it_may_refuse() {
    assert_eq!(Child::start_after(shell("exit 0"), || Err("no")).err(), Some("no"));
    assert!(Child::start(Command::new("/nowhere")).is_err());
}

#[test]
fn one_that_ended_by_itself_is_not_ended_and_keeps_its_status() {
    let mut child = Child::start(shell("exit 4")).unwrap();
    let since = Instant::now();
    while lives(&child.id.to_string()) && since.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(matches!(child.end(End::Late), Ok(End::Exited(status, _)) if status.code() == Some(4)));
}

#[test]
fn a_group_ends_where_the_program_does_and_is_left_where_it_ended() {
    let group = || {
        let mut sleeps = shell("sleep 60 & echo $!; wait");
        sleeps.stdout(Stdio::piped());
        let mut child = Child::start(sleeps).unwrap();
        let mut id = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut id)
            .unwrap();
        (child, id.trim().to_owned())
    };
    let ((first, own), (second, other)) = (group(), group());
    drop(first.keep(&[]).unwrap());
    let file = std::env::temp_dir().join(format!("tickmark-keeper-{}", std::process::id()));
    let mut keeper = second.keep(&["touch".to_owned(), file.display().to_string()]).unwrap();
    // As the kernel closes it when a program is killed.
    drop(keeper.0.stdin.take());
    drop(keeper);
    assert!(lives(&own) && ends(&other) && file.exists());
    std::fs::remove_file(file).unwrap();
}

/// As one behind sudo: what is sent to its group does not reach it.
#[test]
fn one_that_cannot_be_ended_is_named_and_not_waited_for() {
    let mut perl = Command::new("perl");
    perl.args(["-e", "setpgrp(0, getpgrp(getppid())); print \"away\\n\"; close STDOUT; sleep 60"]);
    perl.stdout(Stdio::piped());
    let mut child = Child::start(perl).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    assert_eq!(said, "away\n");
    let until = Until { limit: Some(Duration::from_millis(1)), stop: &|| false };
    let why = child.wait(&until).unwrap_err().to_string();
    assert_eq!(why, format!("process {} cannot be ended", child.id));
    assert!(lives(&child.id.to_string()), "it ended by itself: nothing was shown");
    assert!(Command::new("kill").args(["-KILL", &child.id.to_string()]).status().unwrap().success());
}
