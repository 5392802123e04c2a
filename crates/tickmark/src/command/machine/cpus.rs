//! Which CPUs are measured at the same time.

use crate::cli::Cpus;
use crate::error::Error;
use std::collections::BTreeSet;
use tickmark_probe::sys::limits::allowed_cpus;

/// Those that are asked for, each once; one that is not named is the quietest.
pub(in crate::command) fn resolve(wanted: &[Cpus]) -> Result<Vec<Option<u32>>, Error> {
    let allowed = || allowed_cpus().map_err(|error| Error::Refused(error.to_string()));
    let mut all = BTreeSet::new();
    for cpus in wanted {
        match cpus {
            Cpus::Range(first, last) => all.extend(*first..=*last),
            Cpus::All => all.extend(allowed()?),
        }
    }
    if all.len() > 1 {
        let allowed = allowed()?;
        if let Some(cpu) = all.iter().find(|cpu| !allowed.contains(cpu)) {
            let list = allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::Usage(format!("CPU {cpu} does not exist or is offline; allowed are {list}")));
        }
    }
    Ok(if all.is_empty() { vec![None] } else { all.into_iter().map(Some).collect() })
}

/// The name of the recording of one of so many.
pub(in crate::command) fn named(name: &str, cpu: Option<u32>, of: usize) -> String {
    cpu.filter(|_| of > 1).map_or_else(|| name.to_owned(), |cpu| format!("{name}-cpu{cpu}"))
}
