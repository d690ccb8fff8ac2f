//! `sapphire query srp-targets`: service ids of SRP targets, from their I/O units.
//!
//! A policy names SRP targets by service ids, which each target chooses for itself and which the SA
//! does not know. They are learnt in two steps:
//!
//! ```text
//! SA        PortInfoRecords with IsDeviceManagementSupported  -> LIDs
//! I/O unit  IOUnitInfo, then per controller its profile and ServiceEntries -> ids
//! ```
//!
//! The second step goes to each target directly, in MADs of the device management class. The output
//! ends with lines to paste into a policy.

mod show;
mod survey;

use clap::Args;
use sa_wire::device_management::IS_DEVICE_MANAGEMENT_SUPPORTED;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::{Lid, Sl, request};
use survey::{Unit, survey};

use super::client::Way;
use super::record;
use crate::failure::{Failure, Outcome};
use crate::reach;

#[derive(Debug, Args)]
pub(crate) struct SrpTargets {
    #[command(flatten)]
    way: Way,
    /// LIDs of the targets' ports [default: all ports that the SA says answer device management]
    #[arg(value_name = "LID")]
    lids: Vec<u16>,
    /// Service level of the requests to the targets [default: that of the SM's port]
    #[arg(long, value_name = "SL", value_parser = clap::value_parser!(u8).range(0..16))]
    sl: Option<u8>,
    /// Show controllers and services of other protocols too
    #[arg(long)]
    all: bool,
}

/// Errors: the SA does not answer, or none of the targets.
///
/// Targets are asked one after the other, each with its own time-out: one that is silent holds up
/// the others once.
pub(super) fn run(verb: &SrpTargets) -> Outcome {
    let lids = match verb.lids.as_slice() {
        [] => managed_ports(&verb.way)?,
        lids => lids.to_vec(),
    };
    let mut client = verb.way.open_for_devices()?;
    let mut units = Vec::with_capacity(lids.len());
    let mut silent = Vec::new();
    for lid in lids {
        let port = Lid::new(lid).map_err(|error| Failure::usage(error.to_string()))?;
        client.turn_to(port, verb.sl.map(Sl::from_low_bits));
        // Requests to one unit follow each other quickly, and a late reply must not count for the
        // next one.
        let mut transaction = u64::from(std::process::id()) << 16;
        let unit = survey(lid, verb.all, &mut |request| {
            let mut request = *request;
            transaction += 1;
            request.mad.transaction_id = transaction.into();
            reach::ask(&mut client, zerocopy::transmute_ref!(&request))
        });
        match unit {
            Ok(unit) => units.push(unit),
            Err(failure) => silent.push((lid, failure)),
        }
    }
    show::print(&units, verb.way.json)?;
    told(&units, silent)
}

/// Whoever did not answer is told; it is a failure where nobody did.
///
/// A target that is silent does not hide the others: it is a warning as long as one of them
/// answered.
fn told(units: &[Unit], mut silent: Vec<(u16, Failure)>) -> Outcome {
    if units.is_empty()
        && let Some((lid, failure)) = silent.pop()
    {
        errln!("warning: LID {lid} gave no account of its controllers");
        return Err(failure);
    }
    for (lid, failure) in silent {
        errln!("warning: LID {lid}: {failure}");
    }
    Ok(())
}

/// LIDs of the ports with device management.
///
/// Errors: the SA does not answer, or knows none.
fn managed_ports(way: &Way) -> Outcome<Vec<u16>> {
    const LAYOUT: Layout = Layout::PORT_INFO;
    let field = |name| LAYOUT.fields.iter().find(|field| field.name == name);
    let (Some(mask), Some(lid)) = (field("capability_mask"), field("lid")) else {
        return Err(Failure::failed("no layout of PortInfoRecord"));
    };
    let attribute = AttributeId::PORT_INFO_RECORD;
    let mut slot = request::request(0, method::GET_TABLE, attribute, mask.mask(), &[]);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    // These bits at least, whatever the others are.
    mad.mad.attribute_modifier = (1 << 31).into();
    mask.set(&mut mad.data, u64::from(IS_DEVICE_MANAGEMENT_SUPPORTED));
    let reply = way.ask(&slot)?;
    let (status, records) = record::parse(&LAYOUT, &reply)
        .ok_or_else(|| Failure::failed("the reply is shorter than its headers"))?;
    let mut lids: Vec<u16> = records
        .iter()
        .filter_map(|record| u16::try_from(lid.value(record)).ok())
        .filter(|lid| *lid != 0)
        .collect();
    lids.sort_unstable();
    // A switch has a record for each of its ports, with one LID.
    lids.dedup();
    match lids.is_empty() {
        true => Err(Failure::refused(format!(
            "the SA knows no port that answers device management (status {status}); name LIDs to \
             ask others"
        ))),
        false => Ok(lids),
    }
}
