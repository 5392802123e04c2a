//! The recordings of the store.

use crate::cli::{Change, Format, Recordings};
use crate::command::pages::RecordingsPage;
use crate::error::{Code, Error};
use jiff::Timestamp;
use tickmark_store::{Entry, Id, Store};

pub(in crate::command) fn run(store: &Store, options: &Recordings) -> Result<Code, Error> {
    if options.rebuild {
        let count = store.rebuild()?;
        crate::notice!("the index was made again from {count} recordings");
    }
    if let Some(change) = &options.change {
        return self::change(store, change);
    }
    let entries = super::with_facts(store, &options.fact)?;
    if options.output.format == Format::Json {
        crate::command::print_page(&RecordingsPage::new(entries))?;
        return Ok(Code::Done);
    }
    if entries.is_empty() {
        let place = store.root().display();
        let none = if options.fact.is_empty() { "no recordings" } else { "no recordings with these facts" };
        let next = format!("; `{}` makes one", crate::suggest::command("run"));
        let next = if options.fact.is_empty() { &next } else { "" };
        crate::command::print(&format!("{none} in {place}{next}\n"))?;
        return Ok(Code::Done);
    }
    crate::command::print(&tickmark_render::recordings::text(&entries))?;
    Ok(Code::Done)
}

fn change(store: &Store, change: &Change) -> Result<Code, Error> {
    match change {
        Change::Delete { recordings } => {
            // All are looked up before the first is gone: last~1 is another one then.
            let ids = recordings.iter().map(|name| store.id(name)).collect::<Result<Vec<_>, _>>()?;
            ids.iter().try_for_each(|id| delete(store, id, ""))?;
        }
        Change::Rename { recording, name } => {
            let id = store.id(recording)?;
            store.rename(&id, name)?;
            crate::command::print(&format!(
                "{id} is called {} now\n",
                tickmark_wire::text::printable(name, false)
            ))?;
        }
        Change::Prune { keep, older_than, dry_run } => {
            let (word, all) = if *dry_run { ("would remove", false) } else { ("removed", true) };
            let mut left = Vec::new();
            tickmark_agent::sweep_all(all, &mut |place| left.push(place.to_owned()));
            for place in &left {
                crate::command::print(&format!("{word} {}, which a killed run left\n", place.display()))?;
            }
            let entries = if keep.or(older_than.map(|_| 0)).is_some() { store.list()? } else { Vec::new() };
            let goes = old(&entries, keep.unwrap_or(0), older_than.unwrap_or(0), Timestamp::now());
            let mut kept = 0;
            for entry in &goes {
                let what = format!("  {}  {}", entry.created.strftime("%Y-%m-%d"), entry.name);
                match dry_run {
                    true => crate::command::print(&format!("would delete {}{what}\n", entry.id))?,
                    false => match delete(store, &entry.id, &what) {
                        Err(Error::Store { source: tickmark_store::Error::InUse(id) }) => {
                            kept += 1;
                            crate::command::print(&format!("kept {id}{what}: it is being written\n"))?;
                        }
                        done => done?,
                    },
                }
            }
            if goes.is_empty() && left.is_empty() {
                crate::command::print("nothing to delete\n")?;
            }
            if kept > 0 {
                return Ok(Code::Partly);
            }
        }
    }
    Ok(Code::Done)
}

fn delete(store: &Store, id: &Id, what: &str) -> Result<(), Error> {
    store.delete(id)?;
    crate::command::print(&format!("deleted {id}{what}\n"))
}

/// All but the newest, of those that are older than so many days; oldest first.
fn old(entries: &[Entry], keep: usize, days: u32, now: Timestamp) -> Vec<&Entry> {
    // Nothing is older than what has no date.
    let Ok(before) = now.checked_sub(jiff::SignedDuration::from_hours(24 * i64::from(days))) else {
        return Vec::new();
    };
    let age = |entry: &&Entry| entry.created <= before;
    entries[..entries.len().saturating_sub(keep)].iter().filter(age).collect()
}
