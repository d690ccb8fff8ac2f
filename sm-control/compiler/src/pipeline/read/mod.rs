//! Reading every input before anything is computed from it.
//!
//! [`read`] goes through the inputs once, in the order in which they depend on each other: the SM's
//! options, the fabric, its LIDs, what the routing engine needs, failed parts, partitions, the
//! policy, what lies off the subnet, alias GUIDs. Each has a file here that reads and parses it and
//! says what an
//! operator should know; the [`Reader`] goes from one to the next and collects that. The first
//! problem ends it: half a
//! fabric must not be compiled.
//!
//! Why everything is read first: a change of the files while a snapshot is made would mix two
//! states, and digests of all inputs stand in the snapshot.
//!
//! What it does not do: judge the whole. Whether paths exist and whether the policy's SLs reach
//! anybody is known only after routing.
//!
//! | file | input | depends on |
//! |---|---|---|
//! | `opensm_conf` | `opensm.conf`, options over it, what an SA says | |
//! | `fabric` | fabric file, dumps or an SA; LIDs; failed parts | options |
//! | `engine`, `tables` | `torus-2QoS.conf`, tables of dumps | subnet |
//! | `failures` | names of failed parts | subnet, coordinates |
//! | `partitions` | `partitions.conf` or P_Key tables | subnet |
//! | `policy` | QoS policy, names of services | partitions |
//! | `prefix_routes` | `prefix-routes.conf` | options, subnet |
//! | `aliases` | `opensm-sa.dump` or an SA | subnet |

mod aliases;
mod engine;
mod fabric;
mod failures;
mod opensm_conf;
mod partitions;
mod policy;
mod prefix_routes;
mod problem;
mod reader;
mod roots;
mod tables;

use sa_fabric::options::{ManagerOptions, OpenSmOptions};
use sa_text::Remark;

use self::reader::Reader;
use super::Inputs;
use crate::off_subnet::{self, OffSubnet};
use crate::state::Sources;

pub use self::failures::FailedPartError;
pub use self::policy::{parse_text, remark_of_note, ulp_names};
pub use self::problem::{OptionsProblem, ReadProblem};

/// Reads all inputs. Errors: the first [`ReadProblem`].
///
/// Order of remarks is the order of this table: messages come as an operator would look for them,
/// the fabric before the policy.
pub fn read(inputs: &Inputs) -> Result<Sources, ReadProblem> {
    inputs.watch.step("reading", || read_all(inputs))
}

/// In the order of the table.
fn read_all(inputs: &Inputs) -> Result<Sources, ReadProblem> {
    let mut reader = Reader::new(inputs.intake.clone());
    let options = opensm_conf::read(&mut reader, inputs)?;
    let (fabric, dumps) = fabric::read(&mut reader, inputs)?;
    let subnet = fabric::subnet(&mut reader, inputs, &options, fabric)?;
    let routing = engine::read(&mut reader, inputs, &options, &subnet, dumps.as_ref())?;
    // After the engine's configuration is known: parts may be named by coordinates.
    let subnet = fabric::damaged(&mut reader, inputs, &options, &routing, subnet)?;
    let (partitions, mlids) = partitions::read(&mut reader, inputs, &options, &subnet)?;
    let policy = policy::read(&mut reader, inputs, &options, &subnet, &partitions)?;
    let off_subnet = OffSubnet {
        mlids,
        multicast_cap: fabric::told(inputs).and_then(|told| told.multicast_cap()),
        prefix_routes: prefix_routes::read(&mut reader, inputs, &options, &subnet)?,
        routers: off_subnet::routers(&subnet),
    };
    let aliases = aliases::read(&mut reader, inputs, &subnet)?;
    if !inputs.drained.is_empty() {
        reader
            .provenance
            .push(format!("drained {}", inputs.drained));
    }
    Ok(Sources {
        subnet,
        options,
        routing,
        partitions,
        policy,
        off_subnet,
        aliases,
        apply_setup: inputs.apply_setup,
        from_sa: inputs.from_sa.clone(),
        heard_sls: inputs.heard_sls.clone(),
        drained: inputs.drained.clone(),
        watch: inputs.watch,
        provenance: reader.provenance,
        warnings: reader.remarks,
    })
}

/// Reads what lies in files beside a fabric that only a running SM tells. Returns what an operator
/// should know. Errors: the first [`ReadProblem`].
///
/// For a check of a configuration while no SM answers.
pub fn read_but_the_fabric(inputs: &Inputs) -> Result<Vec<Remark>, ReadProblem> {
    let mut reader = Reader::new(inputs.intake.clone());
    let options = opensm_conf::read(&mut reader, inputs)?;
    if let Some(path) = &inputs.torus_conf {
        engine::torus_conf(&mut reader, path)?;
    }
    if let Some(path) = &inputs.partitions {
        partitions::conf(&mut reader, path)?;
    }
    policy::judge_alone(&mut reader, inputs, &options)?;
    Ok(reader.remarks)
}

/// First and last service ids of the ranges that the rules of a policy name; none without a policy.
/// Errors: it cannot be read or parsed.
///
/// For tools that make requests to a policy without having a fabric.
pub fn service_ranges(inputs: &Inputs) -> Result<Vec<(u64, u64)>, ReadProblem> {
    let Some(path) = &inputs.policy else {
        return Ok(Vec::new());
    };
    let mut reader = Reader::new(inputs.intake.clone());
    let options = opensm_conf::read(&mut reader, inputs)?;
    policy::service_ranges(&mut reader, inputs, &options, path)
}

/// What only a Subnet Manager follows of `opensm.conf`. Errors: it cannot be read or parsed.
pub fn manager_options(inputs: &Inputs) -> Result<ManagerOptions, ReadProblem> {
    opensm_conf::manager(&mut Reader::new(inputs.intake.clone()), inputs)
}

/// Options of the SM, as far as files tell them. Errors: `opensm.conf` cannot be read or parsed.
pub fn options(inputs: &Inputs) -> Result<OpenSmOptions, ReadProblem> {
    opensm_conf::read(&mut Reader::new(inputs.intake.clone()), inputs)
}
