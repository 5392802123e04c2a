//! Loads: commands, messages, transactions and databases, measured as a whole. Each is a [`Probe`] like those of one operation in
//! tickmark-probe, so that guests and other machines have them; [`REGISTRY`] has both.
//!
//! # Where things are
//!
//! - **Messages**: `load/src/comms.rs` (`comms/sides.rs` who answers, `comms/computing.rs` what computes, `comms/accounts.rs` what is read in
//!   each window, `comms/host.rs` and `elsewhere.rs` another host, whose handshake is `session.rs`), `probe/src/sys/message.rs` what carries them,
//!   `probe/src/sys/computer.rs` the task that computes, `probe/src/sys/namespace.rs` two network namespaces. What the load is:
//!   `tickmark-analysis/src/comms/load.rs`; the model: `stats/src/linear.rs`; verdicts between settings: `analysis/src/comms/settings.rs`; the document's
//!   tables: `analysis/src/comms/document.rs`. What a guest does not need (asking other hosts, bills, stages, juggle) has the feature `whole`, which the
//!   static agent is built without. They are probes, so that guests have them.
//! - **Clock reads of a command**: `preload/library/preload.rs` counts, `preload/src/layout.rs` says where; `load/src/clock_reads.rs` runs the
//!   command. By the kernel: `clock_reads/breakpoints.rs` (`probe/src/sys/uprobe.rs`; `clock_reads/code.rs` reads programs).
//! - **A slower clock**: `load/src/dose.rs` (`dose/slices.rs` has the slices, `dose/doser.rs` what makes reads longer, `dose/load.rs` keeps the
//!   server busy); the delay itself is in `preload/library/preload.rs`. Statistics: `stats/src/dose.rs`; page: `analysis/src/dose.rs`.
//!   `started.rs` starts and ends programs, `preloaded.rs` those with the library.
//! - **Databases**: `load/src/sql.rs` (`sql/database.rs` connections, over tickmark-database, `sql/server.rs` servers of our own,
//!   `sql/work.rs` what is asked, `sql/clients.rs` who asks); its page is that of `http`.
//! - **Transactions**: `load/src/http.rs` (`http/server.rs`, `http/client.rs` over `probe/src/sys/connections.rs`, `http/board.rs` what both see;
//!   `http/whole.rs` what the static agent has no room for); another host: `http/host.rs`, `http/elsewhere.rs`, what both say:
//!   `wire/src/peer_request.rs`; its page: `tickmark-analysis/src/http.rs`. What a side cost comes from `probe/src/sys/tasks.rs`.
//! - **A command's bill**: `load/src/bill.rs`, with the clocks of all processes from `probe/src/sys/tasks.rs`; its page: `tickmark-analysis/src/bill.rs`.
#![forbid(unsafe_code)]

#[cfg(feature = "whole")]
mod bill;
#[cfg(feature = "whole")]
mod clock_reads;
mod comms;
mod costs;
#[cfg(feature = "whole")]
mod counting;
#[cfg(feature = "whole")]
mod dose;
mod http;
#[cfg(feature = "whole")]
mod juggle;
mod packets;
#[cfg(feature = "whole")]
mod preloaded;
#[cfg(feature = "whole")]
mod sql;
#[cfg(feature = "whole")]
mod stages;
#[cfg(feature = "whole")]
mod started;

pub use comms::serve;
#[cfg(feature = "whole")]
pub use dose::slices::{cost_of_a_read, cost_of_an_operation};
#[cfg(feature = "whole")]
pub use http::clients::serve_http;

use tickmark_probe::{Probe, Registry};

/// The loads of each file, in the order of the summary.
const LOADS: &[&[Probe]] = &[
    #[cfg(feature = "whole")]
    juggle::PROBES,
    #[cfg(feature = "whole")]
    stages::PROBES,
    packets::PROBES,
    http::PROBES,
    #[cfg(feature = "whole")]
    http::capacity::PROBES,
    #[cfg(feature = "whole")]
    sql::PROBES,
    comms::PROBES,
    #[cfg(feature = "whole")]
    bill::PROBES,
    #[cfg(feature = "whole")]
    clock_reads::PROBES,
    #[cfg(feature = "whole")]
    dose::PROBES,
];

/// Every probe and load.
pub static REGISTRY: Registry = Registry(&[tickmark_probe::FILES, LOADS]);

/// Removes the shared memory of databases whose folders are below this one, before it goes.
pub fn put_away_databases(folder: &std::path::Path) {
    #[cfg(feature = "whole")]
    tickmark_probe::sys::segment::remove_below(folder);
    #[cfg(not(feature = "whole"))]
    let _ = folder;
}

/// Takes away what a run of this probe would have, had it not been ended: definitions in the kernel that nobody else takes away.
pub fn put_away(probe: &str) {
    #[cfg(feature = "whole")]
    if probe == tickmark_wire::names::CLOCK_READS {
        tickmark_probe::sys::uprobe::put_away();
    }
    let _ = probe;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_spec_is_complete_and_its_name_is_its_own() {
        let mut names = BTreeSet::new();
        for offer in REGISTRY.cases().map(|case| case.offer()) {
            for metric in &offer.metrics {
                let name = metric.name.as_str();
                assert!(names.insert(name.to_owned()), "{name} stands twice");
                let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_';
                assert!(name.chars().all(lower), "{name}");
                let texts = [("title", &metric.title), ("timed", &offer.timed), ("source", &offer.source)];
                for (what, text) in texts {
                    assert!(!text.is_empty() && !text.contains(['{', '}']), "{what} of {name}: {text}");
                }
            }
        }
        assert!(names.len() > 90, "{}", names.len());
    }
}
