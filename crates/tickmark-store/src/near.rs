//! The name that may have been meant.

/// Longer names are like none: the comparison takes time and memory by the product of both lengths.
const LONGEST: usize = 100;

/// ` (did you mean NAME?)` with the name that is most like another one, if it is much like it; else nothing.
#[must_use]
pub fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let short = |text: &str| text.len() <= LONGEST;
    let names = names.into_iter().filter(|known| short(name) && short(known));
    let close = names.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    match close.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, best)) if likeness > 0.5 => format!(" (did you mean {best}?)"),
        _ => String::new(),
    }
}

/// The same, and all names where none is much like it: `; there are A, B`.
#[must_use]
pub fn did_you_mean_or_all(name: &str, names: &[&str]) -> String {
    let near = did_you_mean(name, names.iter().copied());
    if near.is_empty() { format!("; there are {}", names.join(", ")) } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_much_like_a_name_may_have_been_meant() {
        assert_eq!(did_you_mean("syscal.null", ["tick", "syscall.null"]), " (did you mean syscall.null?)");
        assert_eq!(did_you_mean("xyzzy", ["tick", "syscall.null"]), "");
        assert_eq!(did_you_mean_or_all("xyzzy", &["tick", "a.b"]), "; there are tick, a.b");
        assert_eq!(did_you_mean_or_all("tikc", &["tick", "a.b"]), " (did you mean tick?)");
        // A megabyte costs nothing.
        let long = "a".repeat(1 << 20);
        assert_eq!(did_you_mean(&long, [long.as_str()]), "");
    }
}
