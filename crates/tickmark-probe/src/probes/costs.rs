//! What transactions cost: the accounts of the server's processes and of the client's.

use crate::sys::counters::Counters;
use crate::sys::tasks::{self, Account};

/// Accounts at the beginning.
pub(in crate::probes) struct Costs {
    servers: Vec<(u32, Account)>,
    client: (u32, Account),
    counters: Vec<Counters>,
}

/// What was used meanwhile.
pub(in crate::probes) struct Used {
    server: Option<Account>,
    client: Account,
    interrupts: Option<u64>,
}

impl Costs {
    pub(in crate::probes) fn begin(servers: Vec<u32>, client: u32, cpus: &[u32]) -> Self {
        let of = |pid: u32| (pid, Account::of(pid));
        // In the order of the end, so that each is looked at over the same time.
        let client = of(client);
        let servers = servers.into_iter().map(of).collect();
        let mut counters: Vec<Counters> = cpus.iter().filter_map(|cpu| Counters::open(*cpu)).collect();
        for counters in &mut counters {
            counters.read(|_, _| ());
        }
        Self { servers, client, counters }
    }

    /// With the server's processes as they are now: one that began meanwhile counts whole, one that ended does not.
    pub(in crate::probes) fn end(mut self, servers: &[u32]) -> Used {
        let client = Account::of(self.client.0).less(&self.client.1);
        let one = |pid: &u32| {
            let before = self.servers.iter().find(|(known, _)| known == pid);
            Account::of(*pid).less(&before.map(|(_, account)| *account).unwrap_or_default())
        };
        let server = (!servers.is_empty()).then(|| tasks::sum(servers.iter().map(one)));
        let mut interrupts = Some(0).filter(|_| !self.counters.is_empty());
        for counters in &mut self.counters {
            let names = counters.names().to_vec();
            let mut more = 0;
            let known = counters.read(|counter, moved| {
                if names.get(counter).is_some_and(|name| name.starts_with("interrupt ")) {
                    more += moved;
                }
            });
            interrupts = interrupts.filter(|_| known).map(|sum| sum + more);
        }
        Used { server, client, interrupts }
    }
}

impl Used {
    /// For each transaction: CPU time of server and client, the kernel's share of each, their waits, context switches, interrupts; then how many CPUs the server
    /// used, and the client used or waited for.
    pub(in crate::probes) fn values(&self, done: f64, wall: f64) -> [Option<f64>; 10] {
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
