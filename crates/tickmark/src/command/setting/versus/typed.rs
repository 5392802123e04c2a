//! Commands as they are typed: with the values of parameters in them, as words that no shell has seen.

use super::subjects::MOST;
use crate::cli::Versus;
use crate::error::Error;
use tickmark_wire::text::quoted;

/// A command as it was typed, or made of one by its parameters.
pub(super) struct Typed {
    pub(super) text: String,
    pub(super) words: Option<Vec<String>>,
    pub(super) parameters: Vec<(String, String)>,
}

impl Typed {
    /// A text in which the values of the parameters stand for their names.
    pub(super) fn filled(&self, text: &str) -> String {
        self.parameters
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

/// The commands, with the values of parameters in them.
pub(super) fn typed(options: &Versus) -> Result<Vec<Typed>, Error> {
    if !options.one.is_empty() {
        let text: Vec<String> = options.one.iter().map(|word| quoted(word).into_owned()).collect();
        let words = Some(options.one.clone());
        return Ok(vec![Typed { text: text.join(" "), words, parameters: Vec::new() }]);
    }
    let sets = parameters(options)?;
    let with = |text: &String| {
        let of = |parameters: &Vec<(String, String)>| {
            let bare = Typed { text: text.clone(), words: None, parameters: parameters.clone() };
            Typed { text: bare.filled(text), ..bare }
        };
        sets.iter().map(of).collect::<Vec<_>>()
    };
    let alone = |text: &String| Typed { text: text.clone(), words: None, parameters: Vec::new() };
    Ok(options.reference.iter().map(alone).chain(options.commands.iter().flat_map(with)).collect())
}

/// Every combination of the parameters' values.
fn parameters(options: &Versus) -> Result<Vec<Vec<(String, String)>>, Error> {
    if let [name, low, high] = &options.parameter_scan[..] {
        let number = |text: &String| {
            text.parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .ok_or_else(|| Error::Usage(format!("--parameter-scan: {text} is no number")))
        };
        let (from, to) = (number(low)?, number(high)?);
        let step = options.parameter_step_size.as_ref().map_or(Ok(1.0), number)?;
        let values = (to - from) / step;
        if step <= 0.0 || !(0.0..=MOST as f64).contains(&values) {
            return Err(Error::Usage(format!(
                "--parameter-scan {name} {low} {high} in steps of {step}: give a range of 1 to {MOST} values"
            )));
        }
        let places = [low, high].into_iter().chain(&options.parameter_step_size);
        let places = places.map(|text| decimals(text)).max().unwrap_or(0);
        let value = |at: usize| (name.clone(), format!("{:.places$}", from + at as f64 * step));
        return Ok((0..=(values + 1e-9) as usize).map(|at| vec![value(at)]).collect());
    }
    let mut sets = vec![Vec::new()];
    for pair in options.parameter_list.chunks(2) {
        let [name, values] = pair else { continue };
        let with = |set: &Vec<(String, String)>| {
            let one = |value: &str| [set.clone(), vec![(name.clone(), value.to_owned())]].concat();
            values.split(',').map(one).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(with).collect();
    }
    Ok(sets)
}

/// Decimal places of a number as it is typed: 3 of 1.250, 4 of 1.5e-3.
fn decimals(text: &str) -> usize {
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let places = digits.split_once('.').map_or(0, |(_, rest)| rest.len() as i32);
    (places - power.parse::<i32>().unwrap_or(0)).clamp(0, 15) as usize
}

pub(super) fn split(text: &str) -> Result<Vec<String>, Error> {
    let words = shlex::split(text).ok_or_else(|| Error::Usage(format!("{text}: a quote has no end")))?;
    if words.is_empty() { Err(Error::Usage("a command is empty".to_owned())) } else { Ok(words) }
}

/// The words of a command that no shell runs.
pub(super) fn plain(text: &str) -> Result<Vec<String>, Error> {
    match for_a_shell(text) {
        Some(part) => Err(Error::Usage(format!(
            "{text}: `{part}` is for a shell, and none is started; add --shell sh, or quote it"
        ))),
        None => split(text),
    }
}

/// What a shell would take for itself: an operator that is not quoted, a variable that is not in single quotes.
fn for_a_shell(text: &str) -> Option<String> {
    let (mut quote, mut characters) = (None, text.chars().peekable());
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                characters.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '|' | '&' | ';' | '<' | '>' | '`') => return Some(c.to_string()),
            (_, '$')
                if characters.peek().is_some_and(|next| next.is_alphabetic() || "_{(".contains(*next)) =>
            {
                return Some("$".to_owned());
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_a_shell() {
        for plain in [
            "perl -e 'print 1;'",
            "awk -F '|' '{print $1}' x",
            r"find . -exec ls {} \;",
            "sed s/$/x/ y",
            "echo \"a;b\"",
        ] {
            assert_eq!(for_a_shell(plain), None, "{plain}");
        }
        for (text, part) in
            [("ls | wc", "|"), ("a && b", "&"), ("x > y", ">"), ("echo $HOME", "$"), ("echo \"$(id)\"", "$")]
        {
            assert_eq!(for_a_shell(text).as_deref(), Some(part), "{text}");
        }
    }

    #[test]
    fn decimal_places_as_they_are_typed() {
        assert_eq!(["1", "0.05", "1e-3", "1.5E-3", "2e3"].map(decimals), [0, 2, 3, 4, 0]);
    }
}
