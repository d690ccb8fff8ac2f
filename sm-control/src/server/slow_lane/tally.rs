//! What the slow lane has done, counted for operators.
//!
//! Written by the lane's thread alone and read by whoever reports, like the counters of a worker. A
//! worker counts a request by why it gives it away; here it is counted by what it asks for, when it
//! is whole:
//!
//! ```text
//!  worker  punted {attribute: 12, long_table: 3, rmpp: 40}       lane  {NodeRecord: 9, MCMemberRecord: 3, PathRecord: 3}
//! ```
//!
//! Parts of transfers, and requests that nobody waits for any more, are none of these.

use sa_port::Counter;
use sa_wire::sa::AttributeId;

/// Counts since the start. One writer: the lane.
#[derive(Debug, Default)]
pub(in crate::server) struct LaneTally {
    /// By attribute. Shape: as [`ATTRIBUTES`], then all others together.
    asked: [Counter; ATTRIBUTES.len() + 1],
    /// Given up: waited for longer than `oldest_table_ms`.
    pub(in crate::server) late: Counter,
    /// Given up: of requesters that had their share while others waited.
    pub(in crate::server) beyond_share: Counter,
}

impl LaneTally {
    /// A whole request is about to be answered.
    pub(super) fn asked(&self, attribute: AttributeId) {
        let place = ATTRIBUTES.iter().position(|known| *known == attribute);
        // Anybody may ask for any number: those without a name share a counter.
        if let Some(counter) = self.asked.get(place.unwrap_or(ATTRIBUTES.len())) {
            counter.add(1);
        }
    }

    /// Requests by the name of their attribute, without those that nobody asked for.
    pub(in crate::server) fn by_attribute(&self) -> Vec<(&'static str, u64)> {
        let names = ATTRIBUTES
            .iter()
            .map(|known| known.name().unwrap_or_default());
        let all = names.chain(["others"]).zip(&self.asked);
        let all = all.map(|(name, counter)| (name, counter.get()));
        all.filter(|(_, count)| *count > 0).collect()
    }
}

/// What Subnet Administration has names for, in the order of their numbers.
const ATTRIBUTES: [AttributeId; 23] = [
    AttributeId::CLASS_PORT_INFO,
    AttributeId::NOTICE,
    AttributeId::INFORM_INFO,
    AttributeId::NODE_RECORD,
    AttributeId::PORT_INFO_RECORD,
    AttributeId::SL_TO_VL_RECORD,
    AttributeId::SWITCH_INFO_RECORD,
    AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
    AttributeId::RANDOM_FORWARDING_TABLE_RECORD,
    AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
    AttributeId::SM_INFO_RECORD,
    AttributeId::LINK_RECORD,
    AttributeId::GUID_INFO_RECORD,
    AttributeId::SERVICE_RECORD,
    AttributeId::PKEY_TABLE_RECORD,
    AttributeId::PATH_RECORD,
    AttributeId::VL_ARBITRATION_RECORD,
    AttributeId::MC_MEMBER_RECORD,
    AttributeId::TRACE_RECORD,
    AttributeId::MULTI_PATH_RECORD,
    AttributeId::SERVICE_ASSOCIATION_RECORD,
    AttributeId::INFORM_INFO_RECORD,
    AttributeId::SERVED_SNAPSHOT,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that the table misses would be counted among the others.
    #[test]
    fn every_attribute_with_a_name_has_its_counter() {
        let named = (0..=u16::MAX)
            .map(AttributeId)
            .filter(|it| it.name().is_some());
        assert_eq!(named.collect::<Vec<_>>(), ATTRIBUTES);
    }

    #[test]
    fn a_request_counts_under_its_name_and_a_strange_one_among_the_others() {
        let tally = LaneTally::default();
        for attribute in [AttributeId::NODE_RECORD, AttributeId(0x7777)] {
            tally.asked(attribute);
        }
        tally.asked(AttributeId::NODE_RECORD);
        assert_eq!(tally.by_attribute(), [("NodeRecord", 2), ("others", 1)]);
    }
}
