//! Cost of transactions: the accounts of the server's processes and of the client's.

use tickmark_probe::sys::counters::Counters;
use tickmark_probe::sys::tasks::{self, Account};

/// Accounts at the beginning.
pub(crate) struct Costs {
    servers: Vec<(u32, Account)>,
    client: (u32, Account),
    interrupts: Interrupts,
}

/// Interrupts of some CPUs.
pub(crate) struct Interrupts {
    counters: Vec<Counters>,
    /// None when they are not known any more.
    sum: Option<u64>,
}

impl Interrupts {
    /// From now on.
    pub(crate) fn start(cpus: &[u32]) -> Self {
        let mut counters: Vec<Counters> = cpus.iter().filter_map(|cpu| Counters::open(*cpu)).collect();
        for counters in &mut counters {
            counters.read(|_, _| ());
        }
        let sum = Some(0).filter(|_| !counters.is_empty());
        Self { counters, sum }
    }

    /// How many there were.
    pub(crate) fn so_far(&mut self) -> Option<u64> {
        for counters in &mut self.counters {
            let names = counters.names().to_vec();
            let mut more = 0;
            let known = counters.read(|counter, moved| {
                if names.get(counter).is_some_and(|name| name.starts_with("interrupt ")) {
                    more += moved;
                }
            });
            self.sum = self.sum.filter(|_| known).map(|sum| sum + more);
        }
        self.sum
    }
}

/// CPU time used meanwhile.
pub(crate) struct Used {
    server: Option<Account>,
    client: Account,
    interrupts: Option<u64>,
}

impl Costs {
    pub(crate) fn begin(servers: Vec<u32>, client: u32, cpus: &[u32]) -> Self {
        let of = |pid: u32| (pid, Account::for_process(pid));
        // In the order of the end, so that each is looked at over the same time.
        let client = of(client);
        let servers = servers.into_iter().map(of).collect();
        Self { servers, client, interrupts: Interrupts::start(cpus) }
    }

    /// With the server's processes as they are now: one that began meanwhile counts whole, one that ended does not.
    pub(crate) fn end(mut self, servers: &[u32]) -> Used {
        let client = Account::for_process(self.client.0).less(&self.client.1);
        let one = |pid: &u32| {
            let before = self.servers.iter().find(|(known, _)| known == pid);
            Account::for_process(*pid).less(&before.map(|(_, account)| *account).unwrap_or_default())
        };
        let server = (!servers.is_empty()).then(|| tasks::sum(servers.iter().map(one)));
        let interrupts = self.interrupts.so_far();
        Used { server, client, interrupts }
    }
}

impl Used {
    /// With what a server on another host has used meanwhile, and its interrupts.
    pub(crate) fn of_another_host(mut self, server: Account, interrupts: Option<u64>) -> Self {
        self.server = Some(server);
        self.interrupts = self.interrupts.zip(interrupts).map(|(own, other)| own + other);
        self
    }

    /// For each transaction: CPU time of server and client, the kernel's share of each, their waits, context switches, interrupts; then how many CPUs the server
    /// used, and the client used or waited for.
    pub(crate) fn values(&self, done: f64, wall: f64) -> [Option<f64>; 10] {
        let server = |value: fn(&Account) -> f64| self.server.as_ref().map(value);
        // Kernels without CONFIG_SCHED_INFO do not say.
        let says_waits = std::fs::metadata("/proc/self/schedstat").is_ok();
        // Of both sides, or of none.
        let switches = self.server.map(|server| server.switches + self.client.switches);
        [
            server(|account| account.cpu as f64).map(|cpu| cpu / done),
            Some(self.client.cpu as f64 / done),
            self.server.as_ref().and_then(Account::system_share),
            self.client.system_share(),
            server(|account| account.waited as f64).map(|waited| waited / done).filter(|_| says_waits),
            Some(self.client.waited as f64 / done).filter(|_| says_waits),
            switches.map(|count| count as f64 / done),
            self.interrupts.map(|count| count as f64 / done),
            server(|account| account.cpu as f64).map(|cpu| cpu / wall),
            Some((self.client.cpu + self.client.waited) as f64 / wall),
        ]
    }
}
