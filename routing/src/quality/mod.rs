//! How good routes are, as figures: routes in, numbers out.
//!
//! [`crate::proof`] says whether tables may be used; this says how much they are worth. Two
//! questions, and for each a figure that needs no simulator of packets:
//!
//! | question | figure | function |
//! |---|---|---|
//! | are the cables used evenly? | paths over each link, the most and the mean | [`loads`] |
//! | what does a host get when all send at once? | effective bandwidth over random permutations | [`bandwidth`] |
//!
//! # An example
//!
//! Two leaves with two hosts each, joined by two cables. Each leaf sends to two foreign LIDs:
//!
//! ```text
//! both over one cable:  paths by link  4 0 | 4 0     most 4, mean 2
//! one over each:        paths by link  2 2 | 2 2     most 2, mean 2
//! ```
//!
//! When the hosts of one leaf send to those of the other, each to one, the first tables give every
//! flow half a link, the second a whole one.
//!
//! # What it does not do
//!
//! All links count alike, whatever their rate, and so do all hosts. VLs are left out: they share
//! the bandwidth of their link, so that no figure here depends on them. Packets of switches (port
//! 0) are management traffic and not counted. Nothing says how good the best tables of a fabric
//! would be: compare engines on one fabric, not fabrics with each other.

mod bandwidth;
pub(crate) mod links;
pub(crate) mod loads;

pub use self::bandwidth::{Bandwidth, bandwidth};
pub use self::loads::{Loads, loads};
