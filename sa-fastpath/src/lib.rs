//! Answers PathRecord queries from a snapshot: answer engine, ports, publication.

pub mod port;
