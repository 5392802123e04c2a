//! A cgroup with a share of CPU time, of version 1 or 2.

use super::{Knob, SettingTarget};
use crate::journal::Undo;
use crate::{Error, setting_file};
use std::path::{Path, PathBuf};
use tickmark_wire::{Hello, Settings};

/// The period over which a share is counted, in us: the kernel's own.
const PERIOD: u64 = 100_000;

/// A group that this experiment makes and takes away.
#[derive(Debug, Clone)]
pub(super) struct Quota {
    folder: PathBuf,
    unified: bool,
}

impl Quota {
    /// Finds where groups with CPU time can be made; makes none.
    pub(super) fn new() -> Result<Self, Error> {
        let mounts = std::fs::read_to_string("/proc/mounts").map_err(Error::file("read", "/proc/mounts"))?;
        let name = format!("tickmark-{}", std::process::id());
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, place, kind, options, ..] = fields[..] else { continue };
            let place = Path::new(place);
            let has_cpu = || {
                let listed =
                    std::fs::read_to_string(place.join("cgroup.subtree_control")).unwrap_or_default();
                listed.split_whitespace().any(|controller| controller == "cpu")
            };
            match kind {
                "cgroup" if options.split(',').any(|option| option == "cpu") => {
                    return Ok(Self { folder: place.join(name), unified: false });
                }
                "cgroup2" if has_cpu() => return Ok(Self { folder: place.join(name), unified: true }),
                _ => {}
            }
        }
        let why =
            "no cgroup file system gives CPU time here; mount one, or write +cpu to cgroup.subtree_control";
        Err(Error::Refused(format!("quota: {why}")))
    }

    /// us of a period: of 50 %, 150%, none or what the files hold.
    fn micros(setting: &str) -> Result<Option<u64>, Error> {
        if setting == "none" {
            return Ok(None);
        }
        let percent = setting.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let micros = percent.map(|percent| (percent / 100.0 * PERIOD as f64).round() as u64);
        // The kernel takes no less than 1 ms.
        let micros = micros.filter(|micros| (1_000..=100 * PERIOD).contains(micros)).map(Some);
        micros.ok_or_else(|| {
            Error::Usage(format!("quota {setting}: give none, or a share of 1% or more of a CPU"))
        })
    }

    fn write(&self, micros: Option<u64>) -> Result<(), Error> {
        if !self.folder.exists() {
            std::fs::create_dir(&self.folder).map_err(Error::file("make", &self.folder))?;
        }
        if self.unified {
            let quota = micros.map_or("max".to_owned(), |micros| micros.to_string());
            return setting_file::write(&self.folder.join("cpu.max"), format!("{quota} {PERIOD}").as_bytes());
        }
        setting_file::write(&self.folder.join("cpu.cfs_period_us"), PERIOD.to_string().as_bytes())?;
        let quota = micros.map_or("-1".to_owned(), |micros| micros.to_string());
        setting_file::write(&self.folder.join("cpu.cfs_quota_us"), quota.as_bytes())
    }

    fn read(&self) -> Result<String, Error> {
        let file = if self.unified { "cpu.max" } else { "cpu.cfs_quota_us" };
        let text = setting_file::read(&self.folder.join(file))?;
        let quota = text.split(' ').next().unwrap_or_default();
        Ok(match quota.parse::<f64>() {
            Ok(micros) if micros > 0.0 => format!("{}%", micros * 100.0 / PERIOD as f64),
            _ => "none".to_owned(),
        })
    }
}

impl Knob for Quota {
    fn check(&self, setting: &str) -> Result<(), Error> {
        Self::micros(setting).map(drop)
    }

    fn targets(&self) -> Vec<String> {
        // The group is this experiment's own.
        Vec::new()
    }

    fn undo(&self) -> Result<Vec<Undo>, Error> {
        Ok(vec![Undo::Remove { path: self.folder.clone() }])
    }

    fn undo_setting(&self, _: usize) -> Option<Undo> {
        None
    }

    fn set(&self, _: usize, setting: &str) -> Result<(), Error> {
        self.write(Self::micros(setting)?)
    }

    fn leave(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        self.read().map(Some)
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        Self::micros(current).ok() == Self::micros(setting).ok()
    }

    fn settings(&self, _: &str, settings: &Settings) -> Settings {
        settings.clone()
    }

    fn place(&self, _: usize) -> SettingTarget<'_> {
        SettingTarget::Here { joins: Some(self.folder.join("cgroup.procs")) }
    }

    fn is_read_back(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_period() {
        let micros = |setting| Quota::micros(setting).unwrap();
        assert_eq!((micros("50%"), micros("150 %"), micros("none")), (Some(50_000), Some(150_000), None));
        for wrong in ["50", "", "0%", "-5%", "half", "NaN%", "inf%"] {
            assert!(Quota::micros(wrong).is_err(), "{wrong}");
        }
    }
}
