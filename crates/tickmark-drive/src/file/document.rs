//! Results that a document published, to stand beside our own.

use serde::Deserialize;

/// One comparison of a document: two sides of the same quantity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The measured quantity, with its unit.
    pub title: String,
    /// Its sides: what came first, and what is compared with it.
    pub side: [Published; 2],
}

/// A side: each of its runs, or what was told of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The setting.
    pub name: String,
    /// Every run.
    #[serde(default)]
    pub runs: Vec<f64>,
    /// Those of them that the document left out.
    #[serde(default)]
    pub left_out: Vec<f64>,
    /// Number of runs, where their values are not given.
    #[serde(default)]
    pub count: u32,
    /// Mean of those runs.
    #[serde(default)]
    pub mean: f64,
    /// Standard deviation of those runs.
    #[serde(default)]
    pub deviation: f64,
}

impl Document {
    /// Whether each side says enough, and nothing twice.
    pub(super) fn check(&self) -> Result<(), String> {
        for side in &self.side {
            let is_known = side.count >= 2 && side.mean > 0.0 && side.deviation >= 0.0;
            let wrong = match side.runs.len() {
                0 => !is_known || !side.left_out.is_empty(),
                1 => true,
                _ => side.count > 0 || !side.left_out.iter().all(|value| side.runs.contains(value)),
            };
            if wrong {
                return Err(format!(
                    "document {:?}, side {:?}: give two runs or more, and of these what was left out; or count, mean and deviation",
                    self.title, side.name
                ));
            }
        }
        Ok(())
    }
}
