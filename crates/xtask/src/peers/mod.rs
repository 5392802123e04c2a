//! Side by side with other tools, and with itself under load. Not part of CI: it takes its time, and its
//! figures are looked at by a person.

pub(crate) mod steady;
pub(crate) mod tools;

use crate::{Result, shell};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The program, built for release, with a store of its own.
pub(crate) struct Tickmark {
    program: PathBuf,
    store: tempfile::TempDir,
    pub(crate) cpu: String,
}

impl Tickmark {
    pub(crate) fn build() -> Result<Self> {
        shell::run("cargo", &["build", "--release", "--quiet", "-p", "tickmark"])?;
        let store = tempfile::tempdir().map_err(|e| e.to_string())?;
        // One CPU for all: the last one that is allowed.
        let (count, _) = shell::output(&mut Command::new("nproc"))?;
        let last = count.trim().parse::<u32>().map_err(|e| e.to_string())?.saturating_sub(1);
        Ok(Self { program: shell::root().join("target/release/tickmark"), store, cpu: last.to_string() })
    }

    /// `tickmark run` on that CPU; the model.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Result<Value> {
        let mut command = Command::new(&self.program);
        command.args(["run", "--cpu", &self.cpu, "--format", "json"]).args(arguments);
        command.env("TICKMARK_STORE", self.store.path());
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// A figure of a row, such as `value` or `mean`.
pub(crate) fn figure(model: &Value, metric: &str, which: &str) -> Option<f64> {
    rows(model).find(|row| row["metric"] == metric)?[which].as_f64()
}

pub(crate) fn rows(model: &Value) -> impl Iterator<Item = &Value> {
    model["rows"].as_array().into_iter().flatten()
}
