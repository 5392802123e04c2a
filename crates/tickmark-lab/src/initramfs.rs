//! The initial file system of a guest, made in memory: a cpio archive of the format that the kernel reads
//! (Documentation/driver-api/early-userspace/buffer-format.rst, "newc"). The same content gives the same bytes.

use std::collections::BTreeSet;
use std::io::Write;

/// An archive that grows.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
    /// Memory that a file is to take before anything runs, in MiB.
    ballast: usize,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CONSOLE: u32 = 0o020_600;

impl Archive {
    /// With the folders and the console that process 1 expects.
    #[must_use]
    pub fn new() -> Self {
        let mut archive = Self::default();
        for folder in ["dev", "proc", "sys", "tmp", "bin"] {
            archive.folder(folder);
        }
        archive.add("dev/console", CONSOLE, (5, 1), &[]);
        archive
    }

    fn folder(&mut self, path: &str) {
        if self.folders.insert(path.to_owned()) {
            self.add(path, DIRECTORY, (0, 0), &[]);
        }
    }

    /// A file, which may be executed, in folders that are made with it.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        path.match_indices('/').for_each(|(end, _)| self.folder(&path[..end]));
        self.add(path, PROGRAM, (0, 0), content);
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.add(path, LINK, (0, 0), target.as_bytes());
    }

    /// Takes so many MiB of the guest's memory: a machine that QEMU does not make smaller.
    pub fn ballast(&mut self, megabytes: u32) {
        self.ballast = megabytes as usize;
    }

    fn add(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        // ino, mode, uid, gid, nlink, mtime, size, the file's device, the device that it is, name, check.
        let name = path.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, links, 0, length, 0, 0, device.0, device.1, name, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The whole archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.add("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        if self.ballast > 0 {
            // A second archive, compressed: the file is large only where it is unpacked.
            let mut second = Self::default();
            second.file("ballast", &vec![0; self.ballast << 20]);
            let mut encoder = flate2::GzBuilder::new().write(self.bytes, flate2::Compression::fast());
            // Writing into memory does not fail.
            let _ = encoder.write_all(&second.finish());
            return encoder.finish().unwrap_or_default();
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    #[ignore = "second tier: cpio"]
    fn cpio_finds_what_was_put_in() {
        let mut archive = Archive::new();
        archive.file("init", b"#!/bin/true\n");
        archive.link("bin/sh", "/init");
        archive.file("usr/lib/one.so", b"1");
        archive.file("usr/lib/two.so", b"2");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 512, 0);
        let mut cpio = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let cpio = cpio.as_mut().expect("cpio is installed by cargo xtask test");
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut cpio.stdout.take().unwrap(), &mut said).unwrap();
        assert!(cpio.wait().unwrap().success());
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 12, "{said}");
        let has =
            |start: &str, end: &str| lines.iter().any(|line| line.starts_with(start) && line.ends_with(end));
        assert!(has("-rwxr-xr-x", " init") && has("lrwxrwxrwx", "bin/sh -> /init"), "{said}");
        assert!(has("crw-------", "dev/console") && has("drwxr-xr-x", " proc"), "{said}");
        assert!(has("drwxr-xr-x", " usr") && has("drwxr-xr-x", " usr/lib"), "{said}");
    }
}
