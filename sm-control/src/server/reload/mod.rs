//! One change of the fabric, from the word of it to the snapshot in service.
//!
//! [`changes`] waits until something is due: an order, a file, an SA, OpenSM. [`loading`] takes sources
//! that have settled ([`sources`]) and has them compiled; [`copy`] does so for a snapshot that was compiled
//! elsewhere. [`publication`] puts the result into service and hands it to what outlives a restart,
//! [`rollback`] keeps what was in service before, and [`reading`] says when it was read.
//!
//! Any failure on the way leaves the snapshot in service alone.

pub(in crate::server) mod changes;
pub(in crate::server) mod copy;
pub(in crate::server) mod loading;
pub(in crate::server) mod publication;
pub(in crate::server) mod reading;
pub(in crate::server) mod reconfigured;
pub(in crate::server) mod rollback;
pub(in crate::server) mod sources;
