//! Fabric files and dumps against what the real OpenSM wrote, and against damage.

mod agreement;
mod common;
mod damage;
mod dumps;
mod tables;
