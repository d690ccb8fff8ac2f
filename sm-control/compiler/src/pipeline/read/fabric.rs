//! The fabric and its LIDs, from files or from what an SA told.
//!
//! Both end in a [`Subnet`] with LIDs. From files, LIDs are given out as OpenSM would where none
//! are known; from an SA they are in force, and one that could not be kept means that the records
//! are of a subnet which is being set up.
//!
//! Parts that are to be taken as failed go last, from a subnet that has its LIDs already: a failure
//! must not move any.

use sa_fabric::detect::{DumpDir, Loaded, load_by, load_lids_by};
use sa_fabric::display::first_few;
use sa_fabric::intake::Kind;
use sa_fabric::model::{Assumed, Fabric};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records::SaFabric;
use sa_fabric::subnet::{Subnet, SubnetOptions};

use super::reader::Reader;
use super::{OptionsProblem, ReadProblem, failures};
use crate::pipeline::Inputs;
use crate::state::{Given, Routing};

/// The fabric, and the directory of dumps that it lies in. Errors: it cannot be read or parsed; it
/// is a snapshot.
///
/// The directory is kept for the engine, which may want tables from it.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
) -> Result<(Fabric, Option<DumpDir>), ReadProblem> {
    if let Some(told) = told(inputs) {
        // One digest over all records stands for the files.
        reader.provenance.push(told.provenance());
        reader.remarks.extend(told.notes().iter().cloned());
        return Ok((told.fabric().clone(), None));
    }
    let (mut fabric, path, dumps) = match load_by(&inputs.intake, &inputs.fabric)? {
        Loaded::Fabric(fabric) => (fabric, inputs.fabric.clone(), None),
        Loaded::Dumps(dumps) => (dumps.fabric.clone(), dumps.fabric_path.clone(), Some(dumps)),
        Loaded::Snapshot(file) => return Err(ReadProblem::IsSnapshot(file.path)),
    };
    // Of a directory it is the file in it that counts.
    reader.note(Kind::Fabric, "fabric", &path)?;
    // Assumptions are ibsim's, where the command line says nothing.
    let assumed = inputs
        .mtu
        .map_or(Assumed::IBSIM, |mtu| Assumed::IBSIM.with_mtu(mtu));
    fabric.assume(inputs.vl_cap.map_or(assumed, |vls| assumed.with_vls(vls)));
    let notes = fabric.notes().iter().map(|note| note.remark(&path));
    reader.remarks.extend(notes);
    Ok((fabric, dumps))
}

/// The fabric as the SM sees it, with LIDs. Errors: there is no SM, or LIDs run out.
///
/// Everything that came out otherwise than files say becomes a remark here.
pub(super) fn subnet(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    fabric: Fabric,
) -> Result<Subnet, ReadProblem> {
    // A LID file beside an SA would contradict what runs, so it is not looked at.
    let subnet = match told(inputs) {
        Some(from_sa) => subnet_of_sa(from_sa, fabric)?,
        None => subnet_of_files(reader, inputs, options, fabric)?,
    };
    remark_on(reader, &subnet);
    Ok(subnet)
}

/// A fabric that is no file: of an SA, or of a sweep.
pub(super) fn told(inputs: &Inputs) -> Option<&SaFabric> {
    let told = inputs.from_sa.as_deref();
    told.or(inputs.swept.as_deref())
}

/// By the options of the SM, with a LID file where one is named. Errors: the file; no SM; too many
/// LIDs.
fn subnet_of_files(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    fabric: Fabric,
) -> Result<Subnet, ReadProblem> {
    let lids = match &inputs.lids {
        Some(path) => {
            let lids = load_lids_by(&inputs.intake, path)?;
            reader.note(Kind::Fabric, "LIDs", path)?;
            Some(lids)
        }
        None => None,
    };
    let wanted = SubnetOptions {
        lmc: options.lmc,
        lmc_esp0: options.lmc_esp0,
        reassign_lids: options.reassign_lids,
        sm_node: inputs.sm_node.as_deref(),
        // A node that was named goes before it.
        sm_guid: options.guid,
        lids: lids.as_ref(),
    };
    Subnet::new(fabric, &wanted).map_err(|source| ReadProblem::Subnet {
        path: inputs.fabric.clone(),
        source,
    })
}

/// Every port keeps the LID that it has. Errors: there is no SM, or LIDs cannot be kept.
///
/// The LMC is what all ports told.
fn subnet_of_sa(from_sa: &SaFabric, fabric: Fabric) -> Result<Subnet, ReadProblem> {
    let whom = || from_sa.whom().to_owned();
    let subnet = Subnet::new(fabric, &from_sa.subnet_options()).map_err(|source| {
        ReadProblem::SubnetOfSa {
            whom: whom(),
            source,
        }
    })?;
    match subnet.report().moved.first() {
        None => Ok(subnet),
        Some((port, lid, _)) => Err(ReadProblem::LidOfSa {
            whom: whom(),
            lid: *lid,
            port: subnet.fabric().port_name(*port),
        }),
    }
}

/// The subnet after the parts failed that are to be taken as failed. Errors: tables are given,
/// which
/// cannot follow; a name that leads nowhere; nothing left.
///
/// The provenance names the failed parts: a snapshot of a damaged fabric must not be taken for one
/// of the whole.
pub(super) fn damaged(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    routing: &Routing,
    subnet: Subnet,
) -> Result<Subnet, ReadProblem> {
    if inputs.failed.is_empty() {
        return Ok(subnet);
    }
    // Given tables do not follow a failure; what the SM would do is not known.
    if matches!(routing.given, Given::Tables { .. }) || inputs.from_sa.is_some() {
        return Err(OptionsProblem::TablesAndFailures.into());
    }
    let damaged = failures::apply(&subnet, options, routing, &inputs.failed)?;
    let cut_off = subnet.cut_off(&damaged);
    let cut_off: Vec<String> = cut_off.map(|node| node.name().to_owned()).collect();
    // Hosts that a failure cuts off are told, not refused: that is what one wants to know.
    if !cut_off.is_empty() {
        let text = format!("host ports that are cut off: {}", first_few(&cut_off));
        reader.warn("ports-cut-off", text);
    }
    reader
        .provenance
        .push(format!("failed {}", inputs.failed.join(" ")));
    Ok(damaged)
}

/// What came out otherwise than the files say.
///
/// A remark for each, as many as there are: who shows them cuts lists.
fn remark_on(reader: &mut Reader, subnet: &Subnet) {
    let report = subnet.report();
    let fabric = subnet.fabric();
    for node in &report.unreachable {
        let name = fabric.node(*node).name();
        let text = format!("{name} cannot be reached from the SM and is left out");
        reader.warn("node-unreachable", text);
    }
    for (port, given, assigned) in &report.moved {
        let name = fabric.port_name(*port);
        let text = format!("LID {given} of {name} could not be kept; it gets {assigned}");
        reader.warn("lid-moved", text);
    }
    for guid in &report.unknown_guids {
        let text = format!("the LID file names {guid}, which is not in the fabric");
        reader.warn("lid-of-unknown", text);
    }
    for port in &report.without_lid {
        let name = fabric.port_name(*port);
        let text = format!("the LID file has no LID for {name}; one was assigned");
        reader.warn("lid-missing", text);
    }
}
