//! How the links of a subnet are: what their ports count, and how they run.
//!
//! ```text
//!  a sweep ──> Seen ──> Health ──┬─ questions to ports, at a bounded rate <──> the performance class
//!                                ├─ findings: place, numbers, cause, remedy
//!                                └─ news: what has begun, what is over
//! ```
//!
//! Nothing here opens a port, reads a clock or starts a thread. The caller tells the time as a `Duration` since any beginning
//! that stays the same, takes questions to send, and hands in what was received. Memory goes with the number of links, whatever
//! devices answer.
//!
//! Counters of a port are read and never written, unless the options say so: other tools read them too. So all judgements are
//! made of what was counted between two readings, and nothing is said of what was there before the first one.

#![forbid(unsafe_code)]

mod asking;
pub mod counters;
mod finding;
mod health;
mod hour;
mod kind;
pub mod link;
mod rules;
mod seen;
mod watch;

pub use self::asking::{Ask, Asked, Clear, Options};
pub use self::finding::{Finding, News, Place};
pub use self::health::{Health, PortReport, Report};
pub use self::kind::{Kind, Severity};
pub use self::seen::{Device, Port, Seen};
