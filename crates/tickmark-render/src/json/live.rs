//! A line of every CPU, as they are watched.

use super::Page;
use crate::json_object;
use jiff::Timestamp;
use tickmark_analysis::live::History;

json_object! {
    /// Every CPU, now: times in ns; what was not observed in the last second is the latest, up to 30 s old.
    pub struct LiveLine(at: Timestamp, all: &[History], own: f64) {
        at: Timestamp = at,
        own_share_of_a_cpu: f64 = own,
        cpus: Vec<CpuPage> = all.iter().map(CpuPage::new).collect(),
    }

    struct CpuPage(of: &History) {
        cpu: u32 = of.cpu,
        busy: Option<f64> = of.last().busy,
        /// Share of the CPU.
        interrupts: Option<f64> = of.last().interrupts,
        steal: Option<f64> = of.last().steal,
        /// Each second.
        timer_interrupts: Option<f64> = of.last().timer_interrupts,
        wake_up: Option<WakeUp> = of.last().late.map(|(median, max)| WakeUp::new(median, max)),
        lost_share: Option<f64> = of.last().gaps.map(|(share, _)| share),
        longest_gap: Option<f64> = of.last().gaps.map(|(_, longest)| longest),
        clock_read: Option<f64> = of.last().clock,
        /// Who had it in a part of the last second, by the kernel's events, as shares; absent where they were not recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        occupants: Option<Vec<OccupantPage>> = of.occupants.as_ref().map(|all| all.iter().map(|(name, share)| OccupantPage::new(name.clone(), *share)).collect()),
    }

    struct OccupantPage(name: String, share: f64) {
        name: String = name,
        share: f64 = share,
    }

    struct WakeUp(median: f64, max: f64) {
        median: f64 = median,
        max: f64 = max,
    }
}

impl Page for LiveLine {
    const NAME: &'static str = "live";
}
