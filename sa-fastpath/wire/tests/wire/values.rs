//! Numbers and words: statuses, methods, attribute ids, masks, segment lengths, ClassPortInfo.

use proptest::prelude::*;
use sa_wire::class_port_info::{CapabilityMask, CapabilityMask2, ClassPortInfo, ResponseTime};
use sa_wire::mad::{self, MadHeader, Status, method, response_method};
use sa_wire::multipath_record::MultiPathCompMask as Mpr;
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask as Pr, QosClassSl, SelectedValue};
use sa_wire::rmpp::{PayloadLengths, RmppHeader, flag, payload_lengths};
use sa_wire::sa::{AttributeId, attribute_offset, record_stride};
use sa_wire::{Selector, Sl};
use zerocopy::IntoBytes;

#[test]
fn statuses_have_their_numbers_and_words() {
    let texts = [
        (Status::OK, "0x0000 (success)"),
        (Status::BUSY, "0x0001 (busy)"),
        (Status::REDIRECT, "0x0002 (redirect required)"),
        (Status::BAD_VERSION, "0x0004 (bad base or class version)"),
        (
            Status::METHOD_NOT_SUPPORTED,
            "0x0008 (method not supported)",
        ),
        (
            Status::METHOD_ATTRIBUTE_NOT_SUPPORTED,
            "0x000c (method not supported for this attribute)",
        ),
        (Status::INVALID_FIELD, "0x001c (invalid field)"),
        (Status::NO_RESOURCES, "0x0100 (no resources)"),
        (Status::REQ_INVALID, "0x0200 (invalid request)"),
        (Status::NO_RECORDS, "0x0300 (no records)"),
        (Status::TOO_MANY_RECORDS, "0x0400 (too many records)"),
        (Status::REQ_INVALID_GID, "0x0500 (invalid GID)"),
        (
            Status::REQ_INSUFFICIENT_COMPONENTS,
            "0x0600 (insufficient components)",
        ),
        (Status::REQ_DENIED, "0x0700 (request denied)"),
        (
            Status::PRIORITY_SUGGESTED,
            "0x0800 (another priority is suggested)",
        ),
        (Status(0x0fff), "0x0fff (unknown status)"),
    ];
    for (status, text) in texts {
        assert_eq!(status.to_string(), text);
    }
}

#[test]
fn responses_set_the_r_bit_and_set_is_answered_by_get_resp() {
    let pairs = [
        (method::GET, 0x01, method::GET_RESP, 0x81),
        (method::SET, 0x02, method::GET_RESP, 0x81),
        (method::REPORT, 0x06, method::REPORT_RESP, 0x86),
        (method::GET_TABLE, 0x12, method::GET_TABLE_RESP, 0x92),
        (
            method::GET_TRACE_TABLE,
            0x13,
            method::GET_TRACE_TABLE_RESP,
            0x93,
        ),
        (method::GET_MULTI, 0x14, method::GET_MULTI_RESP, 0x94),
        (method::DELETE, 0x15, method::DELETE_RESP, 0x95),
    ];
    for (request, request_number, response, response_number) in pairs {
        assert_eq!((request, response), (request_number, response_number));
        assert_eq!(response_method(request), response);
    }
}

#[test]
fn headers_of_other_classes_and_versions_are_told_apart() {
    let sa = MadHeader {
        base_version: mad::BASE_VERSION,
        mgmt_class: mad::MGMT_CLASS_SA,
        class_version: mad::SA_CLASS_VERSION,
        method: method::GET_TABLE,
        ..MadHeader::default()
    };
    assert!(sa.is_sa() && !sa.is_response());
    assert_eq!(sa.as_bytes()[..4], [1, 3, 2, 0x12]);
    assert!(MadHeader { method: 0x92, ..sa }.is_response());
    assert!(
        !MadHeader {
            base_version: 2,
            ..sa
        }
        .is_sa()
    );
    assert!(
        !MadHeader {
            mgmt_class: 4,
            ..sa
        }
        .is_sa()
    );
    assert!(
        !MadHeader {
            class_version: 1,
            ..sa
        }
        .is_sa()
    );
}

#[test]
fn attribute_ids_have_their_numbers_and_names() {
    let ids = [
        (AttributeId::CLASS_PORT_INFO, 0x0001, "ClassPortInfo"),
        (AttributeId::NOTICE, 0x0002, "Notice"),
        (AttributeId::INFORM_INFO, 0x0003, "InformInfo"),
        (AttributeId::NODE_RECORD, 0x0011, "NodeRecord"),
        (AttributeId::PORT_INFO_RECORD, 0x0012, "PortInfoRecord"),
        (
            AttributeId::SL_TO_VL_RECORD,
            0x0013,
            "SLtoVLMappingTableRecord",
        ),
        (AttributeId::SWITCH_INFO_RECORD, 0x0014, "SwitchInfoRecord"),
        (
            AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
            0x0015,
            "LinearForwardingTableRecord",
        ),
        (
            AttributeId::RANDOM_FORWARDING_TABLE_RECORD,
            0x0016,
            "RandomForwardingTableRecord",
        ),
        (
            AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
            0x0017,
            "MulticastForwardingTableRecord",
        ),
        (AttributeId::SM_INFO_RECORD, 0x0018, "SMInfoRecord"),
        (AttributeId::LINK_RECORD, 0x0020, "LinkRecord"),
        (AttributeId::GUID_INFO_RECORD, 0x0030, "GUIDInfoRecord"),
        (AttributeId::SERVICE_RECORD, 0x0031, "ServiceRecord"),
        (AttributeId::PKEY_TABLE_RECORD, 0x0033, "P_KeyTableRecord"),
        (AttributeId::PATH_RECORD, 0x0035, "PathRecord"),
        (
            AttributeId::VL_ARBITRATION_RECORD,
            0x0036,
            "VLArbitrationTableRecord",
        ),
        (AttributeId::MC_MEMBER_RECORD, 0x0038, "MCMemberRecord"),
        (AttributeId::TRACE_RECORD, 0x0039, "TraceRecord"),
        (AttributeId::MULTI_PATH_RECORD, 0x003a, "MultiPathRecord"),
        (
            AttributeId::SERVICE_ASSOCIATION_RECORD,
            0x003b,
            "ServiceAssociationRecord",
        ),
        (AttributeId::INFORM_INFO_RECORD, 0x00f3, "InformInfoRecord"),
        (AttributeId(0x0040), 0x0040, "attribute 0x0040"),
    ];
    for (id, number, name) in ids {
        assert_eq!((id.get(), id.to_string().as_str()), (number, name));
    }
}

#[test]
fn attribute_offsets_are_those_of_opensm() {
    for (record, offset) in [
        (64, 8),
        (112, 14),
        (72, 9),
        (8, 1),
        (24, 3),
        (56, 7),
        (176, 22),
    ] {
        assert_eq!(attribute_offset(record), offset);
        assert_eq!(record_stride(offset), usize::from(record));
    }
    assert_eq!(attribute_offset(36), 4, "InformInfo");
}

#[test]
fn path_mask_bits_follow_the_table() {
    let bits = [
        (0, Pr::SERVICE_ID_MSB),
        (1, Pr::SERVICE_ID_LSB),
        (2, Pr::DGID),
        (3, Pr::SGID),
        (4, Pr::DLID),
        (5, Pr::SLID),
        (6, Pr::RAW_TRAFFIC),
        (8, Pr::FLOW_LABEL),
        (9, Pr::HOP_LIMIT),
        (10, Pr::TCLASS),
        (11, Pr::REVERSIBLE),
        (12, Pr::NUMB_PATH),
        (13, Pr::PKEY),
        (14, Pr::QOS_CLASS),
        (15, Pr::SL),
        (16, Pr::MTU_SELECTOR),
        (17, Pr::MTU),
        (18, Pr::RATE_SELECTOR),
        (19, Pr::RATE),
        (20, Pr::PACKET_LIFE_SELECTOR),
        (21, Pr::PACKET_LIFE),
    ];
    for (bit, component) in bits {
        assert_eq!(component.0, 1 << bit);
    }
    assert!(Pr::MTU.has(Pr::MTU_PAIR) && !Pr::MTU.has_all(Pr::MTU_PAIR));
    assert!((Pr::MTU | Pr::MTU_SELECTOR).has_all(Pr::MTU_PAIR));
    assert!(!Pr(!Pr::MTU_PAIR.0).has(Pr::MTU_PAIR));
}

#[test]
fn multi_path_mask_bits_follow_the_table() {
    let bits = [
        (0, Mpr::RAW_TRAFFIC),
        (2, Mpr::FLOW_LABEL),
        (3, Mpr::HOP_LIMIT),
        (4, Mpr::TCLASS),
        (5, Mpr::REVERSIBLE),
        (6, Mpr::NUMB_PATH),
        (7, Mpr::PKEY),
        (8, Mpr::QOS_CLASS),
        (9, Mpr::SL),
        (10, Mpr::MTU_SELECTOR),
        (11, Mpr::MTU),
        (12, Mpr::RATE_SELECTOR),
        (13, Mpr::RATE),
        (14, Mpr::PACKET_LIFE_SELECTOR),
        (15, Mpr::PACKET_LIFE),
        (16, Mpr::SERVICE_ID_MSB),
        (17, Mpr::INDEPENDENCE_SELECTOR),
        (19, Mpr::SGID_COUNT),
        (20, Mpr::DGID_COUNT),
        (21, Mpr::SERVICE_ID_LSB),
    ];
    for (bit, component) in bits {
        assert_eq!(component.0, 1 << bit);
    }
    assert!((Mpr::SGID_COUNT | Mpr::DGID_COUNT).has_all(Mpr::COUNTS));
}

#[test]
fn too_large_values_do_not_spill_into_neighbours() {
    assert_eq!(FlowWord::new(u32::MAX, 0).0.get(), 0x0fff_ff00);
    assert_eq!(NumbPathByte::new(0xff).0, 0x7f);
    assert_eq!(
        NumbPathByte::REVERSIBLE,
        NumbPathByte::new(0).with_reversible()
    );
    assert_eq!(QosClassSl::new(u16::MAX, Sl::default()).0.get(), 0xfff0);
    assert_eq!(SelectedValue::new(Selector::Greater, 0xff).0, 0x3f);
    assert_eq!(
        SelectedValue::exactly(0xff),
        SelectedValue::new(Selector::Exactly, 0x3f)
    );
    let mut header = RmppHeader::data(0xff, 1, 20);
    assert_eq!((header.flags(), header.response_time()), (flag::MASK, 0x1f));
    header.set_flags(0xf8 | flag::ACTIVE);
    assert_eq!(
        (header.flags(), header.response_time()),
        (flag::ACTIVE, 0x1f)
    );
    assert_eq!(header.new_window_last(), 20);
}

#[test]
fn capabilities_can_be_added_and_taken_away() {
    let plain = CapabilityMask2::OPENSM.without(CapabilityMask2::MULTICAST_TOP);
    assert_eq!(plain.0, 0xb5e0);
    assert_eq!(plain.without(CapabilityMask2::MULTICAST_TOP), plain);
    assert!((plain | CapabilityMask2::MULTICAST_TOP).has_all(CapabilityMask2::OPENSM));
    assert!(!plain.has_all(CapabilityMask2::OPENSM));
    let unicast = CapabilityMask::OPENSM.without(CapabilityMask::UD_MULTICAST);
    assert_eq!(unicast.0, 0x2402);
    assert_eq!(unicast.without(CapabilityMask::UD_MULTICAST), unicast);
    assert!((unicast | CapabilityMask::UD_MULTICAST).has_all(CapabilityMask::OPENSM));
}

proptest! {
    #[test]
    fn segment_lengths_add_up(data in 0u32..2_000_000) {
        let lengths = payload_lengths(data).unwrap();
        let segments = data.div_ceil(200).max(1);
        let pad = segments * 200 - data;
        let expected = PayloadLengths {
            segments,
            first: segments * 220 - pad,
            last: 220 - pad,
        };
        prop_assert_eq!(lengths, expected);
        prop_assert_eq!(segments == 1, lengths.first == lengths.last);
    }
}

#[test]
fn segment_lengths_at_the_edges() {
    let lengths =
        |data| payload_lengths(data).map(|found| (found.segments, found.first, found.last));
    assert_eq!(lengths(0), Some((1, 20, 20)));
    assert_eq!(lengths(64), Some((1, 84, 84)));
    assert_eq!(lengths(200), Some((1, 220, 220)));
    assert_eq!(lengths(201), Some((2, 241, 21)));
    assert_eq!(
        lengths(640),
        Some((4, 720, 60)),
        "measured on a kernel's wire"
    );
    assert_eq!(lengths(u32::MAX), None);
    assert!(payload_lengths(3_904_000_000).is_some() && payload_lengths(3_905_000_000).is_none());
}

#[test]
fn a_single_segment_reply_has_these_bytes() {
    let header = RmppHeader::data(flag::SINGLE, 1, 84);
    assert_eq!(header.as_bytes(), [1, 1, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 84]);
    assert!(header.is_active() && !RmppHeader::INACTIVE.is_active());
    assert_eq!(RmppHeader::default(), RmppHeader::INACTIVE);
}

/// Word at offset 4 as seen in answers of OpenSM 3.3.23 with default options.
#[test]
fn class_port_info_is_that_of_opensm() {
    let info = |mask2| {
        ClassPortInfo::subnet_administration(CapabilityMask::OPENSM, mask2, ResponseTime::DEFAULT)
    };
    let mut expected = [0; 72];
    expected[..8].copy_from_slice(&[1, 2, 0x26, 0x02, 0x00, 0x16, 0xbd, 0x10]);
    expected[32..40].copy_from_slice(&[0, 0, 0, 1, 0x80, 0x01, 0, 0]);
    expected[68..].copy_from_slice(&[0x80, 0x01, 0, 0]);
    assert_eq!(info(CapabilityMask2::OPENSM).as_bytes(), expected);
    expected[7] = 0x50;
    assert_eq!(info(CapabilityMask2::OPENSM_QOS).as_bytes(), expected);
    assert_eq!(CapabilityMask2::OPENSM.0, 0xb5e8);
    assert_eq!(CapabilityMask2::OPENSM_QOS.0, 0xb5ea);
}

/// OpenSM's table of milliseconds, for values 8 to 31.
#[test]
fn response_time_covers_the_timeout() {
    let millis = [
        1, 2, 4, 8, 16, 33, 67, 134, 268, 536, 1073, 2147, 4294, 8589, 17179, 34359, 68719, 137438,
        274877, 549755, 1099511, 2199023, 4398046, 8796093,
    ];
    for (value, millis) in (8u8..).zip(millis) {
        assert_eq!(ResponseTime::from_millis(millis).get(), value);
        assert_eq!(
            ResponseTime::from_millis(millis + 1).get(),
            (value + 1).min(31)
        );
    }
    assert_eq!(ResponseTime::from_millis(0).get(), 8);
    assert_eq!(ResponseTime::from_millis(u32::MAX).get(), 31);
    assert_eq!(ResponseTime::DEFAULT.get(), 16);
}
