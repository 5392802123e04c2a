//! Clock reads as the kernel sees them: it stops each task where clock_gettime begins, and says who called.

use super::code::Code;
use std::path::{Path, PathBuf};
use tickmark_probe::sys::CallError;
use tickmark_probe::sys::uprobe::{Counter, FunctionLocation, Places, SwapGuard};

/// The call that is counted by its clock.
pub(super) const CLOCK: &str = "clock_gettime";
/// Of functions that are named by the user.
const MOST_CALLS: usize = 64;

/// Why no breakpoint can be set, in one line.
pub(super) fn refused(error: CallError) -> String {
    match error.errno {
        libc::EACCES | libc::EPERM => {
            "uprobes are refused: they take root, who may write to tracefs".to_owned()
        }
        libc::ENOENT | libc::ENODEV | libc::ENOSYS => {
            "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)".to_owned()
        }
        libc::EMFILE => {
            "uprobes: the process has more threads than files may be open here (ulimit -Hn)".to_owned()
        }
        _ => format!("uprobes: {error}"),
    }
}

/// Counts calls of the C library's clock_gettime in what this thread starts, and of functions of a program.
pub(super) struct Confirmation {
    /// Of all places: the C library's first.
    counter: Counter,
    calls: Vec<String>,
    /// Keeps threads that this thread starts from exchanging its events.
    _apart: SwapGuard,
}

impl Confirmation {
    /// Begins.
    ///
    /// # Errors
    /// Uprobes are refused, or no function has such a name.
    pub(super) fn begin(program: &Path, calls: &str) -> Result<Self, String> {
        let own = mappings(std::process::id()).into_iter().find_map(|mapping| {
            let (_, offset) = Code::read(&mapping.path).ok()?.begin(|name| name == CLOCK).pop()?;
            place(&mapping.path, offset).ok()
        });
        let mut places = vec![own.ok_or("this program's C library has no clock_gettime to stop at")?];
        let mut names = Vec::new();
        if !calls.is_empty() {
            let wrong = |error: std::io::Error| format!("{}: {error}", program.display());
            let code = Code::read(program).map_err(wrong)?;
            for ((), name, offset) in named(&[((), &code)], calls)? {
                places.push(place(program, offset).map_err(wrong)?);
                names.push(name);
            }
        }
        let counter = Places::define(&places).and_then(Counter::of_children).map_err(refused)?;
        let mut apart = SwapGuard::default();
        apart.keep(&[rustix::thread::gettid().as_raw_nonzero().get()]);
        Ok(Self { counter, calls: names, _apart: apart })
    }

    /// System calls that read clocks so far; none where this kernel does not count them.
    pub(super) fn system_calls(&self) -> Result<Option<Vec<(String, u64)>>, CallError> {
        self.counter.system_calls()
    }

    /// Reads of all clocks so far, and calls of each function.
    pub(super) fn counts(&self) -> Result<(u64, Vec<(String, u64)>), CallError> {
        let mut all = self.counter.counts()?.into_iter();
        Ok((all.next().unwrap_or(0), self.calls.iter().cloned().zip(all).collect()))
    }
}

pub(super) fn place(path: &Path, offset: u64) -> std::io::Result<FunctionLocation> {
    Ok(FunctionLocation { file: std::fs::File::open(path)?, offset })
}

/// Functions that the user names, where they begin: the places of each word in the files.
pub(super) fn named<T>(files: &[(T, &Code)], calls: &str) -> Result<Vec<(T, String, u64)>, String>
where
    T: Clone,
{
    let is_like =
        |name: &str, like: &str| like.strip_suffix('*').map_or(name == like, |begin| name.starts_with(begin));
    let mut all = Vec::new();
    for like in calls.split(',') {
        let before = all.len();
        for (file, code) in files {
            let found = code.begin(|name| is_like(name, like));
            all.extend(found.into_iter().map(|(name, offset)| (file.clone(), name, offset)));
        }
        if all.len() == before {
            return Err(format!(
                "no function {like} is known by name: it was compiled into others, or the program is stripped"
            ));
        }
    }
    if all.len() > MOST_CALLS {
        return Err(format!("{calls} are {} functions: {MOST_CALLS} at most", all.len()));
    }
    Ok(all)
}

/// Code of a file in the memory of a process.
pub(super) struct Mapping {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) offset: u64,
    /// Its name there, and where it can be read from here.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

pub(super) fn mappings(pid: u32) -> Vec<Mapping> {
    let all = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let one = |line: &str| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (rights, offset) = (words.next()?, hex(words.next()?)?);
        let name = line.get(line.find('/')?..)?.trim_end();
        let path = PathBuf::from(format!("/proc/{pid}/root{name}"));
        rights.contains('x').then_some(Mapping {
            from: hex(from)?,
            to: hex(to)?,
            offset,
            name: name.to_owned(),
            path,
        })
    };
    all.lines().filter_map(one).collect()
}
