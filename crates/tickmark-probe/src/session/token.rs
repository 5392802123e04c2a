//! A secret that both hosts know.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io::Read;
use std::path::Path;

/// Shorter tokens are refused: they could be guessed.
pub const LEAST_TOKEN: usize = 12;
/// Bytes of its file at most.
const MOST: u64 = 64 << 10;
/// The environment has it under this name.
pub const TOKEN: &str = "TICKMARK_TOKEN";

/// A token.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Without the blanks around it.
    ///
    /// # Errors
    /// One that is too short, in words.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.len() >= LEAST_TOKEN {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("a token has {LEAST_TOKEN} characters or more")),
        }
    }

    /// A new one.
    ///
    /// # Errors
    /// Those of reading /dev/urandom.
    pub fn make() -> std::io::Result<Self> {
        fresh().map(Self)
    }

    /// That of a file; of the environment where none is named.
    ///
    /// # Errors
    /// None there, or one that is too short, in words.
    pub fn known(file: Option<&Path>) -> Result<Self, String> {
        let (place, text) = match file {
            Some(path) => {
                let mut text = String::new();
                let read =
                    std::fs::File::open(path).and_then(|file| file.take(MOST + 1).read_to_string(&mut text));
                let read = read.map_err(|error| format!("{}: {error}", path.display()))?;
                if read as u64 > MOST {
                    return Err(format!("{}: more than {MOST} bytes are no token", path.display()));
                }
                (path.display().to_string(), text)
            }
            None => {
                let unset =
                    |_| format!("no token: give --token-file, or set {TOKEN}, as the other host has it");
                (TOKEN.to_owned(), std::env::var(TOKEN).map_err(unset)?)
            }
        };
        Self::new(&text).map_err(|why| format!("{place}: {why}"))
    }

    /// For the other side's hands.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self, words: &[&str]) -> Option<Hmac<Sha256>> {
        let mut hash = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        for word in words {
            hash.update(word.as_bytes());
            hash.update(b"\n");
        }
        Some(hash)
    }

    pub(super) fn prove(&self, words: &[&str]) -> String {
        self.hash(words).map_or_else(String::new, |hash| hex(&hash.finalize().into_bytes()))
    }

    /// In a time that does not tell how much of it was right.
    pub(super) fn is_proved(&self, words: &[&str], proof: &str) -> bool {
        let bytes = unhex(proof);
        self.hash(words).zip(bytes).is_some_and(|(hash, bytes)| hash.verify_slice(&bytes).is_ok())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// A number that was never used before.
pub(super) fn fresh() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}
