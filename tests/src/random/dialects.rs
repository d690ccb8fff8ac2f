//! What policies of the RFCs say and OpenSM's do not, put into a policy that was read.

use policy::model::criterion::Field;
use policy::model::{Level, Rule};
use policy::{Dialect, Echo, Policy, Ranges, ServiceIdEncoding};
use sa_snapshot::model::FlowLabels;
use sa_text::{Span, Spanned};
use sa_wire::roce::FlowLabel;

use crate::rng::Rng;

/// Numbers whose neighbours are worth asking for.
pub const TCLASSES: [u64; 6] = [0, 1, 7, 32, 128, 255];

/// Changes levels, rules and the way they are meant.
pub fn change(rng: &mut Rng, policy: &mut Policy) {
    policy.dialect = rng.pick(&[Dialect::Rfc01Xml, Dialect::Rfc02Text, Dialect::OpenSm]);
    policy.semantics.echo = rng.pick(&[Echo::None, Echo::QosClass, Echo::TClass]);
    policy.semantics.endpoint_mask_required = rng.one_in(3);
    policy.semantics.service_id_encoding = rng.pick(&ServiceIdEncoding::ALL);
    // Often one thing alone.
    let [sl, path_bits, tclass, flow_label] = [0; 4].map(|_| rng.pick(&[2, 5, 1000]));
    for level in &mut policy.levels {
        change_level(rng, level, (sl, path_bits, tclass));
        level.flow_label = flow_labels(rng, flow_label);
    }
    let often = rng.pick(&[2, 6, 1000]);
    for rule in &mut policy.rules {
        if rng.one_in(often) {
            ask_tclass(rng, rule);
        }
        rule.flow_label = flow_labels(rng, flow_label);
    }
}

fn change_level(rng: &mut Rng, level: &mut Level, (sl, path_bits, tclass): (usize, usize, usize)) {
    if rng.one_in(sl) {
        level.sl = None;
    }
    if rng.one_in(path_bits) {
        let last = rng.pick(&[0, 0, 1, 3, 127]);
        let first = rng.pick(&[0, 1, 1, 2, 64]).min(last);
        let other = rng.pick(&[0, 1, 3, 100, 200]);
        level.path_bits = Some(somewhere(Ranges::new([(first, last), (other, other)])));
    } else if rng.one_in(path_bits) {
        let bits = rng.pick(&[0, 1, 2, 3]);
        level.path_bits = Some(somewhere(Ranges::single(bits)));
    }
    if rng.one_in(tclass) {
        level.tclass = Some(somewhere(rng.byte()));
    }
}

fn flow_labels(rng: &mut Rng, often: usize) -> Option<Spanned<FlowLabels>> {
    if !rng.one_in(often) {
        return None;
    }
    let fixed = FlowLabel::from_low_bits(rng.pick(&[1, 7, 0x4001, 0xf_ffff]));
    let labels = match rng.below(6) {
        0 => FlowLabels::None,
        1 => FlowLabels::fixed(fixed).unwrap(),
        2 | 3 => FlowLabels::Hash,
        _ => FlowLabels::spread(rng.pick(&[2, 2, 3, 5, 127])).unwrap(),
    };
    Some(somewhere(labels))
}

fn ask_tclass(rng: &mut Rng, rule: &mut Rule) {
    let (low, high) = (rng.pick(&TCLASSES), rng.pick(&TCLASSES));
    let range = (low.min(high), low.max(high));
    let single = rng.pick(&TCLASSES);
    let ranges = match rng.below(3) {
        0 => Ranges::new([range]),
        1 => Ranges::new([range, (single, single)]),
        _ => Ranges::single(single),
    };
    rule.fields[Field::TClass] = Some(somewhere(ranges));
}

const fn somewhere<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::START)
}
