//! Commands that are suggested, as they have to be typed.

use tickmark_wire::text::quoted;

/// The command with these words, with the store that the command line named; one of the environment stays there.
#[must_use]
pub fn command(words: &str) -> String {
    with_store(words, &named_store())
}

/// ` --store DIR` where this process was started with it.
#[must_use]
pub fn named_store() -> String {
    store(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}

/// What follows `--` is another program's.
fn with_store(words: &str, store: &str) -> String {
    match words.split_once(" -- ") {
        Some((own, program)) => format!("tickmark {own}{store} -- {program}"),
        None => format!("tickmark {words}{store}"),
    }
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
        assert_eq!(with_store("hz -- COMMAND", " --store a"), "tickmark hz --store a -- COMMAND");
        assert_eq!(with_store("show b", " --store a"), "tickmark show b --store a");
    }
}
