//! PathRecords.

use clap::Args;
use sa_wire::mad::{Status, method};
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};
use sa_wire::{Gid, Guid, Sl, SubnetPrefix};
use serde_json::json;
use sm_control::request;

use super::client::Way;
use super::number;
use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Pr {
    #[command(flatten)]
    way: Way,
    /// Source GID, or a port GUID as 0x...
    #[arg(long, value_name = "GID|GUID", value_parser = gid)]
    sgid: Option<Gid>,
    /// Destination GID, or a port GUID as 0x...
    #[arg(long, value_name = "GID|GUID", value_parser = gid)]
    dgid: Option<Gid>,
    /// Source LID
    #[arg(long, value_name = "LID")]
    slid: Option<u16>,
    /// Destination LID
    #[arg(long, value_name = "LID")]
    dlid: Option<u16>,
    /// P_Key
    #[arg(long, value_name = "PKEY", value_parser = number::<u16>)]
    pkey: Option<u16>,
    /// QoS class
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u16).range(0..4096))]
    qos_class: Option<u16>,
    /// Service level
    #[arg(long, value_name = "SL", value_parser = clap::value_parser!(u8).range(0..16))]
    sl: Option<u8>,
    /// Service id
    #[arg(long, value_name = "ID", value_parser = number::<u64>)]
    service_id: Option<u64>,
    /// MTU selector and code in one byte: 0x84 is exactly 2048
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    mtu: Option<u8>,
    /// Rate selector and code in one byte
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    rate: Option<u8>,
    /// Packet life time selector and exponent in one byte
    #[arg(long, value_name = "BYTE", value_parser = number::<u8>)]
    packet_life: Option<u8>,
    /// Traffic class
    #[arg(long, value_name = "TCLASS", value_parser = number::<u8>)]
    tclass: Option<u8>,
    /// Flow label
    #[arg(long, value_name = "LABEL", value_parser = number::<u32>)]
    flow_label: Option<u32>,
    /// Hop limit
    #[arg(long, value_name = "HOPS", value_parser = number::<u8>)]
    hop_limit: Option<u8>,
    /// Ask for raw traffic (1) or not (0)
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..2))]
    raw: Option<u8>,
    /// Ask for reversible paths (1), or say that it does not matter (0)
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..2))]
    reversible: Option<u8>,
    /// Paths wanted of each pair of ports, in tables
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..128))]
    numb_path: Option<u8>,
    /// Ask with GetTable instead of Get
    #[arg(long)]
    table: bool,
}

pub(super) fn gid(text: &str) -> Result<Gid, String> {
    if text.starts_with("0x") {
        let guid = Guid::new(number(text)?).map_err(|error| error.to_string())?;
        return Ok(Gid::unicast(SubnetPrefix::LINK_LOCAL, guid));
    }
    let address: std::net::Ipv6Addr = text
        .parse()
        .map_err(|_| "expected a GID as an IPv6 address, or 0xGUID".to_owned())?;
    Ok(Gid(address.octets()))
}

pub(super) fn run(verb: &Pr) -> Outcome {
    let (mask, record) = request_record(verb);
    let asked = if verb.table {
        method::GET_TABLE
    } else {
        method::GET
    };
    let reply = verb
        .way
        .ask(&request::path_request(0, asked, mask, &record))?;
    let (status, records) = or_fail(request::parse(&reply))?;
    print(verb, Status(status), &records)
}

/// What is asked for, and the mask of exactly that.
fn request_record(verb: &Pr) -> (PathCompMask, PathRecord) {
    let mut mask = PathCompMask::default();
    let mut record = PathRecord::default();
    let mut set = |bits: PathCompMask, given: bool| {
        if given {
            mask = mask | bits;
        }
    };
    set(PathCompMask::SERVICE_ID, verb.service_id.is_some());
    set(PathCompMask::DGID, verb.dgid.is_some());
    set(PathCompMask::SGID, verb.sgid.is_some());
    set(PathCompMask::DLID, verb.dlid.is_some());
    set(PathCompMask::SLID, verb.slid.is_some());
    set(PathCompMask::RAW_TRAFFIC, verb.raw.is_some());
    set(PathCompMask::FLOW_LABEL, verb.flow_label.is_some());
    set(PathCompMask::HOP_LIMIT, verb.hop_limit.is_some());
    set(PathCompMask::TCLASS, verb.tclass.is_some());
    set(PathCompMask::REVERSIBLE, verb.reversible.is_some());
    set(PathCompMask::NUMB_PATH, verb.numb_path.is_some());
    set(PathCompMask::PKEY, verb.pkey.is_some());
    set(PathCompMask::QOS_CLASS, verb.qos_class.is_some());
    set(PathCompMask::SL, verb.sl.is_some());
    set(PathCompMask::MTU_PAIR, verb.mtu.is_some());
    set(PathCompMask::RATE_PAIR, verb.rate.is_some());
    set(PathCompMask::PACKET_LIFE_PAIR, verb.packet_life.is_some());
    record.service_id = verb.service_id.unwrap_or(0).into();
    record.dgid = verb.dgid.map_or([0; 16], |gid| gid.0);
    record.sgid = verb.sgid.map_or([0; 16], |gid| gid.0);
    record.dlid = verb.dlid.unwrap_or(0).into();
    record.slid = verb.slid.unwrap_or(0).into();
    record.flow = FlowWord::new(verb.flow_label.unwrap_or(0), verb.hop_limit.unwrap_or(0));
    if verb.raw == Some(1) {
        record.flow = record.flow.with_raw_traffic();
    }
    record.tclass = verb.tclass.unwrap_or(0);
    record.numb_path = NumbPathByte::new(verb.numb_path.unwrap_or(0));
    if verb.reversible == Some(1) {
        record.numb_path = record.numb_path.with_reversible();
    }
    record.pkey = verb.pkey.unwrap_or(0).into();
    record.qos_class_sl = QosClassSl::new(
        verb.qos_class.unwrap_or(0),
        Sl::from_low_bits(verb.sl.unwrap_or(0)),
    );
    record.mtu = SelectedValue(verb.mtu.unwrap_or(0));
    record.rate = SelectedValue(verb.rate.unwrap_or(0));
    record.packet_life = SelectedValue(verb.packet_life.unwrap_or(0));
    (mask, record)
}

fn print(verb: &Pr, status: Status, records: &[PathRecord]) -> Outcome {
    if verb.way.json {
        let records: Vec<_> = records.iter().map(request::in_words).collect();
        return json::print(&json!({
            "status": format!("0x{:04x}", status.get()),
            "records": records,
        }));
    }
    if status != Status::OK {
        println!("status {status}");
    }
    for record in records {
        println!(
            "{} LID {} -> {} LID {}: SL {}, P_Key 0x{:04x}, MTU code {}, rate code {}, life {}{}",
            record.sgid(),
            record.slid.get(),
            record.dgid(),
            record.dlid.get(),
            record.qos_class_sl.sl(),
            record.pkey.get(),
            record.mtu.value(),
            record.rate.value(),
            record.packet_life.value(),
            if record.numb_path.reversible() {
                ", reversible"
            } else {
                ""
            }
        );
    }
    Ok(())
}
