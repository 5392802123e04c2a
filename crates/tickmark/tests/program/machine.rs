//! Another machine: a network namespace with an sshd stands for one.

use crate::bench::err;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[track_caller]
pub(crate) fn within(seconds: u64, what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(seconds), "{what}: not within {seconds} s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A second machine: a network namespace with an sshd.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
    network: Network,
}

/// The namespace with what runs in it; all of it goes when this does.
struct Network {
    name: String,
    here: String,
    sshd: Option<Child>,
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(sshd) = &mut self.sshd {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
        let _ = Command::new("ip").args(["link", "del", &self.here]).output();
    }
}

fn ok(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", err(&output));
}

impl Machine {
    /// The number is this test's: it is in the names of the network and in its addresses.
    pub(crate) fn new(number: u8) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let name = format!("tickmark-{}-{number}", std::process::id());
        let ip = |words: &str| {
            ok(Command::new("ip").args(words.split(' ').map(|word| word.replace("NAME", &name))));
        };
        let (here, there) = (
            format!("tm{number}a{}", std::process::id() % 1000),
            format!("tm{number}b{}", std::process::id() % 1000),
        );
        let mut network = Network { name: name.clone(), here: here.clone(), sshd: None };
        ip("netns add NAME");
        ip(&format!("link add {here} type veth peer name {there}"));
        ip(&format!("link set {there} netns NAME"));
        ip(&format!("addr add 10.213.{number}.1/30 dev {here}"));
        ip(&format!("link set {here} up"));
        ip(&format!("-n NAME addr add 10.213.{number}.2/30 dev {there}"));
        ip(&format!("-n NAME link set {there} up"));
        for key in ["host", "user"] {
            ok(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]));
        }
        fs::copy(folder.path().join("user.pub"), folder.path().join("keys")).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let config = format!(
            "ListenAddress 10.213.{number}.2\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPidFile none\nUsePAM no\n\
             PermitRootLogin yes\nSetEnv HOME={}\n",
            at("host"),
            at("keys"),
            // A home of its own: the agent that a boot leaves there is no other machine's.
            at("home")
        );
        fs::write(folder.path().join("sshd_config"), config).unwrap();
        let _ = fs::create_dir_all("/run/sshd");
        let mut sshd = Command::new("ip");
        sshd.args(["netns", "exec", &name, "/usr/sbin/sshd", "-D", "-f", &at("sshd_config")]);
        network.sshd = Some(sshd.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let machine = Self { folder, network };
        within(60, "sshd answers", || std::net::TcpStream::connect(format!("10.213.{number}.2:22")).is_ok());
        machine
    }

    /// A file of its own.
    pub(crate) fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Options for ssh to reach it.
    pub(crate) fn options(&self) -> Vec<String> {
        let plain =
            ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"];
        ["-i".to_owned(), self.at("user")].into_iter().chain(plain.map(str::to_owned)).collect()
    }

    /// Something that runs there.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.network.name, program]);
        command
    }
}
