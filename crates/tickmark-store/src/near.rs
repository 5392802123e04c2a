//! The name that may have been meant.

/// ` (did you mean NAME?)` with the name that is most like another one, if it is much like it; else nothing.
#[must_use]
pub fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let close = names.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    match close.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, best)) if likeness > 0.5 => format!(" (did you mean {best}?)"),
        _ => String::new(),
    }
}
