//! What policies of the RFCs say and OpenSM's do not, put into a policy that was read.

use policy::model::{FlowLabels, Level, Rule};
use policy::{Dialect, Echo, Policy, Ranges, ServiceIdEncoding};
use sa_text::{Span, Spanned};
use sa_wire::roce::FlowLabel;

use crate::dice::Dice;

/// Numbers whose neighbours are worth asking for.
pub(crate) const TCLASSES: [u64; 6] = [0, 1, 7, 32, 128, 255];

/// Changes levels, rules and the way they are meant.
pub(crate) fn change(dice: &mut Dice, policy: &mut Policy) {
    policy.dialect = dice.pick(&[Dialect::Rfc01Xml, Dialect::Rfc02Text, Dialect::OpenSm]);
    policy.semantics.echo = dice.pick(&[Echo::None, Echo::QosClass, Echo::TClass]);
    policy.semantics.endpoint_mask_required = dice.one_in(3);
    policy.semantics.service_id_encoding = dice.pick(&ServiceIdEncoding::ALL);
    // Often one thing alone.
    let [sl, path_bits, tclass, flow_label] = [0; 4].map(|_| dice.pick(&[2, 5, 1000]));
    for level in &mut policy.levels {
        change_level(dice, level, (sl, path_bits, tclass));
        level.flow_label = flow_labels(dice, flow_label);
    }
    let often = dice.pick(&[2, 6, 1000]);
    for rule in &mut policy.rules {
        if dice.one_in(often) {
            ask_tclass(dice, rule);
        }
        rule.flow_label = flow_labels(dice, flow_label);
    }
}

fn change_level(
    dice: &mut Dice,
    level: &mut Level,
    (sl, path_bits, tclass): (usize, usize, usize),
) {
    if dice.one_in(sl) {
        level.sl = None;
    }
    if dice.one_in(path_bits) {
        let last = dice.pick(&[0, 0, 1, 3, 127]);
        let first = dice.pick(&[0, 1, 1, 2, 64]).min(last);
        let other = dice.pick(&[0, 1, 3, 100, 200]);
        level.path_bits = Some(somewhere(Ranges::new([(first, last), (other, other)])));
    } else if dice.one_in(path_bits) {
        let bits = dice.pick(&[0, 1, 2, 3]);
        level.path_bits = Some(somewhere(Ranges::single(bits)));
    }
    if dice.one_in(tclass) {
        level.tclass = Some(somewhere(dice.byte()));
    }
}

fn flow_labels(dice: &mut Dice, often: usize) -> Option<Spanned<FlowLabels>> {
    if !dice.one_in(often) {
        return None;
    }
    let fixed = FlowLabel::from_low_bits(dice.pick(&[1, 7, 0x4001, 0xf_ffff]));
    let labels = match dice.below(6) {
        0 => FlowLabels::None,
        1 => FlowLabels::fixed(fixed).unwrap(),
        2 | 3 => FlowLabels::Hash,
        _ => FlowLabels::spread(dice.pick(&[2, 2, 3, 5, 127])).unwrap(),
    };
    Some(somewhere(labels))
}

fn ask_tclass(dice: &mut Dice, rule: &mut Rule) {
    let (low, high) = (dice.pick(&TCLASSES), dice.pick(&TCLASSES));
    let range = (low.min(high), low.max(high));
    let single = dice.pick(&TCLASSES);
    let ranges = match dice.below(3) {
        0 => Ranges::new([range]),
        1 => Ranges::new([range, (single, single)]),
        _ => Ranges::single(single),
    };
    rule.tclass = Some(somewhere(ranges));
}

const fn somewhere<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::START)
}
