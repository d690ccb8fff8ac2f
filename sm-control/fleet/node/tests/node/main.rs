//! Leaders, relays and followers as they run, over loopback: real files, threads, HTTP and engine; hosts are stand-ins that note what they
//! were told.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and its rig is part of it"
)]

mod certificates;
mod faults;
mod generations;
mod made;
mod rig;
mod roots;
mod secure;
mod strangers;
mod two_leaders;
mod ways;
