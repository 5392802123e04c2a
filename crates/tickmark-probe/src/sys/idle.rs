//! Keeping the processor from deep idle states (Documentation/power/pm_qos_interface.rst).

use super::CallError;
use std::fs::File;
use std::io::Write;

const FILE: &str = "/dev/cpu_dma_latency";

/// No idle state is entered that takes longer than 0 us to leave, on any CPU, until this is closed.
///
/// # Errors
/// Those of open(2) and write(2): no such file, not permitted.
pub fn hold() -> Result<File, CallError> {
    let mut file = File::options()
        .write(true)
        .open(FILE)
        .map_err(|e| CallError::from_io("open /dev/cpu_dma_latency", &e))?;
    file.write_all(&0i32.to_ne_bytes()).map_err(|e| CallError::from_io("write", &e))?;
    Ok(file)
}
