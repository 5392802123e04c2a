//! What each command prints for programs: named, versioned types, of which the tests make the schemas in docs/schema.
//!
//! Times are in ns, shares of 1, rates per second, unless a field says otherwise; an interval is `[low, high]`. A field that
//! goes or changes its meaning raises the version of its page; a new one does not.

mod balance;
mod bill;
mod bisect;
mod check;
mod clock_reads;
mod comms;
mod comparison;
mod doctor;
mod dose;
mod explain;
mod history;
mod http;
mod live;
mod lmbench;
mod paper;
mod report;
mod scenario;
#[cfg(feature = "schema")]
mod schema;
mod tick;
mod versus;
mod wakes;

pub use balance::Balance;
pub use bill::BillPage;
pub use bisect::BisectionPage;
pub use check::{CheckPage, ChecksPage, LimitsPage};
pub use clock_reads::ClockReads;
pub use comms::CommsPage;
pub use comparison::{ComparisonPage, OrderTests, StatesPage};
pub use doctor::DoctorPage;
pub use dose::DosePage;
pub use explain::ExplainPage;
pub use history::HistoryPage;
pub use http::{Capacities, Loads};
pub use live::LiveLine;
pub use lmbench::Tables;
pub use paper::{PaperPage, PapersPage};
pub use report::Report;
pub use scenario::Scenarios;
#[cfg(feature = "schema")]
pub use schema::{JsonSchema, schema, schemars};
pub use tick::{CpuNoise, TickPage};
pub use versus::VersusPage;
pub use wakes::WakesPage;

use serde::Serialize;
use std::collections::BTreeMap;
use tickmark_analysis::report::Header;
use tickmark_stats::Interval;

/// A figure, or `none` with why.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum FigureOrReason<T> {
    Figure(T),
    Reason(NonePage),
}

/// Why there is no figure.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NonePage {
    none: String,
}

impl<T> FigureOrReason<T> {
    fn new<F, E: ToString>(found: &Result<F, E>, figure: impl FnOnce(&F) -> T) -> Self {
        match found {
            Ok(found) => Self::Figure(figure(found)),
            Err(why) => Self::Reason(NonePage { none: why.to_string() }),
        }
    }
}

/// Stands for schemars' trait where schemas are not made: every type has it.
#[cfg(not(feature = "schema"))]
pub trait JsonSchema {}
#[cfg(not(feature = "schema"))]
impl<T> JsonSchema for T {}

/// The JSON of a command.
pub trait Page: Serialize + JsonSchema + Sized {
    /// Its name, as `tickmark schema` takes it.
    const NAME: &'static str;
    /// Raised when a reader of an older one would misunderstand.
    const VERSION: u32 = 1;

    /// Its description: that of its type.
    #[cfg(feature = "schema")]
    #[must_use]
    fn about() -> Option<serde_json::Value> {
        schema::description::<Self>()
    }
}

/// Name and version of what follows.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SchemaName {
    name: &'static str,
    version: u32,
}

/// A page with its schema's name and version before everything else.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versioned<'a, T> {
    schema: SchemaName,
    #[serde(flatten)]
    page: &'a T,
}

impl<'a, T: Page> Versioned<'a, T> {
    /// The page as it is printed.
    pub const fn new(page: &'a T) -> Self {
        Self { schema: SchemaName { name: T::NAME, version: T::VERSION }, page }
    }
}

/// A page about one recording.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded<T> {
    /// Which recording, where and how it was measured.
    recording: Header,
    #[serde(flatten)]
    page: T,
}

impl<T> Recorded<T> {
    /// The page with the header of its recording.
    pub const fn new(recording: Header, page: T) -> Self {
        Self { recording, page }
    }
}

impl<T: Page> Page for Recorded<T> {
    const NAME: &'static str = T::NAME;
    const VERSION: u32 = T::VERSION;

    #[cfg(feature = "schema")]
    fn about() -> Option<serde_json::Value> {
        T::about()
    }
}

/// Derives what a type of JSON needs.
#[cfg(not(feature = "schema"))]
#[macro_export]
macro_rules! serialized {
    ($($item:tt)*) => {
        #[derive(Debug, serde::Serialize)]
        $($item)*
    };
}

/// Derives what a type of JSON needs, its schema too.
#[cfg(feature = "schema")]
#[macro_export]
macro_rules! serialized {
    ($($item:tt)*) => {
        #[derive(Debug, serde::Serialize, $crate::json::JsonSchema)]
        #[schemars(crate = "tickmark_render::json::schemars")]
        $($item)*
    };
}

/// Defines a type of JSON together with what each of its fields is made from.
#[macro_export]
macro_rules! json_object {
    ($($(#[$about:meta])* $vis:vis struct $name:ident($($from:ident: $type:ty),*) {
        $($(#[$doc:meta])* $field:ident: $of:ty = $value:expr,)*
    })*) => {$(
        $crate::serialized! {
            $(#[$about])*
            $vis struct $name { $($(#[$doc])* $field: $of,)* }
        }

        impl $name {
            /// Takes it from what was found.
            #[must_use]
            $vis fn new($($from: $type),*) -> Self {
                Self { $($field: $value,)* }
            }
        }
    )*};
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// A page as a reader gets it.
#[cfg(test)]
pub(crate) fn value(page: &impl Page) -> serde_json::Value {
    serde_json::to_value(Versioned::new(page)).unwrap()
}

/// JSON has no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Counts by name.
fn counts(all: &[(String, u64)]) -> BTreeMap<String, u64> {
    all.iter().cloned().collect()
}
