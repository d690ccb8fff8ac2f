//! Offset, width and bits of every field, written from the specification's tables and not from
//! the structs. Reserved bits are fields too. Source: IBA vol. 1, chapters 13 and 15; for the
//! umad header Linux `ib_user_mad.h`.

use crate::layout::{Field, bits, host, whole};

pub(crate) const MAD_HEADER: [Field; 10] = [
    whole("BaseVersion", 0, 1),
    whole("MgmtClass", 1, 1),
    whole("ClassVersion", 2, 1),
    whole("Method", 3, 1),
    whole("Status", 4, 2),
    whole("ClassSpecific", 6, 2),
    whole("TransactionID", 8, 8),
    whole("AttributeID", 16, 2),
    whole("Reserved", 18, 2),
    whole("AttributeModifier", 20, 4),
];

/// Offsets within the RMPP header, which starts at byte 24.
pub(crate) const RMPP_HEADER: [Field; 7] = [
    whole("RMPPVersion", 0, 1),
    whole("RMPPType", 1, 1),
    bits("RRespTime", 2, 1, 7, 3),
    bits("RMPPFlags", 2, 1, 2, 0),
    whole("RMPPStatus", 3, 1),
    whole("SegmentNumber", 4, 4),
    whole("PayloadLength", 8, 4),
];

/// Offsets within the SA header, which starts at byte 36.
pub(crate) const SA_HEADER: [Field; 4] = [
    whole("SM_Key", 0, 8),
    whole("AttributeOffset", 8, 2),
    whole("Reserved", 10, 2),
    whole("ComponentMask", 12, 8),
];

/// The 200 data bytes by sixteens, and the last eight.
pub(crate) const DATA: [Field; 13] = {
    let mut fields = [whole("Data", 56, 16); 13];
    let mut chunk = 0;
    while chunk < 12 {
        fields[chunk] = whole("Data", 56 + 16 * chunk, 16);
        chunk += 1;
    }
    fields[12] = whole("Data", 248, 8);
    fields
};

pub(crate) const PATH_RECORD: [Field; 23] = [
    whole("ServiceID", 0, 8),
    whole("DGID", 8, 16),
    whole("SGID", 24, 16),
    whole("DLID", 40, 2),
    whole("SLID", 42, 2),
    bits("RawTraffic", 44, 4, 31, 31),
    bits("reserved", 44, 4, 30, 28),
    bits("FlowLabel", 44, 4, 27, 8),
    bits("HopLimit", 44, 4, 7, 0),
    whole("TClass", 48, 1),
    bits("Reversible", 49, 1, 7, 7),
    bits("NumbPath", 49, 1, 6, 0),
    whole("P_Key", 50, 2),
    bits("QoSClass", 52, 2, 15, 4),
    bits("SL", 52, 2, 3, 0),
    bits("MTUSelector", 54, 1, 7, 6),
    bits("MTU", 54, 1, 5, 0),
    bits("RateSelector", 55, 1, 7, 6),
    bits("Rate", 55, 1, 5, 0),
    bits("PacketLifeTimeSelector", 56, 1, 7, 6),
    bits("PacketLifeTime", 56, 1, 5, 0),
    whole("Preference", 57, 1),
    whole("reserved", 58, 6),
];

pub(crate) const MULTI_PATH_RECORD: [Field; 22] = [
    bits("RawTraffic", 0, 4, 31, 31),
    bits("reserved", 0, 4, 30, 28),
    bits("FlowLabel", 0, 4, 27, 8),
    bits("HopLimit", 0, 4, 7, 0),
    whole("TClass", 4, 1),
    bits("Reversible", 5, 1, 7, 7),
    bits("NumbPath", 5, 1, 6, 0),
    whole("P_Key", 6, 2),
    bits("QoSClass", 8, 2, 15, 4),
    bits("SL", 8, 2, 3, 0),
    bits("MTUSelector", 10, 1, 7, 6),
    bits("MTU", 10, 1, 5, 0),
    bits("RateSelector", 11, 1, 7, 6),
    bits("Rate", 11, 1, 5, 0),
    bits("PacketLifeTimeSelector", 12, 1, 7, 6),
    bits("PacketLifeTime", 12, 1, 5, 0),
    whole("ServiceID 63..56", 13, 1),
    bits("IndependenceSelector", 14, 1, 7, 6),
    bits("reserved", 14, 1, 5, 0),
    whole("SGIDCount", 15, 1),
    whole("DGIDCount", 16, 1),
    whole("ServiceID 55..0", 17, 7),
];

pub(crate) const CLASS_PORT_INFO: [Field; 17] = [
    whole("BaseVersion", 0, 1),
    whole("ClassVersion", 1, 1),
    whole("CapabilityMask", 2, 2),
    bits("CapabilityMask2", 4, 4, 31, 5),
    bits("RespTimeValue", 4, 4, 4, 0),
    whole("RedirectGID", 8, 16),
    whole("RedirectTC/SL/FL", 24, 4),
    whole("RedirectLID", 28, 2),
    whole("RedirectP_Key", 30, 2),
    whole("RedirectQP", 32, 4),
    whole("RedirectQ_Key", 36, 4),
    whole("TrapGID", 40, 16),
    whole("TrapTC/SL/FL", 56, 4),
    whole("TrapLID", 60, 2),
    whole("TrapP_Key", 62, 2),
    whole("TrapHopLimit/QP", 64, 4),
    whole("TrapQ_Key", 68, 4),
];

pub(crate) const UMAD_HEADER: [Field; 18] = [
    host("id", 0, 4),
    host("status", 4, 4),
    host("timeout_ms", 8, 4),
    host("retries", 12, 4),
    host("length", 16, 4),
    whole("qpn", 20, 4),
    whole("qkey", 24, 4),
    whole("lid", 28, 2),
    whole("sl", 30, 1),
    whole("path_bits", 31, 1),
    whole("grh_present", 32, 1),
    whole("gid_index", 33, 1),
    whole("hop_limit", 34, 1),
    whole("traffic_class", 35, 1),
    whole("gid", 36, 16),
    whole("flow_label", 52, 4),
    host("pkey_index", 56, 2),
    whole("reserved", 58, 6),
];
