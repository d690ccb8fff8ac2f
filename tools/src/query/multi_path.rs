//! MultiPathRecords.
//!
//! The GIDs follow the fixed part of the record, sources first; how many there are is in its fields
//! SGIDCount and DGIDCount, which `request::multi_path_request` sets. A request is one MAD, hence
//! 11 GIDs in all.

use clap::Args;
use sa_compiler::account::Asked;
use sa_wire::mad::Status;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::PathCompMask;
use sa_wire::sa::SaMad;
use sa_wire::{Gid, ServiceId, request};

use super::client::Way;
use super::components::Components;
use super::ends::Ends;
use super::path::{gid, print};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

#[derive(Debug, Args)]
pub(crate) struct Mpr {
    #[command(flatten)]
    way: Way,
    /// Source GID, or a port GUID as 0x...; any number, with commas or by repeating the option
    #[arg(long, value_name = "GID|GUID", value_parser = gid, value_delimiter = ',', required_unless_present = "from")]
    sgid: Vec<Gid>,
    /// Destination GID, or a port GUID as 0x...; 11 GIDs in all
    #[arg(long, value_name = "GID|GUID", value_parser = gid, value_delimiter = ',', required_unless_present = "to")]
    dgid: Vec<Gid>,
    /// Source by its name, which the SA is asked for: node name, NAME:PORT, 0xGUID or LID; may be
    /// repeated
    #[arg(long, value_name = "HOST")]
    from: Vec<String>,
    /// Destination, likewise
    #[arg(long, value_name = "HOST")]
    to: Vec<String>,
    /// IndependenceSelector
    #[arg(long, value_name = "0..3", value_parser = clap::value_parser!(u8).range(0..4))]
    independence: Option<u8>,
    #[command(flatten)]
    components: Components,
}

/// Errors: more than 11 GIDs; nobody answers; the SA refuses.
pub(super) fn run(verb: &Mpr) -> Outcome {
    let (mask, record) = request_record(verb)?;
    let names = verb.components.names()?;
    let sgids = gids(verb, "--from", &verb.sgid, &verb.from)?;
    let dgids = gids(verb, "--to", &verb.dgid, &verb.to)?;
    let slot = request::multi_path_request(0, mask, &record, &sgids, &dgids);
    let mut slot = slot.map_err(|error| Failure::usage(error.to_string()))?;
    // After the request is made: the key is a field of the header and not of the record.
    SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = verb.components.sa_key.unwrap_or(0).into();
    let reply = verb.way.ask(&slot)?;
    let (status, records) = or_fail(request::parse(&reply))?;
    let service = MultiPathCompMask::SERVICE_ID;
    let asked = (mask.0 & service.0 == service.0).then(|| record.service_id());
    print(
        verb.way.json,
        Status(status),
        &records,
        Asked::about(&names, asked),
    )
}

/// Those that were given and those of hosts that were named. Errors: those of names; nobody
/// answers.
fn gids(verb: &Mpr, option: &str, given: &[Gid], names: &[String]) -> Outcome<Vec<Gid>> {
    let ends = Ends {
        way: &verb.way,
        sa_key: verb.components.sa_key.unwrap_or(0),
    };
    let named = names.iter().map(|name| ends.gid(&ends.port(option, name)?));
    let named: Vec<Gid> = named.collect::<Outcome<_>>()?;
    Ok([given, &named].concat())
}

/// The record without GIDs, and the mask of exactly what was named.
///
/// What both records have in common is taken from the components of a path, so that the options
/// mean the same.
fn request_record(verb: &Mpr) -> Outcome<(MultiPathCompMask, MultiPathRecord)> {
    let (asked, path) = verb.components.of_path()?;
    let mut record = MultiPathRecord {
        flow: path.flow,
        tclass: path.tclass,
        numb_path: path.numb_path,
        pkey: path.pkey,
        qos_class_sl: path.qos_class_sl,
        mtu: path.mtu,
        rate: path.rate,
        packet_life: path.packet_life,
        // IndependenceSelector is the upper two bits of its byte.
        independence: verb.independence.unwrap_or(0) << 6,
        ..MultiPathRecord::default()
    };
    // The one component that lies in two pieces in MultiPathRecord.
    record.set_service_id(ServiceId(path.service_id.get()));
    let mut mask = MultiPathCompMask(verb.components.mask.unwrap_or(0)) | of_path(asked);
    if verb.independence.is_some() {
        mask = mask | MultiPathCompMask::INDEPENDENCE_SELECTOR;
    }
    Ok((mask, record))
}

/// The same components in the mask of MultiPathRecord.
///
/// Bits without a counterpart (the ends) fall away: this record names ends by its lists.
fn of_path(asked: PathCompMask) -> MultiPathCompMask {
    let bits = (0..64).map(|bit| MultiPathCompMask(1 << bit));
    // Every bit of the one stands for at most one of the other.
    let same = bits.filter(|bit| bit.path_components().0 & asked.0 != 0);
    same.fold(MultiPathCompMask(0), |mask, bit| mask | bit)
}
