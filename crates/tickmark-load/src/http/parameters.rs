//! What its probes are told of the server and of the connections.

use tickmark_probe::case::{Parameter, Value};

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, values: &[], numbers: None }
}

pub(super) const CONNECTION: Parameter = Parameter {
    name: "connection",
    about: "close: a new one for each request; keep-alive: the same",
    values: &[Value::plain("close"), Value::plain("keep-alive")],
    numbers: None,
};
/// None of its values is for suites.
pub(super) const CONNECTIONS: Parameter =
    Parameter { name: "connections", about: "at the same time", values: &[], numbers: Some((1, 1024)) };
pub(super) const BYTES: Parameter = Parameter {
    name: "bytes",
    about: "of the page of our own server; any: of another one",
    values: &[Value::plain("100"), Value::plain("any")],
    numbers: Some((0, 16 << 20)),
};
pub(super) const WORKERS: Parameter = Parameter {
    name: "workers",
    about: "of our own server",
    values: &[Value::plain("128")],
    numbers: Some((1, 2048)),
};
pub(super) const BY: Parameter = Parameter {
    name: "by",
    about: "what its workers are",
    values: &[Value::named("processes", "", ""), Value::named("threads", ".threads", ", threads")],
    numbers: None,
};
pub(super) const WHOSE: Parameter = Parameter {
    name: "whose",
    about: "the server: our own, here or on another host, or one that runs already",
    values: &[
        Value::named("own", "", ""),
        Value::named("host", ".host", ", server on another host"),
        Value::named("url", ".url", ", URL"),
    ],
    numbers: None,
};
pub(super) const AT: Parameter = text("at", "the other host: where `tickmark comms --serve` listens");
pub(super) const TOKEN: Parameter =
    text("token", "the file with the token of that; empty: TICKMARK_TOKEN has it");
pub(super) const TARGET: Parameter = text("target", "where that listens: ADDRESS:PORT");
pub(super) const HOST: Parameter = text("host", "the name that it is asked for");
pub(super) const PATH: Parameter = text("path", "the page that it is asked for");
pub(super) const PID: Parameter = text("pid", "its process; empty: its CPU time is not known");
