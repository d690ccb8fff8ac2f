//! Where requests come in: each port of the fabric, and each ring for programs of this host.
//!
//! [`attach`] opens what a configuration names and gives each port a worker; [`supervised`] does so
//! again and again for a port whose device may go and come back; [`ring`] accepts clients of shared
//! memory; [`device`] tries a device's files for `--check`; [`descriptors`] sees to it that there
//! are enough file descriptors for all of them.
//!
//! How a request is answered is not decided here: workers are those of `sa-fastpath`, and what they
//! give away goes to the slow lane.
//!
//! ```text
//!  attach ─┬─ umad, ibsim ─> supervised: thread sa-fp-N ─> Leased(port) ─> Worker     comes and goes
//!          └─ ring ────────> thread sa-fp-N ─> Worker;  thread sa-ring-N accepts      for good
//!  each gives the slow lane a ReplyPort
//! ```

pub(in crate::server) mod attach;
pub(in crate::server) mod descriptors;
pub(in crate::server) mod device;
pub(in crate::server) mod ring;
pub(in crate::server) mod supervised;
