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
//! ```

use std::fs;
use std::path::Path;

use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_fabric::generate::{FatTreeSpec, TorusSpec, plan};

use crate::Failure;

/// A fabric, and cables of it that fail.
///
/// Lives as long as the directory of its files.
pub(crate) struct Fabric {
    pub(crate) name: String,
    pub(crate) inputs: Inputs,
    /// As `Inputs::failed` takes them; any two of them may have failed at once.
    pub(crate) cables: Vec<String>,
}

impl Fabric {
    /// By name: `torus:16x16x16x2`, two hosts on a switch, or `fat-tree:32`, of switches with so
    /// many ports. Its files are put into a directory. Errors: another name; files cannot be written.
    pub(crate) fn new(name: &str, directory: &Path) -> Result<Self, Failure> {
        let unknown = || format!("{name}: expected torus:XxYxZxHOSTS or fat-tree:PORTS");
        match name.split_once(':').ok_or_else(unknown)? {
            ("torus", numbers) => {
                let numbers: Result<Vec<u8>, _> = numbers.split('x').map(str::parse).collect();
                let numbers = numbers.map_err(|_| unknown())?;
                let &[x, y, z, hosts] = numbers.as_slice() else {
                    return Err(unknown().into());
                };
                torus(name, [x, y, z], hosts, directory)
            }
            ("fat-tree", ports) => match ports.parse() {
                // Half of the ports go down and half up.
                Ok(ports) if ports % 2 == 0 && ports > 3 => fat_tree(name, ports, directory),
                _ => Err(unknown().into()),
            },
            _ => Err(unknown().into()),
        }
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
    let middle = size.map(|radix| radix / 2);
    let axes = (0..3).filter_map(|axis| {
        let mut far = middle;
        // The next switch on this axis; around the ring where the middle is the last.
        far[axis] = (far[axis] + 1) % size[axis];
        let mut links = plan.links.iter();
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

/// Three levels; a cable of a leaf and one of a top switch.
fn fat_tree(name: &str, ports: u8, directory: &Path) -> Result<Fabric, Failure> {
    let inputs = Inputs {
        fabric: directory.join("net"),
        // A fat tree has no torus-2QoS.conf, so the engine is named.
        engine: Some(EngineKind::MinHop),
        ..Inputs::default()
    };
    let tree = sa_fabric::generate::fat_tree(&FatTreeSpec::new(3, ports))?;
    fs::write(&inputs.fabric, tree.net())?;
    let half = ports / 2;
    Ok(Fabric {
        name: name.to_owned(),
        inputs,
        cables: vec![format!("L3_1:{}", half + 2), format!("T1_1:{}", half)],
    })
}
