//! Lists of machines as Slurm, pdsh and clush write them: `n[1-4,07-09],login`.

/// More names than this are a mistake.
const MOST: usize = 200_000;

/// The names that a list means, in its order and each once.
///
/// # Errors
/// What is wrong with it.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let (mut names, mut known) = (Vec::new(), std::collections::HashSet::new());
    for word in words(list)? {
        for name in ranges(word)? {
            if !is_plain(&name) {
                return Err(format!("{word:?} is no name of a machine"));
            }
            if known.insert(name.clone()) {
                names.push(name);
            }
            if names.len() > MOST {
                return Err(format!("more than {MOST} names"));
            }
        }
    }
    if names.is_empty() { Err("it names no machine".to_owned()) } else { Ok(names) }
}

/// True if a name is nothing but one, for a shell as well.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// The words between commas that are outside of brackets.
fn words(list: &str) -> Result<Vec<&str>, String> {
    let (mut words, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        depth += match c {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        if !(0..=1).contains(&depth) {
            return Err(format!("a bracket too much in {list:?}"));
        }
        if c == ',' && depth == 0 {
            words.push(list[from..at].trim());
            from = at + 1;
        }
    }
    if depth != 0 {
        return Err(format!("a bracket is open in {list:?}"));
    }
    words.push(list[from..].trim());
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// A word with its brackets replaced by each of what they stand for.
fn ranges(word: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = word.split_once('[') else { return Ok(vec![word.to_owned()]) };
    let (inside, after) = rest.split_once(']').ok_or_else(|| format!("a bracket is open in {word:?}"))?;
    let (numbers, tails) =
        (numbers(inside).ok_or_else(|| format!("[{inside}] are no numbers"))?, ranges(after)?);
    if numbers.len().saturating_mul(tails.len()) > MOST {
        return Err(format!("more than {MOST} names in {word:?}"));
    }
    Ok(numbers
        .iter()
        .flat_map(|number| tails.iter().map(move |tail| format!("{before}{number}{tail}")))
        .collect())
}

/// `1-3,08-10` as `1 2 3 08 09 10`: a first number with a zero before it says how wide they are.
fn numbers(inside: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in inside.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let width = if from.starts_with('0') { from.len() } else { 0 };
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        if to < from || to - from > MOST as u32 {
            return None;
        }
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_slurm_and_pdsh() {
        let of = |list: &str| expand(list).unwrap().join(" ");
        assert_eq!(of("n[1-3,7],login"), "n1 n2 n3 n7 login");
        assert_eq!(of("r[1-2]n[08-10]x"), "r1n08x r1n09x r1n10x r2n08x r2n09x r2n10x");
        assert_eq!(of("a, b,a"), "a b");
        assert_eq!(of("user@10.0.0.1"), "user@10.0.0.1");
        assert_eq!(expand("n[1-10000]").unwrap().len(), 10_000);
        for wrong in [
            "",
            "n[1-",
            "n1]",
            "n[3-1]",
            "n[a]",
            "n[1-99999999]",
            "$(reboot)",
            "-oProxyCommand=x",
            "a b",
            "n[[1]]",
        ] {
            assert!(expand(wrong).is_err(), "{wrong}");
        }
    }
}
