//! One compiled snapshot on many hosts, and none that answers with what it knows or should know to
//! be stale.
//!
//! ```text
//!   leader ──announcement──> relay ──announcement──> follower ──gate──> workers
//!     │  publish, lease        └ a follower whose offer is handed on
//!   engine
//! ```
//!
//! Nothing in here opens a file or a socket, reads a clock, starts a thread or rolls dice. What
//! happened is put in as a value with the time of both clocks; what is to be done comes out as
//! values. `docs/fleet.md` says what whoever does it must keep to, and what all this promises.
//!
//! Rooms: [`address`] (who is asked), [`announcement`] (what is signed), [`root`] (whose signatures count), [`judge`] (whether
//! it is believed), [`highest`] (what a host remembers on its disk), [`follower`], [`verdict`]
//! (whether it may answer), [`offer`] (what is handed on), [`leader`], and [`rules`], which tests
//! break one by one.

#![forbid(unsafe_code)]

pub mod address;
pub mod announcement;
mod chance;
pub mod follower;
pub mod highest;
pub mod identity;
pub mod judge;
pub mod leader;
pub mod offer;
pub mod refusal;
pub mod root;
pub mod rules;
pub mod text;
pub mod time;
pub mod trust;
pub mod verdict;
