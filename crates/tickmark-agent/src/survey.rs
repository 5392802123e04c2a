//! One of many: the plan is a word, the time is limited, and events go out in pieces that say whose they are. Nothing of it needs a standard input:
//! launchers of many machines seldom have one.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tickmark_probe::sys::host;
use tickmark_wire::Plan;
use tickmark_wire::pieces::{self, LinePiece};

/// The records that `survey SECONDS PLAN` writes.
pub(crate) struct Survey {
    /// When it ends, with what it has.
    pub(crate) ends: Instant,
    node: String,
    /// Identity of this agent among others on the same node.
    own: String,
    number: u64,
}

impl Survey {
    /// From the words behind `survey`; none where the time is none.
    pub(crate) fn from_words(words: &[String]) -> Option<Self> {
        let seconds = words.first()?.parse().ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let own = format!("{:x}.{:x}", std::process::id(), now.as_nanos());
        Some(Self { ends: Instant::now() + Duration::from_secs(seconds), node: node(), own, number: 0 })
    }

    /// The plan.
    pub(crate) fn plan(words: &[String]) -> Result<Plan, String> {
        let plan = words.get(1).and_then(|word| pieces::text(word));
        let plan = plan.ok_or("it is damaged: did the launcher cut or change it?")?;
        serde_json::from_slice(plan.as_bytes()).map_err(|error| error.to_string())
    }

    /// Writes lines in pieces, each in one go: launchers keep lines whole.
    pub(crate) fn tell(&mut self, out: &mut impl Write, lines: &[u8]) -> std::io::Result<()> {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // What serde wrote is UTF-8.
            let line = std::str::from_utf8(line).unwrap_or_default();
            for piece in LinePiece::cut(&self.node, &self.own, self.number, line) {
                self.number += 1;
                out.write_all(format!("{piece}\n").as_bytes())?;
            }
        }
        out.flush()
    }
}

/// The machine's name, as its launcher knows it.
pub(crate) fn node() -> String {
    let given = ["TICKMARK_NODE", "SLURMD_NODENAME"].iter().find_map(|name| std::env::var(name).ok());
    let [_, _, _, own] = host::uname();
    let name = given.filter(|name| !name.is_empty()).unwrap_or(own);
    // A piece has blanks between its words.
    name.bytes().map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '_' }).collect()
}
