//! Numbers and names as other programs print them.

use tickmark_wire::Printed;

/// A name of a metric from a title: small letters, digits, dots and underscores.
pub(super) fn named(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '_' };
    title.trim().chars().map(plain).collect::<String>().trim_matches('_').to_owned()
}

/// The first number of a text. Commas between groups of three digits separate thousands; a single other one is the decimal
/// point of some languages; what is neither is no number.
pub(super) fn first_number(text: &str) -> Option<Printed> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    // A number may begin with its point.
    let from = if text[..from].ends_with('.') { from - 1 } else { from };
    let negative = text[..from].ends_with('-');
    let rest = &text[from..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(rest.len());
    let digits = rest[..end].trim_end_matches(['.', ',']);
    let signed = |number: Printed| if negative { number * -1.0 } else { number };
    let after = &rest[digits.len()..];
    if digits == "0" && after.starts_with(['x', 'X']) {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        return Printed::parse(word.as_bytes()).map(signed);
    }
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let thousands = groups.len() > 1
        && groups[0].len() <= 3
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|group| group.len() == 3);
    let plain = match (groups.len(), thousands) {
        (1, _) => digits.to_owned(),
        (_, true) if !part.contains(',') => digits.replace(',', ""),
        (2, false) if part.is_empty() => digits.replace(',', "."),
        _ => return None,
    };
    Printed::parse((plain + exponent(after)).as_bytes()).map(signed)
}

/// The power of ten that follows the digits of a number.
fn exponent(after: &str) -> &str {
    let Some(rest) = after.strip_prefix(['e', 'E']) else { return "" };
    let signs = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[signs..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 { &after[..1 + signs + digits] } else { "" }
}
