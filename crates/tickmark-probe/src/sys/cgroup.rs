//! The cgroups whose quota of CPU time this process lives under: its own, and those above it.

use std::path::{Path, PathBuf};

/// A cgroup with a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Its folder.
    pub folder: PathBuf,
    /// CPU time that it grants in a period, over the period: 0.5 is half of one CPU.
    pub cpus: f64,
}

/// Where the file systems of cgroups usually are, of version 2 and of version 1.
const ROOTS: [&[&str]; 2] = [
    &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
    &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"],
];

/// Every cgroup from this process's own up to the root that has a quota of CPU time, its own first; none where no folder of them can be
/// found. A container may not see those above it.
#[must_use]
pub fn limits() -> Option<Vec<Limit>> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    limits_of(text.lines().flat_map(|line| folders(line, Path::new("/"))))
}

fn limits_of(folders: impl Iterator<Item = PathBuf>) -> Option<Vec<Limit>> {
    // The usual places are often links to one another.
    let mut there: Vec<PathBuf> = Vec::new();
    for folder in folders.filter_map(|folder| folder.canonicalize().ok()) {
        if !there.contains(&folder) {
            there.push(folder);
        }
    }
    let limit = |folder: &PathBuf| Some(Limit { cpus: quota(folder)?, folder: folder.clone() });
    (!there.is_empty()).then(|| there.iter().filter_map(limit).collect())
}

/// How often the quota of one of these groups ended the turns of its tasks; none where its file does not say.
#[must_use]
pub fn throttled(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

/// The folders of a line of /proc/self/cgroup, the process's own first; none for controllers of something else.
fn folders(line: &str, root: &Path) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let roots = match controllers {
        "" => ROOTS[0],
        some if some.split(',').any(|controller| controller == "cpu") => ROOTS[1],
        _ => return Vec::new(),
    };
    let under = |place: &&str| {
        let place = root.join(place.trim_start_matches('/'));
        Path::new(path).ancestors().map(move |own| place.join(own.strip_prefix("/").unwrap_or(own))).collect()
    };
    roots.iter().flat_map(|place| -> Vec<PathBuf> { under(place) }).collect()
}

/// Quota of a group, in CPUs; none where it sets no limit.
fn quota(folder: &Path) -> Option<f64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(text) => {
            let mut words = text.split_whitespace().map(str::to_owned);
            (words.next()?, words.next()?)
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    let number = |text: String| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    Some(number(quota)? / number(period)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_the_groups_above_count_too() {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str, name: &str, text: &str| {
            let folder = root.path().join(path);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        };
        make("sys/fs/cgroup/a/b", "cpu.max", "max 100000\n");
        make("sys/fs/cgroup/a", "cpu.max", "50000 100000\n");
        make("sys/fs/cgroup/cpu/c", "cpu.cfs_quota_us", "150000\n");
        make("sys/fs/cgroup/cpu/c", "cpu.cfs_period_us", "100000\n");
        make("sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "-1\n");
        make("sys/fs/cgroup/cpu", "cpu.cfs_period_us", "100000\n");
        let found = |line: &str| -> Vec<f64> {
            folders(line, root.path()).iter().filter_map(|folder| quota(folder)).collect()
        };
        assert_eq!(found("0::/a/b"), [0.5]);
        assert_eq!(found("4:cpu,cpuacct:/c"), [1.5]);
        assert_eq!(found("4:memory:/c"), [0.0; 0]);
        assert_eq!(found("damaged"), [0.0; 0]);
        let stat = "nr_periods 7\nnr_throttled 5\nthrottled_time 9\n";
        assert_eq!((throttled(stat), throttled("usage_usec 1\n")), (Some(5), None));
        // This machine's own are read without an error, whatever they are.
        let own = limits().unwrap_or_default();
        assert!(own.iter().all(|limit| limit.cpus > 0.0 && limit.folder.starts_with("/sys/fs/cgroup")));
        // Both names of one place, as systemd has them.
        std::os::unix::fs::symlink("cpu", root.path().join("sys/fs/cgroup/cpu,cpuacct")).unwrap();
        let once = limits_of(folders("4:cpu,cpuacct:/c", root.path()).into_iter()).unwrap();
        assert_eq!(once.len(), 1, "{once:?}");
        assert_eq!(limits_of(std::iter::once(root.path().join("nowhere"))), None);
    }
}
