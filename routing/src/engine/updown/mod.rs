//! Paths that climb and then descend: what the engines `updn` and `ftree` have in common.
//!
//! An engine says how high each switch is ([`levels`]), and this room does the rest:
//!
//! ```text
//! heights ──> order ──> steps ──> deal ──> tables
//!             who is    how far   which of the
//!             above     it is     equal ways
//! ```
//!
//! | file | what |
//! |---|---|
//! | `roots` | the roots that are named |
//! | `levels` | heights, by roots that are named or found |
//! | `cabling` | cables as flat arrays, parallel ones together |
//! | `order` | an order of the switches in which every pair has a path |
//! | `slopes` | which cables lead up |
//! | `goals` | LIDs in the order in which they are dealt |
//! | `steps` | how long paths are that climb and then descend |
//! | `ground` | all of these, worked out once |
//! | `chains` | the way down to each LID, over the links that have the fewest |
//! | `joined` | who comes to that way |
//! | `ways`, `rows` | the entries of each switch |
//! | `relieve` | paths moved from links that have more than others |
//! | `whole`, `keep` | entries that stay when something fails, and come back when it does |
//!
//! # Why it cannot deadlock
//!
//! A channel up waits for a channel further up, or for one down; a channel down only for one
//! further down. No circle can be made of that, whatever the order is, with one VL, and for packets
//! of switches too. `proof` shows it anew for every table.
//!
//! # What it does not do
//!
//! Paths that turn from down to up are never used, so that a fabric that is no tree (a torus, a
//! dragonfly) has longer paths and a crowded top: other engines do better there.

mod cabling;
mod chains;
mod goals;
mod ground;
mod joined;
mod keep;
pub(super) mod levels;
mod order;
mod relieve;
pub(super) mod roots;
mod rows;
mod slopes;
mod steps;
mod ways;
mod whole;

use self::cabling::Cabling;
use self::ground::Ground;
use self::order::Order;
use self::whole::Part;
use crate::engine::Before;
use crate::kind::EngineKind;
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{EngineFacts, Routes};
use crate::topology::Topology;
use crate::watch::Stretch;

/// Routes a fabric; `heights` says how high its switches are, and those of the same fabric before
/// something failed. All pairs that are wired together get a path.
pub(super) fn route(
    topology: &Topology,
    engine: EngineKind,
    heights: &dyn Fn(&Topology) -> Vec<u32>,
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Routes {
    let cabling = Cabling::new(topology);
    let part = before.and_then(|before| Part::new(topology, before, engine));
    let order = part
        .as_ref()
        .and_then(|part| keep::old_order(&cabling, heights, part));
    let heights = heights(topology);
    let order = order.unwrap_or_else(|| Order::new(&cabling, &heights));
    let ground = Ground::new(topology, &cabling, order, heights, share.cut(5..35));
    let share = share.cut(35..100);
    let (lft, warning) = match &part {
        Some(part) => keep::tables(topology, &ground, part, share),
        None => (rows::tables(topology, &ground, share), None),
    };
    let facts = EngineFacts {
        keeps_configured_sl2vl: true,
        ..EngineFacts::default()
    };
    Routes {
        facts,
        origin: part.filter(|part| !part.is_all).map(|part| part.whole),
        warnings: warning.into_iter().collect(),
        ..Routes::new(topology, engine, lft, Sl2Vl::configured(topology))
    }
}
