//! Constants that must be the same on both sides. agent-c/agent.h has copies of some; a test compares them.

use crate::Nanos;

/// Stands on the console before the events of a guest that has no port for them, on a line of its own.
pub const CONSOLE_BEGIN: &str = "=== tickmark events begin ===";
/// Stands behind them.
pub const CONSOLE_END: &str = "=== tickmark events end ===";
/// The port of a guest that its host reads events from.
pub const GUEST_PORT: &str = "/dev/vport0p1";

/// Bytes added to the environment of a run, at most.
pub const MOST_PADDING: u32 = 64 << 10;
/// Rounds of a plan, at most.
pub const MOST_ROUNDS: u32 = 1_000_000;
/// Runs of a plan that the small agent has room for.
pub const MOST_RUNS_C: usize = 1023;

/// The longest batch, whatever the tick.
pub const LONGEST_BATCH: Nanos = Nanos::new(100_000);

/// The longest batch under a tick of so many Hz: a tenth of the tick.
#[must_use]
pub fn longest_batch(hz: i64) -> Nanos {
    Nanos::new(LONGEST_BATCH.get().min(1_000_000_000 / hz.max(1) / 10))
}

/// The fact of a guest whose times are counts of instructions: what one is worth in ns.
pub const INSTRUCTION: &str = "guest.instruction_ns";

/// Gaps longer than this are kept while the clock is read without pause; a step of the loop takes some 10 to 30 ns on a machine of
/// today.
pub const GAP_THRESHOLD: Nanos = Nanos::new(300);
/// Where a turn of the loop itself takes long, as in a slow guest, so many of them are no gap.
pub const TURNS_OF_A_GAP: u64 = 3;

/// Stops the kernel's tracer where 0 is written to it.
pub const TRACING: &str = "/sys/kernel/tracing/tracing_on";

/// Time for a run beside [`BUDGETS`] times its budget before it is ended.
pub const PATIENCE: Nanos = Nanos::from_millis(3_000);
/// And beside that where memory is short: sixteen processes in 16 MB, whose pages are read from a disk that others use too, took longer than 3.7 s.
const SHORT: Nanos = Nanos::from_millis(12_000);
/// How many budgets a run may take: its loop waits for a CPU, other processes have theirs.
pub const BUDGETS: i64 = 10;

/// The limit of a run whose plan names none: ten budgets, 3 s, what setting up so many bytes of memory takes beside others, and where memory is
/// short what reading the pages of programs again and again takes.
#[must_use]
pub fn limit(budget: Nanos, memory: u64, is_short: bool) -> Nanos {
    let short = if is_short { SHORT.get() } else { 0 };
    let patience = PATIENCE.get() + set_up(memory).get() + short;
    Nanos::new(budget.get().saturating_mul(BUDGETS).saturating_add(patience))
}

/// Time to touch, link and flush much memory: a processor with a cache of 105 MiB has 420 MiB of it.
fn set_up(memory: u64) -> Nanos {
    const USUAL: u64 = 128 << 20;
    // 20 ns a byte: a flush of every line before each of seven rings. Four times that: beside a task on every CPU the whole took
    // longer than twice that.
    Nanos::new(memory.saturating_sub(USUAL).saturating_mul(80).min(120_000_000_000) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_tenth_of_a_tick_at_most() {
        assert_eq!(
            [0, 100, 1000, 10_000].map(|hz| longest_batch(hz).get()),
            [100_000, 100_000, 100_000, 10_000]
        );
    }

    #[test]
    fn much_memory_takes_longer_to_set_up_and_so_does_next_to_none() {
        let second = Nanos::from_millis(1000);
        assert_eq!(limit(second, 0, true).get(), 25_000_000_000);
        assert_eq!(limit(second, 64 << 20, false).get(), 13_000_000_000);
        assert_eq!(limit(second, (128 << 20) + 1_000_000_000, false).get(), 93_000_000_000);
    }

    /// The value of a `#define`, or of a string in the sources of the small agent.
    fn small_agent(file: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent-c").join(file);
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_small_agent_has_the_same() {
        let header = small_agent("agent.h");
        let defined = |name: &str| -> String {
            let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
            line.unwrap_or_else(|| panic!("agent.h defines {name}")).trim().trim_matches('"').to_owned()
        };
        assert_eq!(defined("CONSOLE_BEGIN"), CONSOLE_BEGIN);
        assert_eq!(defined("CONSOLE_END"), CONSOLE_END);
        assert_eq!(defined("GUEST_PORT"), GUEST_PORT);
        assert_eq!(defined("LONGEST_BATCH"), LONGEST_BATCH.get().to_string());
        assert_eq!(defined("MOST_RUNS"), MOST_RUNS_C.to_string());
        assert_eq!(defined("GAP_THRESHOLD"), GAP_THRESHOLD.get().to_string());
        assert_eq!(defined("TURNS_OF_A_GAP"), TURNS_OF_A_GAP.to_string());
        assert_eq!(defined("BUDGETS"), BUDGETS.to_string());
        assert_eq!(defined("PATIENCE"), (PATIENCE.get() / 1_000_000_000).to_string());
        assert_eq!(defined("FORMAT_MAJOR"), crate::FORMAT.major.to_string());
        assert_eq!(defined("FORMAT_MINOR"), crate::FORMAT.minor.to_string());
    }
}
