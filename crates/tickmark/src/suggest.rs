//! Commands of this program that are suggested, as they have to be typed.

use tickmark_wire::text::quoted;

/// The command with these words, with the store that the command line named; one of the environment stays there.
pub(crate) fn command(words: &str) -> String {
    format!("tickmark {words}{}", store(std::env::args()))
}

/// ` --store DIR` where the command line has it.
fn store(words: impl Iterator<Item = String>) -> String {
    let mut words = words.take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let named =
            if word == "--store" { words.next() } else { word.strip_prefix("--store=").map(str::to_owned) };
        if let Some(named) = named {
            return format!(" --store {}", quoted(&named));
        }
    }
    String::new()
}

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

    fn words(line: &str) -> impl Iterator<Item = String> {
        line.split(' ').map(str::to_owned)
    }

    #[test]
    fn the_store_of_the_command_line_goes_along() {
        assert_eq!(store(words("tickmark --store a show b")), " --store a");
        assert_eq!(store(words("tickmark show b --store=c")), " --store c");
        assert_eq!(store(words("tickmark bill -- ./x --store d")), "");
    }

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
