//! The pages in docs/ as a book, by mdbook.

use crate::{Result, agent, shell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that makes it: another one may make another.
const MDBOOK: &str = "0.5.4";
const DOCS: &str = "docs";
/// The chapters on how numbers are measured, each of which answers one question.
const CHAPTERS: &str = "methodology/";
/// In bytes.
const LARGEST_CHAPTER: usize = 10_000;

/// Builds it into target/book, and looks at what came of it: every page is in it, every link leads somewhere.
pub(crate) fn build() -> Result<()> {
    let program = installed()?;
    let source = shell::root().join(DOCS);
    let book = agent::target_folder().join("book");
    let mut mdbook = Command::new(program);
    let (_, said) = shell::output(mdbook.arg("build").arg(&source).arg("--dest-dir").arg(&book))?;
    if let Some(warning) = said.lines().find(|line| line.contains("WARN") || line.contains("ERROR")) {
        return Err(format!("mdbook: {warning}"));
    }
    let summary = read(&source.join("SUMMARY.md"))?;
    let listed: BTreeSet<String> = targets(&summary).into_iter().collect();
    for page in pages(&source)? {
        let name = page.strip_prefix(&source).unwrap_or(&page).to_string_lossy().into_owned();
        if name == "SUMMARY.md" {
            continue;
        }
        let text = read(&page)?;
        if name.starts_with(CHAPTERS) && text.len() > LARGEST_CHAPTER {
            return Err(format!(
                "{DOCS}/{name} has {} bytes, {LARGEST_CHAPTER} are allowed: split it",
                text.len()
            ));
        }
        if !listed.contains(&name) {
            return Err(format!("{DOCS}/{name} is in no book: SUMMARY.md does not list it"));
        }
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
        let made = read(&book.join(&name).with_extension("html"))?;
        if title.is_empty() || !made.contains(title) {
            return Err(format!("{DOCS}/{name}: its title {title:?} is not in the book"));
        }
        let folder = page.parent().unwrap_or(&source);
        let lost = targets(&text).into_iter().find(|target| !folder.join(target).exists());
        if let Some(target) = lost {
            return Err(format!("{DOCS}/{name} has a link to {target}, which does not exist"));
        }
    }
    println!("{} pages in {}", listed.len(), book.display());
    Ok(())
}

/// The program, installed below target/ where it is not there yet.
fn installed() -> Result<PathBuf> {
    let root = agent::target_folder().join("mdbook");
    let program = root.join("bin/mdbook");
    let version = Command::new(&program).arg("--version").output();
    if !version.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(MDBOOK)) {
        let mut cargo = Command::new("cargo");
        cargo.args([
            "install",
            "mdbook",
            "--version",
            MDBOOK,
            "--locked",
            "--no-default-features",
            "--debug",
        ]);
        cargo.args(["--quiet", "--force", "--root"]).arg(&root).arg("--target-dir").arg(root.join("build"));
        shell::output(&mut cargo)?;
    }
    Ok(program)
}

pub(crate) fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(pages(&path)?);
        } else if path.extension().is_some_and(|is| is == "md") {
            all.push(path);
        }
    }
    Ok(all)
}

/// Where the links of a page lead that are to files beside it.
fn targets(text: &str) -> Vec<String> {
    let after = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = after.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|file| file.ends_with(".md") && !file.contains("://")).map(str::to_owned).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found_and_no_others() {
        let page = "[a](A.md) [b](B.md#part) [c](https://x/C.md) [d](#here) x](y.txt)";
        assert_eq!(targets(page), ["A.md", "B.md"]);
    }
}
