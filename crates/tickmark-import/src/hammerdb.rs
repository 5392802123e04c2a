//! HammerDB: `TEST RESULT : System achieved 12345 NOPM from 28400 PostgreSQL TPM`; each such line is a run.

use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("TEST RESULT : System achieved")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("HammerDB", name);
    found.take_lines(text, |found, line| {
        let Some((_, rest)) = line.split_once("System achieved") else { return true };
        let (orders, transactions) = rest.split_once("from").unwrap_or((rest, ""));
        // A minute: orders are what versions since 3.3 put first.
        for (part, word, metric) in [
            (orders, "NOPM", "hammerdb.new_orders"),
            (orders, "TPM", "hammerdb.transactions"),
            (transactions, "TPM", "hammerdb.transactions"),
            (transactions, "NOPM", "hammerdb.new_orders"),
        ] {
            if let Some(number) =
                first_number(part).filter(|_| part.split_whitespace().any(|own| own == word))
            {
                found.repeat(metric, Unit::Rate, Better::Higher, number * (1.0 / 60.0));
            }
        }
        true
    });
    Ok(vec![found])
}
