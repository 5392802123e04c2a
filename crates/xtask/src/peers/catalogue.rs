//! Messages, bandwidths and memory beside the tools that Debian has for them.

use super::{Pair, Tickmark, figure, messages, pairs};
use crate::{Result, shell};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// McCalpin's definition of STREAM copy, a loop that assigns one array of doubles to another, arrays of four times the last cache; the best of
/// ten, in bytes copied a second (STREAM counts them twice). A chain of loads in random order over 128 MB. And a stream over TCP
/// between two processes, with the buffers and pieces of our probe.
const LOOPS: &str = r#"
#define _GNU_SOURCE
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *area(size_t bytes) {
  void *a = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(a, bytes, MADV_NOHUGEPAGE);
  memset(a, 1, bytes);
  return a;
}
static void copy(void) {
  size_t n = 8 << 20;
  double *a = area(n * 8), *c = area(n * 8), best = 1e9;
  for (int k = 0; k < 10; k++) {
    double t = now();
    for (size_t i = 0; i < n; i++) c[i] = a[i];
    t = now() - t;
    if (t < best) best = t;
    a[k] = c[n - 1 - k];
  }
  printf("%f\n", n * 8 / best);
}
static void chase(void) {
  size_t lines = 2 << 20;
  char *a = area(lines * 64);
  unsigned *order = malloc(lines * sizeof *order);
  for (size_t i = 0; i < lines; i++) order[i] = i;
  for (size_t i = lines - 1; i; i--) {
    size_t j = (((size_t)rand() << 31) ^ rand()) % (i + 1);
    unsigned t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (size_t i = 0; i < lines; i++) *(void **)(a + order[i] * 64ul) = a + order[(i + 1) % lines] * 64ul;
  void **p = (void **)(a + order[0] * 64ul);
  double t = now();
  for (size_t i = 0; i < lines; i++) p = *p;
  t = now() - t;
  printf("%f\n", t / lines * 1e9 + (p == 0));
}
static void tcp(void) {
  enum { PIECE = 128 << 10 };
  static char piece[PIECE];
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
  socklen_t length = sizeof to;
  int hold = 64 << 10, in = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
  for (int i = 0; i < 4; i++) setsockopt(i & 1 ? in : out, SOL_SOCKET, i & 2 ? SO_RCVBUF : SO_SNDBUF, &hold, sizeof hold);
  bind(in, (void *)&to, sizeof to);
  listen(in, 1);
  getsockname(in, (void *)&to, &length);
  connect(out, (void *)&to, sizeof to);
  int from = accept(in, 0, 0), child = fork();
  if (!child) {
    close(from);
    while (write(out, piece, PIECE) > 0);
    _exit(0);
  }
  close(out);
  double total = 0, start = now();
  while (now() - start < 1) {
    ssize_t count = read(from, piece, PIECE);
    if (count <= 0) break;
    total += count;
  }
  printf("%f\n", total / (now() - start));
  kill(child, SIGKILL);
  waitpid(child, 0, 0);
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "copy";
  if (!strcmp(what, "chase")) chase(); else if (!strcmp(what, "tcp")) tcp(); else copy();
}
"#;

const PAIRS: &[Pair] = &[
    Pair::new(
        "memory, read (mean) : sysbench memory read",
        |t, _| ours(t, "bandwidth.memory.read", "mean"),
        |t, _| sysbench(t, "read"),
    ),
    Pair::new(
        "memory, write (mean) : sysbench memory write",
        |t, _| ours(t, "bandwidth.memory.write", "mean"),
        |t, _| sysbench(t, "write"),
    ),
    Pair::new(
        "copy by libc (mean) : perf bench mem memcpy",
        |t, _| ours(t, "bandwidth.copy.libc", "mean"),
        |t, _| memcpy(t),
    ),
    Pair::new(
        "copy by hand (floor) : STREAM copy",
        |t, _| ours(t, "bandwidth.copy.hand", "value"),
        |t, folder| compiled(t, folder, "copy"),
    ),
    Pair::new(
        "random main memory (mean) : shuffled C chain",
        |t, _| ours(t, "memory.latency.random", "mean"),
        |t, folder| compiled(t, folder, "chase"),
    ),
    Pair::new(
        "TCP round trip (floor) : NetPIPE",
        |t, _| ours(t, "ipc.tcp.round_trip", "value"),
        |t, _| netpipe(t),
    ),
    Pair::new(
        "TCP bandwidth (mean) : C loop",
        |t, _| ours(t, "bandwidth.tcp", "mean"),
        |t, folder| compiled(t, folder, "tcp"),
    ),
    Pair::new("TCP bandwidth (mean) : iperf3", |t, _| ours(t, "bandwidth.tcp", "mean"), |t, _| iperf(t))
        .explained("iperf3 reads until each block is full, this probe and the C loop read what is there"),
];

/// Installs the peers, runs all pairs and prints their ratios.
pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("sysbench", "sysbench"),
        ("NPtcp", "netpipe-tcp"),
        ("iperf3", "iperf3"),
        ("perf", "linux-perf"),
        ("gcc", "gcc"),
        ("taskset", "util-linux"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    super::compile(LOOPS, folder.path(), "loops")?;
    pairs(&tickmark, folder.path(), PAIRS, 0.15)?
}

fn ours(tickmark: &Tickmark, metric: &str, which: &str) -> Result<Option<f64>> {
    let model = tickmark.measure(&[metric, "--runs", "1", "--budget", "1s"])?;
    // The curve's last level is the row of memory.
    Ok(figure(&model, metric, which).or_else(|| figure(&model, &format!("{metric}.main"), which)))
}

pub(super) fn pinned(tickmark: &Tickmark, program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &tickmark.cpu, program]);
    command
}

/// The word before one that ends a figure, as a number.
pub(super) fn before(text: &str, unit: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| word.trim_end_matches(')') == unit)?;
    words.get(at.checked_sub(1)?)?.trim_start_matches('(').parse().ok()
}

fn sysbench(tickmark: &Tickmark, what: &str) -> Result<Option<f64>> {
    let operation = format!("--memory-oper={what}");
    let mut command = pinned(tickmark, "sysbench");
    command.args([
        "memory",
        "--threads=1",
        "--memory-block-size=128M",
        "--memory-total-size=16G",
        &operation,
        "run",
    ]);
    let (text, _) = shell::output(&mut command)?;
    Ok(before(&text, "MiB/sec").map(|mebibytes| mebibytes * 1_048_576.0))
}

fn memcpy(tickmark: &Tickmark) -> Result<Option<f64>> {
    let mut command = pinned(tickmark, "perf");
    command.args(["bench", "mem", "memcpy", "-s", "64MB", "-l", "40", "-f", "default"]);
    let (text, _) = shell::output(&mut command)?;
    Ok(before(&text, "GB/sec").map(|gibibytes| gibibytes * 1_073_741_824.0))
}

fn compiled(tickmark: &Tickmark, folder: &Path, which: &str) -> Result<Option<f64>> {
    let mut command = Command::new("taskset");
    let (text, _) = shell::output(command.args(["-c", &tickmark.cpu]).arg(folder.join("loops")).arg(which))?;
    Ok(text.trim().parse().ok())
}

/// A server that is ended when it is dropped.
pub(super) struct Server(Child);

impl Server {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = child.map(Self).map_err(|e| format!("cannot start a server: {e}"))?;
        // Until it listens.
        std::thread::sleep(Duration::from_millis(500));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// NetPIPE prints half of a round trip; messages of 1 byte, both sides on the measured CPU.
fn netpipe(tickmark: &Tickmark) -> Result<Option<f64>> {
    Ok(messages::netpipe(tickmark, "1", "usec")?.map(|half| 2.0 * half * 1e3))
}

fn iperf(tickmark: &Tickmark) -> Result<Option<f64>> {
    let _server = Server::start(pinned(tickmark, "iperf3").args(["-s", "-1", "-p", "5995"]))?;
    let mut command = pinned(tickmark, "iperf3");
    command.args(["-c", "127.0.0.1", "-p", "5995", "-t", "2", "-w", "64K", "-l", "128K", "-J"]);
    let (text, _) = shell::output(&mut command)?;
    let model: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(model["end"]["sum_received"]["bits_per_second"].as_f64().map(|bits| bits / 8.0))
}
