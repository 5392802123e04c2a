//! Effect of a setting: experiments here, kernels in the lab.

pub(in crate::command) mod answers;
pub(in crate::command) mod arms;
pub(in crate::command) mod boots;
pub(in crate::command) mod experiment;
pub(in crate::command) mod hz;
pub(in crate::command) mod lab;
pub(in crate::command) mod launched;
pub(in crate::command) mod matrix;
pub(in crate::command) mod more;
pub(in crate::command) mod papers;
pub(in crate::command) mod pilot;
pub(in crate::command) mod versus;
