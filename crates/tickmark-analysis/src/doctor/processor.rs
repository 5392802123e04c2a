//! Checks of the processor beside computing: idle states, frequency, mitigations, huge pages.

use super::{Check, Cost, Diagnosis, ObservedValue, Patient, looked, measured};
use tickmark_wire::{Environment, names};

const NULL: &str = "syscall.null";
const WORK: &str = "op.int64.mul";

pub(super) const CHECKS: &[Check] = &[
    Check { name: "deep-idle", probes: &[names::SLEEP], look: idle },
    Check { name: "governor", probes: &[WORK], look: governor },
    Check { name: "mitigations", probes: &[NULL], look: mitigations },
    Check { name: "huge-pages-off", probes: &[], look: huge_pages },
];

/// An idle state that takes longer to leave is felt, in us.
const LATENCY: f64 = 50.0;
/// Mitigations that make each entry of the kernel dearer, as the first words of a vulnerability have it
/// (Documentation/admin-guide/hw-vuln); enhanced and automatic IBRS cost next to nothing at a call.
const DEAR: [&str; 6] = ["PTI", "IBRS", "IBPB", "untrained return thunk", "Clear CPU buffers", "Safe RET"];

/// States as they are recorded: `C1E 10 us; C6 133 us off`.
fn idle(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "deep-idle";
    looked(NAME, || {
        let states = patient.fact("cpu.idle.states")?;
        let latency = |state: &str| {
            let words: Vec<&str> = state.split_whitespace().collect();
            let at = words.iter().position(|word| *word == "us")?;
            (words.last() != Some(&"off")).then(|| words.get(at.checked_sub(1)?)?.parse::<f64>().ok())?
        };
        // Where the kernel counts how often each was entered, those that were not are no matter.
        let one_stretch = patient.end.filter(|_| patient.recording.sessions.len() == 1);
        let used = one_stretch.and_then(|end| entered(patient.facts, end));
        let is_used =
            |at: usize| used.as_ref().is_none_or(|used| used.get(at).is_none_or(|times| *times > 0.0));
        let felt = states
            .split(';')
            .enumerate()
            .filter(|(at, _)| is_used(*at))
            .filter_map(|(_, state)| latency(state));
        let longest = felt.fold(0.0, f64::max);
        let mut evidence: Vec<_> = ["cpu.idle.states", "cpu.idle.governor"]
            .into_iter()
            .filter_map(|name| patient.shown(name))
            .collect();
        if let Some(used) = &used {
            let times: Vec<String> = used.iter().map(|times| format!("{times:.0}")).collect();
            evidence.push(measured(
                "how often each was entered meanwhile",
                ObservedValue::Text(times.join("; ")),
            ));
        }
        let late = patient.point(names::SLEEP)?;
        evidence.push(measured(names::SLEEP, ObservedValue::Time(late)));
        // A state that is never entered delays nobody: what is late beside the slack has to have room for it.
        let slack = patient.fact("clock.slack_ns").ok().and_then(|nanos| nanos.parse().ok()).unwrap_or(0.0);
        let found = longest > LATENCY && late - slack > 0.8 * longest * 1e3;
        Ok(Diagnosis::found_or_fine(NAME, found, Some(Cost::WakeUp(longest * 1e3)), evidence))
    })
}

/// How often each idle state was entered between two readings: `C1 120; C6 7`.
fn entered(begin: &Environment, end: &Environment) -> Option<Vec<f64>> {
    let counts = |facts: &Environment| -> Option<Vec<f64>> {
        let text = facts.get("state.idle.entered")?;
        text.split(';').map(|state| state.split_whitespace().next_back()?.parse().ok()).collect()
    };
    let (before, after) = (counts(begin)?, counts(end)?);
    Some(after.iter().zip(&before).map(|(after, before)| after - before).collect())
}

fn governor(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "governor";
    looked(NAME, || {
        let governor = patient.fact("cpu.governor")?;
        let driver = patient.fact("cpu.driver").unwrap_or_default();
        // With these drivers `powersave` is what others call `schedutil`: the processor chooses.
        let chooses = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
        let found = ["powersave", "conservative", "ondemand"].contains(&governor)
            && !(governor == "powersave" && chooses);
        let mut evidence: Vec<_> =
            ["cpu.governor", "cpu.driver"].into_iter().filter_map(|name| patient.shown(name)).collect();
        if let Some([low, _, high]) = patient.model.header.gigahertz {
            evidence
                .push(measured("effective GHz, 5th percentile", ObservedValue::Text(format!("{low:.2}"))));
            evidence
                .push(measured("effective GHz, 95th percentile", ObservedValue::Text(format!("{high:.2}"))));
        }
        let cpu = patient.fact("cpu.measured").unwrap_or("0");
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        // What the lowest clock loses against the highest is not known before it is tried.
        let diagnosis = Diagnosis::found_or_fine(NAME, found, None, evidence);
        Ok(diagnosis.proved_by(format!("{file}={governor},performance"), WORK))
    })
}

fn mitigations(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "mitigations";
    looked(NAME, || {
        let all = patient.fact("cpu.mitigations")?;
        let call = patient.point(NULL)?;
        let active = |one: &&str| {
            let text = one.split_once(": Mitigation: ").map_or("", |(_, text)| text);
            DEAR.contains(&text.split([';', ',']).next().unwrap_or_default().trim())
        };
        let dear: Vec<&str> = all.split("; ").filter(active).collect();
        let mut evidence = vec![measured(NULL, ObservedValue::Time(call))];
        let source = "/sys/devices/system/cpu/vulnerabilities".to_owned();
        evidence.extend(dear.iter().filter_map(|one| one.split_once(": ")).map(|(name, text)| {
            super::Evidence {
                name: name.to_owned(),
                value: ObservedValue::Text(text.to_owned()),
                source: source.clone(),
                before: None,
            }
        }));
        // What a call would take without them was not measured: that needs a boot with mitigations=off.
        Ok(Diagnosis::found_or_fine(NAME, !dear.is_empty(), None, evidence))
    })
}

fn huge_pages(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "huge-pages-off";
    looked(NAME, || {
        let setting = patient.fact("memory.thp")?;
        let evidence = patient.shown("memory.thp").into_iter().collect();
        let found = setting.contains("[never]");
        let file = "/sys/kernel/mm/transparent_hugepage/enabled";
        Ok(Diagnosis::found_or_fine(NAME, found, None, evidence)
            .proved_by(format!("{file}=never,always"), "memory.latency.random"))
    })
}
