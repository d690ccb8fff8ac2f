//! Answers PathRecord queries from a snapshot: answer engine, ports, publication.

#![deny(unsafe_code)]

pub mod access;
pub mod affinity;
pub mod answer;
pub mod overload;
pub mod port;
pub mod publish;
pub mod punt;
pub mod rmpp;
pub mod stats;
pub mod worker;
