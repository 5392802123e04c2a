//! Files of machine code: where functions begin, and whose an address is.

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, Object, ObjectSymbol, SymbolKind, elf};
use std::path::Path;

/// Kind, flags, where it begins in the file, how long it is there, its address.
pub(super) type Segment = (u32, u32, u64, u64, u64);

/// The segments of an ELF file of 64 bits; none of what is none.
pub(super) fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    let header = elf::FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let all = header.program_headers(LittleEndian, bytes).ok()?;
    let one = |part: &elf::ProgramHeader64<LittleEndian>| {
        let little = LittleEndian;
        (
            part.p_type(little),
            part.p_flags(little),
            part.p_offset(little),
            part.p_filesz(little),
            part.p_vaddr(little),
        )
    };
    Some(all.iter().map(one).collect())
}

/// Where a file's addresses begin: 0 where it may be loaded anywhere.
pub(super) fn first_address(path: &Path) -> u64 {
    let bytes = super::program::read(path).unwrap_or_default();
    let loaded = segments(&bytes).unwrap_or_default().into_iter().filter(|part| part.0 == elf::PT_LOAD);
    loaded.map(|part| part.4 & !0xfff).min().unwrap_or(0)
}

/// Its functions.
#[derive(Debug, Default)]
pub(super) struct Code {
    segments: Vec<Segment>,
    /// Address and name, ascending; each address once.
    functions: Vec<(u64, String)>,
    /// Names of functions whose code is chosen when the program begins (IFUNC): calls do not come by where they begin.
    chosen: Vec<String>,
}

impl Code {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no program.
    pub(super) fn read(path: &Path) -> std::io::Result<Self> {
        let bytes = super::program::read(path)?;
        let no_program = || std::io::Error::other("is no program");
        let file = object::File::parse(&bytes[..]).map_err(|_| no_program())?;
        let mut code = Self { segments: segments(&bytes).ok_or_else(no_program)?, ..Self::default() };
        for symbol in file.symbols().chain(file.dynamic_symbols()).filter(|symbol| !symbol.is_undefined()) {
            let Ok(name) = symbol.name() else { continue };
            let is_chosen = matches!(symbol.flags(), object::SymbolFlags::Elf { st_info, .. } if st_info & 0xf == elf::STT_GNU_IFUNC);
            if is_chosen {
                code.chosen.push(name.to_owned());
            } else if symbol.kind() == SymbolKind::Text {
                code.functions.push((symbol.address(), name.to_owned()));
            }
        }
        // Of several names of one function the shortest: others have versions or underscores.
        code.functions.sort_by(|a, b| (a.0, a.1.len(), &a.1).cmp(&(b.0, b.1.len(), &b.1)));
        Ok(code)
    }

    /// Where functions begin in the file whose name this says yes to; each once.
    pub(super) fn begin(&self, is_named: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        let named = self.functions.iter().filter(|(_, name)| is_named(name));
        let mut all: Vec<_> =
            named.filter_map(|(at, name)| Some((name.clone(), self.offset(*at)?))).collect();
        all.dedup_by_key(|(_, offset)| *offset);
        all
    }

    /// True if a function of this name is there whose calls cannot be seen where it begins.
    pub(super) fn chooses(&self, name: &str) -> bool {
        self.chosen.iter().any(|chosen| chosen == name)
    }

    /// The address of a place in the file, and the function that begins last before it.
    pub(super) fn at(&self, offset: u64) -> (u64, &str) {
        let inside = |part: &&Segment| part.0 == elf::PT_LOAD && (part.2..part.2 + part.3).contains(&offset);
        let address = self.segments.iter().find(inside).map_or(offset, |part| offset - part.2 + part.4);
        let next = self.functions.partition_point(|(at, _)| *at <= address);
        let name = next.checked_sub(1).map_or("", |last| {
            let first = self.functions.partition_point(|(at, _)| *at < self.functions[last].0);
            &self.functions[first].1
        });
        (address, name)
    }

    /// Where an address lies in the file.
    fn offset(&self, address: u64) -> Option<u64> {
        let inside =
            |part: &&Segment| part.0 == elf::PT_LOAD && address >= part.4 && address - part.4 < part.3;
        self.segments.iter().find(inside).map(|part| address - part.4 + part.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_places_named() {
        let code = Code::read(&std::env::current_exe().unwrap()).unwrap();
        let all = code.begin(|name| name.contains("functions_are_found_and_places_named"));
        let (name, offset) = all.first().unwrap();
        let (address, found) = code.at(offset + 1);
        assert_eq!((found, code.offset(address)), (name.as_str(), Some(offset + 1)));
        assert!(!code.chooses(name) && code.begin(|name| name == "no such function").is_empty());
        assert!(
            Code::read(Path::new("/nowhere")).is_err() && Code::read(Path::new("/proc/self/status")).is_err()
        );
    }
}
