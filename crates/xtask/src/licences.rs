//! The licences of all dependencies, against the list in deny.toml.

use crate::{Result, shell};
use serde::Deserialize;
use std::process::Command;

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

/// Fails on the first package whose licence expression the list does not satisfy.
pub(crate) fn check() -> Result<()> {
    let text =
        std::fs::read_to_string(shell::root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let deny: Deny = toml::from_str(&text).map_err(|e| format!("deny.toml: {e}"))?;
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--format-version", "1", "--locked"]).current_dir(shell::root());
    let (text, _) = shell::output(&mut metadata)?;
    let metadata: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let mut refused = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        let satisfied = expression.is_ok_and(|expression| {
            expression.evaluate(|requirement| deny.licenses.allow.contains(&requirement.to_string()))
        });
        if !satisfied {
            refused.push(format!("{} ({licence})", package["name"]));
        }
    }
    println!("{} packages, {} with a licence that deny.toml does not allow", packages.len(), refused.len());
    if refused.is_empty() { Ok(()) } else { Err(refused.join(", ")) }
}
