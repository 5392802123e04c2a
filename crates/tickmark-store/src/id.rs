//! Ids of recordings.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Digits that are shown of an id; more are needed where two begin alike.
const SHOWN: usize = 8;

/// A recording's id: 128 random bits as 32 hexadecimal digits. Earlier programs wrote 8 digits; whatever is a plain word of
/// up to 64 characters is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Id(String);

impl Id {
    /// One that no other recording has.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// All of it, as it names the folder.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As much of it as is shown.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..SHOWN).unwrap_or(&self.0)
    }

    /// Several as they are shown.
    #[must_use]
    pub fn all(ids: &[Self]) -> String {
        ids.iter().map(Self::short).collect::<Vec<_>>().join(" ")
    }
}

impl TryFrom<String> for Id {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
            return Err("its id is none: letters and digits");
        }
        Ok(Self(text))
    }
}

/// The short form, for people.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_short_and_kept_whole() {
        let (id, other) = (Id::random(), Id::random());
        assert_ne!(id, other);
        assert_eq!((id.as_str().len(), id.to_string().len()), (32, 8));
        let old = Id::try_from("67c2fa8a".to_owned()).unwrap();
        assert_eq!((old.as_str(), old.short()), ("67c2fa8a", "67c2fa8a"));
        for none in ["", "../../x", "a b", "a\u{1b}[2J"] {
            assert!(Id::try_from(none.to_owned()).is_err(), "{none:?}");
        }
    }
}
