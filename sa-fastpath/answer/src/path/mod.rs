//! Paths between two ports, by the rules that OpenSM grants them by.
//!
//! From a request to its records: `query` decodes what is asked, `ends` finds the ports, `judge` decides for one
//! pair of LIDs in one direction (path class, QoS level, limits, selectors, P_Key, SL, routing engine), `record`
//! builds the PathRecord, `pair` goes through the LIDs of both ports in OpenSM's order and asks `judge` for the
//! way back too. `label` has the flow labels that a policy may give.
//!
//! Two shorter ways lead to the same records, where the first path that is tried is simply granted: `terms` takes
//! all of it from tables that the builder prepared, and `origin` does that for many destinations of one source.
//! Each says so where it cannot tell, and then `judge` does; property tests compare the ways.
//!
//! A worked example, by `judge`: ports A (LIDs 4 to 7, LMC 2) and B (LID 9), a table asked with
//! NumbPath 3. `pair` tries (4, 9) first, with preference 0. Then (5, 9), (6, 9) and (7, 9), with
//! preference 2. Each is judged there and back; the first three that are granted are the table. The
//! same request as a Get ends at the first.
//!
//! Which way is taken when:
//!
//! | request | way |
//! |---|---|
//! | one record, first path simply granted | `terms`, within a batch |
//! | a table, or MultiPathRecord, with one LID each | `origin`, one `terms` for each destination |
//! | wishes, several LIDs, refusals | `pair` with `judge` |
//! | an end open, an alias, another subnet | `open_ends`, which asks `origin` or `pair` for each pair |
//!
//! `open_ends` is for requests that leave an end open, or name it by a LID of several GUIDs: the slow lane's. `group` is the path
//! to a multicast group. Nothing here knows a port or an attribute other than these records.

mod ends;
mod group;
mod judge;
mod label;
mod open_ends;
mod origin;
mod pair;
mod query;
mod rate;
mod record;
mod select;
pub(crate) mod terms;
mod unknown_sl;

pub(crate) use self::ends::{gid, is_ours, ports};
pub use self::group::{group_path, group_suits, path_to_group};
pub use self::judge::Parameters;
pub(crate) use self::label::Labels;
pub use self::open_ends::{End, Ends, find_ends, for_each_wanted_path, paths_of_pair};
pub(crate) use self::origin::Origin;
pub use self::pair::for_each_path;
pub(crate) use self::pair::{PREFERRED, Pair, each_different_path, each_further_path};
pub use self::query::{Enough, PathQuery, is_to_group};
pub(crate) use self::query::{are_codes, service_id_in_key};
pub(crate) use self::rate::rate_code;
pub(crate) use self::select::{Offer, WISHES, Wishes};
pub(crate) use self::unknown_sl::is_sl_unknown;
