//! What the tables make of paths: which LIDs are reached from where, and with what.

pub mod classes;
pub(crate) mod columns;
pub(crate) mod survey;
