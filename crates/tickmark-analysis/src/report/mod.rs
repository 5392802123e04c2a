//! The report of one recording: header, rows by group, findings.

mod detail;
mod findings;
mod header;
mod kinds;
mod levels;
mod marks;
mod model;
mod row;
mod rows;

pub use detail::{Bin, Detail};
pub use findings::Finding;
pub use header::{Guest, Header};
pub(crate) use header::{gigahertz, hypervisor};
pub use kinds::row_names;
pub use marks::{Mark, NoFloor, Note};
pub use model::{FactLine, Model, build, rows_of};
pub use row::{Each, Row, RowStatus, TAIL, Unit};
