//! One of many: the plan is a word, the time is limited, and events go out in pieces that say whose they are. Nothing of it needs a standard input:
//! launchers of many machines seldom have one.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tickmark_probe::sys::host;
use tickmark_wire::Plan;
use tickmark_wire::pieces::{self, Piece};

/// What `survey SECONDS PLAN` says.
pub(crate) struct Survey {
    /// When it ends, with what it has.
    pub(crate) ends: Instant,
    node: String,
    /// What tells this agent from others of the same node.
    own: String,
    number: u64,
}

impl Survey {
    pub(crate) fn of(words: &[String]) -> Result<(Self, Plan), String> {
        let [seconds, plan] = words else { return Err("give SECONDS and a PLAN".to_owned()) };
        let seconds = seconds.parse().map_err(|_| "give SECONDS".to_owned())?;
        let damaged = "the plan is damaged: did the launcher cut or change it?";
        let plan = pieces::text(plan).and_then(|plan| serde_json::from_str(&plan).ok()).ok_or(damaged)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let own = format!("{:x}.{:x}", std::process::id(), now.as_nanos());
        let ends = Instant::now() + Duration::from_secs(seconds);
        Ok((Self { ends, node: node(), own, number: 0 }, plan))
    }

    /// Writes lines in pieces, each in one go: launchers keep lines whole.
    pub(crate) fn tell(&mut self, out: &mut impl Write, lines: &[u8]) -> std::io::Result<()> {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // What serde wrote is UTF-8.
            let line = std::str::from_utf8(line).unwrap_or_default();
            for piece in Piece::cut(&self.node, &self.own, self.number, line) {
                self.number += 1;
                out.write_all(format!("{piece}\n").as_bytes())?;
            }
        }
        out.flush()
    }
}

/// The machine's name, as its launcher knows it.
fn node() -> String {
    let told = ["TICKMARK_NODE", "SLURMD_NODENAME"].iter().find_map(|name| std::env::var(name).ok());
    let [_, _, _, own] = host::uname();
    let name = told.filter(|name| !name.is_empty()).unwrap_or(own);
    // A piece has blanks between its words.
    name.bytes().map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '_' }).collect()
}
