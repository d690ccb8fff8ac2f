//! Runs this program once for each line of commands below.
//!
//! Each run is a process of its own, so that none profits from what another left in memory, and a
//! crash shows as such. On the way standard error tells which run of how many it is; the whole
//! takes about an hour.
//!
//! ```text
//! rules   0 to 10,000 rules              ring    what goes over the ring
//! size    5x5x5 to 24x24x24, both ways   load    nine loads, for tails
//! kinds   rdma_cm, flow labels           again   the same requests, and few
//! long    tables, MultiPathRecords       job     start of a job, by LID and by GID
//! ```
//!
//! A run takes longer where a table of all pairs has to be compiled, or instructions are counted.

use std::env;
use std::process::{Command, Stdio};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// How much.
/// Both go through the same plan, so that a quick run finds what would break the long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What the page is to show.
    Whole,
    /// Enough to see that all works.
    Quick,
}

/// Measures everything. Returns JSON lines. Errors: a run failed.
/// Nothing is written here: a run that fails leaves the file of before.
pub(super) fn all(extent: Extent) -> Outcome<String> {
    let program = or_fail(env::current_exe())?;
    let plan = plan(extent);
    let mut lines = String::new();
    for (nth, (figure, options)) in plan.iter().enumerate() {
        let words: Vec<&str> = options.split_whitespace().collect();
        // Before the run, so that one sees what takes so long.
        errln!("{} of {}: sapphire bench {options}", nth + 1, plan.len());
        let mut command = Command::new(&program);
        command.args(["bench", "--json"]).args(words);
        let output = command
            // Standard error is passed on: warnings belong to whoever watches.
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output();
        let output = or_fail(output)?;
        if !output.status.success() {
            return Err(Failure::failed(format!(
                "sapphire bench {options}: {}",
                output.status
            )));
        }
        // A run of several workloads and layers prints a line for each.
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            lines += &tagged(figure, line)?;
            lines.push('\n');
        }
    }
    Ok(lines)
}

/// A line of `performance.jsonl`: a result behind the name of its figure.
/// The figure comes first, then all that was printed, its schema included.
#[derive(Serialize)]
struct Tagged<'a> {
    figure: &'a str,
    #[serde(flatten)]
    result: Map<String, Value>,
}

/// Errors: what was printed is no JSON object.
fn tagged(figure: &str, line: &str) -> Outcome<String> {
    let result = or_fail(serde_json::from_str(line))?;
    or_fail(serde_json::to_string(&Tagged { figure, result }))
}

/// Figure and options of each run.
/// The commands also stand below the tables of the page, so that a reader can repeat them.
fn plan(extent: Extent) -> Vec<(&'static str, String)> {
    let is_whole = extent == Extent::Whole;
    // The goals are for a 24x24x24.
    let (main, time) = match extent {
        Extent::Whole => ("24x24x24", ""),
        Extent::Quick => (
            "5x5x5",
            " --seconds 0.05 --repeat 3 --requests 2000 --instructions never",
        ),
    };
    let rules: &[u32] = match extent {
        Extent::Whole => &[0, 1, 10, 100, 1_000, 10_000],
        Extent::Quick => &[0, 10, 1_000],
    };
    let sizes: &[&str] = match extent {
        Extent::Whole => &["5x5x5", "8x8x8", "12x12x12", "16x16x16", "24x24x24"],
        Extent::Quick => &["3x3x3", "5x5x5"],
    };
    let mut plan = Vec::new();
    // Extent's options go behind all others.
    let mut add = |figure, options: String| plan.push((figure, format!("{options}{time}")));
    for rules in rules {
        let options = format!("--fabric torus:{main} --rules {rules} --workload gid,lid");
        add("rules", options);
    }
    for size in sizes {
        add("size", format!("--fabric torus:{size} --workload gid,lid"));
        add("size", format!("--fabric dense:{size} --workload gid,lid"));
    }
    let fabric = format!("--fabric torus:{main}");
    add("kinds", format!("{fabric} --workload rdma-cm"));
    add("kinds", format!("{fabric} --workload gid --labels"));
    add("long", format!("{fabric} --workload table,mpr"));
    add(
        "ring",
        format!("{fabric} --workload gid,lid,table,mpr --layer ring"),
    );
    let loads = "--loads 10,20,30,40,50,60,70,80,90";
    add("load", format!("{fabric} --layer ring {loads}"));
    add("again", format!("{fabric} --workload gid,lid --repeated"));
    if is_whole {
        add("again", format!("{fabric} --workload gid,lid --hot"));
    }
    let nodes = if is_whole { "" } else { " --nodes 100" };
    for by in ["lid", "gid"] {
        add(
            "job",
            format!("{fabric} --workload job-start --by {by}{nodes}"),
        );
    }
    plan
}
