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
    exceptions: Vec<Exception>,
}

/// A package that only tests are built with, whatever its licence.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    package: String,
}

impl Licences {
    fn allow(&self, licence: &str) -> bool {
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        expression.is_ok_and(|expression| {
            expression.evaluate(|requirement| self.allow.contains(&requirement.to_string()))
        })
    }
}

/// Names each package whose licence expression the list does not satisfy: of what is shipped every one, of what tests are built with
/// all but the exceptions.
pub(crate) fn check() -> Result<()> {
    let text =
        std::fs::read_to_string(shell::root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let deny: Deny = toml::from_str(&text).map_err(|e| format!("deny.toml: {e}"))?;
    let licences = &deny.licenses;
    let refused = |edges: &str, is_allowed: &dyn Fn(&str) -> bool| -> Result<(usize, BTreeSet<String>)> {
        let all = packages(edges)?;
        let of = |(package, licence): &(String, String)| {
            let name = package.split(' ').next().unwrap_or_default();
            (!licences.allow(licence) && !is_allowed(name)).then(|| format!("{package} ({licence})"))
        };
        Ok((all.len(), all.iter().filter_map(of).collect()))
    };
    let (_, mut all) = refused("normal,build", &|_| false)?;
    let (count, tests) =
        refused("normal,build,dev", &|name| licences.exceptions.iter().any(|one| one.package == name))?;
    all.extend(tests);
    println!("{count} packages, {} with a licence that deny.toml does not allow", all.len());
    if all.is_empty() { Ok(()) } else { Err(all.into_iter().collect::<Vec<_>>().join(", ")) }
}

/// Each package of the workspace and what it is built with over such edges, for any processor, with its licence expression.
fn packages(edges: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--workspace", "--locked", "--target", "all", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--edges", edges, "--format", "{p}\t{l}"]).current_dir(shell::root());
    let (text, _) = shell::output(&mut tree)?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, licence)| (name.to_owned(), licence.to_owned()))
        .collect())
}
