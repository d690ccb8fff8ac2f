//! `sapphire fabric fat-tree`, `dragonfly`, `dragonfly-plus`, `hyperx` and `random`: fabrics
//! without coordinates of a torus, each as `DIR/net`.
//!
//! All take the same damage by name, after the whole fabric is planned, so that nothing else moves.

use std::path::PathBuf;

use clap::Args;
use sa_fabric::generate::{
    DragonflySpec, FatTreeSpec, GenerateError, HyperXSpec, RandomSpec, Wiring, dragonfly, fat_tree,
    hyperx, random,
};
use sa_fabric::outlet::Folder;

use super::{put, write_lids, written};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Where to, and what of it has failed.
#[derive(Debug, Args)]
struct Common {
    /// Leave out a switch and its hosts, by name as in DIR/net; may repeat
    #[arg(long, value_name = "NAME")]
    rm_switch: Vec<String>,
    /// Leave out the cable at a port of a switch; may repeat
    #[arg(long, value_name = "NAME:PORT", value_parser = cable)]
    rm_link: Vec<(String, u8)>,
    /// Write DIR/opensm-subnet.lst too, with LIDs as OpenSM would assign them
    #[arg(long)]
    lids: bool,
    /// Directory to write to; made when missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FatTree {
    /// Levels of switches: 2 or 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    levels: u8,
    /// Ports of a switch
    #[arg(long, value_name = "N", default_value_t = 36)]
    radix: u8,
    /// Hosts of a leaf for so many cables up
    #[arg(long, value_name = "DOWN:UP", default_value = "1:1", value_parser = ratio)]
    oversubscription: (u8, u8),
    /// Parallel cables between two switches
    #[arg(long, value_name = "N", default_value_t = 1)]
    parallel: u8,
    /// Pods of three levels, leaves of two [default: as many as the top switches have ports for]
    #[arg(long, value_name = "N")]
    pods: Option<u8>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Dragonfly {
    /// Switches of a group, each joined with all others of it
    #[arg(long, value_name = "N", default_value_t = 8)]
    switches: u8,
    #[command(flatten)]
    groups: Groups,
}

#[derive(Debug, Args)]
pub(crate) struct DragonflyPlus {
    /// Leaves of a group, each joined with all its spines
    #[arg(long, value_name = "N", default_value_t = 8)]
    leaves: u8,
    /// Spines of a group, which have the global cables
    #[arg(long, value_name = "N", default_value_t = 8)]
    spines: u8,
    #[command(flatten)]
    groups: Groups,
}

#[derive(Debug, Args)]
struct Groups {
    /// Hosts of a switch, or leaf
    #[arg(long, value_name = "N", default_value_t = 4)]
    hosts: u8,
    /// Global cables of a switch, or spine
    #[arg(long, value_name = "N", default_value_t = 4)]
    global: u8,
    /// Groups [default: as many as the global cables reach, with one between any two]
    #[arg(long, value_name = "N")]
    groups: Option<u16>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct HyperX {
    /// Switches along each dimension; all 2 is a hypercube
    #[arg(required = true, value_name = "SIZE")]
    size: Vec<u8>,
    /// Hosts of a switch
    #[arg(long, value_name = "N", default_value_t = 1)]
    hosts: u8,
    /// Parallel cables between two switches
    #[arg(long, value_name = "N", default_value_t = 1)]
    parallel: u8,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Random {
    /// Switches
    #[arg(long, value_name = "N", default_value_t = 64)]
    switches: u16,
    /// Cables of a switch to others
    #[arg(long, value_name = "N", default_value_t = 6)]
    degree: u8,
    /// Hosts of a switch
    #[arg(long, value_name = "N", default_value_t = 2)]
    hosts: u8,
    /// Which of all such fabrics
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

/// `2:1`.
///
/// Errors: not two numbers; whether they make a fabric is the generator's to say.
fn ratio(text: &str) -> Result<(u8, u8), String> {
    let numbers = text
        .split_once(':')
        .and_then(|(down, up)| Some((down.parse().ok()?, up.parse().ok()?)));
    numbers.ok_or_else(|| "expected two numbers, as 2:1".to_owned())
}

/// `L0_1:7`.
///
/// The last colon, as names may have some.
fn cable(text: &str) -> Result<(String, u8), String> {
    let end = text
        .rsplit_once(':')
        .and_then(|(name, port)| Some((name.to_owned(), port.parse().ok()?)));
    end.ok_or_else(|| "expected a switch and a port, as L0_1:7".to_owned())
}

/// Errors: as [`write()`].
///
/// Levels, radix and ratio decide the rest.
pub(super) fn write_fat_tree(verb: &FatTree) -> Outcome {
    let spec = FatTreeSpec {
        levels: verb.levels,
        radix: verb.radix,
        oversubscription: verb.oversubscription,
        parallel: verb.parallel,
        pods: verb.pods,
    };
    write(fat_tree(&spec), &verb.common)
}

/// Groups of switches that are all joined. Errors: as [`write()`].
pub(super) fn write_dragonfly(verb: &Dragonfly) -> Outcome {
    write(
        dragonfly(&groups(&verb.groups, verb.switches, None)),
        &verb.groups.common,
    )
}

/// Groups of leaves and spines. Errors: as [`write()`].
pub(super) fn write_dragonfly_plus(verb: &DragonflyPlus) -> Outcome {
    let spec = groups(&verb.groups, verb.leaves, Some(verb.spines));
    write(dragonfly(&spec), &verb.groups.common)
}

/// `spines`: none where the switches of a group are alike.
///
/// Both kinds of dragonfly are one plan, but for the spines.
const fn groups(verb: &Groups, switches: u8, spines: Option<u8>) -> DragonflySpec {
    DragonflySpec {
        switches,
        spines,
        hosts: verb.hosts,
        global: verb.global,
        groups: verb.groups,
    }
}

/// Errors: as [`write()`].
/// Dimensions whose switches are all joined along each.
pub(super) fn write_hyperx(verb: &HyperX) -> Outcome {
    let spec = HyperXSpec {
        size: verb.size.clone(),
        hosts: verb.hosts,
        parallel: verb.parallel,
    };
    write(hyperx(&spec), &verb.common)
}

/// The same seed gives the same fabric. Errors: as [`write()`].
pub(super) fn write_random(verb: &Random) -> Outcome {
    let spec = RandomSpec {
        switches: verb.switches,
        degree: verb.degree,
        hosts: verb.hosts,
        seed: verb.seed,
    };
    write(random(&spec), &verb.common)
}

/// Writes a fabric into its folder. Errors: there is no such fabric; a part to leave out is not in
/// it; the folder cannot be written.
///
/// All are planned whole first: what is damaged has the names that the whole fabric gives.
fn write(planned: Result<Wiring, GenerateError>, common: &Common) -> Outcome {
    let wiring = planned.and_then(|wiring| damaged(wiring, common));
    let wiring = wiring.map_err(|error| Failure::usage(error.to_string()))?;
    let folder = or_fail(Folder::make(&common.output))?;
    put(&folder, "net", &wiring.net())?;
    if common.lids {
        write_lids(&folder)?;
    }
    written(&common.output, wiring.counts())
}

/// Without what is to be left out. Errors: it is not there.
fn damaged(mut wiring: Wiring, common: &Common) -> Result<Wiring, GenerateError> {
    // Cables first: one of a switch that is left out as well is named by either end.
    for (switch, port) in &common.rm_link {
        wiring.without_cable(switch, *port)?;
    }
    for switch in &common.rm_switch {
        wiring.without_switch(switch)?;
    }
    Ok(wiring)
}
