//! Mappings of this process, from the kernel's own list.

/// Has the kernel read no more of the files that are mapped here (this program, libraries) than the pages that are
/// touched. Around each that is not in memory it reads as much as the disk's read-ahead, some MiB: where memory is
/// short, that drives out what the last reading brought. Advice that is not taken changes nothing.
pub fn read_sparingly() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (from, to) in maps.lines().filter(|line| line.contains('/')).filter_map(range) {
        let at = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: how pages of a file are read changes no memory.
        unsafe { libc::madvise(at, to - from, libc::MADV_RANDOM) };
    }
}

/// From where to where the mapping of a line reaches; none where it is not one.
pub(super) fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read() {
        assert_eq!(range("7f00-7fff rw-p 0 00:00 0 [heap]"), Some((0x7f00, 0x7fff)));
        assert_eq!(range(""), None);
    }

    #[test]
    fn the_mapped_files_are_read_page_by_page() {
        read_sparingly();
        // "rr" among the flags of a mapping is MADV_RANDOM (proc(5)).
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut of_a_file = false;
        let mut flags = Vec::new();
        for line in maps.lines() {
            match line.strip_prefix("VmFlags:") {
                Some(these) if of_a_file => flags.push(these.to_owned()),
                Some(_) => {}
                None if range(line).is_some() => of_a_file = line.contains('/'),
                None => {}
            }
        }
        assert!(flags.len() > 3, "{flags:?}");
        assert!(flags.iter().all(|these| these.split_whitespace().any(|flag| flag == "rr")), "{flags:?}");
    }
}
