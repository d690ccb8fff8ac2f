//! Multicast tables for the groups of a file, and whether they close a credit loop.
//!
//! Three sources, by the engine: torus-2QoS has a spanning tree, from which the tables of given
//! groups follow; the engine `files` has the tables that were dumped (`opensm.mcfdbs`); other
//! engines make no tree, and groups are refused there.
//!
//! The question for the proof is the whole: a tree alone cannot close a circle, and unicast was
//! proved before, but packets of both wait for the same buffers. So the dependencies of the trees
//! are added to those of unicast, and circles are looked for in the sum.

use std::path::Path;
use std::time::{Duration, Instant};

use routing::engine::{self, Needs};
use routing::proof::{CreditLoop, DependencyGraph};
use routing::tables::MulticastTable;
use sa_compiler::pipeline::{self, Compiled};
use sa_compiler::state::FabricState;
use sa_fabric::detect::{DumpDir, Input};
use sa_fabric::intake::{self, Kind};
use sa_fabric::multicast::{self, Groups};
use sa_text::Remark;

use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// A tree alone is harmless, and the VLs of the second QoS level can be its own.
///
/// Behind the words of a finding, so that it says what to do.
const REMEDY: &str = "where no path uses SL 8 to 15, put the groups on SL 8";

/// Groups on a routed fabric.
///
/// What `sapphire route` tells of them: MLIDs, a loop, warnings. Nothing is written to a switch.
pub(super) struct Multicast {
    /// By MLID.
    pub(super) tables: Vec<MulticastTable>,
    /// A loop that unicast and these groups close together.
    pub(super) credit_loop: Option<CreditLoop>,
    /// Findings of both, for the list of warnings.
    pub(super) warnings: Vec<Remark>,
    /// How long the check took.
    pub(super) check: Duration,
}

impl Multicast {
    /// Of the groups in a file; without one, of the tables that the dumps of engine files have.
    pub(super) fn new(file: Option<&Path>, fabric: &Path, compiled: &Compiled) -> Outcome<Self> {
        let parts = &compiled.parts;
        let known = file.map(|file| read(file, parts)).transpose()?;
        let tables = tables(known.as_ref(), fabric, parts)?;
        // Without a file there are none; the tables of dumps may have MLIDs all the same.
        let groups = known.unwrap_or_default();
        let start = Instant::now();
        // A loop of the unicast routes alone is reported as such.
        // Otherwise every group would be reported for a loop that is there without it.
        let is_sound = compiled.proof.credit_loop.is_none() && !tables.is_empty();
        let credit_loop = is_sound
            .then(|| credit_loop(parts, &groups, &tables))
            .flatten();
        let mut multicast = Self {
            credit_loop,
            check: start.elapsed(),
            warnings: groups.warnings.clone(),
            tables,
        };
        multicast.note(compiled, &groups);
        Ok(multicast)
    }

    /// Warnings that need both proofs: that of the compiler takes members everywhere, this one
    /// takes the groups as given. The words differ by which of the two found a loop.
    ///
    /// Left out of every tree are members that no way leads to; they are told by name.
    fn note(&mut self, compiled: &Compiled, groups: &Groups) {
        let parts = &compiled.parts;
        if parts.routes.torus().is_some() {
            self.warnings.extend(groups.unsafe_on_torus());
        }
        let has_no_tree = parts.routes.torus().is_some() && parts.routes.multicast_tree().is_none();
        if has_no_tree && !groups.groups.is_empty() {
            let text = "there is no multicast tree, so the groups given are not forwarded anywhere";
            self.warnings
                .push(Remark::warning("no-multicast-tree", text));
        }
        self.warnings
            .extend(multicast::left_out(&parts.topology, &self.tables));
        let warning = match (&self.credit_loop, &compiled.proof.multicast_loop) {
            (Some(_), Some(_)) => {
                format!("the multicast groups given close such a credit loop; {REMEDY}")
            }
            (None, Some(_)) if !self.tables.is_empty() => {
                "the multicast groups given close no such credit loop as they are".to_owned()
            }
            (Some(found), None) => format!(
                "unicast and the multicast groups given close a credit loop; {REMEDY}; each may \
                 wait for the next:\n{}",
                found.in_words(&parts.topology, &parts.routes)
            ),
            (None, _) => return,
        };
        self.warnings
            .push(Remark::warning("groups-credit-loop", warning));
    }

    /// MLIDs that are forwarded anywhere.
    ///
    /// A group whose members are all away has a table without switches.
    pub(super) fn mlids(&self) -> usize {
        self.tables
            .iter()
            .filter(|table| !table.switches.is_empty())
            .count()
    }
}

/// Errors: the file cannot be read; a line is none of a group.
fn read(file: &Path, parts: &FabricState) -> Outcome<Groups> {
    let input = Input {
        bytes: or_fail(intake::read(Kind::Dump, file))?,
        path: file.to_owned(),
    };
    or_fail(Groups::read(&input, &parts.topology))
}

/// Errors: groups for an engine that makes no tree and has no recorded tables.
///
/// From the first source that has them; see the top of this file.
fn tables(
    groups: Option<&Groups>,
    fabric: &Path,
    parts: &FabricState,
) -> Outcome<Vec<MulticastTable>> {
    let (topology, routes) = (&parts.topology, &parts.routes);
    if routes.torus().is_some() {
        let tables = groups.and_then(|groups| groups.tables(topology, routes));
        return Ok(tables.unwrap_or_default());
    }
    let engine = routes.engine();
    let dumped = match engine::by_kind(engine).needs() {
        Needs::Tables => or_fail(or_fail(DumpDir::open(fabric))?.read("opensm.mcfdbs"))?,
        _ => None,
    };
    match (dumped, groups) {
        (Some(input), _) => or_fail(multicast::recorded(&input, topology)),
        (None, None) => Ok(Vec::new()),
        (None, Some(_)) => Err(Failure::usage(format!(
            "--groups: engine {engine} makes no multicast tree for them; route with --torus-conf, \
             or use --engine files with a directory that holds opensm.mcfdbs"
        ))),
    }
}

/// One graph for all requesters, then the groups on top. None where the sum has no circle.
///
/// The graph of unicast is made again here, as the compiler's proof keeps none. Cost: that of the
/// proof.
fn credit_loop(
    parts: &FabricState,
    groups: &Groups,
    tables: &[MulticastTable],
) -> Option<CreditLoop> {
    let add = |graph: &mut DependencyGraph| {
        for table in tables {
            // No members known: the table of a dump, whose groups are in no file.
            let members = groups.members(table.mlid).unwrap_or_default();
            for route in groups.routes(table) {
                graph.add_multicast_from(&parts.topology, &route, &members);
            }
        }
    };
    let judge = pipeline::judge(parts, pipeline::path_sls(parts));
    let mut graph = judge.everybody();
    add(&mut graph);
    judge.loops(&graph, add).hosts
}
