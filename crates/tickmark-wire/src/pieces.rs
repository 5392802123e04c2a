//! How many agents speak over one output: a launcher mixes what they write, puts names before lines and cuts long ones. So each line goes out in
//! short pieces, and each piece says whose it is. A plan goes the other way as a word that no shell touches.

/// Beginning of a piece, anywhere in a line.
const MARK: &str = "@tickmark ";
/// Bytes of text in a piece at most: srun passes on 1024 at once.
const MOST: usize = 700;
/// Bytes of a machine's or an agent's name at most: a name of the DNS has 255.
const NAME: usize = 255;

/// One of the pieces that a line of an agent was cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePiece<'a> {
    /// The machine, as its launcher calls it.
    pub node: &'a str,
    /// Which of its agents: others were started by another launch, or twice.
    pub agent: &'a str,
    /// Counted from 0 over all that this agent writes: one that is missing is noticed.
    pub number: u64,
    /// True if the line ends with it.
    pub ends: bool,
    /// The text.
    pub text: &'a str,
}

impl<'a> LinePiece<'a> {
    /// The pieces of a line, the first with this number.
    pub fn cut(node: &'a str, agent: &'a str, first: u64, line: &'a str) -> impl Iterator<Item = Self> {
        let mut rest = Some(line);
        let pieces = std::iter::from_fn(move || {
            let all = rest.take()?;
            let (text, more) = all.split_at(all.floor_char_boundary(MOST));
            rest = Some(more).filter(|more| !more.is_empty());
            Some((text, rest.is_none()))
        });
        pieces.zip(first..).map(move |((text, ends), number)| Self { node, agent, number, ends, text })
    }

    /// The piece that a line of a launcher holds, if any.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (_, rest) = line.split_once(MARK)?;
        let mut words = rest.splitn(5, ' ');
        let (node, agent, number) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        let ends = match words.next()? {
            "." => true,
            "+" => false,
            _ => return None,
        };
        let text = words.next()?;
        let is_name = !node.is_empty() && node.len() <= NAME && agent.len() <= NAME;
        is_name.then_some(Self { node, agent, number, ends, text })
    }
}

impl std::fmt::Display for LinePiece<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.ends { '.' } else { '+' };
        write!(f, "{MARK}{} {} {} {how} {}", self.node, self.agent, self.number, self.text)
    }
}

/// A text as one word of letters, digits and `._-`: everything else is `%` and two hexadecimal digits a byte.
#[must_use]
pub fn word(text: &str) -> String {
    let mut word = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            word.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
            word.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    word
}

/// The text of such a word; none where it is damaged.
#[must_use]
pub fn text(word: &str) -> Option<String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word.as_bytes());
    loop {
        rest = match rest {
            [] => return String::from_utf8(bytes).ok(),
            [b'%', high, low, more @ ..] => {
                bytes.push((digit(high)? << 4 | digit(low)?) as u8);
                more
            }
            [b'%', ..] => return None,
            [byte, more @ ..] => {
                bytes.push(*byte);
                more
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_comes_back_from_its_pieces(line in "\\PC{0,3000}", before in "[a-z0-9: ]{0,12}") {
            let lines: Vec<String> =
                LinePiece::cut("n1", "7f", 3, &line).map(|piece| format!("{before}{piece}")).collect();
            prop_assert!(lines.iter().all(|line| line.len() < 1000));
            let pieces: Vec<LinePiece<'_>> = lines.iter().map(|line| LinePiece::parse(line).unwrap()).collect();
            let whole: String = pieces.iter().map(|piece| piece.text).collect();
            prop_assert_eq!(whole, line);
            let numbers: Vec<u64> = pieces.iter().map(|piece| piece.number).collect();
            prop_assert_eq!(numbers, (3..3 + pieces.len() as u64).collect::<Vec<_>>());
            prop_assert!(pieces.iter().rev().skip(1).all(|piece| !piece.ends) && pieces.last().unwrap().ends);
        }

        #[test]
        fn any_text_is_a_word_and_comes_back(line in any::<String>()) {
            let word = word(&line);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%._-".contains(&byte)));
            prop_assert_eq!(text(&word), Some(line));
        }
    }

    #[test]
    fn what_is_no_piece_is_none() {
        for line in
            ["", "n1: hello", "@tickmark n1 7f x . {}", "@tickmark n1 7f 1 ? {}", "@tickmark n1 7f 1 ."]
        {
            assert_eq!(LinePiece::parse(line), None, "{line}");
        }
        assert_eq!(LinePiece::parse(&format!("@tickmark n1 {} 0 . x", "7".repeat(256))), None);
        for word in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(text(word), None, "{word}");
        }
    }
}
