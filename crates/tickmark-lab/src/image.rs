//! Files that are booted: kernel images that are not ours, and the agent that is to be their process 1.

use crate::Error;
use crate::kernel::Arch;
use crate::symbols::LONGEST_SYMBOL;
use std::path::Path;

/// Headers of an ELF file.
pub(crate) struct Elf<'a> {
    bytes: &'a [u8],
    wide: bool,
    big: bool,
}

/// A program header: its kind, where what it loads begins and ends in the file, and where it begins in memory.
struct Loaded {
    kind: u64,
    begin: u64,
    end: u64,
    address: u64,
}

/// The kinds of a program header: what is loaded, the dynamic section, and the name of an interpreter, as dynamically linked programs have.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// Tags of the dynamic section: the name of a library, and the address of all names.
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
/// NAME_MAX of Linux, bytes: a file may name a library as often as it has room, and each time all the rest of it.
const LONGEST_NAME: usize = 255;
/// Bytes of an image: a vmlinux with everything that a debugger wants has less.
const LARGEST: u64 = 2 << 30;
/// The name of the end of a section with instructions, as the kernel's linker script has it.
pub(crate) const END_OF_TEXT: &str = "_etext";
/// The kind of a section that is a symbol table, and the flag of one with instructions.
const SHT_SYMTAB: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
/// The kinds of symbols: no kind is 0.
const STT_OBJECT: u64 = 1;
const STT_FUNC: u64 = 2;
/// The machine of 32-bit PowerPC.
const EM_PPC: u64 = 20;
/// That of x86-64.
const EM_X86_64: u64 = 62;
/// That of 64-bit ARM.
const EM_AARCH64: u64 = 183;
/// That of RISC-V.
const EM_RISCV: u64 = 243;

impl<'a> Elf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let known = bytes.starts_with(b"\x7fELF").then(|| bytes.get(4..6))??;
        Some(Self { bytes, wide: known[0] == 2, big: known[1] == 2 })
    }

    /// The number of `size` bytes at a place.
    fn number(&self, at: usize, size: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(size)?)?;
        let join = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.big { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) })
    }

    fn machine(&self) -> Option<u64> {
        self.number(18, 2)
    }

    /// Its program headers; none where the file ends before them.
    fn loaded(&self) -> Option<Vec<Loaded>> {
        // Offsets of the fields in the two classes (the ELF specification, version 1.2, and its 64-bit supplement).
        let (first, size, count, word) = if self.wide { (32, 54, 56, 8) } else { (28, 42, 44, 4) };
        let (offset, length) = if self.wide { (8, 32) } else { (4, 16) };
        let (first, size, count) = (self.number(first, word)?, self.number(size, 2)?, self.number(count, 2)?);
        let one = |number: u64| {
            let at = usize::try_from(first.checked_add(number.checked_mul(size)?)?).ok()?;
            let field = |offset: usize| self.number(at.checked_add(offset)?, word);
            let begin = field(offset)?;
            let end = begin.checked_add(field(length)?)?;
            Some(Loaded { kind: self.number(at, 4)?, begin, end, address: field(offset + word)? })
        };
        (0..count).map(one).collect()
    }

    /// The addresses and names of what is in its executable sections, and where these end; nothing where it has no symbol table.
    pub(crate) fn functions(&self) -> Vec<(u64, String)> {
        self.symbol_table().unwrap_or_default()
    }

    fn symbol_table(&self) -> Option<Vec<(u64, String)>> {
        // Offsets of the fields in the two classes, as above.
        let (first, size, count, word) = if self.wide { (40, 58, 60, 8) } else { (32, 46, 48, 4) };
        let (first, size, count) = (self.number(first, word)?, self.number(size, 2)?, self.number(count, 2)?);
        let (flags, address, offset, length, link) =
            if self.wide { (8, 16, 24, 32, 40) } else { (8, 12, 16, 20, 24) };
        let section = |number: u64, field: usize, bytes: usize| {
            let at = first.checked_add(number.checked_mul(size)?)?;
            self.number(usize::try_from(at).ok()?.checked_add(field)?, bytes)
        };
        let is_executable =
            |number: u64| section(number, flags, word).is_some_and(|flags| flags & SHF_EXECINSTR != 0);
        let mut symbols = Vec::new();
        for number in (0..count).filter(|number| is_executable(*number)) {
            let end = section(number, address, word)?.checked_add(section(number, length, word)?)?;
            symbols.push((end, END_OF_TEXT.to_owned()));
        }
        if let Some(table) = (0..count).find(|number| section(*number, 4, 4) == Some(SHT_SYMTAB)) {
            let (start, bytes) = (section(table, offset, word)?, section(table, length, word)?);
            let names = usize::try_from(section(section(table, link, 4)?, offset, word)?).ok()?;
            let (entry, info, owner, value) = if self.wide { (24, 4, 6, 8) } else { (16, 12, 14, 4) };
            for at in (start..start.checked_add(bytes)?).step_by(entry) {
                let at = usize::try_from(at).ok()?;
                let kind = self.number(at.checked_add(info)?, 1)? & 0xf;
                if kind > STT_FUNC || kind == STT_OBJECT || !is_executable(self.number(at + owner, 2)?) {
                    continue;
                }
                let name = self.bytes.get(names.checked_add(self.number(at, 4)? as usize)?..)?;
                // Of a table without ends each name is a bit too long, and none.
                let name = name.get(..=LONGEST_SYMBOL).unwrap_or(name).split(|byte| *byte == 0).next()?;
                symbols.push((self.number(at + value, word)?, String::from_utf8_lossy(name).into_owned()));
            }
        }
        Some(symbols)
    }

    /// The loader that it names, where it is linked dynamically.
    pub(crate) fn interpreter(&self) -> Option<String> {
        let segment = self.loaded()?.into_iter().find(|loaded| loaded.kind == PT_INTERP)?;
        self.text(segment.begin)
    }

    /// The libraries that it names (DT_NEEDED); none where it has no dynamic section, or one that is damaged.
    pub(crate) fn needed(&self) -> Option<Vec<String>> {
        let loaded = self.loaded()?;
        let dynamic = loaded.iter().find(|loaded| loaded.kind == PT_DYNAMIC)?;
        let word = if self.wide { 8 } else { 4 };
        let entry = |at: u64| {
            let at = usize::try_from(at).ok()?;
            Some((self.number(at, word)?, self.number(at + word, word)?))
        };
        let entries: Vec<(u64, u64)> = (dynamic.begin..dynamic.end)
            .step_by(2 * word)
            .map_while(entry)
            .take_while(|(tag, _)| *tag != 0)
            .collect();
        let (_, strings) = entries.iter().find(|(tag, _)| *tag == DT_STRTAB)?;
        let holds = |segment: &&Loaded| {
            let size = segment.end - segment.begin;
            segment.kind == PT_LOAD
                && (segment.address..segment.address.saturating_add(size)).contains(strings)
        };
        let segment = loaded.iter().find(holds)?;
        let start = segment.begin + (strings - segment.address);
        let named = entries.iter().filter(|(tag, _)| *tag == DT_NEEDED);
        named.map(|(_, name)| self.text(start.checked_add(*name)?)).collect()
    }

    /// The text at a place, to its zero byte; none where that is further than a name is long.
    fn text(&self, at: u64) -> Option<String> {
        let rest = self.bytes.get(usize::try_from(at).ok()?..)?;
        let length = rest.iter().take(LONGEST_NAME + 1).position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// True if everything that it loads is there.
    fn is_whole(&self) -> bool {
        let there = |loaded: &Loaded| loaded.end <= self.bytes.len() as u64;
        self.loaded().is_some_and(|all| !all.is_empty() && all.iter().all(there))
    }
}

/// Whether all of a bzImage is there; none where it is none (Documentation/arch/x86/boot.rst: a signature at 0x202, the sectors of
/// the setup at 0x1f1, the rest in paragraphs of 16 bytes at 0x1f4).
fn bz_image(bytes: &[u8]) -> Option<bool> {
    bytes.get(0x202..0x206).filter(|mark| mark == b"HdrS")?;
    let sectors = match bytes[0x1f1] {
        0 => 4,
        sectors => u64::from(sectors),
    };
    let paragraphs = u32::from_le_bytes(bytes[0x1f4..0x1f8].try_into().ok()?);
    Some((sectors + 1) * 512 + u64::from(paragraphs) * 16 <= bytes.len() as u64)
}

/// The processor of an Image, which is a header of 64 bytes and code. A truncated one is not detected: the header has only the size in memory
/// (Documentation/arm64/booting.rst and riscv/boot-image-header.rst: a magic number at 56, RISC-V's at 48 too).
fn flat_image(bytes: &[u8]) -> Option<Arch> {
    match (bytes.get(48..53)?, bytes.get(56..60)?) {
        _ if bytes.len() <= 64 => None,
        (_, b"ARM\x64") => Some(Arch::Arm64),
        (b"RISCV", b"RSC\x05") => Some(Arch::Riscv64),
        _ => None,
    }
}

/// The bytes of an image.
///
/// # Errors
/// It cannot be read, or is larger than any kernel.
pub(crate) fn read_image(image: &Path) -> Result<Vec<u8>, Error> {
    let size = std::fs::metadata(image).map_err(Error::file("read", image))?.len();
    if size > LARGEST {
        let place = image.display();
        return Err(Error::Usage(format!(
            "{place} has {} GiB: no kernel image is larger than 2",
            size >> 30
        )));
    }
    std::fs::read(image).map_err(Error::file("read", image))
}

/// The processor that an image is for.
///
/// # Errors
/// It is none that the lab can boot, or cut short.
pub fn arch_of(image: &Path) -> Result<Arch, Error> {
    let bytes = read_image(image)?;
    let place = image.display();
    let elf = Elf::parse(&bytes);
    let (arch, whole) = match (bz_image(&bytes), &elf) {
        (Some(whole), _) => (Arch::X86_64, whole),
        (None, Some(elf)) if elf.machine() == Some(EM_PPC) => (Arch::PowerPc, elf.is_whole()),
        (None, Some(elf)) if elf.machine() == Some(EM_X86_64) => (Arch::X86_64, elf.is_whole()),
        _ => match flat_image(&bytes) {
            Some(arch) => (arch, true),
            None => {
                return Err(Error::Usage(format!(
                    "{place} is no kernel image that the lab can boot: a bzImage for x86-64, a vmlinux for PowerPC, an Image for arm64 or riscv64"
                )));
            }
        },
    };
    if whole {
        Ok(arch)
    } else {
        Err(Error::Usage(format!("{place} is cut short: the image says that it is longer")))
    }
}

/// True if a program is for an architecture.
#[must_use]
pub fn is_for(program: &Path, arch: Arch) -> bool {
    let bytes = std::fs::read(program).unwrap_or_default();
    let machine = match arch {
        Arch::X86_64 => EM_X86_64,
        Arch::PowerPc => EM_PPC,
        Arch::Arm64 => EM_AARCH64,
        Arch::Riscv64 => EM_RISCV,
    };
    let is_wide = arch != Arch::PowerPc;
    Elf::parse(&bytes).is_some_and(|elf| elf.machine() == Some(machine) && elf.wide == is_wide)
}

/// True if a program needs no other file to run: the first process of a guest has none.
#[must_use]
pub fn is_static(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap_or_default();
    let loaded = Elf::parse(&bytes).and_then(|elf| elf.loaded()).unwrap_or_default();
    !loaded.is_empty() && loaded.iter().all(|loaded| loaded.kind != PT_INTERP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch_or_reason(bytes: &[u8]) -> Result<Arch, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        arch_of(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_image_is_whole_or_refused() {
        let mut image = vec![0; 5 * 512 + 32];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x1f1] = 4;
        image[0x1f4] = 2;
        assert_eq!(arch_or_reason(&image), Ok(Arch::X86_64));
        assert!(arch_or_reason(&image[..image.len() - 1]).unwrap_err().contains("cut short"));
        assert!(arch_or_reason(b"#!/bin/sh\n").unwrap_err().contains("no kernel image"));
        assert!(arch_or_reason(b"").unwrap_err().contains("no kernel image"));
        let own = std::env::current_exe().unwrap();
        assert!(is_for(&own, Arch::X86_64) && !is_for(&own, Arch::PowerPc));
        let own = std::fs::read(own).unwrap();
        assert_eq!(arch_or_reason(&own), Ok(Arch::X86_64));
        assert!(arch_or_reason(&own[..4096]).unwrap_err().contains("cut short"));
        assert!(arch_or_reason(&own[..40]).unwrap_err().contains("cut short"));
    }

    #[test]
    fn a_name_without_an_end_is_none() {
        let named = |length: usize| [b"\x7fELF\x02\x01", &vec![b'a'; length][..], b"\0"].concat();
        let text = |bytes: &[u8], at: u64| Elf::parse(bytes).unwrap().text(at);
        assert_eq!(text(&named(LONGEST_NAME), 6).map(|name| name.len()), Some(LONGEST_NAME));
        assert_eq!(text(&named(LONGEST_NAME + 1), 6), None);
        assert_eq!(text(&named(3)[..9], 6), None, "the file ends before the name");
        assert_eq!(text(&named(3), u64::MAX), None);
    }

    #[test]
    fn what_is_larger_than_any_kernel_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(LARGEST + (1 << 30)).unwrap();
        assert!(
            arch_of(file.path())
                .unwrap_err()
                .to_string()
                .ends_with("has 3 GiB: no kernel image is larger than 2")
        );
    }

    #[test]
    fn a_big_endian_image_of_32_bits() {
        let mut image = vec![0; 84 + 16];
        image[..6].copy_from_slice(b"\x7fELF\x01\x02");
        image[19] = 20;
        (image[31], image[43], image[45]) = (52, 32, 1);
        // One header at 52: what it loads begins at 84 and has 16 bytes.
        (image[55], image[59], image[71]) = (1, 84, 16);
        assert_eq!(arch_or_reason(&image), Ok(Arch::PowerPc));
        assert!(arch_or_reason(&image[..99]).unwrap_err().contains("cut short"));
    }

    #[test]
    fn an_image_that_is_a_header_and_code() {
        let mut image = vec![0; 65];
        image[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(arch_or_reason(&image), Ok(Arch::Arm64));
        assert!(arch_or_reason(&image[..64]).unwrap_err().contains("no kernel image"));
        image[56..60].copy_from_slice(b"RSC\x05");
        assert!(arch_or_reason(&image).unwrap_err().contains("no kernel image"));
        image[48..53].copy_from_slice(b"RISCV");
        assert_eq!(arch_or_reason(&image), Ok(Arch::Riscv64));
        assert!(arch_or_reason(&image[..59]).unwrap_err().contains("no kernel image"));
    }

    #[test]
    fn what_is_linked_dynamically_is_no_process_1() {
        assert!(!is_static(&std::env::current_exe().unwrap()));
        assert!(!is_static(Path::new("/proc/version")));
        // One header at 64, which loads nothing: no interpreter.
        let mut own = vec![0; 120];
        own[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (own[32], own[54], own[56], own[64]) = (64, 56, 1, 1);
        let file = tempfile::NamedTempFile::new().unwrap();
        let is = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            is_static(file.path())
        };
        assert!(is(&own));
        own[64] = 3;
        assert!(!is(&own), "an interpreter");
        (own[56], own[64]) = (0, 1);
        assert!(!is(&own), "no header at all");
        own[56] = 1;
        own[32..40].copy_from_slice(&[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert!(!is(&own), "beyond all files");
    }
}
