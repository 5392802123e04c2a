//! The agent as process 1 of a guest: makes the place that probes need, carries out the plan that lies in the
//! initial file system, and restarts the machine.
//!
//! Events go to the virtio port where there is one, else to the console between two marks.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};
use tickmark_probe::sys::guest;
use tickmark_wire::shared::{CONSOLE_BEGIN, CONSOLE_END, GUEST_PORT};

const PLAN: &str = "/plan.json";

/// True if this process is the first of a machine that was booted to measure.
pub(crate) fn is_guest() -> bool {
    std::process::id() == 1 && std::path::Path::new(PLAN).exists()
}

/// Does everything; never returns. What goes wrong is said on the console, which the host keeps.
pub(crate) fn run() -> ! {
    let places = [(c"proc", c"/proc"), (c"sysfs", c"/sys"), (c"devtmpfs", c"/dev"), (c"tmpfs", c"/tmp")];
    for (kind, at) in places {
        // The kernel may have mounted /dev by itself.
        let _ = std::fs::create_dir_all(at.to_str().unwrap_or("/"));
        let _ = guest::mount(kind, at);
    }
    let _ = std::fs::create_dir_all("/dev/shm");
    let _ = guest::mount(c"tmpfs", c"/dev/shm");
    // Only a kernel with a tracer has the place.
    let _ = guest::mount(c"tracefs", c"/sys/kernel/tracing");
    // Modules, a line each: path, name, parameters.
    for line in std::fs::read_to_string("/modules").unwrap_or_default().lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(path), Some(name), Some(parameters)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let bytes = std::fs::read(path).unwrap_or_default();
        if let Err(error) = guest::load_module(&bytes, parameters) {
            println!("tickmark-agent: the kernel does not take module {name} ({parameters}): {error}");
            guest::restart();
        }
        // Its memory is the guest's.
        let _ = std::fs::remove_file(path);
    }
    // Files of the kernel that the host wants otherwise, a line each: path=content.
    for line in std::fs::read_to_string("/settings").unwrap_or_default().lines() {
        let Some((path, content)) = line.split_once('=') else { continue };
        if let Err(error) = std::fs::write(path, content) {
            println!("tickmark-agent: {path} does not take {content}: {error}");
            guest::restart();
        }
    }
    if let Err(error) = guest::raise_loopback() {
        println!("tickmark-agent: the loopback interface stays down: {error}");
    }
    if let Err(error) = carry_out() {
        println!("tickmark-agent: the plan was not carried out: {error}");
    }
    guest::restart()
}

fn carry_out() -> std::io::Result<()> {
    let port = OpenOptions::new().write(true).open(GUEST_PORT).ok();
    let marked = port.is_none();
    if marked {
        println!("\n{CONSOLE_BEGIN}");
    }
    let out = port.map_or_else(Stdio::inherit, Stdio::from);
    let mut plan = Vec::new();
    std::io::copy(&mut File::open(PLAN)?, &mut plan)?;
    let mut agent =
        Command::new("/init").arg("run").env("TMPDIR", "/tmp").stdin(Stdio::piped()).stdout(out).spawn()?;
    // It ends when its input does: that is held until it has ended.
    let mut stdin = agent.stdin.take();
    if let Some(stdin) = &mut stdin {
        stdin.write_all(&plan)?;
        stdin.write_all(b"\n")?;
    }
    agent.wait()?;
    if marked {
        println!("{CONSOLE_END}");
    }
    Ok(())
}
