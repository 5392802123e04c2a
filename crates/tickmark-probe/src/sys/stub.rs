//! Fork without the weight of the program that forks.
//!
//! The cost of fork grows with what there is to copy. So the probe forks from a page of machine code
//! of its own, after every other mapping was taken out of what children inherit
//! (`MADV_DONTFORK`) and a fixed ballast was put in: what is copied is the same whichever program
//! measures, however many samples it keeps.

use super::{CallError, check};
use crate::Unavailable;
use std::ffi::CStr;
use std::ptr::NonNull;

/// Mappings of the ballast, and pages touched in each: about what a small program linked with a C
/// library has (21 mappings, some 30 private pages).
pub const BALLAST: (usize, usize) = (16, 2);
const PAGE: usize = 4096;

/// What the child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// Ends at once.
    Exit,
    /// Executes a program.
    Exec,
}

/// Which call makes the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// fork(2)
    Fork,
    /// vfork(2)
    Vfork,
}

type Entry = unsafe extern "C" fn(*const u8, *const *const u8, *const *const u8) -> i64;

/// A page of code that forks, and a page with the arguments of execve.
pub struct Stub {
    code: NonNull<u8>,
    data: NonNull<u8>,
    call: Call,
    arguments: usize,
    isolated: bool,
}

// SAFETY: the pages belong to the stub alone and are not written after it was made.
unsafe impl Send for Stub {}

fn map(pages: usize) -> Result<NonNull<u8>, CallError> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel likes.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), pages * PAGE, rights, kind, -1, 0) };
    NonNull::new(at.cast::<u8>())
        .filter(|p| p.as_ptr().addr() != usize::MAX)
        .ok_or_else(|| CallError::last("mmap"))
}

#[cfg(target_arch = "x86_64")]
fn machine_code(call: Call, child: Child) -> Vec<u8> {
    let number: u8 = if call == Call::Fork { 57 } else { 58 };
    let mut code = vec![0xb8, number, 0, 0, 0, 0x0f, 0x05]; // mov eax, fork; syscall
    code.extend([0x85, 0xc0, 0x74, 0x01, 0xc3]); // test eax, eax; jz child; ret
    if child == Child::Exec {
        code.extend([0xb8, 59, 0, 0, 0, 0x0f, 0x05]); // mov eax, execve; syscall
    }
    let status = if child == Child::Exec { 127 } else { 0 };
    code.extend([0xbf, status, 0, 0, 0]); // mov edi, status
    code.extend([0xb8, 231, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b]); // mov eax, exit_group; syscall; ud2
    code
}

#[cfg(not(target_arch = "x86_64"))]
fn machine_code(_: Call, _: Child) -> Vec<u8> {
    Vec::new()
}

impl Stub {
    /// Makes the pages. `program` is what an executing child becomes: its path and its arguments.
    ///
    /// # Errors
    /// Those of mmap(2) and mprotect(2); another architecture than x86-64.
    pub fn new(call: Call, child: Child, program: &[&CStr]) -> Result<Self, Unavailable> {
        let bytes = machine_code(call, child);
        if bytes.is_empty() {
            return Err(Unavailable::Missing("fork is only written for x86-64".to_owned()));
        }
        let (code, data) = (map(1)?, map(1)?);
        // SAFETY: the code is shorter than the page that was just mapped.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), code.as_ptr(), bytes.len()) };
        let rights = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the page that was just mapped, to which no reference exists.
        check("mprotect", unsafe { libc::mprotect(code.as_ptr().cast(), PAGE, rights) })?;
        let stub = Self { code, data, call, arguments: program.len(), isolated: false };
        stub.write_arguments(program)?;
        Ok(stub)
    }

    /// The data page: argv and an empty environment as arrays of pointers, then the strings.
    fn write_arguments(&self, program: &[&CStr]) -> Result<(), Unavailable> {
        let head = (program.len() + 2) * 8;
        let length = head + program.iter().map(|text| text.to_bytes_with_nul().len()).sum::<usize>();
        if length > PAGE {
            return Err(Unavailable::Missing("the path of the program to execute is too long".to_owned()));
        }
        let mut at = head;
        for (i, text) in program.iter().enumerate() {
            let bytes = text.to_bytes_with_nul();
            // SAFETY: head and strings fit into the page, as checked; the rest of it is zero, which
            // ends both arrays.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data.as_ptr().add(at), bytes.len());
                self.data.as_ptr().cast::<*const u8>().add(i).write(self.data.as_ptr().add(at));
            }
            at += bytes.len();
        }
        Ok(())
    }

    /// Makes a child and waits for it; its exit status.
    ///
    /// # Errors
    /// Those of fork(2) and wait4(2).
    #[inline]
    pub fn run(&mut self) -> Result<i32, CallError> {
        if !self.isolated && self.call == Call::Fork {
            self.isolate()?;
            self.isolated = true;
        }
        // SAFETY: the page holds a function of this type. It is called with pointers into the data
        // page, which the child has as well; the child never returns.
        let pid = unsafe {
            let entry: Entry = std::mem::transmute(self.code.as_ptr());
            let argv = self.data.as_ptr().cast::<*const u8>();
            entry(argv.read(), argv, argv.add(self.arguments + 1))
        };
        if pid < 0 {
            return Err(CallError { call: self.name(), errno: -pid as i32 });
        }
        wait(pid as libc::pid_t)
    }

    fn name(&self) -> &'static str {
        if self.call == Call::Fork { "fork" } else { "vfork" }
    }

    /// Takes every mapping but the stub's pages and the calling thread's stack out of what a child
    /// inherits, and adds the ballast.
    fn isolate(&self) -> Result<(), CallError> {
        let maps = std::fs::read_to_string("/proc/self/maps").map_err(|e| CallError::of("openat", &e))?;
        let here = (&raw const maps).addr();
        let keep = [here, self.code.as_ptr().addr(), self.data.as_ptr().addr()];
        for line in maps.lines() {
            let Some((from, to)) = range(line) else { continue };
            // A page of the stub may have been merged with a neighbour: leave it out of the range.
            let keeps = |page: usize| keep.iter().any(|at| at & !(PAGE - 1) == page);
            if (from..to).contains(&here) {
                continue;
            }
            let mut start = from;
            for page in (from..to).step_by(PAGE).filter(|page| keeps(*page)).chain([to]) {
                forget(start, page);
                start = page + PAGE;
            }
        }
        let (mappings, pages) = BALLAST;
        for i in 0..mappings {
            let at = map(pages)?;
            for page in 0..pages {
                // SAFETY: inside the mapping just made.
                unsafe { at.as_ptr().add(page * PAGE).write_volatile(1) };
            }
            // Neighbours with other rights are not merged into one mapping.
            if i % 2 == 0 {
                // SAFETY: the mapping just made, which nobody uses.
                check("mprotect", unsafe {
                    libc::mprotect(at.as_ptr().cast(), pages * PAGE, libc::PROT_READ)
                })?;
            }
        }
        Ok(())
    }
}

/// Keeps a range out of children. Special mappings (vDSO) refuse; they are the same everywhere.
fn forget(from: usize, to: usize) {
    if to > from {
        let at = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: changes nothing for this process.
        unsafe { libc::madvise(at, to - from, libc::MADV_DONTFORK) };
    }
}

fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

/// Waits for a child; its exit status, or 128 and the signal that ended it.
///
/// # Errors
/// Those of wait4(2).
#[inline]
pub fn wait(pid: libc::pid_t) -> Result<i32, CallError> {
    let mut status = 0;
    // SAFETY: `status` is valid to write to.
    check("wait4", unsafe { libc::waitpid(pid, &raw mut status, 0) })?;
    Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) })
}

impl Drop for Stub {
    fn drop(&mut self) {
        // SAFETY: the two pages of this stub, which nobody uses any more.
        unsafe {
            libc::munmap(self.code.as_ptr().cast(), PAGE);
            libc::munmap(self.data.as_ptr().cast(), PAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `forks` children from a thread of its own, as the probes do, and gives the largest child's
    /// resident size in kB. A fresh process, as other tests' children would count.
    fn child_size_with(resident_mb: usize) -> u64 {
        let exe = std::env::current_exe().unwrap();
        let output = std::process::Command::new(exe)
            .args(["sys::stub::tests::prints_the_size_of_a_child", "--exact", "--ignored", "--nocapture"])
            .env("RESIDENT_MB", resident_mb.to_string())
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
        let ballast = vec![1u8; megabytes << 20];
        std::hint::black_box(&ballast);
        let mut stub = Stub::new(Call::Fork, Child::Exit, &[]).unwrap();
        let status = std::thread::spawn(move || stub.run()).join().unwrap();
        assert_eq!(status, Ok(0));
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
        assert!(large.abs_diff(small) <= 64, "{small} kB, and {large} kB with 64 MB more in the parent");
    }

    #[test]
    fn a_line_of_maps_is_read() {
        assert_eq!(range("7f00-7fff rw-p 0 00:00 0 [heap]"), Some((0x7f00, 0x7fff)));
        assert_eq!(range(""), None);
    }
}
