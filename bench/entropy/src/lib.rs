//! How flow labels spread RoCE v2 flows over equal paths: switch hashes, ways to make labels, jobs,
//! and what comes of them, by simulation.
//!
//! Everything is drawn from a seed, so the same question has the same answer on every machine. The
//! switch hashes stand for kinds of hardware, not for a vendor's.

pub mod dice;
pub mod figures;
pub mod flows;
pub mod job;
pub mod method;
pub mod one_pair;
pub mod port_use;
pub mod predict;
pub mod sample;
pub mod switch;

pub use dice::Dice;
pub use method::Method;
pub use sample::Sample;
pub use switch::{Address, HashKind, PortTable, Tuple};
