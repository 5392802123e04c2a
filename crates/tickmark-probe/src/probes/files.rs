//! Making and removing files.

use crate::batch::{self, Looped, Shape};
use crate::sys::{CallError, file};
use crate::{Expected, Folder, Params, Probe, Spec, Syscall, Unavailable};
use std::cell::RefCell;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::rc::Rc;
use tickmark_wire::{Group, Picos};

/// Files of a batch at most.
const FILES: usize = 64;
const TEN_KB: usize = 10 << 10;

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        needs: &[Syscall::Mkdir, Syscall::Openat, Syscall::Close, Syscall::Unlink],
        source: "McVoy and Staelin, USENIX 1996 (lat_fs)",
        physical_floor: Picos::new(100_000),
        // A journal may make it wait.
        expected: Expected::UNKNOWN,
        ..Spec::cost(Group::File, name, title)
    }
}

const WRITING: &[Syscall] =
    &[Syscall::Mkdir, Syscall::Openat, Syscall::Write, Syscall::Close, Syscall::Unlink];

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: spec("file.create.0k", "file, create empty", "open a new file for writing and close it"),
        prepare: |spec, params| Ok(create(spec, params, 0)?.boxed()),
    },
    Probe {
        spec: spec("file.delete.0k", "file, delete empty", "unlink an empty file"),
        prepare: |spec, params| Ok(delete(spec, params, 0)?.boxed()),
    },
    Probe {
        spec: Spec {
            needs: WRITING,
            ..spec(
                "file.create.10k",
                "file, create 10 KiB",
                "open a new file for writing, write 10 KiB at once, close it",
            )
        },
        prepare: |spec, params| Ok(create(spec, params, TEN_KB)?.boxed()),
    },
    Probe {
        spec: Spec {
            needs: WRITING,
            ..spec("file.delete.10k", "file, delete 10 KiB", "unlink a file of 10 KiB, just written")
        },
        prepare: |spec, params| Ok(delete(spec, params, TEN_KB)?.boxed()),
    },
];

/// The files of a run: those before `next` have been dealt with.
struct Files {
    _folder: Folder,
    paths: Vec<CString>,
    content: Vec<u8>,
    next: usize,
}

impl Files {
    fn new(params: &Params, length: usize) -> Result<Rc<RefCell<Self>>, Unavailable> {
        let folder = params.folder()?;
        let paths = (0..FILES).map(|number| folder.path(number)).collect();
        Ok(Rc::new(RefCell::new(Self { _folder: folder, paths, content: vec![1; length], next: 0 })))
    }

    fn make(&self, number: usize) -> Result<(), CallError> {
        let file = file::create(&self.paths[number])?;
        file::write_all(file.as_fd(), &self.content)?;
        file::close(file)
    }

    /// Does something to the next file.
    fn step(&mut self, work: fn(&Self, usize) -> Result<(), CallError>) -> Result<(), CallError> {
        work(self, self.next)?;
        self.next += 1;
        Ok(())
    }

    /// Does something to every file that was dealt with, and begins again.
    fn again(&mut self, work: fn(&Self, usize) -> Result<(), CallError>) -> Result<(), CallError> {
        (0..self.next).try_for_each(|number| work(self, number))?;
        self.next = 0;
        Ok(())
    }

    fn remove(&self, number: usize) -> Result<(), CallError> {
        file::unlink(&self.paths[number])
    }
}

fn create(spec: &Spec, params: &Params, length: usize) -> Result<Looped, Unavailable> {
    let files = Files::new(params, length)?;
    // Once before it is timed: a full disk is found here.
    files.borrow_mut().step(Files::make)?;
    files.borrow_mut().again(Files::remove)?;
    let others = Rc::clone(&files);
    let shape = Shape::from_spec(spec).at_most(FILES as u64);
    Ok(batch::fallible(shape, move || files.borrow_mut().step(Files::make))
        .between(move || others.borrow_mut().again(Files::remove)))
}

fn delete(spec: &Spec, params: &Params, length: usize) -> Result<Looped, Unavailable> {
    let files = Files::new(params, length)?;
    files.borrow_mut().next = FILES;
    files.borrow_mut().again(Files::make)?;
    let others = Rc::clone(&files);
    let shape = Shape::from_spec(spec).at_most(FILES as u64);
    Ok(batch::fallible(shape, move || files.borrow_mut().step(Files::remove))
        .between(move || others.borrow_mut().again(Files::make)))
}
