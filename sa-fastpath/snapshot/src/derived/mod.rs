//! What is worked out once, when a snapshot is taken up, so that the lookups of common requests are
//! short.
//!
//! Nothing of it is in the file: it follows from sections that were verified, so a second program
//! need not agree on it, and a change of it is no change of the format. It is small (levels by
//! rule, codes by capacity, memberships by P_Key table) or pays for its memory by a measured figure
//! ([`PairBits`], [`ServiceIndex`]).
//!
//! It also says where a shorter way may be taken at all: [`Derived::is_common`],
//! [`Derived::uniform`], [`Derived::by_service`]. Whoever takes one relies on that and checks
//! nothing again. It decides nothing that the tables do not say.

mod pair_bits;
mod service_index;

use sa_wire::SlVlMask;

pub use self::pair_bits::PairBits;
pub(crate) use self::service_index::ServiceIndex;
use crate::flow_labels::FlowLabels;
use crate::format::Sections;
use crate::format::policy_records::{LevelRecord, PolicyRecord, level_flags, semantics};
use crate::format::records::{
    COORDINATE_BITS, PAIRS_UNIFORM, PortRecord, RATE_RANKS, REVERSE_PATH, REVERSE_POLICY,
    SubnetRecord, pack_capacity, unpack_capacity,
};
use crate::model::PathSl;
use crate::pkeys::Membership;

/// All that is worked out; see the module for why.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    /// The subnet's prefix as bytes of the wire lie in a word.
    pub(crate) prefix: u64,
    /// Nothing about subnet or policy sets a common request apart from any other.
    pub(crate) is_common: bool,
    /// Nothing but flow labels does.
    pub(crate) is_common_but_for_labels: bool,
    /// Paths of two classes only.
    pub(crate) uniform: Option<UniformPaths>,
    /// The class of some path does not know its SL.
    pub(crate) has_unknown_sls: bool,
    /// How to tell which rings a way crosses the dateline of.
    pub(crate) datelines: Datelines,
    /// Of the policy's service ids.
    pub(crate) services: ServiceIndex,
    /// Words of a rule set, where `policy::by_service` tells the first rule.
    pub(crate) by_service: Option<usize>,
    /// Between which ends some rule may hold, where that is worth a look.
    pub(crate) pairs: Option<PairBits>,
    /// By rule, the last for none.
    pub(crate) levels: Box<[PackedLevel]>,
    /// Distinct flow labels of rules, see [`PackedLevel::labels`].
    pub(crate) labels: Box<[FlowLabels]>,
    /// By packed capacity: codes of MTU and rate.
    pub(crate) codes: Codes,
    /// The P_Key that all share where all have one table; 0 where it has to be looked up.
    pub(crate) only_pkey: u16,
    /// No level has a packet life time whose topmost bit is lost in [`PackedLevel::packet_life`].
    pub(crate) tells_packet_lives: bool,
    /// In the default partition, by distinct P_Key table. Empty where a table may have both
    /// memberships.
    pub(crate) in_default: Box<[Membership]>,
}

/// Packed capacities of the two classes; every pair of common ports has one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UniformPaths {
    /// Of a path whose ends are on one switch.
    pub(crate) within: u8,
    /// Of a path whose ends are on two switches.
    pub(crate) across: u8,
}

/// What a level of a common policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C, align(4))]
pub struct PackedLevel {
    /// Packed capacity that no path exceeds.
    pub(crate) limit: u8,
    /// The SL that it gives, below 16.
    pub sl: u8,
    /// Packet life time, "exactly"; its upper bits reach the selector, as in OpenSM.
    pub packet_life: u8,
    /// Place of its flow labels among the distinct ones, from 1; 0 for none.
    pub(crate) labels: u8,
}

/// By packed capacity: what an answer says of a path that is reversible, of its MTU and rate,
/// "exactly" both, as bytes 1, 6 and 7 of a word.
#[derive(Debug)]
pub(crate) struct Codes(pub(crate) [u64; 256]);

impl Default for Codes {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl PackedLevel {
    /// Limit of a level without one.
    pub(crate) const UNLIMITED: u8 = pack_capacity(7, 0x1f);

    /// MTU code and rate rank, as far as the level lets them.
    #[inline(always)]
    pub fn limited(&self, (mtu, rate): (u8, u8)) -> (u8, u8) {
        let (most, fastest) = unpack_capacity(self.limit);
        (mtu.min(most), rate.min(fastest))
    }
}

impl Derived {
    /// Works all of it out, from sections that were verified. Cost: under a millisecond for 1,000
    /// rules.
    pub(crate) fn new(
        sections: &Sections,
        subnet: &SubnetRecord,
        policy: Option<&PolicyRecord>,
    ) -> Self {
        let asks = policy.map_or(0, |policy| policy.semantics);
        let labels = distinct_labels(sections);
        // A policy that may refuse the way back alone, or two memberships in one table, makes the
        // way back a judgement of its own.
        let judges_alike =
            subnet.allow_both_pkeys == 0 && subnet.judge_reverse & REVERSE_POLICY == 0;
        let plain_levels = sections.levels.iter().all(is_plain);
        let is_common = judges_alike
            && plain_levels
            && sections.aliases.is_empty()
            && sections.partition_sls.iter().all(|sl| *sl < 16)
            && carries_everything(sections);
        Self {
            prefix: u64::from_ne_bytes(subnet.prefix),
            is_common: is_common && asks == 0,
            is_common_but_for_labels: is_common
                && asks == semantics::FLOW_LABELS
                && labels.is_some(),
            uniform: UniformPaths::new(sections, subnet),
            has_unknown_sls: sections
                .path_classes
                .iter()
                .any(|class| PathSl::from_byte(class.sl) == PathSl::Unknown),
            datelines: Datelines::new(subnet.radix),
            services: ServiceIndex::new(&sections.service_starts),
            by_service: policy
                .filter(|policy| sections.is_by_service(policy))
                .and_then(|policy| usize::try_from(policy.words).ok()),
            pairs: policy.and_then(|policy| PairBits::new(sections, policy)),
            levels: levels(sections, subnet, labels.as_deref().unwrap_or_default()),
            labels: labels.unwrap_or_default().into(),
            codes: codes(&subnet.rates),
            only_pkey: match &*sections.pkey_matrix {
                [pkey] => *pkey,
                _ => 0,
            },
            tells_packet_lives: sections
                .levels
                .iter()
                .all(|level| level.packet_life < EXACTLY),
            in_default: match subnet.allow_both_pkeys {
                0 => in_default(sections),
                _ => Box::default(),
            },
        }
    }
}

/// By distinct P_Key table.
fn in_default(sections: &Sections) -> Box<[Membership]> {
    let tables = sections.pkey_sets.iter();
    tables
        .map(|record| Membership::in_default(sections.pkeys_of(record)))
        .collect()
}

/// Selector of a packet life time.
const EXACTLY: u8 = 0x80;

/// True when a level leaves the P_Key open and gives an SL that exists.
fn is_plain(level: &LevelRecord) -> bool {
    level.pkeys_len == 0 && level.sl < 16 && !level.has(level_flags::NO_SL)
}

/// True when no port and no class of paths drops an SL.
fn carries_everything(sections: &Sections) -> bool {
    let all = SlVlMask::ALL.0;
    let ports = sections.ports.iter();
    ports
        .into_iter()
        .all(|port| port.sl_out == all && port.sl_in == all)
        && sections
            .path_classes
            .iter()
            .skip(1)
            .all(|class| class.carried == all)
}

/// The flow labels of rules, each once. None where some are spread, so that one pair of ports gets
/// several records, or where there are too many.
fn distinct_labels(sections: &Sections) -> Option<Vec<FlowLabels>> {
    let mut all = Vec::new();
    for word in sections.flow_labels.iter() {
        // Several records for one pair: no common request is answered like that.
        match FlowLabels::from_word(*word)? {
            FlowLabels::Spread(_) => return None,
            FlowLabels::None => {}
            labels if all.contains(&labels) => {}
            labels => all.push(labels),
        }
        // A place is a byte, with 0 for none.
        if all.len() > usize::from(u8::MAX) {
            return None;
        }
    }
    Some(all)
}

/// What each rule's level asks for, packed; the guard's, which is the default, comes last.
fn levels(sections: &Sections, subnet: &SubnetRecord, labels: &[FlowLabels]) -> Box<[PackedLevel]> {
    let labels_of = |rule: usize| {
        let given = FlowLabels::from_word(*sections.flow_labels.get(rule)?)?;
        let place = labels.iter().position(|labels| *labels == given)?;
        u8::try_from(place + 1).ok()
    };
    let level = |(nth, rule): (usize, &crate::format::policy_records::RuleRecord)| {
        let place = usize::try_from(rule.level).unwrap_or(usize::MAX);
        let level = sections.levels.get(place);
        level.map_or_else(PackedLevel::default, |level| PackedLevel {
            // 7 and 0x1f are above every code and rank, so that the lesser of both is the path's
            // own.
            limit: pack_capacity(
                if level.mtu_limit == 0 {
                    7
                } else {
                    level.mtu_limit
                },
                if level.rate_limit == 0 {
                    0x1f
                } else {
                    level.rate_limit
                },
            ),
            sl: level.sl,
            packet_life: match level.has(level_flags::PACKET_LIFE) {
                true => EXACTLY | level.packet_life,
                false => EXACTLY | subnet.packet_life,
            },
            labels: labels_of(nth).unwrap_or(0),
        })
    };
    sections.rules.iter().enumerate().map(level).collect()
}

/// Reversible, no number of paths.
const REVERSIBLE: u64 = 0x80;

/// Codes of MTU and rate for every packed capacity: 2 KiB that spare each answer two conversions.
fn codes(rates: &[u8; RATE_RANKS]) -> Codes {
    // Every byte is looked up, also those that no capacity has: a table without holes needs no
    // check.
    let mut codes = Codes::default();
    for (packed, codes) in (0u8..=u8::MAX).zip(&mut codes.0) {
        let (mtu, rank) = unpack_capacity(packed);
        let rate = rates.get(usize::from(rank)).copied().unwrap_or(0);
        let exactly = |code: u8| u64::from(0x80 | code & 0x3f);
        *codes = REVERSIBLE << 8 | exactly(mtu) << 48 | exactly(rate) << 56;
    }
    codes
}

impl UniformPaths {
    /// None where a path has to be looked up: pairs have classes of their own, or some LIDs of a
    /// port are not reached.
    fn new(sections: &Sections, subnet: &SubnetRecord) -> Option<Self> {
        let capacity = |class: u16| {
            let class = sections.path_classes.get(usize::from(class));
            class
                .filter(|_| subnet.pairs == PAIRS_UNIFORM)
                .map(|class| class.capacity)
        };
        let both = subnet.within_class != 0 && subnet.across_class != 0;
        // With a column for each LID a port's flag does not say that all of them are reached; and
        // where some ports reach others that do not reach them, the way back must be looked up.
        let both_ways = subnet.judge_reverse & REVERSE_PATH == 0;
        let by_flags = both && both_ways && sections.lid_columns.is_empty();
        Some(Self {
            within: capacity(subnet.within_class).filter(|_| by_flags)?,
            across: capacity(subnet.across_class)?,
        })
    }
}

/// Which rings a way crosses the dateline of, for all three axes in one step: each coordinate has
/// ten bits of a word, and what is added to their difference carries into the tenth where the ring
/// is shorter the other way round.
///
/// Example with rings of 8: the bias is 512 less 5, that is 507. From 1 to 6 the difference back is
/// 5, and the sum of 512 carries: the short way passes 0. From 1 to 5 it is 4, which does not: half
/// the ring goes straight.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Datelines {
    /// Ten bits for each axis: 512 less half the ring and one.
    bias: u32,
}

impl Datelines {
    /// The tenth bit of each coordinate: where a sum carries into it, the ring is shorter the other
    /// way round.
    const CARRIES: u32 = 1 << (COORDINATE_BITS - 1)
        | 1 << (2 * COORDINATE_BITS - 1)
        | 1 << (3 * COORDINATE_BITS - 1);
    /// Brings them to bits 29, 30 and 31.
    const GATHER: u64 = 1 << (2 * COORDINATE_BITS) | 1 << (COORDINATE_BITS + 1) | 1 << 2;

    /// Shape: radix of x, y, z; 0 on other fabrics, where nothing asks.
    fn new(radix: [u8; 3]) -> Self {
        let axes = radix.iter().rev();
        Self {
            bias: axes.fold(0, |bias, radix| {
                bias << COORDINATE_BITS
                    | ((1 << (COORDINATE_BITS - 1)) - (u32::from(*radix) / 2 + 1))
            }),
        }
    }

    /// Bit by axis: the shortest way passes coordinate 0, that is, the coordinates are more than
    /// half the ring apart. Source: OpenSM `osm_torus.c` (`torus_path_sl`).
    #[expect(clippy::cast_possible_truncation, reason = "the three lowest bits")]
    #[inline(always)]
    pub(crate) fn crossed(self, from: &PortRecord, to: &PortRecord) -> u8 {
        // No coordinate borrows from the next: a difference is above -256, the bias at least 384.
        let there = from.place.wrapping_add(self.bias).wrapping_sub(to.place);
        let back = to.place.wrapping_add(self.bias).wrapping_sub(from.place);
        let carries = u64::from((there | back) & Self::CARRIES);
        (carries.wrapping_mul(Self::GATHER) >> (3 * COORDINATE_BITS - 1)) as u8 & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::records::pack_place;

    #[test]
    fn datelines_of_every_ring_are_found() {
        let port = |coordinates| PortRecord {
            place: pack_place(coordinates),
            ..crate::format::records::NO_PORT
        };
        for radix in 0..=u8::MAX {
            let datelines = Datelines::new([radix, 255 - radix, 7]);
            let crosses = |a: u8, b: u8, radix: u8| {
                let direct = a.abs_diff(b);
                u8::from(direct > radix.saturating_sub(direct))
            };
            for a in (0..=u8::MAX).step_by(3) {
                for b in 0..=u8::MAX {
                    let (from, to) = ([a, b, a / 32], [b, a / 2, b / 32]);
                    let expected = crosses(a, b, radix)
                        | crosses(b, a / 2, 255 - radix) << 1
                        | crosses(a / 32, b / 32, 7) << 2;
                    let found = datelines.crossed(&port(from), &port(to));
                    assert_eq!(found, expected, "{radix}: {from:?} to {to:?}");
                }
            }
        }
    }
}
