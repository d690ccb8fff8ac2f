//! What every engine returns: forwarding tables, SL to VL tables, a multicast tree, and facts.
//!
//! [`Routes`] holds them together. The tables are what switches hold: an output port per LID
//! ([`Lft`]), a VL per SL, input and output port. [`EngineFacts`] is what tables cannot tell: how
//! the SL of a path is found, where switches are, which tree multicast uses. All are values, so
//! that proofs, path classes, exports and drawings work for any engine, and one more engine changes
//! none of them.
//!
//! Forwarding tables of one fabric are large, and after most changes nearly all stay as they were:
//! [`Lft`] shares their memory with the routes before, and only switches with other entries get
//! tables of their own. [`survivors`] keeps what is left of routes when an engine refuses.
//!
//! Nothing here chooses a way or proves one: see [`crate::engine`] and [`crate::proof`].
//!
//! # What a switch holds
//!
//! | table | index | entry | here |
//! |---|---|---|---|
//! | linear forwarding table | LID | output port, 255 for none | [`Lft`], 1 byte |
//! | SL to VL | input port, output port, SL | VL, 15 drops | `Sl2Vl`, by kinds of ports |
//! | multicast forwarding table | MLID | set of ports | [`PortSet`], made when asked for |
//!
//! For 16x16x16 with one host a switch the first takes 34 MB. SL2VL tables spelt out would take 37
//! x 37 tables of 16 VLs on each switch of 36 ports; engines make at most a handful of different
//! ones, so that only kinds of ports are kept ([`GivenSl2Vl`] is how others come in).

mod changed;
mod facts;
mod lft;
pub(crate) mod multicast;
mod path_sl_table;
mod routes;
pub(crate) mod sl2vl;
mod survivors;

pub use self::changed::{ChangedEntries, changed_entries};
pub use self::facts::{EngineFacts, PathSlRule};
pub use self::lft::{Lft, NO_PATH};
pub use self::multicast::{
    Branch, GroupTrees, MulticastRoute, MulticastTable, MulticastTree, PortSet, SpanningTree,
};
pub use self::path_sl_table::PathSlTable;
pub(crate) use self::routes::Origin;
pub use self::routes::{Qos, Routes};
pub use self::sl2vl::GivenSl2Vl;
pub use self::survivors::{sls_left, survivors, torus_left};
