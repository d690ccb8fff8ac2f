//! A fabric as the files of OpenSM and of the simulators describe it.
//!
//! What it is: the [`Fabric`] (nodes, ports, cables), the end ports and LIDs that follow from it
//! ([`Subnet`]), OpenSM's options as far as they change an answer ([`OpenSmOptions`]), and every
//! file [format](formats) in which any of this is kept.
//!
//! How it works: [`detect`] looks into a path and finds the reader; a reader in [`formats`] turns
//! text into a [`Fabric`] that is free of contradictions, or into a [`ParseError`] with its place;
//! [`Subnet`] gives out what the file leaves open, as OpenSM would. Files come in through
//! [`intake`] and go out through [`outlet`] and nowhere else, because a path may lead anywhere.
//!
//! Why apart: the compiler, a running SA as source, the tool and the tests all need fabrics, and
//! none of them needs a daemon for that.
//!
//! What it does not do: routes, policy, answers. Of those it knows only the plain values that
//! other crates compute from.
//!
//! ```text
//!  path ──> intake ──> bytes ──> detect ──> formats::* ──> build ──> Fabric ──┐
//!           (limits, xz)         mistaken    (Cursor)      (checks)           │
//!  records of an SA ───────────────────────> sa_records ───────────> Fabric ──┤
//!                                                      overlay: LIDs ──────┐  │
//!  opensm.conf ──> options ──────────────────────────────────────────────┐ │  │
//!                                                                        v v  v
//!                                routing::Topology, policy::PortFacts <── Subnet
//! ```
//!
//! Three kinds of values, from what was said to what follows from it: a [`Fabric`] is what a source
//! says and nothing else; a [`Subnet`] is what the SM at one of its ports makes of it, LIDs
//! included; a `routing::Topology` is what routing needs to know of that, in types of its own. Each
//! step can be repeated with other options without reading a file again, and tools that compare
//! states (`--fail`, lints, previews) do so.
//!
//! Begin with `model`, then `subnet`. A new format is one file in `formats`, and a line in
//! `mistaken` where it may be met in the place of another.
//!
//! Fuzzers read every format here (`fuzz/`), and `tests/fabric/damage.rs` cuts and garbles the
//! recorded files: a reader may refuse anything, but must not panic, and must name a place.

#![forbid(unsafe_code)]

mod build;
pub mod damage;
pub mod detect;
pub mod display;
pub mod error;
pub mod formats;
pub mod generate;
pub mod intake;
pub mod lids;
pub mod link;
pub mod mistaken;
pub mod model;
pub mod multicast;
pub mod options;
pub mod outlet;
pub mod overlay;
pub mod sa_records;
pub mod store;
pub mod subnet;
pub mod text;
mod train;

pub use detect::{DumpDir, Input, LoadError, Loaded, SnapshotFile, load, load_lids};
pub use error::{Found, Note, Oddity, ParseError, Problem};
pub use link::{Link, LinkSpeed, LinkWidth};
pub use model::{Assumed, Fabric, LinkState, Node, NodeIx, Port, PortRef, Source, VlArbCaps};
pub use options::OpenSmOptions;
pub use overlay::LidOverlay;
pub use subnet::{EndPort, LookupError, Subnet, SubnetError, SubnetOptions, SubnetReport};
