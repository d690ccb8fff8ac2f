//! A PathRecord as JSON, for people and machines.
//!
//! The names are those of `tests/golden`, which were recorded from OpenSM's answers, so that a
//! difference between two records can be told by field and compared with a recorded one. GUIDs and
//! keys are strings in hexadecimal, as JSON numbers lose bits beyond 2^53.

use sa_wire::path_record::PathRecord;
use serde_json::{Value, json};

/// The fields of a record, reserved ones left out. Shape: an object; selectors and values of MTU,
/// rate and life time apart.
pub fn in_words(record: &PathRecord) -> Value {
    json!({
        "service_id": format!("0x{:x}", record.service_id.get()),
        "dgid": record.dgid().to_string(),
        "sgid": record.sgid().to_string(),
        "dlid": record.dlid.get(),
        "slid": record.slid.get(),
        "raw_traffic": u8::from(record.flow.raw_traffic()),
        "flow_label": record.flow.flow_label(),
        "hop_limit": record.flow.hop_limit(),
        "tclass": record.tclass,
        "reversible": u8::from(record.numb_path.reversible()),
        "numb_path": record.numb_path.numb_path(),
        "pkey": format!("0x{:x}", record.pkey.get()),
        "qos_class": record.qos_class_sl.qos_class(),
        "sl": record.qos_class_sl.sl().get(),
        "mtu_sel": record.mtu.0 >> 6,
        "mtu": record.mtu.value(),
        "rate_sel": record.rate.0 >> 6,
        "rate": record.rate.value(),
        "pkt_life_sel": record.packet_life.0 >> 6,
        "pkt_life": record.packet_life.value(),
        "preference": record.preference,
    })
}
