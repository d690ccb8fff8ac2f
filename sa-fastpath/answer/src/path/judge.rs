//! What a path offers and whether that is what was asked for, in one direction.
//!
//! The order, which is OpenSM's, and what can end the search at each point:
//!
//! ```text
//!  path class        no path between the two
//!  QoS level         no level is for it; limits lower MTU and rate; the level's SL is not carried
//!  wishes            MTU, rate, packet life time against what the level left
//!  P_Key             the one asked for is not shared, or not the level's; no shared one at all
//!  SL                asked for but not the level's; not carried
//!  routing engine    it would change an SL that was asked for
//! ```
//!
//! Example: the path offers MTU 4096 and 100 Gb/s, the level limits the MTU to 2048. "Exactly 2048"
//! and "greater than 1024" are granted with 2048, "exactly 4096" is refused, though the links could
//! do it.
//!
//! Cost: a class, a match of the policy and a few comparisons. Called once or twice for each pair
//! of LIDs.

use sa_snapshot::model::PathSl;
use sa_snapshot::{LevelRecord, PortIx, Snapshot, level_flags};
use sa_wire::{Sl, SlVlMask};

use super::query::{Direction, PathQuery};
use super::select::Offer;

/// What a PathRecord says of a path beside its ends.
///
/// Lives from one judgement to the record built of it. Of the way back only that there is one
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// MTU code, 1 to 5.
    pub mtu: u8,
    /// Rate rank: place in the order of speeds, as codes are not in that order.
    pub rate: u8,
    /// Packet life time, the exponent of 4.096 us; above 63 where a level says so.
    pub packet_life: u8,
    /// P_Key, 0 for raw traffic.
    pub pkey: u16,
    /// Service level, 0 to 15.
    pub sl: u8,
}

/// Judges the path from `source` to `destination_lid`. None when there is none, or none that the
/// policy allows and the request wants.
///
/// `RFC`: also what OpenSM's dialect of policies cannot say counts; false where the policy says
/// nothing of the kind, so that it costs nothing there.
/// `direction` tells which of the ends the query calls its source.
/// Source: OpenSM `osm_sa_path_record.c` (`pr_rcv_get_path_parms`), whose order is kept: life
/// times, selectors, P_Key, SL, routing engine.
#[inline(always)]
pub(crate) fn judge<const RFC: bool>(
    snapshot: &Snapshot,
    query: &PathQuery,
    direction: Direction,
    source: PortIx,
    destination: PortIx,
    destination_lid: u16,
) -> Option<Parameters> {
    // First, as everything else is about a path that there is.
    let path = snapshot.path(source, destination, destination_lid)?;
    let level = match &query.classes {
        Some(classes) if RFC => {
            let end = (destination, destination_lid);
            let rare = query.rare_input(direction);
            Some(snapshot.match_rare(source, end, classes, &rare)?.level)
        }
        Some(classes) => Some(snapshot.match_level(source, destination, classes)?.level),
        None => None,
    };
    let level_sl = match level {
        // A level of another dialect may leave the SL open, which 0 cannot say.
        Some(level) if RFC => level.sl(),
        level => level.map(|level| level.sl),
    };
    let (mut mtu, mut rate) = (path.mtu, path.rate);
    if let Some(level) = level {
        mtu = limited(mtu, level.mtu_limit);
        rate = limited(rate, level.rate_limit);
        if level_sl.is_some_and(|sl| !carries(path.carried, sl)) {
            return None;
        }
    }
    // After the level's limits: selectors are held against what these leave.
    let offer = query.wishes().of_offer(Offer {
        mtu,
        rate,
        packet_life: packet_life(snapshot, level, source == destination),
    })?;
    let pkey = pkey(snapshot, query, level, source, destination)?;
    let sl = sl(snapshot, query, level_sl, path.carried, pkey)?;
    // Last: the engine turns what policy and partition chose into an SL whose lower bits it owns.
    let finished = match path.sl {
        PathSl::Given(sl) => sl.get(),
        PathSl::Policy => snapshot.engine_sl(sl, source, destination),
        // Of the way back only that there is one counts. On the way there `unknown_sl` saw to it.
        PathSl::Unknown if direction == Direction::Back && query.requested_sl().is_none() => sl,
        PathSl::Unknown => return None,
    };
    if finished != sl && query.requested_sl().is_some() {
        return None;
    }
    // Raw traffic has no P_Key, but its SL was found by the shared one.
    let pkey = if query.raw_traffic { 0 } else { pkey };
    Some(Parameters {
        mtu: offer.mtu,
        rate: offer.rate,
        packet_life: offer.packet_life,
        pkey,
        sl: finished,
    })
}

/// The lesser of a value and a limit, where 0 is no limit.
#[inline(always)]
const fn limited(value: u8, limit: u8) -> u8 {
    if limit != 0 && limit < value {
        limit
    } else {
        value
    }
}

/// A level may name an SL that does not exist; no path carries it.
#[inline(always)]
fn carries(carried: SlVlMask, sl: u8) -> bool {
    Sl::new(sl).is_ok_and(|sl| carried.carries(sl))
}

/// The level's, else the subnet's; 0 for a path to oneself, as OpenSM gives it.
#[inline(always)]
fn packet_life(snapshot: &Snapshot, level: Option<&LevelRecord>, loopback: bool) -> u8 {
    // A path to oneself first, whatever the level says.
    match level {
        _ if loopback => 0,
        Some(level) if level.has(level_flags::PACKET_LIFE) => level.packet_life,
        _ => snapshot.subnet().packet_life,
    }
}

/// The P_Key of the path; 0 only for raw traffic between ports that share none.
#[inline(always)]
fn pkey(
    snapshot: &Snapshot,
    query: &PathQuery,
    level: Option<&LevelRecord>,
    source: PortIx,
    destination: PortIx,
) -> Option<u16> {
    if query.raw_traffic {
        return Some(snapshot.shared_pkey(source, destination));
    }
    let allowed = level
        .map(|level| snapshot.level_pkeys(level))
        .unwrap_or_default();
    // A P_Key that was asked for must pass both tests, and comes back as it was asked for.
    if let Some(requested) = query.requested_pkey() {
        let base = requested & 0x7fff;
        let in_level = || {
            allowed
                .iter()
                .any(|range| (range.first..=range.last).contains(&base))
        };
        let shared = snapshot.share_pkey(source, destination, requested);
        return (shared && (allowed.is_empty() || in_level())).then_some(requested);
    }
    // A level with P_Keys gives one of its own, even where the ports' first shared one is another.
    if !allowed.is_empty() {
        return level_pkey(snapshot, allowed, source, destination);
    }
    let shared = snapshot.shared_pkey(source, destination);
    (shared != 0).then_some(shared)
}

/// The lowest P_Key of the level's that both ports share; as the policy writes it, without
/// membership.
#[inline(never)]
fn level_pkey(
    snapshot: &Snapshot,
    allowed: &[sa_snapshot::PkeyRangeRecord],
    source: PortIx,
    destination: PortIx,
) -> Option<u16> {
    // The source's table is far shorter than the ranges may be.
    let bases = snapshot.pkeys(source).iter().map(|key| key & 0x7fff);
    let in_level = |base: &u16| {
        allowed
            .iter()
            .any(|range| (range.first..=range.last).contains(base))
    };
    bases
        .filter(in_level)
        .filter(|base| snapshot.share_pkey(source, destination, *base))
        .min()
}

/// The SL before the routing engine's say. `level` is the level's, if it gives one.
#[inline(always)]
fn sl(
    snapshot: &Snapshot,
    query: &PathQuery,
    level: Option<u8>,
    carried: SlVlMask,
    pkey: u16,
) -> Option<u8> {
    // Most specific first: the request, the level, the partition, and for raw traffic what the path
    // carries.
    let sl = match (query.requested_sl(), level) {
        (Some(requested), Some(level)) if level != requested => return None,
        (Some(requested), _) => requested,
        (None, Some(level)) => level,
        (None, None) if pkey != 0 => snapshot.partition_sl(pkey),
        (None, None) => lowest(carried),
    };
    carries(carried, sl).then_some(sl)
}

/// The lowest SL that the path carries, 0 where it does.
fn lowest(carried: SlVlMask) -> u8 {
    Sl::ALL
        .iter()
        .find(|sl| carried.carries(**sl))
        .map_or(0, |sl| sl.get())
}
