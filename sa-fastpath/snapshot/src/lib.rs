//! The immutable block that the slow path builds and the fast path answers from.

pub mod model;
