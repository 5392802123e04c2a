//! What there is to say of one recording: header, rows by group, findings.

mod detail;
mod findings;
mod header;
mod levels;
mod marks;
mod model;
mod row;
mod rows;

pub use detail::{Bin, Detail};
pub use findings::Finding;
pub use header::{Guest, Header};
pub use marks::{Mark, NoFloor, Note};
pub use model::{Known, Model, build};
pub use row::{Each, Row, RowStatus, Unit};
pub use rows::row_names;
