//! Campaigns: the same experiment hundreds of times, to learn how often its page is wrong or finds what is there. Outside of
//! `cargo xtask test`: it takes hours. Each page is kept as it came, so that a campaign goes on where it was ended, and what is
//! counted can be counted again.

use crate::{Result, shell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An experiment that is made again and again.
struct Campaign {
    name: &'static str,
    about: &'static str,
    /// How often, where nothing is said.
    trials: usize,
    /// Arguments of `tickmark experiment`; FILE is `file`.
    arguments: &'static [&'static str],
    file: &'static str,
}

const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "aa",
        about: "nothing against nothing: a page with a claim is wrong",
        trials: 200,
        // Two groups of three and more, a wait and a round trip: a page of 18 figures in a quarter of a minute.
        arguments: &[
            "FILE",
            "clock.monotonic.read",
            "clock.realtime.read",
            "clock.monotonic_raw.read",
            "syscall.null",
            "syscall.null_io",
            "syscall.stat",
            "syscall.signal.install",
            "ipc.pipe.round_trip",
            "timer.clock_nanosleep.late",
            "--blocks",
            "10",
            "--small",
        ],
        file: "name = \"aa\"\nknob = \"nothing\"\n[[setting]]\nname = \"a\"\n[[setting]]\nname = \"a2\"\n",
    },
    Campaign {
        name: "power",
        about: "a timer slack that is 1 us longer: a page without that claim has missed it",
        trials: 50,
        arguments: &["slack=50us,51us", "timer", "--blocks", "10"],
        file: "",
    },
];

/// The list of trials, as text.
pub(crate) fn help() -> String {
    let line = |campaign: &Campaign| {
        format!("cargo xtask trials {:10} {} ({} times)\n", campaign.name, campaign.about, campaign.trials)
    };
    CAMPAIGNS.iter().map(line).collect()
}

/// Goes on with a campaign until it has so many pages, and counts what they claim.
pub(crate) fn run(name: &str, trials: Option<&str>) -> Result<()> {
    let known = CAMPAIGNS.iter().find(|campaign| campaign.name == name);
    let campaign = known.ok_or_else(|| format!("no campaign {name}; there are\n{}", help()))?;
    let trials = match trials {
        Some(text) => text.parse().map_err(|_| format!("{text} is no number of trials"))?,
        None => campaign.trials,
    };
    shell::run("cargo", &["build", "--release", "--quiet", "-p", "tickmark"])?;
    let folder = shell::root().join("target/trials").join(name);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    same_arguments(campaign, &folder)?;
    let file = folder.join("experiment.toml");
    std::fs::write(&file, campaign.file).map_err(|e| e.to_string())?;
    println!("{}: {} ({} of {trials} are there)", name, campaign.about, pages(&folder)?.len());
    while pages(&folder)?.len() < trials {
        let number = pages(&folder)?.len();
        let page = trial(campaign, &folder, &file)?;
        // Under another name first: a page is there whole or not at all.
        let (place, draft) = (folder.join(format!("{number:04}.json")), folder.join("draft"));
        std::fs::write(&draft, page)
            .and_then(|()| std::fs::rename(&draft, place))
            .map_err(|e| e.to_string())?;
        println!("{} of {trials}", number + 1);
    }
    count(&pages(&folder)?)
}

/// Pages of other arguments are not counted with these.
fn same_arguments(campaign: &Campaign, folder: &Path) -> Result<()> {
    let (place, own) = (folder.join("arguments"), campaign.arguments.join(" "));
    let kept = std::fs::read_to_string(&place).ok();
    if kept.as_ref().is_some_and(|kept| *kept != own) || kept.is_none() && !pages(folder)?.is_empty() {
        return Err(format!("{} has pages of other arguments: move it away", folder.display()));
    }
    std::fs::write(&place, own).map_err(|e| e.to_string())
}

/// The pages that are there.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut pages: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    pages.sort();
    Ok(pages)
}

/// One page; the recordings stay in the campaign's own store.
fn trial(campaign: &Campaign, folder: &Path, file: &Path) -> Result<String> {
    let file = file.to_string_lossy();
    let arguments = campaign.arguments.iter().map(|word| if *word == "FILE" { &*file } else { word });
    let mut experiment = Command::new(shell::root().join("target/release/tickmark"));
    experiment.arg("experiment").args(arguments).args(["--no-pilot", "--format", "json"]);
    let output =
        experiment.env("TICKMARK_STORE", folder.join("store")).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let parsed: std::result::Result<Value, _> = serde_json::from_str(&text);
    parsed.map_err(|e| format!("no page ({e}): {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    Ok(text)
}

/// Pages with a claim, and how often each figure was claimed.
fn count(pages: &[PathBuf]) -> Result<()> {
    let (mut with, mut claims, mut rows) = (0, BTreeMap::<String, usize>::new(), 0);
    let (mut groups, mut equivalent) = (0, 0);
    for path in pages {
        let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let page: Value = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let found = claimed(&page);
        let all = |name: &str| page["candidates"][0][name].as_array().into_iter().flatten();
        rows += all("rows").count();
        equivalent += all("rows").filter(|row| row["verdict"] == "equivalent").count();
        groups += usize::from(all("groups").any(|group| group["changed"] == true));
        with += usize::from(!found.is_empty());
        found.into_iter().for_each(|figure| *claims.entry(figure).or_default() += 1);
    }
    let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
    println!(
        "{with} of {} pages have a claim of a figure ({:.1} %), {groups} of a group ({:.1} %); {rows} figures in all, {equivalent} equivalent",
        pages.len(),
        share(with, pages.len()),
        share(groups, pages.len())
    );
    for (figure, times) in claims {
        println!("  {figure}: {times} ({:.1} %)", share(times, pages.len()));
    }
    Ok(())
}

/// The figures that a page calls changed.
fn claimed(page: &Value) -> Vec<String> {
    let rows = page["candidates"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|one| one["rows"].as_array().into_iter().flatten());
    let changed = rows
        .filter(|row| matches!(row["verdict"].as_str(), Some("beyond_margin" | "changed" | "below_margin")));
    changed
        .map(|row| {
            format!("{} {}", row["metric"].as_str().unwrap_or("?"), row["figure"].as_str().unwrap_or("?"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_a_page() {
        let row = |metric: &str, verdict: &str| serde_json::json!({ "metric": metric, "figure": "mean", "verdict": verdict });
        let rows = [
            row("a", "changed"),
            row("b", "undecided"),
            row("e", "beyond_margin"),
            row("c", "below_margin"),
            row("d", "equivalent"),
        ];
        let page = serde_json::json!({ "candidates": [{ "rows": rows }] });
        assert_eq!(claimed(&page), ["a mean", "e mean", "c mean"]);
        assert!(run("nothing", None).unwrap_err().contains("cargo xtask trials aa"));
    }
}
