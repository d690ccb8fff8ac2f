//! What a selector makes of an available value.
//!
//! Source: OpenSM `osm_sa_path_record.c`. "Exactly" lowers MTU and life time to the operand, but
//! a rate must be equal; "less than" lowers to the next value below the operand.

use sa_wire::path_record::SelectedValue;
use sa_wire::{Rate, RateRank, Selector};

/// The MTU code or the life time to answer with, or none when the wish cannot be met.
#[inline(always)]
pub(crate) fn value(available: u8, wanted: SelectedValue) -> Option<u8> {
    let operand = wanted.value();
    match wanted.selector() {
        Selector::Greater => (available > operand).then_some(available),
        Selector::Less if available >= operand => (operand > 1).then(|| operand - 1),
        Selector::Exactly => (available >= operand).then_some(operand),
        Selector::Less | Selector::Best => Some(available),
    }
}

/// The rate rank to answer with, or none.
#[inline(always)]
pub(crate) fn rate(available: u8, wanted: SelectedValue) -> Option<u8> {
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
