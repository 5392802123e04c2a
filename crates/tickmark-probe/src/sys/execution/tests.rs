use super::*;
use std::time::Instant;

fn request(words: &[&str]) -> ExecutionRequest {
    ExecutionRequest {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        limit: Nanos::from_millis(20_000),
        output: OutputTarget::Pipe,
        ..ExecutionRequest::default()
    }
}

fn run(request: &ExecutionRequest) -> Result<Vec<Execution>, String> {
    let (stop, _open) = rustix::pipe::pipe().unwrap();
    Runner::new().carry_out(request, stop.as_fd())
}

/// Runs a test of this file in a process of its own and says that it did; false in that process. A command is forked, and with it goes
/// what the tests beside this one have in memory.
fn is_done_alone(test: &str) -> bool {
    const ALONE: &str = "TICKMARK_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    own.args([&format!("sys::execution::tests::{test}"), "--exact", "--test-threads=1"]).env(ALONE, "1");
    let output = own.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

#[test]
fn what_the_kernel_says_of_a_command() {
    if is_done_alone("what_the_kernel_says_of_a_command") {
        return;
    }
    // 30 MiB touched, 3 MiB written, a tenth of a second computed.
    let script =
        "x = bytearray(30 << 20)\nimport time\nwhile time.process_time() < .1: pass\nprint('a' * (3 << 20))";
    let one = run(&request(&["python3", "-c", script])).unwrap().remove(0);
    assert_eq!((one.end, one.cut), (ExecutionEnd::Code(0), false), "{}", one.complaint);
    assert_eq!(one.output.as_ref().map(String::len), Some((3 << 20) + 1));
    let cpu = one.user.get() + one.system.get();
    assert!(cpu > 90_000_000 && one.wall.get() > 90_000_000, "{one:?}");
    assert!((30 << 20..200 << 20).contains(&one.resident) && one.faults[0] > 7_000, "{one:?}");
    assert!(one.bytes.is_some_and(|bytes| bytes[1] > 3 << 20) && one.run_queue.is_some(), "{one:?}");
    assert!(one.start.is_some_and(|start| start.get() > 0 && start < one.wall), "{one:?}");
    // What this process has is not counted as the command's.
    let small = run(&request(&["true"])).unwrap().remove(0);
    assert!(small.resident < 20 << 20, "{small:?}");
}

#[test]
fn how_it_ends() {
    if is_done_alone("how_it_ends") {
        return;
    }
    let one = |words: &[&str]| run(&request(words)).unwrap().remove(0);
    let failed = one(&["sh", "-c", "echo first >&2; echo no luck >&2; exit 3"]);
    assert_eq!((failed.end, failed.complaint.as_str()), (ExecutionEnd::Code(3), "no luck"));
    assert_eq!(one(&["sh", "-c", "kill -9 $$"]).end, ExecutionEnd::Signal(9));
    let late = ExecutionRequest { limit: Nanos::from_millis(50), ..request(&["sleep", "30"]) };
    assert_eq!(run(&late).unwrap()[0].end, ExecutionEnd::Late);
    assert!(run(&request(&["/nowhere/program"])).unwrap_err().contains("No such file"));
    // What it leaves running is not waited for.
    let begun = Instant::now();
    assert_eq!(one(&["sh", "-c", "sleep 30 & echo done"]).output.as_deref(), Some("done\n"));
    assert!(begun.elapsed() < Duration::from_secs(20));
    // Nobody writes to what stops it any more.
    let (stop, open) = rustix::pipe::pipe().unwrap();
    drop(open);
    let stopped = Runner::new().carry_out(&request(&["sleep", "30"]), stop.as_fd()).unwrap();
    assert_eq!(stopped[0].end, ExecutionEnd::Stopped);
}

#[test]
fn its_place_and_its_repetitions() {
    let environment = [("A_NAME".to_owned(), Some("value".to_owned())), ("HOME".to_owned(), None)];
    let requested = ExecutionRequest {
        environment: environment.into(),
        directory: Some("/usr".into()),
        empty: vec!["true".to_owned()],
        repeats: 3,
        ..request(&["sh", "-c", "echo $A_NAME $HOME; pwd"])
    };
    let all = run(&requested).unwrap();
    assert_eq!((all.len(), all[2].output.as_deref()), (3, Some("value\n/usr\n")));
    assert!(all.iter().all(|one| one.start.is_some()));
}

/// Where the processor has no counters, the kernel's own are read in the same way: page faults (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS).
#[test]
fn a_counter_counts_what_is_executed() {
    let Some(faults) = counter(1, 2, EXCLUDE_KERNEL).or_else(|| counter(1, 2, 0)) else {
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        assert!(
            paranoid.trim().parse::<i32>().is_ok_and(|level| level > 1),
            "perf_event_open(2): {paranoid}"
        );
        return;
    };
    assert!(counted(&faults).is_none(), "nothing was executed");
    let (requested, (stop, _open)) = (request(&["true"]), rustix::pipe::pipe().unwrap());
    let mut command = command(&requested, &requested.words).unwrap();
    streams(&requested, &mut command).unwrap();
    let usage = launch(command, &requested, stop.as_fd()).unwrap().usage;
    let count = counted(&faults).unwrap() as i64;
    // Those before it is executed are of no program.
    assert!(count >= usage.ru_minflt / 3 && count <= usage.ru_minflt, "{count} of {}", usage.ru_minflt);
}
