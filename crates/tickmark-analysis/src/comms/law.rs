//! Load against packet size: load = rate (a + b / payload), so much for each byte and so much for each packet; and the document's
//! load x packet size = constant.

use super::Comms;
use tickmark_stats::Interval;
use tickmark_stats::linear::straight;

/// Packet sizes that a law takes at least.
const FEWEST: usize = 3;
/// A product that varies by more than this share is no constant.
const CONSTANT: f64 = 0.1;

/// One benchmark over packets of several sizes, by the largest message of all.
#[derive(Debug)]
pub struct Law {
    /// In words, without the packet size.
    pub title: String,
    /// Bytes of the messages.
    pub size: u64,
    /// By packet size, ascending.
    pub packets: Vec<Packet>,
    /// Nanoseconds of the CPU for each byte, a, and for each packet, b, with their intervals at 95 %.
    pub per_byte: (f64, Option<Interval>),
    /// The same of each packet.
    pub per_packet: (f64, Option<Interval>),
    /// The largest share by which the law misses a load.
    pub residual: f64,
    /// True if load x packet size is the same for all.
    pub is_constant: bool,
}

/// One packet size.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The MTU.
    pub mtu: u32,
    /// Bytes of the message in a packet.
    pub payload: f64,
    /// Bytes a second, the mean of the windows.
    pub rate: f64,
    /// Of this side's CPU, the same mean.
    pub load: f64,
}

impl Law {
    /// The packet size below which the CPU is fully loaded before this rate is reached: its payload. None where that is never so.
    #[must_use]
    pub fn least_payload(&self, rate: f64) -> Option<f64> {
        let left = 1e9 / rate - self.per_byte.0;
        (left > 0.0).then(|| self.per_packet.0 / left)
    }
}

/// Bytes that headers take of a packet: of TCP with time stamps, of UDP (RFC 791, 768, 9293, 7323).
pub(super) fn headers(over: &str) -> f64 {
    if over == "udp" { 28.0 } else { 52.0 }
}

/// Every law that benchmarks over a veth pair give: those that differ in the packet size alone.
#[must_use]
pub fn laws(all: &[Comms]) -> Vec<Law> {
    let mut groups: Vec<(String, u64, &str, Vec<Packet>)> = Vec::new();
    for comms in all {
        let (Some(mtu), Ok(observed)) = (comms.mtu, &comms.summary) else { continue };
        let Some(row) = observed.rows.last() else { continue };
        // Joined segments are no packets, and what no meter saw is no load.
        let mean = row.loads.first().and_then(|load| load.mean).filter(|_| comms.metric.contains(".plain"));
        let Some((load, trips)) = mean else { continue };
        let title = comms.title.replace(&format!("veth {mtu}"), "veth");
        let over = if comms.metric.contains(".udp.") { "udp" } else { "tcp" };
        let payload = (f64::from(mtu) - headers(over)).max(1.0);
        let packet = Packet { mtu, payload, rate: trips * comms.divisor * row.size as f64, load };
        match groups.iter_mut().find(|group| (&group.0, group.1) == (&title, row.size)) {
            Some(group) => group.3.push(packet),
            None => groups.push((title, row.size, over, vec![packet])),
        }
    }
    groups.into_iter().filter_map(|(title, size, _, packets)| law(title, size, packets)).collect()
}

fn law(title: String, size: u64, mut packets: Vec<Packet>) -> Option<Law> {
    packets.sort_by_key(|packet| packet.mtu);
    packets.dedup_by_key(|packet| packet.mtu);
    if packets.len() < FEWEST {
        return None;
    }
    // Time of the CPU for a byte is a line in packets a byte.
    let points: Vec<(f64, f64)> =
        packets.iter().rev().map(|packet| (1.0 / packet.payload, packet.load * 1e9 / packet.rate)).collect();
    let line = straight(&points)?;
    let product = |packet: &Packet| packet.load * f64::from(packet.mtu);
    let ends = (packets.iter().map(product).reduce(f64::min)?, packets.iter().map(product).reduce(f64::max)?);
    Some(Law {
        title,
        size,
        per_byte: (line.start, line.start_interval),
        per_packet: (line.per_byte, line.per_byte_interval),
        residual: line.residuals.1,
        is_constant: ends.1 / ends.0 - 1.0 <= CONSTANT,
        packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(mtu: u32, per_byte: f64, per_packet: f64) -> Packet {
        let (payload, rate) = (f64::from(mtu) - 52.0, 1e8);
        Packet { mtu, payload, rate, load: rate * (per_byte + per_packet / payload) / 1e9 }
    }

    #[test]
    fn what_bytes_and_packets_cost_is_told_apart() {
        let mtus = [512, 1024, 1500, 4096, 9000];
        let law =
            law("x".to_owned(), 1 << 20, mtus.iter().map(|mtu| packet(*mtu, 0.8, 900.0)).collect()).unwrap();
        assert!((law.per_byte.0 - 0.8).abs() < 1e-9 && (law.per_packet.0 - 900.0).abs() < 1e-6, "{law:?}");
        assert!(law.residual < 1e-9 && !law.is_constant);
        // At 1 GB/s a byte leaves .2 ns for its part of a packet.
        assert!((law.least_payload(1e9).unwrap() - 4500.0).abs() < 1e-6);
        assert!(law.least_payload(2e9).is_none(), "the bytes alone take more");
    }

    #[test]
    fn only_packets_make_a_constant_and_two_sizes_no_law() {
        let of = |mtus: &[u32]| {
            let one = |mtu: &u32| Packet { load: 290.0 / f64::from(*mtu), ..packet(*mtu, 0.0, 1.0) };
            law("x".to_owned(), 1, mtus.iter().map(one).collect())
        };
        assert!(of(&[512, 1024, 4096]).unwrap().is_constant);
        assert!(of(&[512, 1024]).is_none());
    }
}
