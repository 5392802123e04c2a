//! Many machines: a real cluster of Slurm whose nodes are this machine, any launcher, the tables, and what goes wrong.

use crate::bench::{Bench, err, out, page_of, refused, signal};
use crate::machine::within;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Starts an agent for each name at once, as pdsh would, with the name before each line.
const LAUNCHER: &str =
    r#"for n in $(echo {nodes} | tr , " "); do TICKMARK_NODE=$n {command} | sed -u "s/^/$n: /" & done; wait"#;

fn fleet(bench: &Bench, arguments: &[&str]) -> Output {
    bench.run(&[&["fleet"], arguments].concat())
}

/// A survey in a folder of the bench.
fn folder(bench: &Bench) -> PathBuf {
    bench.store().with_extension("survey")
}

#[test]
fn any_launcher_surveys_and_what_does_not_answer_is_named_and_asked_again() {
    let bench = Bench::new();
    let (folder, only) = (folder(&bench), LAUNCHER.replace("{nodes}", "a,b"));
    let survey = folder.to_str().unwrap();
    let select = ["syscall.null", "clock.monotonic.read", "--budget", "300ms", "--runs", "2"];
    // c is never started, and d is started twice.
    let twice = format!("{only}; TICKMARK_NODE=d {{command}} & TICKMARK_NODE=d {{command}}; wait");
    let begin = ["run", survey, "--nodes", "[a-d]", "--launcher", &twice];
    refused(&fleet(&bench, &begin), 2, &["[a-d] are no numbers"]);
    assert!(!folder.exists());
    let begin = [&["run", survey, "--nodes", "a,b,c,d", "--launcher", &twice], &select[..]].concat();
    let done = fleet(&bench, &begin);
    assert_eq!(done.status.code(), Some(4), "{}{}", out(&done), err(&done));
    let said = out(&done);
    assert!(
        said.contains("4 machines: 3 complete, 1 silent") && said.contains("c silent: no answer"),
        "{said}"
    );
    assert!(said.contains("d complete: it answered twice; the first answer counts"), "{said}");
    refused(&fleet(&bench, &begin), 2, &["is a survey already", "--resume"]);
    let again = LAUNCHER.replace("{nodes}", "c");
    let done = fleet(&bench, &["run", "--resume", survey, "--launcher", &again]);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    refused(
        &fleet(&bench, &["run", "--resume", survey, "--launcher", "true"]),
        2,
        &["nothing is left to resume"],
    );
    // A recording each, and no more.
    let names = bench.run(&["--store", survey, "recordings", "--format", "json"]);
    let names = page_of(&names.stdout);
    let mut names: Vec<&str> =
        names["recordings"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let page = bench.json(&["fleet", "report", survey]);
    assert_eq!(page["report"]["outcomes"]["complete"], 4, "{page:#}");
    let metrics = page["report"]["metrics"].as_array().unwrap();
    let null = metrics.iter().find(|one| one["metric"] == "syscall.null").unwrap();
    assert_eq!(
        (&null["nodes"], &null["limits"]),
        (&Value::from(4), &Value::Null),
        "four are too few to judge"
    );
    assert!(out(&fleet(&bench, &["report", survey])).contains("not judged: fewer than 5 machines"));
}

/// Also behind a pipe, whose other end notices nothing as long as nobody writes.
#[test]
fn agents_end_with_a_coordinator_that_is_killed() {
    let bench = Bench::new();
    let store = format!("TICKMARK_STORE={}", bench.store().display());
    let agents = || {
        let of_it = |entry: &fs::DirEntry| {
            let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
            let has = |word: &[u8]| word == store.as_bytes();
            read("environ").split(|byte| *byte == 0).any(has)
                && read("cmdline").split(|byte| *byte == 0).any(|word| word == b"survey")
        };
        fs::read_dir("/proc").unwrap().flatten().filter(of_it).count()
    };
    for (number, launcher) in [LAUNCHER, &LAUNCHER.replace(r#"| sed -u "s/^/$n: /""#, "")].iter().enumerate()
    {
        let folder = folder(&bench).with_extension(number.to_string());
        let run =
            ["fleet", "run", folder.to_str().unwrap(), "syscall.null", "--budget", "40s", "--runs", "4"];
        let mut command = bench.command(&[&run[..], &["--nodes", "n[0-7]", "--launcher", launcher]].concat());
        let mut coordinator = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        within(120, "eight agents work", || agents() >= 8);
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
        let since = Instant::now();
        within(120, "no agent is left", || agents() == 0);
        println!("gone after {:.1} s", since.elapsed().as_secs_f64());
    }
}

/// pdsh puts names before lines and mixes them; mpirun would cut them, and writes files. Their machines are this one.
#[test]
#[ignore = "second tier: pdsh and Open MPI"]
fn pdsh_and_mpirun_are_launchers() {
    let bench = Bench::new();
    let pdsh = "pdsh -R exec -f 4 -w {nodes} env TICKMARK_NODE=%h {command}";
    let mpirun = format!(
        "d={}; mpirun --allow-run-as-root --oversubscribe -np {{count}} --output-filename $d:nocopy \
         sh -c 'TICKMARK_NODE=n$OMPI_COMM_WORLD_RANK exec \"$@\"' x {{command}}; find $d -name stdout -exec cat {{}} +; rm -r $d",
        bench.store().with_extension("out").display()
    );
    for (name, launcher) in [("pdsh", pdsh), ("mpirun", &mpirun)] {
        let folder = folder(&bench).with_extension(name);
        let survey = folder.to_str().unwrap();
        let run =
            ["run", survey, "syscall.null", "clock.monotonic.read", "--budget", "200ms", "--nodes", "n[0-3]"];
        let done = fleet(&bench, &[&run[..], &["--launcher", launcher]].concat());
        assert_eq!(done.status.code(), Some(0), "{name}: {}{}", out(&done), err(&done));
        assert!(out(&done).contains("4 machines: 4 complete"), "{name}: {}", out(&done));
        let links =
            ["links", survey, "--time", "10ms", "--rounds", "3", "--at-once", "1", "--launcher", launcher];
        let done = fleet(&bench, &links);
        assert_eq!(done.status.code(), Some(0), "{name}: {}{}", out(&done), err(&done));
        let page = bench.json(&["fleet", "report", survey]);
        assert_eq!(page["report"]["links"]["pairs"], 6, "{name}: {page:#}");
    }
}

#[test]
fn bad_input_of_a_fleet_is_told_in_a_line() {
    let bench = Bench::new();
    let folder = folder(&bench);
    let survey = folder.to_str().unwrap();
    refused(&fleet(&bench, &["report", survey]), 2, &["is no survey"]);
    let run =
        |more: &[&str]| fleet(&bench, &[&["run", survey, "syscall.null", "--budget", "50ms"], more].concat());
    refused(&run(&["--nodes", "$(touch x)", "--launcher", "true"]), 2, &["is no name of a machine"]);
    refused(&run(&["--launcher", "true"]), 2, &["--nodes"]);
    refused(
        &run(&["--nodes", "a", "--launcher", "{command}", "--agent", "relative"]),
        2,
        &["give the path from /"],
    );
    // A launcher that cannot launch: nothing is kept of it.
    refused(
        &run(&["--nodes", "a", "--launcher", "echo no such host >&2; exit 1"]),
        1,
        &["started no agent", "no such host"],
    );
    assert!(!folder.exists());
    // An agent of another processor than the machines'.
    let other = bench.store().with_extension("agent");
    let mut program = fs::read(crate::bench::program()).unwrap();
    program.truncate(1 << 20);
    program[18..20].copy_from_slice(&[0xed, 0xfe]);
    fs::write(&other, program).unwrap();
    assert!(Command::new("chmod").arg("755").arg(&other).status().unwrap().success());
    let started = "TICKMARK_NODE=a {command} || exit 1";
    let arguments = ["--nodes", "a", "--launcher", started, "--agent", other.to_str().unwrap()];
    refused(&run(&arguments), 1, &["started no agent", "Exec format error"]);
    assert!(!folder.exists());
    // One that leaves something behind, which has its complaints open, is not waited for.
    let left = bench.store().with_extension("left");
    let leaves = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 100' >/dev/null & until [ -s {0} ]; do sleep .05; done; echo no such host >&2; exit 1",
        left.display()
    );
    refused(&run(&["--nodes", "a", "--launcher", &leaves]), 1, &["started no agent", "no such host"]);
    let pid = fs::read_to_string(&left).unwrap();
    assert!(signal("TERM", pid.trim().parse().unwrap()), "it had ended: the launcher was waited for");
    // One whose agents are cut off in the middle, and whose lines are damaged.
    let cut = "TICKMARK_NODE=a {command} | head -n -1; TICKMARK_NODE=b {command} | sed 's/syscall/\\x1b[31m/'; echo '@tickmark c x 0 . {'";
    let done = run(&["--nodes", "a,b,c", "--launcher", cut]);
    let said = out(&done);
    assert!(matches!(done.status.code(), Some(1 | 4)), "{said}{}", err(&done));
    assert!(
        said.contains("a partly: ") && !said.contains('\u{1b}') && !said.contains("a complete"),
        "{said}"
    );
    // A table that was cut short.
    let tables = folder.join("tables/figures");
    let day = fs::read_dir(&tables).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(&day).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    refused(&fleet(&bench, &["report", survey]), 1, &["is no whole Parquet file"]);
}

#[test]
fn health_is_a_line_within_limits() {
    let bench = Bench::new();
    let done = fleet(&bench, &["health", "--max", "syscall.null=1s"]);
    let line = out(&done);
    assert!(matches!(done.status.code(), Some(0 | 3)) && line.lines().count() == 1, "{line}{}", err(&done));
    assert!(line.starts_with("tickmark: "), "{line}");
    let done = fleet(&bench, &["health", "--only", "throttled", "--max", "syscall.null=1ns"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(
        out(&done).contains("syscall.null") && out(&done).contains("more than 1.00 ns"),
        "{}",
        out(&done)
    );
    refused(&fleet(&bench, &["health", "--max", "nothing=1ns"]), 2, &["no probe or suite is called nothing"]);
    refused(&fleet(&bench, &["health", "--max", "syscall.null=5%"]), 2, &["--max syscall.null"]);
    assert!(!bench.store().exists(), "nothing of it is kept");
}

#[test]
#[ignore = "second tier: kubernetes-validate of PyPI"]
fn a_manifest_has_an_agent_for_each_node_and_its_logs_are_gathered() {
    let bench = Bench::new();
    let folder = folder(&bench);
    let survey = folder.to_str().unwrap();
    let arguments = [
        "run",
        survey,
        "syscall.null",
        "--budget",
        "50ms",
        "--nodes",
        "a,b",
        "--manifest",
        "registry/image:1",
    ];
    let manifest = out(&fleet(&bench, &arguments));
    assert!(
        manifest.contains("completions: 2") && manifest.contains("completionMode: Indexed"),
        "{manifest}"
    );
    // As the interface of Kubernetes has it, with no word that it does not know.
    let packages = packages(&["kubernetes_validate"]);
    let script = "import sys, yaml, kubernetes_validate as k; k.validate(yaml.safe_load(sys.stdin), k.latest_version(), strict=True)";
    let mut python = Command::new("python3");
    python.args(["-c", script]).env("PYTHONPATH", packages).stdin(Stdio::piped());
    let mut child = python.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), manifest.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{manifest}");
    // What its pods would run, here.
    let command = manifest.lines().find_map(|line| line.trim().strip_prefix("command: ")).unwrap();
    let words: Vec<String> = serde_json::from_str(command).unwrap();
    assert_eq!(words[..2], ["tickmark-agent", "survey"]);
    let pod = |node: &str| {
        let mut pod = Command::new(crate::bench::program());
        let done = pod.arg("agent").args(&words[1..]).env("TICKMARK_NODE", node).output().unwrap();
        out(&done).lines().map(|line| format!("[pod/tickmark-0-x/agent] {line}\n")).collect::<String>()
    };
    let logs = bench.store().with_extension("logs");
    fs::write(&logs, pod("a") + &pod("b")).unwrap();
    let done = fleet(&bench, &["gather", survey, logs.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(out(&done).contains("2 machines: 2 complete"));
}

/// A cluster of Slurm on this machine, which ends with it.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<(String, Child)>,
}

const CONFIGURATION: &str = "\
ClusterName=ci
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=D/munge/munge.socket
CredType=cred/munge
SlurmUser=USER
SlurmdUser=USER
StateSaveLocation=D/var/state
SlurmdSpoolDir=D/var/spool/%n
SlurmctldPidFile=D/var/run/slurmctld.pid
SlurmdPidFile=D/var/run/slurmd.%n.pid
SlurmctldLogFile=D/var/log/slurmctld.log
SlurmdLogFile=D/var/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdTimeout=8
MessageTimeout=4
KillWait=2
UnkillableStepTimeout=10
InactiveLimit=0
SlurmdParameters=config_overrides
MailProg=/bin/true
TreeWidth=16
NodeName=n[1-COUNT] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[17001-LAST] CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10:00 State=UP OverSubscribe=YES
";

impl Cluster {
    fn start(count: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let d = folder.path();
        for name in ["munge", "var/spool", "var/log", "var/run", "var/state"] {
            fs::create_dir_all(d.join(name)).unwrap();
        }
        let short = |text: String| text.trim().to_owned();
        let output = |program: &str, word: &str| {
            short(out(&Command::new(program)
                .arg(word)
                .output()
                .unwrap_or_else(|error| panic!("{program}: {error}"))))
        };
        let configuration = CONFIGURATION
            .replace("D/", &format!("{}/", d.display()))
            .replace("HOST", &output("hostname", "-s"))
            .replace("USER", &output("id", "-un"))
            .replace("COUNT", &count.to_string())
            .replace("LAST", &(17000 + count).to_string());
        fs::write(d.join("slurm.conf"), configuration).unwrap();
        let key: Vec<u8> = (0..1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(d.join("munge/munge.key"), key).unwrap();
        for (path, mode) in [("munge", "700"), ("munge/munge.key", "400")] {
            assert!(Command::new("chmod").arg(mode).arg(d.join(path)).status().unwrap().success());
        }
        let mut cluster = Self { folder, daemons: Vec::new() };
        let own = |what: &str| format!("--{what}={}/munge/munge.{what}", cluster.folder.path().display());
        let munge = [own("socket"), own("seed-file"), own("log-file"), own("pid-file")];
        let key = format!("--key-file={}", cluster.folder.path().join("munge/munge.key").display());
        cluster.daemon(
            "munged",
            "/usr/sbin/munged",
            &[&["--foreground", "--force", &key], &munge.each_ref().map(String::as_str)[..]].concat(),
        );
        let socket = cluster.folder.path().join("munge/munge.socket");
        within(120, "munged answers", || socket.exists());
        cluster.daemon("slurmctld", "/usr/sbin/slurmctld", &["-D", "-c", "-i"]);
        for number in 1..=count {
            cluster.node(&format!("n{number}"));
        }
        let since = Instant::now();
        while cluster.idle() < count {
            assert!(
                since.elapsed() < Duration::from_secs(120),
                "not every node is idle: {}",
                cluster.state()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        cluster
    }

    /// Nodes and their states, and what Slurm's daemons say last.
    fn state(&self) -> String {
        let mut sinfo = Command::new("sinfo");
        let nodes =
            sinfo.args(["-N", "-h", "-o", "%N %T %E"]).env("SLURM_CONF", self.configuration()).output();
        let mut text =
            nodes.map_or_else(|error| error.to_string(), |nodes| out(&nodes).to_owned() + &err(&nodes));
        for entry in fs::read_dir(self.folder.path().join("var/log")).unwrap().flatten() {
            let log = fs::read_to_string(entry.path()).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(6).collect();
            text += &format!("\n{}:\n{}", entry.path().display(), last.join("\n"));
        }
        text
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn daemon(&mut self, name: &str, program: &str, arguments: &[&str]) {
        let log = fs::File::create(self.folder.path().join(format!("{name}.out"))).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.configuration());
        let child = command.stdout(Stdio::null()).stderr(log).spawn();
        let child = child.unwrap_or_else(|error| {
            panic!("{program}: {error}; `cargo xtask test` installs slurm-wlm and munge")
        });
        self.daemons.push((name.to_owned(), child));
    }

    fn node(&mut self, name: &str) {
        self.daemon(name, "/usr/sbin/slurmd", &["-D", "-N", name]);
    }

    fn idle(&self) -> u32 {
        let mut sinfo = Command::new("sinfo");
        let state = sinfo
            .args(["-h", "-t", "idle", "-o", "%D"])
            .env("SLURM_CONF", self.configuration())
            .output()
            .unwrap();
        out(&state).trim().parse().unwrap_or(0)
    }

    /// Ends a node as a power failure would: its daemon, its steps, and what they run.
    fn kill(&mut self, name: &str) {
        let at = self.daemons.iter().position(|(own, _)| own == name).unwrap();
        let (_, mut child) = self.daemons.remove(at);
        child.kill().unwrap();
        child.wait().unwrap();
        let own =
            [format!("SLURMD_NODENAME={name}"), format!("SLURM_CONF={}", self.configuration().display())];
        let kill = |id: &str| id.parse().is_ok_and(|id| signal("KILL", id));
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
            let environment = read("environ");
            let has =
                |text: &String| environment.split(|byte| *byte == 0).any(|word| word == text.as_bytes());
            if !own.iter().all(has) {
                continue;
            }
            // What runs on the node, and before it the step that started it: who is left would tell of its end.
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let parent =
                stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)).unwrap_or("0");
            if fs::read_to_string(format!("/proc/{parent}/comm"))
                .is_ok_and(|comm| comm.trim() == "slurmstepd")
            {
                kill(parent);
            }
            kill(&entry.file_name().to_string_lossy());
        }
    }

    /// Takes a node out of service for good: one that is merely down comes back when its daemon registers again (ReturnToService=2).
    fn drain(&self, name: &str) {
        let mut scontrol = Command::new("scontrol");
        scontrol.args(["update", &format!("nodename={name}"), "state=drain", "reason=test"]);
        assert!(scontrol.env("SLURM_CONF", self.configuration()).status().unwrap().success());
    }

    fn fleet(&self, bench: &Bench, arguments: &[&str]) -> Output {
        bench
            .command(&[&["fleet"], arguments].concat())
            .env("SLURM_CONF", self.configuration())
            .output()
            .unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nodes first: what they run ends with them.
        for (_, child) in self.daemons.iter_mut().rev() {
            signal("TERM", child.id());
        }
        let ended = |child: &mut Child| {
            let since = Instant::now();
            while since.elapsed() < Duration::from_secs(5)
                && child.try_wait().is_ok_and(|status| status.is_none())
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = child.kill();
            let _ = child.wait();
        };
        self.daemons.iter_mut().rev().for_each(|(_, child)| ended(child));
    }
}

#[test]
#[ignore = "second tier: Slurm and tables of PyPI"]
fn a_cluster_is_surveyed_while_a_node_dies_and_its_tables_are_queried() {
    let machine = crate::bench::machine();
    let bench = Bench::new();
    let folder = folder(&bench);
    let survey = folder.to_str().unwrap();
    let mut cluster = Cluster::start(4);
    let select = ["syscall.null", "clock.monotonic.read"];
    let run = [&["run", survey, "--budget", "6s", "--limit", "60s"], &select[..]].concat();
    let mut command = bench.command(&[&["fleet"], &run[..]].concat());
    let child = command
        .env("SLURM_CONF", cluster.configuration())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // In the middle of the step: all four have said hello.
    within(120, "four machines answer", || {
        fs::read_dir(folder.join("recordings")).is_ok_and(|all| all.count() == 4)
    });
    cluster.kill("n3");
    let done = child.wait_with_output().unwrap();
    let said = out(&done);
    assert_eq!(done.status.code(), Some(4), "{said}{}", err(&done));
    assert!(said.contains("4 machines: 3 complete, 1 partly") && said.contains("n3 partly: "), "{said}");
    // Asked again while it is down, it is named by what Slurm knows of it; back again, it answers.
    let resume = ["run", "--resume", survey];
    assert_eq!(cluster.fleet(&bench, &resume).status.code(), Some(4));
    cluster.node("n3");
    within(120, "the node is back", || cluster.idle() == 4);
    let done = cluster.fleet(&bench, &resume);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(out(&done).contains("4 machines: 4 complete"));
    let page = bench.json(&["fleet", "report", survey]);
    assert_eq!(page["report"]["outcomes"]["complete"], 4);
    // Each of the four with each other, by a step of its own; one at a time, as they share a machine.
    let done = cluster.fleet(&bench, &["links", survey, "--time", "20ms", "--at-once", "1"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    let page = bench.json(&["fleet", "report", survey]);
    assert_eq!(
        (&page["report"]["links"]["pairs"], &page["report"]["links"]["judged"]),
        (&Value::from(6), &Value::from(4))
    );
    // Databases that read tables take their time, and measure nothing; another cluster has the same ports.
    drop(cluster);
    drop(machine);
    queried(&folder);
}

#[test]
#[ignore = "second tier: Slurm"]
fn sixteen_nodes_are_one_step_of_slurm() {
    let _machine = crate::bench::machine();
    let (bench, cluster) = (Bench::new(), Cluster::start(16));
    let folder = folder(&bench);
    let begin = ["run", folder.to_str().unwrap(), "syscall.null", "--runs", "1", "--budget", "50ms"];
    let done = cluster.fleet(&bench, &begin);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(out(&done).contains("16 machines: 16 complete"), "{}", out(&done));
    // Equal machines, all of which have a figure and none of which is named.
    let page = bench.json(&["fleet", "report", folder.to_str().unwrap()]);
    assert_eq!(page["report"]["metrics"][0]["nodes"], 16, "{page:#}");
    // Their links: a node that Slurm does not give is not waited for.
    cluster.drain("n9");
    let links = ["links", folder.to_str().unwrap(), "--rounds", "3", "--time", "10ms", "--at-once", "1"];
    let done = cluster.fleet(&bench, &links);
    assert_eq!(done.status.code(), Some(4), "{}{}", out(&done), err(&done));
    let page = bench.json(&["fleet", "report", folder.to_str().unwrap()]);
    let found = &page["report"]["links"];
    assert_eq!(
        (&found["nodes"], &found["missing"][0]["node"]),
        (&Value::from(15), &Value::from("n9")),
        "{found:#}"
    );
    assert!(found["missing"][0]["why"].as_str().unwrap().contains("Slurm has it as drain"), "{found:#}");
}

/// The folder of these Python packages.
fn packages(needed: &[&str]) -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    for package in needed {
        assert!(packages.join(package).is_dir(), "{package} is missing; `cargo xtask test` installs it");
    }
    packages
}

/// The documented queries.
fn queried(folder: &Path) {
    let packages = packages(&["duckdb", "chdb", "pyspark"]);
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FLEETS.md")).unwrap();
    let script = format!(
        r#"
import chdb, duckdb, json, re, sys
page, own = sys.stdin.read(), {:?}
def queries(kind):
    return [query.replace("SURVEY", own) for query in re.findall("```sql " + kind + "\n(.*?)```", page, re.S)]
for query in queries("duckdb"):
    print(json.dumps([query, [list(map(str, row)) for row in duckdb.sql(query).fetchall()]]))
for query in queries("clickhouse"):
    print(json.dumps([query, [line.split("\t") for line in str(chdb.query(query, "TabSeparated")).splitlines()]]))
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for query in queries("spark"):
    print(json.dumps([query, [list(map(str, row)) for row in spark.sql(query).collect()]]))
"#,
        folder.display().to_string()
    );
    let mut python = Command::new("python3");
    python.args(["-c", &script]).env("PYTHONPATH", packages);
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), page.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    let text = out(&done);
    assert_eq!(text.lines().count(), 7, "{text}");
    for line in text.lines() {
        let (query, rows): (String, Vec<Vec<String>>) = serde_json::from_str(line).unwrap();
        assert!(!rows.is_empty(), "no row: {query}");
    }
    assert!(text.contains("syscall.null") && text.contains("n3"), "{text}");
}

/// Adds a table to a survey's folder: the names of its columns, and its rows.
fn planted(
    folder: &Path,
    table: &str,
    schema: tickmark_tables::Schema,
    rows: impl Iterator<Item = Vec<Value>>,
) {
    let path = folder.join("tables").join(table).join("day=2026-01-01/planted.parquet");
    let mut writer = tickmark_tables::Writer::create(&path, schema).unwrap();
    rows.for_each(|row| writer.push(&row).unwrap());
    writer.finish().unwrap();
}

#[test]
fn among_ten_thousand_machines_the_bad_one_is_found_with_what_is_wrong_there() {
    use serde_json::json;
    use tickmark_tables::Kind::{Number, Text};
    const NODES: u64 = 10_000;
    let bench = Bench::new();
    let folder = folder(&bench);
    let survey = folder.to_str().unwrap();
    let begin =
        ["run", survey, "syscall.null", "--budget", "50ms", "--nodes", "n[1-10000]", "--manifest", "image"];
    assert_eq!(fleet(&bench, &begin).status.code(), Some(0));
    // Spread like many machines are: by some percent, each metric by itself.
    let noise = |seed: u64| {
        let bits = |seed: u64| {
            (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed >> 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
        };
        (0..12).map(|i| bits(seed * 12 + i + 1) as f64 / (1u64 << 24) as f64).sum::<f64>() - 6.0
    };
    let name = |node: u64| format!("n{node}");
    let outcome = |node: u64| if node == 77 { "silent" } else { "complete" };
    planted(
        &folder,
        "nodes",
        &[("node", Text), ("outcome", Text), ("why", Text), ("recording", Text)],
        (1..=NODES).map(|node| {
            vec![json!(name(node)), json!(outcome(node)), Value::Null, json!(format!("r{node}"))]
        }),
    );
    let value = |node: u64, metric: u64| {
        let slow = if node == 4242 && metric == 3 { 40.0 } else { 1.0 };
        let kernel = if node.is_multiple_of(10) && metric == 5 { 1.1 } else { 1.0 };
        (100.0 + metric as f64) * (1.0 + 0.03 * noise(node * 40 + metric)) * slow * kernel
    };
    let figures = (1..=NODES).filter(|node| *node != 77).flat_map(|node| {
        (0..40).map(move |metric| {
            vec![
                json!(name(node)),
                json!(format!("m{metric}")),
                json!("ns"),
                json!("lower"),
                json!("ok"),
                json!(value(node, metric)),
            ]
        })
    });
    planted(
        &folder,
        "figures",
        &[
            ("node", Text),
            ("metric", Text),
            ("unit", Text),
            ("better", Text),
            ("status", Text),
            ("value", Number),
        ],
        figures,
    );
    let facts = (1..=NODES).flat_map(|node| {
        let clock = if node == 4242 { "hpet" } else { "tsc" };
        let kernel = if node.is_multiple_of(10) { "6.1" } else { "6.12" };
        let same = (0..90).map(|fact| (format!("fact.{fact}"), "the same everywhere".to_owned()));
        let own = [("clock.source", clock), ("kernel.release", kernel)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let boot = [("boot.id".to_owned(), format!("{node}-{node}"))];
        let all: Vec<_> = same.chain(own).chain(boot).collect();
        all.into_iter().map(move |(fact, value)| vec![json!(name(node)), json!(fact), json!(value)])
    });
    planted(&folder, "facts", &[("node", Text), ("name", Text), ("value", Text)], facts);
    let findings = std::iter::once(vec![json!("n4242"), json!("slow-clock"), json!(0.09)]);
    planted(&folder, "findings", &[("node", Text), ("check", Text), ("weight", Number)], findings);
    let page = bench.json(&["fleet", "report", survey]);
    let report = &page["report"];
    assert_eq!((&report["outcomes"]["complete"], &report["outcomes"]["silent"]), (&json!(9999), &json!(1)));
    let worst = report["worst"].as_array().unwrap();
    assert_eq!(worst[0]["node"], "n4242");
    // Beside it the slowest of the slower group, and nobody else.
    for other in &worst[1..] {
        assert_eq!(
            (&other["apart"][0]["metric"], &other["unlike"][0]["value"]),
            (&json!("m5"), &json!("6.1")),
            "{worst:?}"
        );
    }
    assert_eq!(worst[0]["found"][0]["check"], "slow-clock");
    assert_eq!(worst[0]["unlike"][0]["value"], "hpet");
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!((&groups[0]["metric"], &groups[0]["set"]["nodes"]), (&json!("m5"), &json!(1000)));
    let text = out(&fleet(&bench, &["report", survey]));
    assert!(
        text.contains("1. n4242") && text.contains("slow clock source") && text.contains("here alone"),
        "{text}"
    );
    let page = bench.store().with_extension("html");
    let done = fleet(&bench, &["report", survey, "-o", page.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.len() < 1_000_000 && page.contains("n4242") && page.contains("<svg"),
        "{} bytes",
        page.len()
    );
    assert!(
        text.contains("clock.source is hpet, there tsc") && text.contains("kernel.release 6.1"),
        "{text}"
    );
}

#[test]
#[ignore = "second tier: 20 to 30 s"]
fn every_command_of_the_tutorial_runs() {
    let bench = Bench::new();
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TUTORIAL.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 7, "{blocks:?}");
    fs::create_dir_all(bench.store()).unwrap();
    let own = Path::new(crate::bench::program()).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(bench.store())
            .env("PATH", &path)
            .env("TICKMARK_STORE", bench.store());
        let done = shell.output().unwrap();
        // 3 is an answer of a check, of the doctor and of a health check; 4 is a busy machine's.
        assert!(matches!(done.status.code(), Some(0 | 3 | 4)), "{line}: {:?} {}", done.status, err(&done));
        assert!(!out(&done).is_empty(), "{line}: {}", err(&done));
    }
}
