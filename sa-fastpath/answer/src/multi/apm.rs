//! Two paths that share no end, for automatic path migration.
//!
//! Of the four paths between two sources and two destinations those of one diagonal are given,
//! each between LIDs whose place depends on all four ports, so that the load spreads and either
//! side gets the same paths. Source: OpenSM `osm_sa_multipath_record.c`
//! (`mpr_rcv_get_apm_paths`).
//!
//! Asked by NumbPath 2 with two sources and two destinations. Say S0, S1 and D0, D1 in the
//! snapshot's order of ports:
//!
//! ```text
//!  straight   S0 -> D0, S1 -> D1        crossed   S0 -> D1, S1 -> D0
//! ```
//!
//! The diagonal with the shorter path wins, the straight one when both are alike. Both of its paths
//! are returned, or one where the other does not exist.

use sa_snapshot::{NamedPort, PortIx, Snapshot};
use sa_wire::path_record::PathRecord;

use super::towards;
use crate::PathQuery;
use crate::path::{PREFERRED, Pair, gid};

/// A path and its length, by which the better diagonal is chosen.
///
/// OpenSM compares lengths in hops; the snapshot knows those of a dense table and works them out
/// from coordinates on a torus.
type Found = Option<(PathRecord, u8)>;

/// The paths of the better diagonal, those that exist. Who may see whom is not asked here.
pub(super) fn paths(
    snapshot: &Snapshot,
    query: &PathQuery,
    sources: [NamedPort; 2],
    destinations: [NamedPort; 2],
) -> [Option<PathRecord>; 2] {
    // Ordered first, so that a client and its peer, who list the ports the other way round, get the
    // same two paths.
    // Ports are numbered in the order of their GUIDs.
    let ([s0, s1], [d0, d1]) = (ordered(sources), ordered(destinations));
    let place = place(snapshot, [s0, s1, d0, d1].map(|named| named.port));
    let path = |source, destination, place| any_path(snapshot, query, (source, destination), place);
    let straight = [path(s0, d0, place), path(s1, d1, place + 1)];
    let crossed = [path(s0, d1, place), path(s1, d0, place + 1)];
    let best = if shortest(&straight) <= shortest(&crossed) {
        straight
    } else {
        crossed
    };
    best.map(|found| found.map(|(record, _)| record))
}

/// By the ports' own GUIDs; two GUIDs of one port change places.
fn ordered([one, other]: [NamedPort; 2]) -> [NamedPort; 2] {
    if one.port < other.port {
        [one, other]
    } else {
        [other, one]
    }
}

/// Where among its LIDs each port of the first pair begins.
fn place(snapshot: &Snapshot, ports: [PortIx; 4]) -> u16 {
    let [source, _, destination, _] = ports.map(|port| snapshot.port(port));
    // The subnet's LMC, unless all four have one LID and every place is the same.
    let lmcs = ports.map(|port| snapshot.port(port).lmc());
    // At most 7: the LMC has three bits.
    let lmc = lmcs.into_iter().max().unwrap_or(0) & 7;
    spread(source.lid, destination.lid, lmc)
}

/// A number below 103, the same from either side. OpenSM makes it from LIDs in network byte order,
/// read as its host's numbers.
fn spread(source_lid: u16, destination_lid: u16, lmc: u8) -> u16 {
    let (source, destination) = (source_lid.swap_bytes(), destination_lid.swap_bytes());
    let low = source.min(destination) >> lmc;
    let high = source.max(destination) >> lmc;
    let mixed = (u32::from(low) << 4 | u32::from(high)) % 103;
    u16::try_from(mixed).unwrap_or(0)
}

/// The first path between LIDs of the same place, from `place` on and round.
fn any_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    (source, destination): (NamedPort, NamedPort),
    place: u16,
) -> Found {
    let mut query = *query;
    query.record.sgid = gid(snapshot, source.guid);
    let named = (source.port, destination);
    let towards = |record| towards(snapshot, &query, named, &record);
    let (source, destination) = (source.port, destination.port);
    let pair = Pair::new(snapshot, &query, source, destination);
    let (slids, dlids) = (pair.source_lids, pair.destination_lids);
    let count = |lids: (u16, u16)| lids.1 - lids.0 + 1;
    // As many tries as the shorter range of LIDs: then each LID of it had its turn.
    let tries = place..place + count(slids).min(count(dlids));
    tries.into_iter().find_map(|place| {
        let lid = |lids: (u16, u16)| lids.0 + place % count(lids);
        let (slid, dlid) = (lid(slids), lid(dlids));
        let record = path(snapshot, &pair, slid, dlid)?;
        Some((towards(record), length(snapshot, source, destination, dlid)))
    })
}

/// The path between two LIDs by the rules that the policy needs. Out of line: it is called four
/// times.
#[inline(never)]
fn path(snapshot: &Snapshot, pair: &Pair<'_>, slid: u16, dlid: u16) -> Option<PathRecord> {
    if snapshot.is_plain() {
        pair.path::<false>(slid, dlid, PREFERRED, 0)
    } else {
        pair.clone()
            .labelled()
            .path::<true>(slid, dlid, PREFERRED, 0)
    }
}

/// The length of the shorter path. As in OpenSM a path to oneself, which has none, is the shorter
/// one when it comes second, and no path when it comes first.
fn shortest([first, second]: &[Found; 2]) -> u8 {
    let length = |found: &Found| found.as_ref().map(|(_, length)| *length);
    match (length(first).unwrap_or(0), length(second)) {
        (first, None) => first,
        (0, Some(second)) => second,
        (first, Some(second)) => first.min(second),
    }
}

/// How many links the path has, as OpenSM counts them when it chooses a diagonal.
fn length(snapshot: &Snapshot, source: PortIx, destination: PortIx, lid: u16) -> u8 {
    if source == destination {
        return 0;
    }
    let (from, to) = (snapshot.port(source), snapshot.port(destination));
    let switches = match snapshot.path(source, destination, lid) {
        // A uniform snapshot keeps no lengths, as none appears in an answer: the coordinates tell
        // them.
        Some(_) if !snapshot.tells_lengths() && from.switch != to.switch => {
            distance(snapshot, source, destination)
        }
        Some(path) => path.hops,
        None => 0,
    };
    // Every switch is left by one link, but the last if it is the destination; the source's own
    // link comes before them.
    let first = u8::from(!from.is_switch());
    let links = switches.saturating_add(first);
    links.saturating_sub(u8::from(to.is_switch()))
}

/// Switches between two of different switches, were the torus whole; 2 on other fabrics.
fn distance(snapshot: &Snapshot, source: PortIx, destination: PortIx) -> u8 {
    let (from, to) = (snapshot.port(source), snapshot.port(destination));
    let axes = from.coordinates().into_iter().zip(to.coordinates());
    let steps = axes.zip(snapshot.subnet().radix).map(|((a, b), radix)| {
        let direct = a.abs_diff(b);
        direct.min(radix.wrapping_sub(direct))
    });
    steps.fold(1, u8::saturating_add).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observed of OpenSM: LIDs 24 and 12 with LMC 2 gave offset 2, LIDs 2 and 16 with LMC 1 gave 1.
    #[test]
    fn the_place_is_the_same_from_either_side() {
        assert_eq!(spread(24, 12, 2) % 4, 2);
        assert_eq!(spread(12, 24, 2) % 4, 2);
        assert_eq!(spread(2, 16, 1) % 2, 1);
        assert_eq!(spread(16, 2, 1) % 2, 1);
    }
}
