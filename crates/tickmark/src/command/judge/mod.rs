//! Commands on recordings: show, compare, judge.

pub(in crate::command) mod check;
pub(in crate::command) mod compare;
pub(in crate::command) mod gates;
pub(in crate::command) mod history;
pub(in crate::command) mod recordings;
pub(in crate::command) mod report;
pub(in crate::command) mod show;
pub(in crate::command) mod stat;
