//! Arithmetic on timestamps, one operation after another, each with the result of the one before: what timecounter-cost.txt suspects beside the clock's reads.

use core::hint::black_box;

const SECOND: u64 = 1_000_000_000;
/// 2^64 / 10^9: a nanosecond as a fraction of 64 bits (timespec2bintime of FreeBSD's sys/time.h).
const FRACTION: u64 = 18_446_744_073;

/// Seconds and ns of 1.7 s are added, and the whole seconds taken out of the ns one by one (timespecadd(3), set_normalized_timespec64 of Linux).
pub(crate) const NORMALISE: u64 = 1;
/// Two stamps are compared, and the outcome is put into the next one's operand (timespeccmp(3)).
pub(crate) const COMPARE: u64 = 2;
/// ns become a fraction of 64 bits, which is added with its carry (timespec2bintime and bintime_add of FreeBSD).
pub(crate) const BINTIME: u64 = 3;

/// Carries out so many.
#[inline(never)]
pub(crate) fn operate(which: u64, times: u64) {
    let (mut seconds, mut part) = (black_box(1 << 30), black_box(17));
    let (other, step) = (black_box(1u64 << 30), black_box(700_000_001u64));
    for _ in 0..times {
        match which {
            NORMALISE => {
                part = black_box(part + step + SECOND);
                while part >= SECOND {
                    part = black_box(part - SECOND);
                    seconds += 1;
                }
            }
            COMPARE => seconds ^= u64::from((seconds, part) < (other, step)),
            BINTIME => {
                let (sum, carry) = part.overflowing_add(step.wrapping_mul(FRACTION));
                part = sum;
                seconds = seconds.wrapping_add(1 + u64::from(carry));
            }
            _ => return,
        }
        (seconds, part) = (black_box(seconds), black_box(part));
    }
}
