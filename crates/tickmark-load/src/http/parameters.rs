//! Parameters of the server and of the connections.

use tickmark_probe::case::{Parameter, Value};

pub(super) const CONNECTION: Parameter = Parameter::choice(
    "connection",
    "close: a new one for each request; keep-alive: the same",
    &[Value::plain("close"), Value::plain("keep-alive")],
);
/// None of its values is for suites.
pub(super) const CONNECTIONS: Parameter = Parameter::number("connections", "at the same time", 1, 1024);
pub(super) const BYTES: Parameter = Parameter::choice(
    "bytes",
    "of the page of our own server; any: of another one",
    &[Value::plain("100"), Value::plain("any")],
)
.or_numbers(0, 16 << 20);
pub(super) const WORKERS: Parameter =
    Parameter::choice("workers", "of our own server", &[Value::plain("128")]).or_numbers(1, 2048);
pub(super) const BY: Parameter = Parameter::choice(
    "by",
    "what its workers are",
    &[Value::named("processes", "", ""), Value::named("threads", ".threads", ", threads")],
);
pub(super) const WHOSE: Parameter = Parameter::choice(
    "whose",
    "the server: our own, here or on another host, or one that runs already",
    &[
        Value::named("own", "", ""),
        Value::named("host", ".host", ", server on another host"),
        Value::named("url", ".url", ", URL"),
    ],
);
pub(super) const AT: Parameter =
    Parameter::text("at", "the other host: where `tickmark comms --serve` listens");
pub(super) const TOKEN: Parameter =
    Parameter::text("token", "the file with the token of that; empty: TICKMARK_TOKEN has it");
pub(super) const TARGET: Parameter = Parameter::text("target", "where that listens: ADDRESS:PORT");
pub(super) const HOST: Parameter = Parameter::text("host", "the name that it is asked for");
pub(super) const PATH: Parameter = Parameter::text("path", "the page that it is asked for");
pub(super) const PID: Parameter = Parameter::text("pid", "its process; empty: its CPU time is not known");
