//! What was planned and is not held, and what answers then.
//!
//! ```text
//!  all blocks acknowledged, links up ────> the plan's snapshot
//!  some not ──> records with the tables that are held ──> compiled as those of another SM's subnet:
//!                 torus: SLs by the coordinates of the plan, paths of the tables. The engine may refuse what is left, or place it otherwise
//!                 SLs by pair of ports (dfsssp-nue): with a block missing none is known, so no path is answered;
//!                                                    with a link missing those of the plan
//!                 others: paths of the tables, SLs of policy and partitions
//! ```
//!
//! A block that was sent and not answered counts as forwarding nothing: the switch may hold the old one or the new one, and a path
//! that nobody knows is no answer.
//!
//! Nothing here writes to a device: it judges what the sweep has left, and compiles once more.

use std::collections::BTreeMap;
use std::sync::Arc;

use routing::engine::{Needs, by_kind};
use sa_compiler::heard_sls::HeardSls;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::sa_records::{Records, SaFabric};
use sa_sm::model::{Block, Node, Subnet};
use sa_sm::wanted::linear;
use sa_snapshot::model::EngineSl;
use sa_wire::Guid;
use sa_wire::records::{LinearForwardingTableRecord, SlToVlRecord};
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use crate::links::{Links, leave_out_links};
use crate::{PlanError, Planned};

/// A block of a table that a switch did not acknowledge.
///
/// In the order of node GUID, then block, so that a log names each switch once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unheld {
    /// Node GUID.
    pub node: Guid,
    /// Which block.
    pub block: Block,
}

impl Planned {
    /// Blocks of forwarding and SL2VL tables that a switch did not acknowledge as planned. Empty: the subnet holds what the
    /// snapshot says. `after` is what the sweep left.
    ///
    /// Blocks of other tables may be missing: they change what is granted or checked, not where packets go.
    pub fn not_held(&self, after: &Subnet) -> Vec<Unheld> {
        let tables = self.wanted.tables.iter();
        let tables = tables.filter_map(|(at, blocks)| Some((after.node(*at)?, blocks)));
        let missing = tables.flat_map(|(node, blocks)| {
            // Not known and other than planned are one: either way the snapshot would promise a route that nobody confirmed.
            let differing = node.tables.differing(blocks);
            let routes = differing.filter(|(block, ..)| is_of_routes(block));
            routes.map(|(block, ..)| Unheld {
                node: node.guid(),
                block: *block,
            })
        });
        missing.collect()
    }

    /// What answers: the plan's own snapshot where no block is `missing` and the links are up that routes lead over; else [`Self::held`]. Where
    /// links are not up, later plans go on from what would answer if they were. Errors: as of a plan.
    pub fn answering(
        self,
        missing: &[Unheld],
        after: &Subnet,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Compiled, PlanError> {
        let held = match missing {
            [] => Held::All,
            _ => Held::Part,
        };
        let without = match self.are_links_up(after) {
            true => None,
            // Better with a link too many than not at all.
            false => {
                let without = self.compiled_of_held(after, before, stamp, (held, true));
                without.ok()
            }
        };
        let with = match missing {
            [] => self.compiled,
            _ => self.held(after, before, stamp)?,
        };
        let Some(mut without) = without else {
            return Ok(with);
        };
        without.goes_on_from = Some(Box::new(with.parts));
        Ok(without)
    }

    fn are_links_up(&self, after: &Subnet) -> bool {
        let Some(swept) = &self.inputs.swept else {
            return true;
        };
        let links = Links::new(swept.records(), after);
        let mut all = swept.records().links.iter();
        all.all(|link| links.carries(link, true))
    }

    /// A compilation from the forwarding tables that switches acknowledged, for a subnet that does not hold what was planned:
    /// answers follow the switches. Errors: as of a plan.
    ///
    /// `before`: what answered until now, from which the compiler takes what did not change. [`PlanError::NoSm`] for a plan of another kind.
    pub fn held(
        &self,
        after: &Subnet,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Compiled, PlanError> {
        self.compiled_of_held(after, before, stamp, (Held::Part, false))
    }

    /// `held`: how much of the plan that is. `is_strict`: without links between switches that are not up.
    fn compiled_of_held(
        &self,
        after: &Subnet,
        before: Option<&FabricState>,
        stamp: Stamp,
        (held, is_strict): (Held, bool),
    ) -> Result<Compiled, PlanError> {
        // Only a sweep's own records have links and LIDs in the shape that tables can be hung on.
        let Some(swept) = &self.inputs.swept else {
            return Err(PlanError::NoSm);
        };
        let parts = &self.compiled.parts;
        // LIDs and PortInfo as planned: those were acknowledged, or the port is told apart by its own finding.
        let mut records = with_tables(swept.records(), after);
        leave_out_links(&mut records, after, is_strict);
        // Without QoS the compiler takes SLs from options, and SL2VL tables would contradict it.
        records.qos = parts.options.qos;
        if records.qos {
            self.add_sl2vl(after, &mut records);
        }
        // As if another SM had told it: then nobody routes, and tables are taken as they are.
        let told = SaFabric::from_records(records, swept.whom().to_owned());
        // An engine that places a torus says which SLs its paths have, also over tables that are not all its own.
        let engine = parts.routes.engine();
        let engine = Some(engine).filter(|kind| by_kind(*kind).needs() == Needs::TorusConf);
        let of_plan =
            || HeardSls::of_plan((&parts.topology, &parts.routes), SLS_OF_PLAN.to_owned());
        let sls = match (parts.routes.engine_sl(), held) {
            (EngineSl::Keep, _) => None,
            // SLs of all pairs belong to one set of tables: with a block missing they prove nothing, with a link missing what they did.
            (EngineSl::Table, Held::Part) => Some(HeardSls::new(SLS_UNKNOWN.to_owned())),
            (EngineSl::Table, Held::All) => Some(of_plan()),
            // Coordinates hold for whatever tables: never those of policy and partitions, as a ring with one SL locks up.
            (EngineSl::Torus { .. }, _) => Some(of_plan()),
        };
        let inputs = Inputs {
            swept: None,
            from_sa: Some(Arc::new(told.map_err(PlanError::Incomplete)?)),
            heard_sls: sls.map(Arc::new),
            // Kept only for a torus engine: any other would be asked to route by it.
            torus_conf: self.inputs.torus_conf.clone().filter(|_| engine.is_some()),
            engine,
            qos: Some(parts.options.qos),
            ..self.inputs.clone()
        };
        Ok(pipeline::compile_after(&inputs, stamp, before)?)
    }

    /// SL2VL tables as they were acknowledged, for the ports of which some are wanted.
    /// The compiler's records name a node by LID, the model by index: GUIDs lead from one to the other.
    fn add_sl2vl(&self, after: &Subnet, records: &mut Records) {
        for record in &records.nodes {
            let guid = Guid::new(record.node_guid.get()).ok();
            let Some(at) = guid.and_then(|guid| after.by_guid(guid)) else {
                continue;
            };
            // No tables wanted: a node without SL2VL support, or one that the compiler left out.
            let (Some(node), Some(wanted)) = (after.node(at), self.wanted.tables.get(&at)) else {
                continue;
            };
            // LocalPortNum is the first byte of the word, VendorID the rest.
            let [own, ..] = record.port_and_vendor.get().to_be_bytes();
            let tables = sl2vl(node, wanted.keys(), own);
            records.sl2vl.extend(
                tables
                    .into_iter()
                    .map(|(input, output, table)| SlToVlRecord {
                        lid: record.lid,
                        input,
                        output,
                        reserved: 0.into(),
                        vls: table,
                    }),
            );
        }
        // Records are compared and looked up by their order: what was added behind has to be put in place.
        records.sort();
    }
}

/// SL2VL tables of a node by input and output port, 0 and 0 for the port `own` of a CA or router.
fn sl2vl<'a>(
    node: &Node,
    wanted: impl Iterator<Item = &'a Block>,
    own: u8,
) -> Vec<(u8, u8, [u8; 8])> {
    let is_meant = |block: &&Block| {
        let is_own = node.is_switch() || block.end_port == own;
        block.attribute == attribute::SL_TO_VL && is_own
    };
    // By pair of ports, so that each comes once, in the order of the records.
    let mut tables = BTreeMap::new();
    // A block for all ports comes behind those of single ones by its modifier, and holds for the others.
    for block in wanted.filter(is_meant) {
        // A block that was not acknowledged leaves its pairs without a table, as if the port had none.
        let Some(table) = node
            .tables
            .get(*block)
            .and_then(|data| data.first_chunk::<8>())
        else {
            continue;
        };
        for (input, output) in ports_of(node, block.modifier) {
            tables.entry((input, output)).or_insert(*table);
        }
    }
    let tables = tables.into_iter();
    tables
        .map(|((input, output), table)| (input, output, table))
        .collect()
}

/// The pairs of ports that a modifier of SL2VL means.
///
/// One pair for a plain block, all inputs of one output, or all pairs: as the bits for optimised programming say.
pub(crate) fn ports_of(node: &Node, modifier: u32) -> Vec<(u8, u8)> {
    let [_, _, input, output] = modifier.to_be_bytes();
    // Port 0 too: a switch's own port is an input and an output like others.
    let all = || 0..=node.port_count();
    let inputs = match modifier & ALL_INPUTS {
        0 => input..=input,
        _ => all(),
    };
    let outputs = || match modifier & ALL_OUTPUTS {
        0 => output..=output,
        _ => all(),
    };
    inputs
        .flat_map(|input| outputs().map(move |output| (input, output)))
        .collect()
}

/// How much of a plan's tables switches hold.
#[derive(Debug, Clone, Copy)]
enum Held {
    /// Links may be down all the same.
    All,
    /// Blocks are missing.
    Part,
}

/// SLs of pairs are proved with the tables that they were made for.
const SLS_UNKNOWN: &str = "a switch does not hold the table that it was to hold, and the engine's SLs are for all of them \
                           together: no SL is known";
const SLS_OF_PLAN: &str = "a link between switches is not up: paths have the SLs that the engine gave them, and those over that link are not \
                           answered";

/// Packets go astray or deadlock without them.
fn is_of_routes(block: &Block) -> bool {
    [attribute::LINEAR_TABLE, attribute::SL_TO_VL].contains(&block.attribute)
}

/// The same with the tables of now. A block that nobody acknowledged forwards nothing.
///
/// Shape: as many blocks for each switch as its planned LinearFDBTop needs; what it holds above that is never looked at.
fn with_tables(planned: &Records, after: &Subnet) -> Records {
    let mut records = planned.clone();
    for record in &planned.nodes {
        // Gone since the plan: its records stay without a table, so nothing is answered over it.
        let node = Guid::new(record.node_guid.get()).ok();
        let node = node.and_then(|guid| after.node(after.by_guid(guid)?));
        let Some(node) = node.filter(|node| node.is_switch()) else {
            continue;
        };
        let lid = record.lid.get();
        // A switch of the plan has one record; without it only block 0 is made.
        let top = planned.switches.iter().find(|it| it.lid.get() == lid);
        let last = top.map_or(0, |it| it.linear_top.get()) / 64;
        let table = (0..=last).map(|number| linear_block(node, lid, number));
        // Replaced, not merged: a block of the plan that is not held must not shine through.
        records.lfts.insert(lid, Arc::new(table.collect()));
    }
    records
}

/// A block as its switch holds it.
///
/// Not known is "no path": an answer over such a switch would be a guess.
fn linear_block(node: &Node, lid: u16, number: u16) -> LinearForwardingTableRecord {
    let block = linear::block(u32::from(number));
    let ports = node.tables.get(block).copied();
    LinearForwardingTableRecord {
        lid: lid.into(),
        block: number.into(),
        reserved: 0.into(),
        ports: ports.unwrap_or([linear::NO_PATH; 64]),
    }
}
