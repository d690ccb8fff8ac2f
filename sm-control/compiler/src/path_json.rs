//! A PathRecord as JSON, for people and machines.
//!
//! The names are those of `tests/golden`, which were recorded from OpenSM's answers, so that a
//! difference between two records can be told by field and compared with a recorded one. GUIDs and
//! keys are strings in hexadecimal, as JSON numbers lose bits beyond 2^53.

use core::fmt;

use sa_wire::path_record::PathRecord;
use serde::Serialize;
use serde_json::Value;

/// The fields of a record, reserved ones left out; selectors and values of MTU, rate and life time
/// apart.
///
/// Displayed as the JSON that it is serialized to. Numbers are the codes of the wire, so that a
/// record can be compared field by field with what another SA says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordInWords {
    /// Shape: `0x` and as many digits as it takes.
    service_id: String,
    dgid: String,
    sgid: String,
    dlid: u16,
    slid: u16,
    /// 0 or 1.
    raw_traffic: u8,
    flow_label: u32,
    hop_limit: u8,
    tclass: u8,
    /// 0 or 1.
    reversible: u8,
    numb_path: u8,
    pkey: String,
    qos_class: u16,
    sl: u8,
    /// Of the selectors, their two bits; of what they select, the code.
    mtu_sel: u8,
    mtu: u8,
    rate_sel: u8,
    rate: u8,
    pkt_life_sel: u8,
    pkt_life: u8,
    preference: u8,
}

impl RecordInWords {
    /// All fields of a record.
    pub fn new(record: &PathRecord) -> Self {
        Self {
            service_id: format!("0x{:x}", record.service_id.get()),
            dgid: record.dgid().to_string(),
            sgid: record.sgid().to_string(),
            dlid: record.dlid.get(),
            slid: record.slid.get(),
            raw_traffic: u8::from(record.flow.raw_traffic()),
            flow_label: record.flow.flow_label(),
            hop_limit: record.flow.hop_limit(),
            tclass: record.tclass,
            reversible: u8::from(record.numb_path.reversible()),
            numb_path: record.numb_path.numb_path(),
            pkey: format!("0x{:x}", record.pkey.get()),
            qos_class: record.qos_class_sl.qos_class(),
            sl: record.qos_class_sl.sl().get(),
            mtu_sel: record.mtu.0 >> 6,
            mtu: record.mtu.value(),
            rate_sel: record.rate.0 >> 6,
            rate: record.rate.value(),
            pkt_life_sel: record.packet_life.0 >> 6,
            pkt_life: record.packet_life.value(),
            preference: record.preference,
        }
    }
}

impl fmt::Display for RecordInWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

/// The same as a value, to go over its fields by name.
pub fn in_words(record: &PathRecord) -> Value {
    // Texts and numbers under names that are texts always are a value.
    serde_json::to_value(RecordInWords::new(record)).unwrap_or_default()
}
