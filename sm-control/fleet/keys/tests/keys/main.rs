//! Keys and root files, against minisign's own code in Rust and, where it is installed, minisign itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod minisign_agrees;
mod roots;
