//! The licences of all dependencies, against the lists in deny.toml.

use crate::{Result, shell};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::process::Command;

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

impl Licences {
    fn allow(&self, licence: &str) -> bool {
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        expression.is_ok_and(|expression| {
            expression.evaluate(|requirement| self.allow.contains(&requirement.to_string()))
        })
    }
}

/// Names each package, of what is shipped and of what tests are built with, whose licence expression the list does not satisfy.
pub(crate) fn check() -> Result<()> {
    let text =
        std::fs::read_to_string(shell::root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let deny: Deny = toml::from_str(&text).map_err(|e| format!("deny.toml: {e}"))?;
    let all = packages()?;
    let is_refused = |(_, licence): &&(String, String)| !deny.licenses.allow(licence);
    let refused: Vec<String> =
        all.iter().filter(is_refused).map(|(package, licence)| format!("{package} ({licence})")).collect();
    println!("{} packages, {} with a licence that deny.toml does not allow", all.len(), refused.len());
    if refused.is_empty() { Ok(()) } else { Err(refused.join(", ")) }
}

/// Each package of the workspace and what it and its tests are built with, for any processor, with its licence expression.
fn packages() -> Result<BTreeSet<(String, String)>> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--workspace", "--locked", "--target", "all", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--edges", "normal,build,dev", "--format", "{p}\t{l}"]).current_dir(shell::root());
    let (text, _) = shell::output(&mut tree)?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, licence)| (name.to_owned(), licence.to_owned()))
        .collect())
}
