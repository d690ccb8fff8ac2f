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
