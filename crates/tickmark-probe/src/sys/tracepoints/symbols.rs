//! Names of the kernel's functions.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::sync::{Arc, Mutex, PoisonError};

/// All functions, some 100,000: their names one after the other, and by address where each begins and ends.
struct Functions {
    names: String,
    places: Vec<(u64, u32, u32)>,
}

/// Of some addresses, each function's name, by /proc/kallsyms; addresses that it hides or does not know are absent.
pub(super) fn symbols(addresses: &[u64]) -> BTreeMap<u64, String> {
    let all = functions();
    let name = |address: &u64| Some((*address, all.name(*address)?.to_owned()));
    addresses.iter().filter_map(name).collect()
}

/// The kernel takes long to write that text: it is read once, and again where other modules are loaded than then.
fn functions() -> Arc<Functions> {
    static KNOWN: Mutex<Option<(String, Arc<Functions>)>> = Mutex::new(None);
    let modules = modules(&read_to_string("/proc/modules").unwrap_or_default());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((then, all)) = &*known
        && *then == modules
    {
        return Arc::clone(all);
    }
    let all = Arc::new(Functions::parse(&read_to_string("/proc/kallsyms").unwrap_or_default()));
    *known = Some((modules, Arc::clone(&all)));
    all
}

/// Name and address of each module of /proc/modules: how often it is used, which stands between, says nothing of its functions.
fn modules(text: &str) -> String {
    let place = |line: &str| {
        let mut words = line.split(' ');
        Some(format!("{} {}\n", words.next()?, words.nth(4)?))
    };
    text.lines().filter_map(place).collect()
}

/// Reads their names now, where that is better than later.
pub fn read_functions() {
    functions();
}

impl Functions {
    fn parse(text: &str) -> Self {
        let mut all = Self { names: String::new(), places: Vec::new() };
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            // What stands before functions for patches is none; hidden addresses are 0.
            if address > 0 && matches!(kind, "t" | "T" | "w" | "W") && !name.starts_with("__pfx_") {
                let begin = all.names.len() as u32;
                all.names.push_str(name);
                all.places.push((address, begin, all.names.len() as u32));
            }
        }
        // A function has several names where two are the same: the first one of the text is told.
        all.places.sort_by_key(|(address, ..)| *address);
        all.places.dedup_by_key(|(address, ..)| *address);
        all
    }

    fn name(&self, address: u64) -> Option<&str> {
        let at = self.places.binary_search_by_key(&address, |(own, ..)| *own).ok()?;
        let (_, begin, end) = self.places[at];
        self.names.get(begin as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{Functions, modules};

    #[test]
    fn functions_are_found_by_their_addresses() {
        let text = "ffff10 t __pfx_b\nffff20 t b\nffff20 T alias\nffff08 T a\t[module]\nffff30 D data\n0 t hidden\nx\n";
        let all = Functions::parse(text);
        assert_eq!((all.name(0xffff20), all.name(0xffff08)), (Some("b"), Some("a")));
        let none = [0, 0xffff10, 0xffff30].map(|address| all.name(address));
        assert_eq!((none, all.places.len()), ([None; 3], 2));
    }
    #[test]
    fn other_modules_are_told_from_the_same_ones_used_more_often() {
        let one = "veth 32768 0 - Live 0xffffffffc0a00000\n";
        assert_eq!(modules(one), modules("veth 32768 7 bridge,other, Live 0xffffffffc0a00000 (O)\n"));
        assert_ne!(modules(one), modules("veth 32768 0 - Live 0xffffffffc0b00000\n"));
        assert_ne!(modules(one), modules(&format!("{one}dummy 16384 0 - Live 0xffffffffc0b00000\n")));
    }
}
