//! Damaged files, any bytes and senseless senders: never a panic, and nothing but legal replies.
//!
//! The long runs of the same are the fuzzers in `fuzz`. `SAPPHIRE_FUZZ_SCALE=20` tries twenty times as
//! much.

mod files;
mod fleet;
mod inputs;
mod netlink;
mod requests;
mod rmpp;
