//! Ends what a child has started, where this program is killed and cannot.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The end of its standard input without a line is that of the program. The first word is the group, the others are a command.
const SCRIPT: &str = r#"read -r done || { kill -s KILL -- "-$0"; "$@"; }"#;

/// A shell that waits beside a child's group. Dropped, it goes and does nothing.
#[derive(Debug)]
pub struct Keeper(pub(crate) Child);

impl Keeper {
    pub(crate) fn start(group: u32, after: &[String]) -> std::io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, &group.to_string()]).args(after);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Neither a Ctrl-C nor who kills the group reaches it.
        shell.process_group(0).spawn().map(Self)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.stdin.take().map(|mut stdin| stdin.write_all(b"done\n"));
        let _ = self.0.wait();
    }
}
