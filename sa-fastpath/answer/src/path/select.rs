//! What a selector makes of an available value.
//!
//! Source: OpenSM `osm_sa_path_record.c`. "Exactly" lowers MTU and life time to the operand, but
//! a rate must be equal; "less than" lowers to the next value below the operand.
//!
//! With an available value a and an operand o of the request:
//!
//! | selector | MTU, packet life time | rate |
//! |---|---|---|
//! | 0 greater | a > o gives a | a > o gives a |
//! | 1 less | a < o gives a, else o - 1 if there is one | a < o gives a, else the next slower than o |
//! | 2 exactly | a >= o gives o | a = o gives a |
//! | 3 best | a | a |

use sa_wire::path_record::{PathCompMask, PathRecord, SelectedValue};
use sa_wire::{Rate, RateRank, Selector};

/// Components that wish something of the path: a common request has none of them.
pub(crate) const WISHES: PathCompMask = PathCompMask::RAW_TRAFFIC
    .union(PathCompMask::SL)
    .union(PathCompMask::MTU_PAIR)
    .union(PathCompMask::RATE_PAIR)
    .union(PathCompMask::PACKET_LIFE_PAIR);

/// What a request wishes of a path, its SL aside; each where selector and value both count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wishes<'a> {
    mask: PathCompMask,
    record: &'a PathRecord,
}

/// What a path offers, or what an answer says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    /// MTU code, 1 to 5; 0 is none.
    pub(crate) mtu: u8,
    /// Rate rank, in the order of speeds.
    pub(crate) rate: u8,
    /// Packet life time, the exponent of 4.096 us.
    pub(crate) packet_life: u8,
}

impl<'a> Wishes<'a> {
    /// The wishes of a request with these components; the rest of its record does not count.
    #[inline(always)]
    pub(crate) const fn of(mask: PathCompMask, record: &'a PathRecord) -> Self {
        Self { mask, record }
    }

    /// True when nothing is wished of MTU, rate and life time, so that no way has to be judged for
    /// it.
    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        self.mtu().is_none() && self.rate().is_none() && self.packet_life().is_none()
    }

    /// The MTU, where selector and value both count.
    #[inline(always)]
    pub(crate) fn mtu(self) -> Option<SelectedValue> {
        self.pair(PathCompMask::MTU_PAIR, self.record.mtu)
    }

    /// The rate, where selector and value both count.
    #[inline(always)]
    pub(crate) fn rate(self) -> Option<SelectedValue> {
        self.pair(PathCompMask::RATE_PAIR, self.record.rate)
    }

    /// The packet life time, where selector and value both count.
    #[inline(always)]
    pub(crate) fn packet_life(self) -> Option<SelectedValue> {
        self.pair(PathCompMask::PACKET_LIFE_PAIR, self.record.packet_life)
    }

    /// A value counts only together with its selector, as in OpenSM.
    #[inline(always)]
    fn pair(self, bits: PathCompMask, value: SelectedValue) -> Option<SelectedValue> {
        self.mask.has_all(bits).then_some(value)
    }

    /// What to answer with, none when some wish cannot be met.
    #[inline(always)]
    pub(crate) fn of_offer(self, mut offer: Offer) -> Option<Offer> {
        if let Some(wanted) = self.mtu() {
            offer.mtu = value(offer.mtu, wanted)?;
        }
        if let Some(wanted) = self.rate() {
            offer.rate = rate(offer.rate, wanted)?;
        }
        if let Some(wanted) = self.packet_life() {
            offer.packet_life = value(offer.packet_life, wanted)?;
        }
        Some(offer)
    }
}

/// The MTU code or the life time to answer with, or none when the wish cannot be met.
#[inline(always)]
fn value(available: u8, wanted: SelectedValue) -> Option<u8> {
    let operand = wanted.value();
    match wanted.selector() {
        Selector::Greater => (available > operand).then_some(available),
        Selector::Less if available >= operand => (operand > 1).then(|| operand - 1),
        Selector::Exactly => (available >= operand).then_some(operand),
        Selector::Less | Selector::Best => Some(available),
    }
}

/// The rate rank to answer with; none when the wish cannot be met. Compared by rank: rate codes are
/// not in the order of speeds.
#[inline(always)]
fn rate(available: u8, wanted: SelectedValue) -> Option<u8> {
    // Codes were checked when the request was decoded.
    let operand = Rate::from_code(wanted.value()).ok()?.rank();
    let rank = operand.get();
    match wanted.selector() {
        Selector::Greater => (available > rank).then_some(available),
        Selector::Less if available >= rank => operand.previous().map(RateRank::get),
        Selector::Exactly => (available == rank).then_some(available),
        Selector::Less | Selector::Best => Some(available),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(selector: Selector, operand: u8) -> SelectedValue {
        SelectedValue::new(selector, operand)
    }

    #[test]
    fn exactly_lowers_values_but_not_rates() {
        assert_eq!(value(4, wish(Selector::Exactly, 3)), Some(3));
        assert_eq!(value(4, wish(Selector::Exactly, 5)), None);
        let rank = |code| Rate::from_code(code).unwrap().rank().get();
        assert_eq!(rate(rank(7), wish(Selector::Exactly, 3)), None);
        assert_eq!(rate(rank(7), wish(Selector::Exactly, 7)), Some(rank(7)));
    }

    #[test]
    fn less_than_lowers_to_the_next_below() {
        assert_eq!(value(4, wish(Selector::Less, 4)), Some(3));
        assert_eq!(value(3, wish(Selector::Less, 4)), Some(3));
        assert_eq!(value(4, wish(Selector::Less, 1)), None);
        assert_eq!(
            value(0, wish(Selector::Less, 0)),
            None,
            "a loopback is not below nothing"
        );
        let rank = |code| Rate::from_code(code).unwrap().rank().get();
        assert_eq!(
            rate(rank(7), wish(Selector::Less, 7)),
            Some(rank(19)),
            "28 comes below 40"
        );
        assert_eq!(rate(rank(7), wish(Selector::Less, 2)), None);
    }

    #[test]
    fn greater_than_means_strictly() {
        assert_eq!(value(4, wish(Selector::Greater, 4)), None);
        assert_eq!(value(4, wish(Selector::Greater, 3)), Some(4));
        assert_eq!(value(0, wish(Selector::Greater, 0)), None);
        assert_eq!(value(4, wish(Selector::Best, 1)), Some(4));
    }
}
