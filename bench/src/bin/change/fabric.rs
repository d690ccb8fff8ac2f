//! Fabrics to measure, in files.
//!
//! Both kinds are written as files and read again, as the daemon reads them, so that names of
//! switches and ports lead to cables in the same way. What fails is chosen by what it makes the
//! engine do:
//!
//! ```text
//! torus      one cable of each axis in the middle      the ring of that axis turns the other way
//! fat tree   leaf to middle switch                     one leaf has a way less
//!            middle to top switch                      one pod has a way less
//! others     the cables a third and two thirds down the list of cables
//! ```

use std::fs;
use std::path::Path;

use sa_bench::shapes;
use sa_compiler::pipeline::Inputs;
use sa_fabric::generate::{self, TorusSpec, Wiring, plan};

use crate::Failure;

/// A fabric, and cables of it that fail.
///
/// Lives as long as the directory of its files.
pub(crate) struct Fabric {
    /// As it was asked for; the lines of the report carry it.
    pub(crate) name: String,
    /// Of the healthy fabric; a change is the same with [`Inputs::failed`].
    pub(crate) inputs: Inputs,
    /// As `Inputs::failed` takes them; any two of them may have failed at once.
    pub(crate) cables: Vec<String>,
}

impl Fabric {
    /// By name: `torus:16x16x16x2`, two hosts on a switch, or a shape by its word, as `fat-tree:32`
    /// (`sa_fabric::generate::named`). Its files are put into a directory. Errors: another name;
    /// files cannot be written.
    pub(crate) fn new(name: &str, directory: &Path) -> Result<Self, Failure> {
        if let Some(numbers) = name.strip_prefix("torus:") {
            let unknown = || format!("{name}: expected torus:XxYxZxHOSTS");
            let numbers: Result<Vec<u8>, _> = numbers.split('x').map(str::parse).collect();
            let numbers = numbers.map_err(|_| unknown())?;
            // Exactly four: a torus with a dimension or its hosts left out is a typing error, not a smaller fabric.
            let &[x, y, z, hosts] = numbers.as_slice() else {
                return Err(unknown().into());
            };
            return torus(name, [x, y, z], hosts, directory);
        }
        let unknown = || format!("{name}: expected torus:XxYxZxHOSTS, or a shape as fat-tree:32");
        shape(
            name,
            &generate::named(name)?.ok_or_else(unknown)?,
            directory,
        )
    }
}

/// A cable of each axis, from the middle.
fn torus(name: &str, size: [u8; 3], hosts: u8, directory: &Path) -> Result<Fabric, Failure> {
    let plan = plan(&TorusSpec::new(size, hosts))?;
    let inputs = Inputs {
        fabric: directory.join("net"),
        torus_conf: Some(directory.join("torus-2QoS.conf")),
        ..Inputs::default()
    };
    fs::write(&inputs.fabric, plan.net())?;
    fs::write(directory.join("torus-2QoS.conf"), plan.torus_conf())?;
    // From the middle, where each axis of two switches or more has a cable.
    let middle = size.map(|radix| radix / 2);
    let axes = (0..3).filter_map(|axis| {
        // Both ends by coordinates: the plan lists each cable once, from the lower one.
        let mut far = middle;
        // The next switch on this axis; around the ring where the middle is the last.
        far[axis] = (far[axis] + 1) % size[axis];
        let mut links = plan.links.iter();
        // An axis of one switch has no cable, and gives none to fail.
        let link = links.find(|link| (link.from.0, link.to.0) == (middle, far))?;
        let [x, y, z] = middle;
        Some(format!("S{x}_{y}_{z}:{}", link.from.1))
    });
    Ok(Fabric {
        name: name.to_owned(),
        cables: axes.collect(),
        inputs,
    })
}

/// Any other shape, by the engine that goes with it.
fn shape(name: &str, wiring: &Wiring, directory: &Path) -> Result<Fabric, Failure> {
    let inputs = Inputs {
        fabric: directory.join("net"),
        // Without a torus-2QoS.conf the engine is named; it may need VLs.
        engine: Some(shapes::engine(name)),
        qos: Some(true),
        ..Inputs::default()
    };
    fs::write(&inputs.fabric, wiring.net())?;
    let all: Vec<_> = wiring.cables().collect();
    // Of a tree one of each kind: a cable is listed at its lower end.
    let is_tree = name.starts_with("fat-tree:");
    let of = |level: char| {
        let at = all
            .iter()
            .filter(|(name, _)| !is_tree || name.starts_with(level));
        at.collect::<Vec<_>>()
    };
    let (low, high) = (of('L'), of('M'));
    // Of a tree one of a leaf and one of a middle switch; of others two that are far apart in the list.
    let cables = [low.get(low.len() / 3), high.get(high.len() * 2 / 3)];
    let cables = cables.into_iter().flatten();
    Ok(Fabric {
        name: name.to_owned(),
        inputs,
        cables: cables
            .map(|(name, port)| format!("{name}:{port}"))
            .collect(),
    })
}
