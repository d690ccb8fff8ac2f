//! The routing engines: each makes the tables of a fabric.

pub mod files;
pub mod minhop;
pub mod torus;
pub mod torus_proved;
