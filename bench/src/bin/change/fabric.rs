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

use std::fmt::Write;
use std::fs;
use std::path::Path;

use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_fabric::generate::{TorusSpec, plan};

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
    fs::write(&inputs.fabric, fat_tree_net(ports))?;
    let half = ports / 2;
    Ok(Fabric {
        name: name.to_owned(),
        inputs,
        cables: vec![format!("L3_1:{}", half + 2), format!("T1_1:{}", half)],
    })
}

/// An ibsim net file: leaves `L<pod>_<n>`, middle switches `M<pod>_<n>`, top switches `T<n>_<n>`.
///
/// With p ports: p pods of p/2 leaves and p/2 middle switches, (p/2)^2 top switches, p^3/4 hosts;
/// 32 ports make 8,192 hosts. Middle switch m of each pod leads to the top switches `T<m>_0` and on.
fn fat_tree_net(ports: u8) -> String {
    let half = ports / 2;
    let mut text = String::new();
    let mut guid = 0x20_0000_u32;
    let mut switch = |text: &mut String, name: String| {
        guid += 1;
        let _ = writeln!(text, "switchguid=0x{guid:x}\nSwitch {ports} \"{name}\"");
    };
    for pod in 0..ports {
        for leaf in 0..half {
            switch(&mut text, format!("L{pod}_{leaf}"));
            for nth in 0..half {
                let _ = writeln!(text, "[{}] \"H{pod}_{leaf}_{nth}\"[1]", nth + 1);
                let _ = writeln!(text, "[{}] \"M{pod}_{nth}\"[{}]", half + nth + 1, leaf + 1);
            }
            text.push('\n');
        }
        for middle in 0..half {
            switch(&mut text, format!("M{pod}_{middle}"));
            for nth in 0..half {
                let _ = writeln!(
                    text,
                    "[{}] \"L{pod}_{nth}\"[{}]",
                    nth + 1,
                    half + middle + 1
                );
                let _ = writeln!(
                    text,
                    "[{}] \"T{middle}_{nth}\"[{}]",
                    half + nth + 1,
                    pod + 1
                );
            }
            text.push('\n');
        }
    }
    for (top, nth) in (0..half).flat_map(|top| (0..half).map(move |nth| (top, nth))) {
        switch(&mut text, format!("T{top}_{nth}"));
        for pod in 0..ports {
            let _ = writeln!(text, "[{}] \"M{pod}_{top}\"[{}]", pod + 1, half + nth + 1);
        }
        text.push('\n');
    }
    fat_tree_hosts(half, &mut text);
    text
}

/// GUIDs are 16 apart: those of ports follow that of their node.
fn fat_tree_hosts(half: u8, text: &mut String) {
    let mut guid = 0x40_0000_u32;
    for (pod, leaf) in (0..2 * half).flat_map(|pod| (0..half).map(move |leaf| (pod, leaf))) {
        for nth in 0..half {
            guid += 0x10;
            let _ = writeln!(text, "caguid=0x{guid:x}\nHca 1 \"H{pod}_{leaf}_{nth}\"");
            let _ = writeln!(text, "[1] \"L{pod}_{leaf}\"[{}]\n", nth + 1);
        }
    }
}
