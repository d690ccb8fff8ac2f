//! How evenly engines use the links of a fabric, ours beside OpenSM's: a row of a Markdown table for each fabric.
//!
//! ```text
//! cargo run --release -p sa-tests --example quality               the trees of docs/performance.md
//! cargo run --release -p sa-tests --example quality -- SHAPE..    these, each the words behind `sapphire fabric`:
//!                                                                 'torus 4 4 1 --hosts 1' 'random --switches 16 ..'
//! ```
//!
//! OpenSM routes each fabric on the simulator, once by each of its engines, and gives the LIDs for all. A cell has
//! the most and the mean paths over a link between switches, then what a host gets of its link over random
//! permutations, the same ones for all engines. A dash stands where the engine refuses the fabric.

use std::env;

use anyhow::{Context, Result, bail};
use sa_rig::Fabric;
use sa_tests::made::{quality, routed_by_opensm};
use serde_json::Value;

const OURS: [&str; 3] = ["ftree", "updn", "dfsssp-nue"];

const THEIRS: [&str; 5] = ["minhop", "updn", "ftree", "dfsssp", "nue"];

/// Trees of all kinds, whole and with parts missing.
const SHAPES: [&str; 13] = [
    "fat-tree --levels 2 --radix 8",
    "fat-tree --levels 2 --radix 12 --oversubscription 2:1",
    "fat-tree --levels 2 --radix 8 --parallel 2",
    "fat-tree --levels 2 --radix 8 --rm-switch T0",
    "fat-tree --radix 4",
    "fat-tree --radix 6",
    "fat-tree --radix 8",
    "fat-tree --radix 8 --pods 5",
    "fat-tree --radix 8 --parallel 2 --pods 3",
    "fat-tree --radix 6 --rm-link L0_0:4",
    "fat-tree --radix 6 --rm-switch M1_0",
    "fat-tree --radix 6 --rm-switch T0_0",
    "fat-tree --radix 6 --rm-link L0_0:4 --rm-link L2_1:6 --rm-link L4_2:5 --rm-link M1_0:4 --rm-link M3_2:6",
];

fn main() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        bail!("{why}");
    }
    let given: Vec<String> = env::args().skip(1).collect();
    let shapes = SHAPES.map(str::to_owned).to_vec();
    let shapes = if given.is_empty() { shapes } else { given };
    let names = OURS.map(str::to_owned).into_iter();
    let names = names.chain(THEIRS.map(|name| format!("OpenSM {name}")));
    println!("| fabric | {} |", names.collect::<Vec<_>>().join(" | "));
    println!("|---{}|", "|---".repeat(OURS.len() + THEIRS.len()));
    for shape in shapes {
        let cells = row(&shape).with_context(|| shape.clone())?;
        println!("| `{shape}` | {} |", cells.join(" | "));
    }
    Ok(())
}

/// The cells of a fabric, ours first.
fn row(shape: &str) -> Result<Vec<String>> {
    let runs = THEIRS.map(|engine| {
        let options: &[&str] = match engine {
            // They need VLs.
            "dfsssp" | "nue" => &["-Q"],
            _ => &[],
        };
        routed_by_opensm(shape, &format!("{engine},no_fallback"), options)
    });
    let first = runs.iter().flatten().next();
    let first = first.context("OpenSM routed it by no engine")?;
    // The list has the LIDs that OpenSM gave.
    let ours = OURS.map(|engine| quality(first.dir(), "opensm-subnet.lst", engine).ok());
    let theirs = runs.iter().map(|run| {
        let fabric = run.as_ref().ok()?;
        quality(fabric.dir(), ".", "files").ok()
    });
    Ok(ours.into_iter().chain(theirs).map(cell).collect())
}

fn cell(figures: Option<Value>) -> String {
    // A pair that is lost makes room for the others.
    let figures = figures.filter(|all| all["pairs_lost"] == 0);
    let cell = figures.and_then(|all| {
        let figure = |name: &str| all["quality"][name].as_f64();
        let (most, mean) = (figure("paths_most")?, figure("paths_mean")?);
        Some(format!(
            "{most}, {mean:.1}, {:.3}",
            figure("bandwidth_mean")?
        ))
    });
    cell.unwrap_or_else(|| "-".to_owned())
}
