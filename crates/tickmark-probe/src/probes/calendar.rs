//! Seconds since 1970 to calendar time and RFC 3339 text, and back, by the C library.

use crate::batch::{self, Shape};
use crate::sys::calendar::Calendar;
use crate::sys::chain::opaque;
use crate::{Probe, Spec, Unavailable};
use tickmark_wire::{Group, Picos};

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        source: "POSIX.1-2024 gmtime_r, strftime; RFC 3339",
        physical_floor: Picos::new(1_000),
        ..Spec::cost(Group::Timestamp, name, title)
    }
}

const START: u64 = 1_792_000_000;

/// On cache lines of its own: where a run's heap happens to lie must not show in the figure.
#[repr(align(64))]
struct Aligned<T>(T);

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: spec("stamp.calendar.from_seconds", "seconds to calendar time", "gmtime_r"),
        prepare: |spec, _| {
            let mut seconds = opaque(START);
            Ok(batch::routine(Shape::from_spec(spec), move || {
                let time = Calendar::from_seconds(seconds as i64);
                seconds = START | (opaque(time.second()) & 1);
            })
            .boxed())
        },
    },
    Probe {
        spec: spec("stamp.calendar.to_seconds", "calendar time to seconds", "timegm"),
        prepare: |spec, _| {
            let time = Calendar::from_seconds(START as i64);
            let mut second = opaque(0);
            Ok(batch::routine(Shape::from_spec(spec), move || {
                second = opaque(time.with_second(second as i64).to_seconds() as u64) & 15;
            })
            .boxed())
        },
    },
    Probe {
        spec: spec(
            "stamp.rfc3339.format",
            "calendar time to RFC 3339 text",
            "strftime with %Y-%m-%dT%H:%M:%SZ",
        ),
        prepare: |spec, _| {
            let time = Aligned(Calendar::from_seconds(START as i64));
            let (mut text, mut second) = (Aligned([0; 32]), opaque(0));
            Ok(batch::routine(Shape::from_spec(spec), move || {
                let time = Aligned(time.0.with_second(second as i64));
                time.0.format(&mut text.0);
                second = opaque(u64::from(text.0[18])) & 15;
            })
            .boxed())
        },
    },
    Probe {
        spec: spec(
            "stamp.rfc3339.parse",
            "RFC 3339 text to calendar time",
            "strptime with %Y-%m-%dT%H:%M:%SZ",
        ),
        prepare: |spec, _| {
            let mut text = Aligned([0; 32]);
            Calendar::from_seconds(START as i64).format(&mut text.0);
            if Calendar::parse(&text.0).is_none() {
                return Err(Unavailable::Missing("the C library does not read RFC 3339 text".to_owned()));
            }
            Ok(batch::routine(Shape::from_spec(spec), move || {
                let second = Calendar::parse(&text.0).map_or(0, |time| time.second());
                text.0[18] = b'0' + (opaque(second) & 1) as u8;
            })
            .boxed())
        },
    },
];
