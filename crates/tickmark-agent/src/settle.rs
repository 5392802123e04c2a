//! Matches the plan's request with what this system grants.

use crate::cpu;
use tickmark_probe::sys::limits;
use tickmark_wire::text::list;
use tickmark_wire::{Priority, Refusal, RefusalKind, Settings, Settled};

/// Settles CPU and priority. The calling thread itself moves off the measured CPU where there is
/// another, and takes one priority more than the probes, so that none can keep it from ending them.
///
/// # Errors
/// A CPU that does not exist or is not allowed; a priority that is refused and not optional.
pub(crate) fn settle(settings: &Settings) -> Result<Settled, Refusal> {
    let allowed =
        limits::allowed_cpus().map_err(|e| system(format!("cannot learn the allowed CPUs: {e}")))?;
    let (cpu, cpu_because) = match settings.cpu {
        Some(cpu) if allowed.contains(&cpu) => (cpu, "asked for".to_owned()),
        Some(cpu) => return Err(not_allowed(cpu, &allowed)),
        None => cpu::quietest(&allowed),
    };
    let others: Vec<u32> = allowed.iter().copied().filter(|other| *other != cpu).collect();
    if !others.is_empty() {
        limits::pin(&others).map_err(|e| system(format!("cannot leave CPU {cpu} to the probes: {e}")))?;
    }
    if let Priority::Unknown(word) = settings.priority {
        let message =
            format!("this agent knows no priority {}; other and fifo:1 to fifo:98 it does", word.as_str());
        return Err(Refusal { kind: RefusalKind::Usage, message });
    }
    let mut settled =
        Settled { cpu, cpu_because, priority: settings.priority, priority_refused: None, allowed };
    if let Priority::Fifo(level) = settings.priority
        && let Err(error) = limits::set_priority(Priority::Fifo(level.saturating_add(1).min(99)))
    {
        let why = limits::refused_because(error.errno);
        if !settings.priority_optional {
            return Err(system(format!(
                "priority {} was refused ({why}); run as root, raise the rtprio limit, or add --priority-optional",
                settings.priority
            )));
        }
        settled.priority = Priority::Other;
        settled.priority_refused = Some(why);
    }
    Ok(settled)
}

fn system(message: String) -> Refusal {
    Refusal { kind: RefusalKind::System, message }
}

fn not_allowed(cpu: u32, allowed: &[u32]) -> Refusal {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let exists = list(online.trim()).is_none_or(|online| online.contains(&cpu));
    let why = if exists { "is not allowed here" } else { "does not exist or is offline" };
    let message = format!("CPU {cpu} {why}; allowed are {}", ranges(allowed));
    Refusal { kind: RefusalKind::Usage, message }
}

/// Ascending numbers as a list such as `0-3,7`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, to)) if *to + 1 == *number => *to = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// Size of the running program's file; 0 where it cannot be known.
pub(crate) fn program_bytes() -> u64 {
    // Also where the file was replaced meanwhile.
    let own = std::fs::File::open("/proc/self/exe");
    own.and_then(|file| file.metadata()).map_or(0, |status| status.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_usage_error_that_says_which_are() {
        let refusal = settle(&Settings { cpu: Some(4_000), ..Settings::default() }).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Usage);
        assert!(refusal.message.starts_with("CPU 4000 does not exist"), "{}", refusal.message);
    }
}
