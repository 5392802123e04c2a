//! NetPIPE's np.out (bytes, Mbps, s) and its output on the terminal: the time and the rate of each size of messages. Its Mbps are 2^20 bits a
//! second in version 3, and 10^6 in later ones; in np.out the two other columns tell which.

use super::begin;
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// Bits a second in one Mbps.
const MEGABITS: [f64; 2] = [1_048_576.0, 1e6];

/// Bytes, Mbps, seconds of each line of np.out.
fn rows(text: &str) -> Option<Vec<[Printed; 3]>> {
    let row = |line: &str| {
        let numbers: Option<Vec<Printed>> =
            line.split_whitespace().map(|word| Printed::parse(word.as_bytes())).collect();
        <[Printed; 3]>::try_from(numbers?).ok()
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// The bits a second in one Mbps by which the three columns agree within 2 %, if they do in nearly all rows.
fn factor(rows: &[[Printed; 3]]) -> Option<f64> {
    let agrees = |factor: f64| {
        let agree = |[bytes, rate, seconds]: &&[Printed; 3]| {
            (bytes.value * 8.0 / seconds.value / factor / rate.value - 1.0).abs() < 0.02
        };
        rows.len() > 1 && rows.iter().filter(agree).count() * 10 >= rows.len() * 9
    };
    MEGABITS.into_iter().find(|factor| agrees(*factor))
}

/// The size, the rate and the time of `  0:       1 bytes   2398 times -->      0.18 Mbps in      42.13 usec`.
fn terminal(line: &str) -> Option<[Printed; 3]> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, bytes, "bytes", _, "times", "-->", rate, "Mbps" | "Gbps", "in", time, "usec" | "usecs"] =
        words[..]
    else {
        return None;
    };
    let number = |word: &str| Printed::parse(word.as_bytes());
    let gigabits = if line.contains("Gbps") { 1e3 } else { 1.0 };
    Some([number(bytes)?, number(rate)? * gigabits, number(time)? * 1e-6])
}

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| terminal(line).is_some())
        || rows(&text[..text.rfind('\n').map_or(text.len(), |at| at + 1)])
            .is_some_and(|rows| factor(&rows).is_some())
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("NetPIPE", name);
    found.is_one_replicate = true;
    let np_out = rows(text).filter(|rows| factor(rows).is_some());
    let bits =
        np_out.as_deref().and_then(factor).unwrap_or(if text.contains("Gbps") { 1e6 } else { MEGABITS[0] });
    let put = |found: &mut Imported, [bytes, rate, seconds]: [Printed; 3]| {
        found.time(&format!("netpipe.time.size={}", bytes.value), seconds, 1e9);
        found.repeat(
            &format!("netpipe.throughput.size={}", bytes.value),
            Unit::Throughput,
            Better::Higher,
            rate * (bits / 8.0),
        );
    };
    if let Some(rows) = np_out {
        rows.into_iter().for_each(|row| put(&mut found, row));
    } else {
        found.take_lines(text, |found, line| match terminal(line) {
            Some(row) => {
                put(found, row);
                true
            }
            None => line.starts_with("Send and receive buffers") || line.starts_with("(A bug"),
        });
        found.remarks.push("the terminal's Mbps have two decimals: np.out has more digits".to_owned());
    }
    Ok(vec![found])
}
