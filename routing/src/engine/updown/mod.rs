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
//! | `steps` | how long paths are that climb and then descend |
//! | `plan`, `deal` | LIDs dealt over the links that have the fewest |
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
mod deal;
mod keep;
pub(super) mod levels;
mod order;
mod plan;
pub(super) mod roots;
mod slopes;
mod steps;
mod whole;

use self::cabling::Cabling;
use self::deal::{Dealer, Goal};
use self::order::Order;
use self::plan::Ground;
use self::slopes::Slopes;
use self::steps::Steps;
use self::whole::Part;
use crate::engine::Before;
use crate::kind::EngineKind;
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{EngineFacts, Lft, NO_PATH, Routes};
use crate::topology::{Topology, count32};

/// Routes a fabric; `heights` says how high its switches are, and those of the same fabric before
/// something failed. All pairs that are wired together get a path.
pub(super) fn route(
    topology: &Topology,
    engine: EngineKind,
    heights: &dyn Fn(&Topology) -> Vec<u32>,
    before: Option<Before<'_>>,
) -> Routes {
    let cabling = Cabling::new(topology);
    let part = before.and_then(|before| Part::new(topology, before, engine));
    let (lft, warning) = match &part {
        Some(part) => keep::tables(topology, &cabling, heights, part),
        None => (dealt(topology, &cabling, &heights(topology)), None),
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

/// The tables of a fabric of which nothing is known from before.
fn dealt(topology: &Topology, cabling: &Cabling, heights: &[u32]) -> Lft {
    let order = Order::new(cabling, heights);
    let slopes = Slopes::new(cabling, &order);
    let steps = Steps::new(cabling, &order, &slopes);
    let ground = Ground {
        cabling,
        order: &order,
        slopes: &slopes,
        heights,
        steps: &steps,
    };
    let goals = goals(topology);
    let mut dealer = Dealer::new(ground);
    let stride = usize::from(topology.max_lid()) + 1;
    let mut bytes = vec![NO_PATH; stride * cabling.switches()];
    let mut columns = Vec::new();
    for (turn, at) in (0..).zip(sequence(cabling, &order)) {
        let goals = &goals[at as usize];
        dealer.columns(at, turn, goals, &mut columns);
        // All LIDs of a switch at once, as they mostly lie side by side in the tables.
        for (from, row) in bytes.chunks_mut(stride).enumerate() {
            let ports = columns.iter().skip(from).step_by(cabling.switches());
            for (goal, port) in goals.iter().zip(ports) {
                row[usize::from(goal.lid)] = *port;
            }
        }
    }
    Lft::of(stride, bytes)
}

/// By switch: its LIDs and those of its hosts; of hosts with several, the first LIDs come first.
fn goals(topology: &Topology) -> Vec<Vec<Goal>> {
    let mut goals = vec![Vec::new(); topology.switches.len()];
    for end in &topology.end_ports {
        let Some((switch, port)) = end.attached else {
            continue;
        };
        goals[switch.index()].extend((0..).zip(end.lids()).map(|(offset, lid)| Goal {
            offset,
            port,
            lid: lid.get(),
        }));
    }
    for goals in &mut goals {
        goals.sort_unstable();
    }
    goals
}

/// The switches in the order in which their LIDs are dealt: down the tree, depth first, so that
/// neighbours in the tree come one after the other and share the links above them evenly.
fn sequence(cabling: &Cabling, order: &Order) -> Vec<u32> {
    let mut seen = vec![false; cabling.switches()];
    let mut sequence = Vec::with_capacity(cabling.switches());
    let mut stack = Vec::new();
    for top in order.switches() {
        stack.push(*top);
        while let Some(switch) = stack.pop() {
            if std::mem::replace(&mut seen[switch as usize], true) {
                continue;
            }
            sequence.push(switch);
            // Taken from the end, so the first comes last.
            let below = cabling
                .leaving(switch)
                .iter()
                .rev()
                .map(|bundle| bundle.far);
            stack.extend(below.filter(|far| !seen[*far as usize] && order.is_above(switch, *far)));
        }
    }
    debug_assert_eq!(count32(sequence.len()), count32(cabling.switches()));
    sequence
}
