//! Labels and ports: ranges, widths, symmetry, and back.

use proptest::prelude::*;

use super::*;

fn qpn(raw: u32) -> Qpn {
    Qpn::new(raw).unwrap()
}

fn label(raw: u32) -> FlowLabel {
    FlowLabel::new(raw).unwrap()
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert_eq!(
        FlowLabel::new(1 << 20),
        Err(RoceError::FlowLabel(0x10_0000))
    );
    assert_eq!(Qpn::new(1 << 24), Err(RoceError::Qpn(0x100_0000)));
    assert_eq!(SourcePort::new(0xbfff), Err(RoceError::SourcePort(0xbfff)));
    assert_eq!(FlowLabel::from_low_bits(0xfff0_0001), label(1));
}

#[test]
fn upper_bits_fold_onto_the_low_ones() {
    let ports = [0, 1, 0x4000, 0x4001, 0xfc000, 0xfffff].map(|raw| label(raw).source_port().get());
    assert_eq!(ports, [0xc000, 0xc001, 0xc001, 0xc000, 0xc03f, 0xffc0]);
}

/// With 32 bits the pieces above are lost, and the label is another one.
#[test]
fn products_of_qpns_need_48_bits() {
    let narrow = |local: u32, remote: u32| {
        let mut product = local.wrapping_mul(remote);
        product ^= product >> 20;
        FlowLabel::from_low_bits(product)
    };
    assert_eq!(qpn_label(qpn(72), qpn(73)), narrow(72, 73));
    let (local, remote) = (0x12_3456, 0x65_4321);
    assert_ne!(qpn_label(qpn(local), qpn(remote)), narrow(local, remote));
    assert_eq!(qpn_label(Qpn::MAX, Qpn::MAX), label(1_048_350));
    assert_eq!(narrow(0xff_ffff, 0xff_ffff), label(4065));
}

/// 65535 by 65535 is more than a signed 32-bit number holds.
#[test]
fn products_of_ports_need_all_32_bits() {
    assert_eq!(cm_label_rfc(65535, 65535), label(65792));
    assert_eq!(cm_label_rfc(49153, 8192), label(538_680));
}

/// 31 by 65535 and 65535 are 2,097,120: more than 20 bits.
#[test]
fn the_shipped_form_is_cut_and_not_symmetric() {
    assert_eq!(cm_label_shipped(65535, 65535), label(2_097_120 & 0xf_ffff));
    assert_eq!(cm_label_shipped(40000, 1021), label(192_445));
    assert_eq!(cm_label_shipped(1021, 40000), label(71_651));
}

#[test]
fn a_qpn_of_0_gives_label_0_and_the_first_port() {
    let label = qpn_label(qpn(0), qpn(5));
    assert_eq!(label, FlowLabel::UNSET);
    assert_eq!(label.source_port(), SourcePort::MIN);
}

#[test]
fn mixed_bits_never_give_label_0() {
    assert_eq!(set_label(0), label(1));
    assert_eq!(set_label(0xf << 60), label(1));
    assert_eq!(set_label(5 << 40), label(5));
    assert!(mixed_label(qpn(0), qpn(0)).is_set());
}

#[test]
fn each_port_has_its_64_labels() {
    let mut seen = vec![false; 1 << 20];
    for raw in 0xc000..=0xffff {
        let port = SourcePort::new(raw).unwrap();
        assert_eq!(port.labels().len(), 64);
        for label in port.labels() {
            assert_eq!(label.source_port(), port);
            assert!(!std::mem::replace(&mut seen[label.get() as usize], true));
        }
        assert!(port.label().is_set() && port.label().source_port() == port);
    }
    assert!(seen.iter().all(|it| *it));
}

proptest! {
    #[test]
    fn products_and_mixtures_are_symmetric(one in 0..1_u32 << 24, other in 0..1_u32 << 24) {
        let (one, other) = (qpn(one), qpn(other));
        prop_assert_eq!(qpn_label(one, other), qpn_label(other, one));
        prop_assert_eq!(mixed_label(one, other), mixed_label(other, one));
        prop_assert!(mixed_label(one, other).is_set());
    }

    #[test]
    fn the_product_is_folded_in_three_pieces(one in 0..1_u32 << 24, other in 0..1_u32 << 24) {
        let product = u64::from(one) * u64::from(other);
        let pieces = (product ^ product >> 20 ^ product >> 40) & 0xf_ffff;
        prop_assert_eq!(u64::from(qpn_label(qpn(one), qpn(other)).get()), pieces);
    }

    #[test]
    fn the_rfc_form_is_symmetric(source: u16, destination: u16) {
        prop_assert_eq!(
            cm_label_rfc(source, destination),
            cm_label_rfc(destination, source)
        );
    }
}
