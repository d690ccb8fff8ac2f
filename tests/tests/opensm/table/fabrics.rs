//! The fabrics and engines of the table.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::sapphire_in;

use super::run::VL0_TO_3;

/// A fabric.
pub(super) struct Shape {
    /// In the table.
    pub(super) name: &'static str,
    /// As behind `sapphire fabric`.
    pub(super) words: &'static str,
    /// That OpenSM gives.
    pub(super) lmc: u8,
    /// `max_op_vls` with DFSSSP: 1 for one VL, 2 for two, 3 for four. With VLs to spare it gives a path several SLs in turn.
    pub(super) dfsssp: u8,
}

const fn shape(name: &'static str, words: &'static str) -> Shape {
    Shape {
        name,
        words,
        lmc: 0,
        dfsssp: 1,
    }
}

/// One with cycles: DFSSSP needs a second VL.
const fn meshed(name: &'static str, words: &'static str) -> Shape {
    Shape {
        dfsssp: 2,
        ..shape(name, words)
    }
}

/// One where DFSSSP has VLs to spare.
const fn spare(name: &'static str, words: &'static str) -> Shape {
    Shape {
        dfsssp: VL0_TO_3,
        ..shape(name, words)
    }
}

/// None has more than 20 switches, so that all of them take minutes.
pub(super) const SHAPES: [Shape; 12] = [
    shape("fat tree, 3 levels", "fat-tree --radix 4"),
    shape("fat tree, 2 levels", "fat-tree --levels 2 --radix 6"),
    shape(
        "pruned tree",
        "fat-tree --levels 2 --radix 6 --oversubscription 2:1",
    ),
    shape(
        "parallel cables",
        "fat-tree --radix 8 --parallel 2 --pods 2",
    ),
    Shape {
        lmc: 1,
        ..shape("fat tree, LMC 1", "fat-tree --levels 2 --radix 4")
    },
    meshed("dragonfly", "dragonfly --switches 3 --hosts 1 --global 1"),
    meshed(
        "dragonfly+",
        "dragonfly-plus --leaves 2 --spines 2 --hosts 2 --global 1",
    ),
    meshed("HyperX", "hyperx 3 3 --hosts 1"),
    spare("torus", "torus 4 4 1 --hosts 1"),
    spare(
        "random",
        "random --switches 14 --degree 4 --hosts 1 --seed 3",
    ),
    shape(
        "damaged tree",
        "fat-tree --radix 4 --rm-switch M1_0 --rm-link L0_0:3",
    ),
    spare("damaged torus", "torus 4 4 1 --hosts 1 --rm-link 1,1,0:+x"),
];

/// All engines of OpenSM 3.3.23, as `routing_engine` names them. `file` comes after `minhop`, whose tables
/// it is given.
pub(super) const ENGINES: [&str; 11] = [
    "minhop",
    "updn",
    "dnup",
    "ftree",
    "dor",
    "lash",
    "sssp",
    "dfsssp",
    "nue",
    "file",
    "torus-2QoS",
];

impl Shape {
    /// Makes it as `net` in a directory, with `torus-2QoS.conf` where it is a torus.
    pub(super) fn make(&self, directory: &Path) -> Result<String> {
        let mut arguments = vec!["fabric"];
        arguments.extend(self.words.split(' '));
        arguments.extend(["-o", "."]);
        let made = sapphire_in(directory, &arguments)?;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "{said}");
        fs::read_to_string(directory.join("net")).context("net")
    }
}
