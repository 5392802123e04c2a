//! Vocabularies that later minor versions may add words to: a reader keeps a word that it does not know, and names it.

use crate::text::printable;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A word that this version does not know, as it came: at most 64 characters, none that a terminal obeys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(&'static str);

/// Different words that are kept; what comes after them is one word. No vocabulary has so many.
const MOST: usize = 1024;

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Word {
    /// Keeps a word for the life of the program, each once.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let clean: String = printable(text, false).chars().take(64).collect();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = known.get(clean.as_str()) {
            return Self(word);
        }
        if known.len() >= MOST {
            return Self("?");
        }
        let word: &'static str = Box::leak(clean.into_boxed_str());
        known.insert(word);
        Self(word)
    }

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl serde::Serialize for Word {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

/// A string to a reader of JSON: a later version may have more words.
#[cfg(feature = "schema")]
macro_rules! schema_of_words {
    ($name:ty, $word:expr, $known:expr) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $word.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "examples": $known })
            }
        }
    };
}
#[cfg(feature = "schema")]
pub(crate) use schema_of_words;

#[cfg(feature = "schema")]
schema_of_words!(Word, "Word", [""; 0]);

impl<'de> serde::Deserialize<'de> for Word {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self::new(&text))
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// An enumeration whose variants are words, and `Other` for those of later versions; in JSON the word.
macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A word of a later version.
            Other($crate::Word),
        }

        impl $name {
            /// Those that this version knows, in their order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word that JSON has.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        #[cfg(feature = "schema")]
        $crate::word::schema_of_words!($name, stringify!($name), [$($word),*]);

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                Ok(match &*text {
                    $($word => Self::$variant,)*
                    other => Self::Other($crate::Word::new(other)),
                })
            }
        }
    };
}
pub(crate) use vocabulary;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Headline, Unit};

    #[test]
    fn a_new_word_is_kept_and_written_as_it_came() {
        let unit: Unit = serde_json::from_str("\"parsec\"").unwrap();
        assert_eq!((unit.word(), unit), ("parsec", Unit::Other(Word::new("parsec"))));
        assert_eq!(serde_json::to_string(&unit).unwrap(), "\"parsec\"");
        assert_eq!(serde_json::from_str::<Group>("\"system_call\"").unwrap(), Group::SystemCall);
        assert_eq!(serde_json::to_string(&Headline::TickTrain).unwrap(), "\"tick_train\"");
        assert_eq!(Word::new("a\x1b[31m").as_str(), r"a\u{1b}[31m");
        assert!(serde_json::from_str::<Unit>("7").is_err());
    }

    #[test]
    fn each_known_word_comes_back() {
        for group in Group::ALL {
            let text = serde_json::to_string(&group).unwrap();
            assert_eq!(serde_json::from_str::<Group>(&text).unwrap(), group);
        }
    }
}
