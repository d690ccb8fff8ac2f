//! A Subnet Manager without its wires: what the fabric is, what each node should hold, and which SMPs lead there.
//!
//! ```text
//!  SMPs to send <── executor <── discovery ──> model ──> lids, wanted ──> reading, writing ──> executor ──> SMPs to send
//!  answers     ──> executor ──> discovery, reading, writing
//! ```
//!
//! Nothing here opens a port, reads a clock or starts a thread. The caller tells the time as a `Duration` since any
//! beginning that stays the same, takes SMPs to send, and hands in what was received. The same calls give the same SMPs.
//!
//! Rooms: [`model`], [`executor`], [`discovery`], [`keys`], [`lids`], [`wanted`], `reading` (what is held of what is wanted), [`writing`],
//! [`sweep`], which leads from finding to writing with the caller's [`plan`] between them, [`audit`], which reads back what was written,
//! [`sm_info`], which answers other SMs, [`mastership`], which says which of them is the master, and
//! [`trap`], which hears devices.

#![forbid(unsafe_code)]

pub mod audit;
pub mod discovery;
pub mod executor;
pub mod keys;
pub mod lids;
pub mod mastership;
pub mod model;
pub mod plan;
mod reading;
pub mod sm_info;
pub mod sweep;
pub mod trap;
pub mod wanted;
pub mod writing;
