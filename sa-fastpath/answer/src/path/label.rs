//! Flow labels of answers, where the policy gives some: they act where packets carry a global route
//! header. Source: reference on RoCE v2 entropy, section 6.
//!
//! A flow label in a PathRecord reaches the wire in RoCE v2 as the UDP source port, by which
//! switches hash packets over equal paths. Labels are given by rules:
//!
//! | rule says | label of a pair's nth path |
//! |---|---|
//! | nothing | 0, and hop limit 0: as OpenSM answers |
//! | one label | that one |
//! | a hash | `fmix64` over both GIDs, ordered, and the service id |
//! | n ways | labels of the ports 0xc001 and following, so that a client with n connections gets n ways |
//!
//! Linux makes a global route header, and with it a label, only for a hop limit of 1 and more; so a
//! labelled path inside the subnet says 1.
//!
//! Fixed points: the way back has the same label (the GIDs are ordered before they are mixed), and
//! a label that a request asks for comes back as it was sent.

use core::hint::select_unpredictable;

use sa_snapshot::{FlowLabels, PortIx, Snapshot};
use sa_wire::Gid;
use sa_wire::path_record::{FlowWord, PathCompMask, PathRecord};
use sa_wire::roce::{FlowLabel, SourcePort, fmix64, set_label};

use super::ends::gid;
use super::query::{Direction, PathQuery};

/// Hop limit of a labelled path inside the subnet: Linux makes a global route header from 1 on, and
/// takes more for a path through routers.
const WITHIN_SUBNET: u8 = 1;

/// What the paths between two ports carry, for one request.
///
/// Worked out once a pair and copied into each of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labels {
    /// None: flow label and hop limit are 0, as OpenSM answers.
    None,
    /// The label that was asked for: a component that counts comes back as it was sent.
    Asked(FlowLabel),
    /// What the rule gives.
    Given(FlowLabels),
}

impl Labels {
    /// Those of the rule that decides about the path from `source` to `destination`.
    #[inline]
    pub(crate) fn of(
        snapshot: &Snapshot,
        query: &PathQuery,
        source: PortIx,
        destination: PortIx,
    ) -> Self {
        match query.classes {
            Some(classes) if snapshot.gives_flow_labels() => {
                let rare = query.rare_input(Direction::There);
                let given = snapshot.flow_labels(source, destination, &classes, &rare);
                Self::asked(query, given)
            }
            _ => Self::None,
        }
    }

    /// Where the rule gives labels, one that was asked for comes back instead.
    fn asked(query: &PathQuery, given: FlowLabels) -> Self {
        match given {
            FlowLabels::None => Self::None,
            _ if query.mask.has(PathCompMask::FLOW_LABEL) => {
                Self::Asked(FlowLabel::from_low_bits(query.record.flow.flow_label()))
            }
            given => Self::Given(given),
        }
    }

    /// How many records a pair of ports gets at least, where there is a path: its paths come again
    /// under further labels. Where an end is left open, tables stay as long as they are.
    pub(super) fn records(self, query: &PathQuery) -> u32 {
        let source = PathCompMask::SGID.union(PathCompMask::SLID);
        let destination = PathCompMask::DGID.union(PathCompMask::DLID);
        match self {
            // Both ends are named: the table is for one pair, and may grow.
            Self::Given(FlowLabels::Spread(count))
                if query.mask.has(source) && query.mask.has(destination) =>
            {
                count.into()
            }
            _ => 1,
        }
    }

    /// Flow label and hop limit of the pair's `nth` path, from 0, between these GIDs.
    #[inline(always)]
    pub(super) fn flow(self, query: &PathQuery, ends: ([u8; 16], [u8; 16]), nth: u32) -> FlowWord {
        match self {
            Self::None => FlowWord::default(),
            some => some.set_flow(query, ends, nth),
        }
    }

    /// Out of line, as most policies give none.
    #[inline(never)]
    fn set_flow(self, query: &PathQuery, ends: ([u8; 16], [u8; 16]), nth: u32) -> FlowWord {
        flow_word(match self {
            Self::None => FlowLabel::UNSET,
            Self::Asked(label) => label,
            Self::Given(FlowLabels::Spread(count)) => nth_of_spread(nth, count),
            Self::Given(given) => label(given, ends, service_id(query)),
        })
    }

    /// The record by other GIDs of its ends, which a hash depends on.
    pub(crate) fn renamed(
        self,
        snapshot: &Snapshot,
        query: &PathQuery,
        record: PathRecord,
    ) -> PathRecord {
        // Only a hash depends on the GIDs.
        if self != Self::Given(FlowLabels::Hash) {
            return record;
        }
        let ends = (named_gid(snapshot, record.sgid), record.dgid);
        PathRecord {
            flow: self.flow(query, ends, 0),
            ..record
        }
    }
}

/// Flow label and hop limit of the only path between two ports, for a request that asks for no label
/// and, where `service_id` is 0, for no service. Shape: GIDs with the subnet's prefix.
#[inline(never)]
pub(super) fn only_flow(
    given: FlowLabels,
    ends: ([u8; 16], [u8; 16]),
    service_id: u64,
) -> FlowWord {
    flow_word(label(given, ends, service_id))
}

/// The label of a pair's first path: of several that a rule spreads, the first.
#[inline(always)]
fn label(
    given: FlowLabels,
    (source, destination): ([u8; 16], [u8; 16]),
    service_id: u64,
) -> FlowLabel {
    match given {
        FlowLabels::None => FlowLabel::UNSET,
        FlowLabels::Fixed(label) => label,
        FlowLabels::Hash => hash(source, destination, service_id),
        FlowLabels::Spread(count) => nth_of_spread(0, count),
    }
}

/// A label with the hop limit that makes Linux send a global route header; 0 for no label.
#[inline(always)]
fn flow_word(label: FlowLabel) -> FlowWord {
    match label.is_set() {
        true => FlowWord::new(label.get(), WITHIN_SUBNET),
        false => FlowWord::default(),
    }
}

/// The port's GID for a hash: with the subnet's prefix, however it was asked for, so that both ends
/// get the same.
pub(super) fn named_gid(snapshot: &Snapshot, named: [u8; 16]) -> [u8; 16] {
    gid(snapshot, Gid(named).interface_id().to_be_bytes())
}

/// A label from both GIDs and the service, the same whichever end asks and never 0.
///
/// Both ends of a connection must get one label, or their packets would take two ways; so the GIDs
/// are ordered before they are mixed.
fn hash(one: [u8; 16], other: [u8; 16], service_id: u64) -> FlowLabel {
    // As whole numbers, so that "ordered" is one comparison.
    let [one, other] = [one, other].map(u128::from_be_bytes);
    // Which end comes first is as good as random.
    let (least, most) = select_unpredictable(one <= other, (one, other), (other, one));
    let [[a, b], [c, d]] = [least, most].map(halves);
    let words = [a, b, c, d, service_id];
    set_label(
        words
            .into_iter()
            .fold(0, |mixed, word| fmix64(mixed ^ word)),
    )
}

/// The upper and the lower half.
#[expect(clippy::cast_possible_truncation, reason = "halves")]
const fn halves(gid: u128) -> [u64; 2] {
    [(gid >> 64) as u64, gid as u64]
}

/// The service that the request is for, 0 for none.
fn service_id(query: &PathQuery) -> u64 {
    match query.mask.has(PathCompMask::SERVICE_ID_MSB) {
        true => query.record.service_id.get(),
        false => 0,
    }
}

/// Labels of UDP source ports one after another, from the one behind 0xc000 on: that is the port of
/// packets without a label.
fn nth_of_spread(nth: u32, count: u8) -> FlowLabel {
    // A count of 0 gives the first, not a division by it; the builder lets none through.
    let nth = nth.checked_rem(u32::from(count)).unwrap_or(0);
    let port = u16::try_from(nth + 1).map(|nth| SourcePort::MIN.get() + nth);
    let port = port.ok().and_then(|port| SourcePort::new(port).ok());
    port.unwrap_or(SourcePort::MIN).label()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, 3];
    const B: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, 4];

    #[test]
    fn a_spread_gives_each_record_a_port_of_its_own() {
        for count in 2..=FlowLabels::MOST {
            let labels = (0..u32::from(count)).map(|nth| nth_of_spread(nth, count));
            let ports = labels.map(|label| label.source_port().get());
            assert!(ports.eq((1..=u16::from(count)).map(|nth| 0xc000 + nth)));
            assert_eq!(nth_of_spread(count.into(), count), nth_of_spread(0, count));
        }
    }

    #[test]
    fn both_ends_have_one_hash_and_services_have_others() {
        let ids: Vec<FlowLabel> = (0..64).map(|id| hash(A, B, id)).collect();
        assert!(ids.iter().all(|label| label.is_set()));
        assert_eq!(ids[5], hash(B, A, 5));
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert!(different.len() > 60);
        assert_ne!(hash(A, A, 0), hash(A, B, 0));
    }
}
