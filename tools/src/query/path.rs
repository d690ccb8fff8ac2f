//! PathRecords.
//!
//! A request names its ends by GIDs, by LIDs, or by both, or by names of hosts that the SA is asked
//! for; what is not given is not in the mask, so that `--table --slid 1` asks for the paths from
//! one port to all others. Get and GetTable differ in what an SA does with more than one path: Get
//! wants exactly one.
//!
//! The answer names the service that was asked for besides the paths: an SA answers with a path
//! either way, and whoever mistyped a service id would not see it.

use clap::Args;
use sa_compiler::account::Asked;
use sa_compiler::path_json::RecordInWords;
use sa_wire::mad::{Status, method};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::SaMad;
use sa_wire::{Gid, Guid, ServiceId, SubnetPrefix, request};
use serde::Serialize;

use super::client::Way;
use super::components::Components;
use super::ends::Ends;
use super::{number, told};
use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::json::Document;
use crate::wrong::Wrong;

#[derive(Debug, Args)]
pub(crate) struct Pr {
    #[command(flatten)]
    way: Way,
    /// Source by its name, which the SA is asked for: node name, NAME:PORT, 0xGUID or LID
    #[arg(long, value_name = "HOST", conflicts_with_all = ["sgid", "slid"])]
    from: Option<String>,
    /// Destination, likewise
    #[arg(long, value_name = "HOST", conflicts_with_all = ["dgid", "dlid"])]
    to: Option<String>,
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
    #[command(flatten)]
    components: Components,
    /// Ask with GetTable instead of Get
    #[arg(long)]
    table: bool,
}

/// A GID as an IPv6 address, or a port GUID, which is completed with the default subnet prefix
/// (`fe80::/64`). Errors: neither.
pub(super) fn gid(text: &str) -> Result<Gid, Wrong> {
    if text.starts_with("0x") {
        let guid = Guid::new(number(text)?).map_err(Wrong::of)?;
        return Ok(Gid::unicast(SubnetPrefix::LINK_LOCAL, guid));
    }
    let address: std::net::Ipv6Addr = text
        .parse()
        .map_err(|_| Wrong::from("expected a GID as an IPv6 address, or 0xGUID"))?;
    Ok(Gid(address.octets()))
}

/// Errors: no request can be made of what is asked; nobody answers; the SA refuses.
pub(super) fn run(verb: &Pr) -> Outcome {
    // What is wrong with the command line is said before anybody is asked.
    let (mask, record) = request_record(verb)?;
    let names = verb.components.names()?;
    let (mask, record) = by_name(verb, mask, record)?;
    let asked = if verb.table {
        method::GET_TABLE
    } else {
        method::GET
    };
    let mut slot = request::path_request(0, asked, mask, &record);
    SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = verb.components.sa_key.unwrap_or(0).into();
    let reply = verb.way.ask(&slot)?;
    // A status is no failure of the asking: it is printed like any other answer.
    let (status, records) = or_fail(request::parse(&reply))?;
    let asked = mask_names_service(mask).then(|| ServiceId(record.service_id.get()));
    print(
        verb.way.json,
        Status(status),
        &records,
        Asked::about(&names, asked),
    )
}

/// What is asked for, and the mask of exactly that.
///
/// Bits of `--mask` are added last and never take one away.
///
/// What is not asked for is 0 in the record: an SA looks at it only where the mask says so.
fn request_record(verb: &Pr) -> Outcome<(PathCompMask, PathRecord)> {
    // Ends are this verb's own: a MultiPathRecord names them otherwise.
    let (mut mask, components) = verb.components.of_path()?;
    for (bits, given) in [
        (PathCompMask::DGID, verb.dgid.is_some()),
        (PathCompMask::SGID, verb.sgid.is_some()),
        (PathCompMask::DLID, verb.dlid.is_some()),
        (PathCompMask::SLID, verb.slid.is_some()),
    ] {
        if given {
            mask = mask | bits;
        }
    }
    let record = PathRecord {
        dgid: verb.dgid.map_or([0; 16], |gid| gid.0),
        sgid: verb.sgid.map_or([0; 16], |gid| gid.0),
        dlid: verb.dlid.unwrap_or(0).into(),
        slid: verb.slid.unwrap_or(0).into(),
        ..components
    };
    Ok((
        mask | PathCompMask(verb.components.mask.unwrap_or(0)),
        record,
    ))
}

/// The same with the ends that were named: the source by its LID and the destination by its GID, as
/// `sapphire explain` asks, so that a policy may choose among the LIDs of the destination.
///
/// Errors: nobody is called so, or several are; nobody answers.
fn by_name(
    verb: &Pr,
    mut mask: PathCompMask,
    mut record: PathRecord,
) -> Outcome<(PathCompMask, PathRecord)> {
    let ends = Ends {
        way: &verb.way,
        sa_key: verb.components.sa_key.unwrap_or(0),
    };
    if let Some(from) = &verb.from {
        record.slid = ends.port("--from", from)?.lid.into();
        mask = mask | PathCompMask::SLID;
    }
    if let Some(to) = &verb.to {
        let port = ends.port("--to", to)?;
        record.dgid = ends.gid(&port)?.0;
        mask = mask | PathCompMask::DGID;
    }
    Ok((mask, record))
}

/// True when both halves are asked for.
///
/// A service id has two bits in the mask, one per half.
///
/// Half a service id names none.
fn mask_names_service(mask: PathCompMask) -> bool {
    mask.0 & PathCompMask::SERVICE_ID.0 == PathCompMask::SERVICE_ID.0
}

/// What an SA answered.
///
/// `status` is in hexadecimal, as the specification lists it.
#[derive(Debug, Serialize)]
struct Answer {
    /// None where the request names no service id.
    service: Option<Asked>,
    /// Of the reply's header; 0x0000 is success.
    status: String,
    /// Empty where the status refuses.
    records: Vec<RecordInWords>,
}

impl Document for Answer {
    const SCHEMA: &'static str = "sapphire.query-path/1";
}

/// `service`: the one that was asked for; none where no service id was.
///
/// For both kinds of request: they answer with the same records.
pub(super) fn print(
    as_json: bool,
    status: Status,
    records: &[PathRecord],
    service: Option<Asked>,
) -> Outcome {
    let answer = Answer {
        service,
        status: format!("0x{:04x}", status.get()),
        records: records.iter().map(RecordInWords::new).collect(),
    };
    told(&answer, status, as_json, || {
        print_text(records, answer.service.as_ref());
    })
}

/// A line per path; codes of MTU and rate are shown as they are on the wire.
///
/// Codes as they are: a name for each would hide what was sent.
fn print_text(records: &[PathRecord], service: Option<&Asked>) {
    if let Some(Asked {
        service_id, what, ..
    }) = service
    {
        outln!("service {service_id}: {what}");
    }
    for record in records {
        outln!(
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
}
