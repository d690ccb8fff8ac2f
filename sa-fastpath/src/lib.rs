//! Answers PathRecord queries from a snapshot: answer engine, ports, publication.

#![deny(unsafe_code)]

pub mod access;
pub mod affinity;
pub mod answer;
pub mod overload;
pub mod port;
mod prefetch;
mod pretouch;
pub mod publish;
pub mod punt;
pub mod rmpp;
pub mod sampling;
pub mod stats;
mod sync;
pub mod topology;
pub mod whole;
pub mod worker;
