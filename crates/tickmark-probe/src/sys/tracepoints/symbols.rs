//! Names of the kernel's functions.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

/// Of some addresses, each function's name, by /proc/kallsyms; addresses that it hides or does not know are absent.
pub(super) fn symbols(addresses: &[u64]) -> BTreeMap<u64, String> {
    let Ok(file) = std::fs::File::open("/proc/kallsyms") else { return BTreeMap::new() };
    let mut sorted: Vec<u64> = addresses.to_vec();
    sorted.sort_unstable();
    let mut names = BTreeMap::new();
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        // A function has several names where two are the same: the first one that is no alias of a patch.
        if address > 0 && sorted.binary_search(&address).is_ok() && !name.starts_with("__pfx_") {
            names.entry(address).or_insert_with(|| name.to_owned());
        }
    }
    names
}
