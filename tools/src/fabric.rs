//! `sapphire fabric`: fabric files to order, and how the running one is.
//!
//! A fabric of any size for whoever tries something out, with the damage that is wanted: each
//! switch or link that is left out is simply not written. The files are those that ibsim and OpenSM
//! read, so a simulator and Sapphire see the same:
//!
//! ```text
//! DIR/net                 ibsim net file: switches, hosts, cables
//! DIR/torus-2QoS.conf     size and seed links, for OpenSM and for us
//! DIR/topo.json           the plan itself, with coordinates, for tests and scripts
//! DIR/opensm-subnet.lst   with --lids: LIDs as OpenSM would assign them
//! ```
//!
//! Equal options give equal bytes. What can be made is in `sa_fabric::generate`; here are its
//! options.
//!
//! A line of `topo.json` holds all of it; of a switch and a link there is
//!
//! ```text
//! "S1_0_0":{"coord":[1,0,0],"guid":..}      ["S0_0_0",1,"S1_0_0",2]
//! ```

mod read;
mod shapes;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use sa_compiler::pipeline::{self, Inputs};
use sa_fabric::generate::{Coordinate, TorusPlan, TorusSpec, plan};
use sa_fabric::outlet::{Folder, Readers};
use sa_fabric::{display, formats};
use serde::Serialize;

use crate::control;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::json::Pairs;
use crate::wrong::Wrong;

#[derive(Debug, Subcommand)]
pub(crate) enum Fabric {
    /// Write a torus or mesh as DIR/net, DIR/torus-2QoS.conf and DIR/topo.json
    Torus(Torus),
    /// Write a fat tree as DIR/net: leaves L0_0, middle switches M0_0 by pod, tops T0_0 by group
    FatTree(shapes::FatTree),
    /// Write a dragonfly as DIR/net: switches S0_0 by group
    Dragonfly(shapes::Dragonfly),
    /// Write a dragonfly+ as DIR/net: leaves L0_0 and spines P0_0 by group
    DragonflyPlus(shapes::DragonflyPlus),
    /// Write a HyperX as DIR/net: full mesh, flattened butterfly, hypercube; switches S0_0
    #[command(name = "hyperx")]
    HyperX(shapes::HyperX),
    /// Write a random regular fabric as DIR/net: switches S0
    Random(shapes::Random),
    /// Say how the links are: those that are slow, lose packets or themselves, as sapphired knows
    Health(control::health::Health),
    /// Write the fabric of a running SA as OpenSM's dump files, for all verbs that take a fabric
    Read(read::Read),
}

#[derive(Debug, Args)]
pub(crate) struct Torus {
    /// Switches along x; 1 for an axis that is not there, 2 is wired as a mesh
    x: u8,
    /// Switches along y
    y: u8,
    /// Switches along z
    z: u8,
    /// Hosts per switch
    #[arg(long, value_name = "N", default_value_t = 1)]
    hosts: u8,
    /// Parallel links per axis: one number, or three with commas
    #[arg(long, value_name = "N[,N,N]", default_value = "1", value_parser = parallel)]
    parallel: [u8; 3],
    /// An axis without the link that closes its rings; may repeat
    #[arg(long, value_name = "AXIS", value_enum)]
    mesh_axis: Vec<Axis>,
    /// Leave out a switch and its hosts; may repeat
    #[arg(long, value_name = "X,Y,Z", value_parser = coordinate)]
    rm_switch: Vec<Coordinate>,
    /// Leave out the links from a switch in one direction, as 1,0,0:+x; may repeat
    #[arg(long, value_name = "X,Y,Z:+A", value_parser = link)]
    rm_link: Vec<(Coordinate, Axis, bool)>,
    /// Switch whose links seed the configuration
    #[arg(long, value_name = "X,Y,Z", default_value = "0,0,0", value_parser = coordinate)]
    origin: Coordinate,
    /// Write DIR/opensm-subnet.lst too, with LIDs as OpenSM would assign them
    #[arg(long)]
    lids: bool,
    /// Directory to write to; made when missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Axis {
    X,
    Y,
    Z,
}

/// Three numbers are for x, y and z.
fn parallel(text: &str) -> Result<[u8; 3], Wrong> {
    let numbers: Result<Vec<u8>, _> = text.split(',').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([all]) if *all > 0 => Ok([*all; 3]),
        Ok([x, y, z]) if *x > 0 && *y > 0 && *z > 0 => Ok([*x, *y, *z]),
        _ => Err(Wrong::from("expected N or N,N,N, each 1 to 255")),
    }
}

/// Blanks around numbers are let through, as `--rm-switch "1, 0, 2"` is easily written.
fn coordinate(text: &str) -> Result<Coordinate, Wrong> {
    let numbers: Result<Vec<u8>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    numbers
        .ok()
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| Wrong::from("expected three numbers, as 1,0,2"))
}

/// As in `1,0,0:+x`: true for plus. Whether there is such a link is the plan's to say.
fn link(text: &str) -> Result<(Coordinate, Axis, bool), Wrong> {
    let (at, direction) = text
        .split_once(':')
        .ok_or("expected X,Y,Z:+A, as 1,0,0:+x")?;
    let plus = match direction.as_bytes().first() {
        Some(b'+') => true,
        Some(b'-') => false,
        _ => return Err(Wrong::from("expected + or - before the axis")),
    };
    // Letters of either case.
    let axis = Axis::from_str(direction.get(1..).unwrap_or_default(), true)?;
    Ok((coordinate(at)?, axis, plus))
}

pub(crate) fn run(verb: &Fabric) -> Outcome {
    match verb {
        Fabric::Torus(torus) => write_torus(torus),
        Fabric::FatTree(verb) => shapes::write_fat_tree(verb),
        Fabric::Dragonfly(verb) => shapes::write_dragonfly(verb),
        Fabric::DragonflyPlus(verb) => shapes::write_dragonfly_plus(verb),
        Fabric::HyperX(verb) => shapes::write_hyperx(verb),
        Fabric::Random(verb) => shapes::write_random(verb),
        Fabric::Health(verb) => control::health::run(verb),
        Fabric::Read(verb) => read::run(verb),
    }
}

/// Errors: numbers that give no torus (exit 2), before anything is written; a file.
fn write_torus(verb: &Torus) -> Outcome {
    let plan = plan(&spec(verb)).map_err(|error| Failure::usage(error.to_string()))?;
    // All files go through one open directory, so that they end up in the same one.
    let folder = or_fail(Folder::make(&verb.output))?;
    put(&folder, "net", &plan.net())?;
    put(&folder, "torus-2QoS.conf", &plan.torus_conf())?;
    let topo = or_fail(serde_json::to_string(&Topo::new(&plan)))?;
    put(&folder, "topo.json", &format!("{topo}\n"))?;
    if verb.lids {
        write_lids(&folder)?;
    }
    let counts = [plan.switches.len(), plan.links.len(), plan.hosts.len()];
    written(&verb.output, counts)
}

/// Says what was written. `counts`: switches, links between them, hosts.
fn written(folder: &Path, counts: [usize; 3]) -> Outcome {
    let [switches, links, hosts] = counts;
    outln!(
        "{}: {}, {}, {}",
        folder.display(),
        display::count(switches, "switch", "switches"),
        display::count(links, "link", "links"),
        display::count(hosts, "host", "hosts")
    );
    Ok(())
}

/// Switches get as many ports as this takes, 36 at least.
fn spec(verb: &Torus) -> TorusSpec {
    let mut spec = TorusSpec::new([verb.x, verb.y, verb.z], verb.hosts);
    spec.parallel = verb.parallel;
    // Each axis has links in two directions. A sum over 255 is refused by the plan.
    let links: u8 = verb
        .parallel
        .iter()
        .fold(0, |sum, n| sum.saturating_add(n.saturating_mul(2)));
    spec.ports = spec.ports.max(links.saturating_add(verb.hosts));
    for axis in &verb.mesh_axis {
        if let Some(open) = spec.mesh.get_mut(*axis as usize) {
            *open = true;
        }
    }
    spec.origin = verb.origin;
    spec.without_switches.extend(verb.rm_switch.iter().copied());
    // A link is named from its end in the minus direction, so -x is +x of the neighbour before.
    for (at, axis, plus) in &verb.rm_link {
        let axis = *axis as usize;
        let mut from = *at;
        if let (false, Some(value), Some(size)) = (*plus, from.get_mut(axis), spec.size.get(axis)) {
            *value = value
                .checked_sub(1)
                // Below 0 comes the last position: it is a ring.
                .unwrap_or_else(|| size.saturating_sub(1));
        }
        spec.without_links.insert((from, axis));
    }
    spec
}

/// What was built, for programs: coordinates, cables, hosts. A file of the corpora' format, which
/// has no name of its own in it.
/// Made from the plan and not from the files, so tests can hold the files against it.
#[derive(Debug, Serialize)]
struct Topo<'a> {
    /// Along x, y, z; 1 for an axis that is not there.
    size: [u8; 3],
    /// Axes that are no rings.
    mesh: Vec<bool>,
    /// Parallel cables along x, y, z.
    links_per_dim: [u8; 3],
    /// By name, in the order of the plan.
    switches: Pairs<&'a str, TopoSwitch>,
    /// Switch and port at one end, switch and port at the other.
    links: Vec<(String, u8, String, u8)>,
    hosts: Vec<TopoHost<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct TopoSwitch {
    coord: Coordinate,
    guid: u64,
}

/// A host of the plan; `portguid` is one more than its GUID.
#[derive(Debug, Serialize)]
struct TopoHost<'a> {
    name: &'a str,
    /// Of the node.
    guid: u64,
    portguid: u64,
    /// Of its switch.
    coord: Coordinate,
    /// Where it is plugged in.
    swport: u8,
}

impl<'a> Topo<'a> {
    /// Borrows names from the plan; cost: one pass.
    fn new(plan: &'a TorusPlan) -> Self {
        let name = |[x, y, z]: Coordinate| format!("S{x}_{y}_{z}");
        let spec = &plan.spec;
        // A ring of two is wired as a mesh, whatever was asked for.
        let mesh = spec.mesh.iter().zip(spec.size);
        let switches = plan.switches.iter().map(|switch| {
            let (coord, guid) = (switch.coordinate, switch.guid);
            (switch.name.as_str(), TopoSwitch { coord, guid })
        });
        let links = plan.links.iter();
        let hosts = plan.hosts.iter().map(|host| TopoHost {
            name: &host.name,
            guid: host.guid,
            portguid: host.guid + 1,
            coord: host.coordinate,
            swport: host.switch_port,
        });
        Self {
            size: spec.size,
            mesh: mesh.map(|(open, size)| *open || size == 2).collect(),
            links_per_dim: spec.parallel,
            switches: Pairs(switches.collect()),
            links: links
                .map(|link| (name(link.from.0), link.from.1, name(link.to.0), link.to.1))
                .collect(),
            hosts: hosts.collect(),
        }
    }
}

/// Reads back the net file just written: LIDs follow from how OpenSM would sweep it.
fn write_lids(folder: &Folder) -> Outcome {
    let inputs = Inputs {
        fabric: folder.path().join("net"),
        ..Inputs::default()
    };
    let sources = or_fail(pipeline::read(&inputs))?;
    let mut text = Vec::new();
    or_fail(formats::subnet_lst::write(&mut text, &sources.subnet))?;
    or_fail(folder.write("opensm-subnet.lst", Readers::All, &text))
}

/// Readable by all: nothing in it is secret.
fn put(folder: &Folder, name: &str, text: &str) -> Outcome {
    or_fail(folder.write(name, Readers::All, text.as_bytes()))
}
