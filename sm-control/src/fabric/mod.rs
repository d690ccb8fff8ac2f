//! Fabric files: what is wired to what, which LIDs there are, and what routing and policy need
//! of it.
//!
//! [`net`] and [`subnet_lst`] read text into a [`Fabric`], which is what the *file* says, free of
//! contradictions.

pub(crate) mod build;
pub mod damage;
pub mod detect;
pub mod error;
pub mod lids;
pub mod link;
pub mod mistaken;
pub mod model;
pub mod net;
pub mod options;
pub mod overlay;
pub mod subnet;
pub mod subnet_lst;
pub(crate) mod text;
mod train;

pub use detect::{DumpDir, Input, LoadError, Loaded, SnapshotFile, load, load_lids};
pub use error::{Found, Note, Oddity, ParseError, Position, Problem};
pub use link::{Link, LinkSpeed, LinkWidth};
pub use model::{Assumed, Fabric, LinkState, Node, NodeIx, Port, PortRef, Source, VlArbCaps};
pub use options::OpenSmOptions;
pub use overlay::LidOverlay;
pub use subnet::{EndPort, LookupError, Subnet, SubnetError, SubnetOptions, SubnetReport};
