//! Commands of this program that are suggested, as they have to be typed.

use tickmark_wire::text::quoted;

pub(crate) use tickmark_render::command;

/// The command line that was typed, with so many blocks more instead of those that it asked for.
pub(crate) fn with_more(words: impl Iterator<Item = String>, blocks: usize) -> String {
    let mut typed = vec!["tickmark".to_owned()];
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--blocks" | "--more" => drop(words.next()),
            "--no-pilot" => {}
            word if word.starts_with("--blocks=") || word.starts_with("--more=") => {}
            word => typed.push(quoted(word).into_owned()),
        }
    }
    format!("{} --more {blocks}", typed.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_goes_on_as_it_was_typed() {
        let typed = [
            "tm",
            "experiment",
            "slack=50us,1ns",
            "timer",
            "--blocks",
            "4",
            "--no-pilot",
            "--command",
            "a b",
        ];
        let more = with_more(typed.iter().map(|word| (*word).to_owned()), 7);
        assert_eq!(more, "tickmark experiment slack=50us,1ns timer --command 'a b' --more 7");
    }
}
