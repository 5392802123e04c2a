//! Requests of one host to another, and the answers: a line each.

use crate::Loads;
use serde::{Deserialize, Serialize};

/// Request to the other host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// How messages are carried; http for a server of pages.
    pub over: String,
    /// True if both sides send at once.
    pub both: bool,
    /// The largest message, in bytes.
    pub most: usize,
    /// The computation beside them.
    pub load: String,
    /// By which steps.
    pub step: String,
    /// The scheduling class.
    pub class: String,
    /// For how long it is measured, ns.
    pub time: i64,
    /// Of a server of pages.
    #[serde(default)]
    pub pages: Option<Pages>,
}

/// A server that answers each request with one page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// How many workers.
    pub workers: usize,
    /// True if they are threads of one process.
    pub threads: bool,
    /// Bytes of the page.
    pub bytes: usize,
    /// True if connections are kept.
    pub keep: bool,
}

/// The message of the other host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It computes, and waits for messages.
    Ready,
    /// It cannot, and why.
    Failed(String),
    /// Activity of its CPU.
    Loads(Box<Loads>),
    /// Of its server, when it begins and whenever it is asked.
    Books(Box<Books>),
}

/// Accounts of a server so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// The port at which it listens.
    pub port: u16,
    /// CPU time, in ns.
    pub cpu: i64,
    /// How long its tasks stood runnable without a CPU, in ns.
    pub waited: i64,
    /// Their context switches.
    pub switches: u64,
    /// Ticks that found them in user mode, and in the kernel.
    pub ticks: [u64; 2],
    /// Interrupts of its CPU; none where they are not known.
    pub interrupts: Option<u64>,
    /// When that was, by its own CLOCK_MONOTONIC, in ns; 0 of a host that does not say.
    #[serde(default)]
    pub at: u64,
}

impl Ask {
    /// Parses a line.
    ///
    /// # Errors
    /// It is no such line, in words.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }
}

impl Answer {
    /// As a line, without its end.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses a line.
    ///
    /// # Errors
    /// It is no such line, in words.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_the_same_to_both() {
        let books =
            Books { port: 80, cpu: 7, waited: 1, switches: 2, ticks: [3, 4], interrupts: None, at: 5 };
        for said in [Answer::Ready, Answer::Failed("no".to_owned()), Answer::Books(Box::new(books))] {
            assert_eq!(Answer::parse(&said.line()), Ok(said));
        }
        // As hosts asked that knew of no pages.
        let line = br#"{"over":"tcp","both":true,"most":1,"load":"none","step":"multiply","class":"other","time":5}"#;
        let ask = Ask::parse(line).unwrap();
        assert!(ask.pages.is_none() && ask.both && ask.time == 5);
        assert!(Ask::parse(b"{}").is_err() && Answer::parse(b"7").is_err());
    }
}
