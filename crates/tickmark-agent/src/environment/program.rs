//! Which program measures.

use std::fs::File;
use std::os::unix::fs::FileExt;
use tickmark_wire::Environment;

/// A note of its linker that identifies a build (GNU_BUILD_ID): the length of its name, of its 20 bytes, its type, its name.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
/// Notes stand at the beginning of a program, and so many hexadecimal digits tell builds apart.
const PART: usize = 4096;
const DIGITS: usize = 16;

pub(super) fn collect(facts: &mut Environment) {
    let program = "/proc/self/exe";
    let mut part = vec![0; PART];
    let read = File::open(program).and_then(|file| file.read_at(&mut part, 0));
    match read.map(|length| build_id(&part[..length])) {
        Ok(Some(id)) => {
            let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
            let build = format!("{id}, {}, {linked}", std::env::consts::ARCH);
            facts.know("program.build", "GNU_BUILD_ID of /proc/self/exe", build);
        }
        Ok(None) => facts.miss("program.build", program, "no GNU_BUILD_ID"),
        Err(error) => facts.miss("program.build", program, error.to_string()),
    }
}

fn build_id(part: &[u8]) -> Option<String> {
    let at = part.windows(NOTE.len()).position(|window| window == NOTE)? + NOTE.len();
    let id = part.get(at..at + DIGITS / 2)?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_an_id() {
        let mut facts = Environment::default();
        collect(&mut facts);
        let build = facts.get("program.build").unwrap();
        assert!(build.split(',').next().is_some_and(|id| id.len() == DIGITS), "{build}");
        assert_eq!(build_id(b"nothing"), None);
        assert_eq!(build_id(&[NOTE, b"short"].concat()), None);
    }
}
