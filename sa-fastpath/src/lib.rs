//! The fast path around the answers: ports, publication, workers.

#![deny(unsafe_code)]

pub mod affinity;
pub mod overload;
pub mod port;
mod pretouch;
pub mod publish;
pub mod punt;
pub mod sampling;
pub mod stats;
mod sync;
pub mod topology;
pub mod worker;
