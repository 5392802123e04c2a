//! A column in memory.

use serde_json::Value;
use std::collections::HashMap;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64-bit floating point.
    Number,
    /// 64-bit integers.
    Integer,
    /// Yes or no.
    Flag,
}

/// The values of a column, none where a row has no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// UTF-8.
    Text(Texts),
    /// 64-bit floating point.
    Number(Vec<Option<f64>>),
    /// 64-bit integers.
    Integer(Vec<Option<i64>>),
    /// Yes or no.
    Flag(Vec<Option<bool>>),
}

/// Texts, each kept once: columns of names have few.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Texts {
    words: Vec<String>,
    known: HashMap<String, u32>,
    rows: Vec<Option<u32>>,
}

impl Texts {
    /// Adds a row.
    pub fn push(&mut self, text: Option<&str>) {
        let row = text.map(|text| {
            self.known.get(text).copied().unwrap_or_else(|| {
                let code = self.words.len() as u32;
                self.words.push(text.to_owned());
                self.known.insert(text.to_owned(), code);
                code
            })
        });
        self.rows.push(row);
    }

    /// The different texts, in the order in which they came first.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Which of the texts each row has.
    #[must_use]
    pub fn rows(&self) -> &[Option<u32>] {
        &self.rows
    }

    /// The text of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        let code = (*self.rows.get(row)?)?;
        self.words.get(code as usize).map(String::as_str)
    }
}

impl Column {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(Texts::default()),
            Kind::Number => Self::Number(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Flag => Self::Flag(Vec::new()),
        }
    }

    /// Adds a row; a value of another kind is none.
    pub(crate) fn push(&mut self, value: &Value) {
        match self {
            Self::Text(texts) => texts.push(value.as_str()),
            Self::Number(all) => all.push(value.as_f64()),
            Self::Integer(all) => all.push(value.as_i64()),
            Self::Flag(all) => all.push(value.as_bool()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.rows.len(),
            Self::Number(all) => all.len(),
            Self::Integer(all) => all.len(),
            Self::Flag(all) => all.len(),
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Text(texts), Self::Text(more)) => {
                (0..more.rows.len()).for_each(|row| texts.push(more.get(row)));
            }
            (Self::Number(all), Self::Number(more)) => all.extend(more),
            (Self::Integer(all), Self::Integer(more)) => all.extend(more),
            (Self::Flag(all), Self::Flag(more)) => all.extend(more),
            // The same column of the same schema has one kind.
            _ => {}
        }
    }
}
