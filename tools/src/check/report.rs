//! What `sapphire check` prints.
//!
//! People get a line per fact, with a word in front that says what it is about; programs get one
//! document. Both name the same things, but for lists: people are shown the first of them, programs
//! what the proof listed.
//!
//! ```text
//! 8 switches, path SLs from psl
//! unicast    no credit loop
//! multicast  2 MLIDs, no credit loop together with unicast
//! members    56 of 56 pairs of group members are connected
//! reached    240 of 240 pairs of ports
//! ```
//!
//! In the document a loop is a list of lines, and no loop is an empty one, so that a program may
//! print what it does not take apart. `acyclic` stands beside it for those that only ask whether
//! there is one.
//!
//! Names of switches have their GUID behind them, since descriptions need not differ.

use routing::proof::CreditLoop;
use routing::{EndPortIx, SwitchIx};
use sa_compiler::state::FabricState;
use sa_fabric::display;
use sa_fabric::multicast::mlid_name;
use serde::Serialize;

use super::multicast::{ClosedBy, Fault, Multicast, Recorded};
use super::{Check, Findings};
use crate::failure::Outcome;
use crate::json::{self, Document};

/// Pairs that a report for people names.
/// A broken fabric has thousands, and whoever mends it begins with one.
const SHOWN: usize = 20;

/// Pairs of members that it names, per group.
/// Fewer than [`SHOWN`]: there may be a line of them for every group.
const EXAMPLES: usize = 3;

/// Prints everything that was found, good or bad; the verdict comes after it, on standard error.
/// Errors: a document that cannot be written as JSON.
pub(super) fn print(verb: &Check, findings: &Findings) -> Outcome {
    if verb.json {
        return json::print(&Report::new(findings));
    }
    let parts = &findings.parts;
    outln!(
        "{}, path SLs from {}",
        display::count(parts.topology.switches.len(), "switch", "switches"),
        findings.sls.name()
    );
    match &findings.loops.hosts {
        None => outln!("unicast    no credit loop"),
        Some(found) => outln!(
            "unicast    credit loop, each may wait for the next:\n{}",
            words(parts, found)
        ),
    }
    // Only with `--strict` does it decide, but people are told in any case.
    if let Some(found) = &findings.loops.management {
        outln!(
            "management packets that port 0 of a switch sends or gets could close a credit loop, \
             those between hosts cannot, each may wait for the next:\n{}",
            words(parts, found)
        );
    }
    match &findings.multicast {
        None if verb.snapshot.is_some() => {
            outln!("multicast  a snapshot has no multicast tables, not checked");
        }
        None => outln!("multicast  no opensm.mcfdbs, not checked"),
        Some((recorded, multicast)) => print_multicast(parts, recorded, multicast),
    }
    match &findings.everywhere {
        None => {}
        Some(None) => outln!("everywhere no credit loop with groups of everybody"),
        Some(Some(found)) => outln!(
            "everywhere unicast and groups of everybody close a credit loop, each may wait for \
             the next:\n{}",
            words(parts, found)
        ),
    }
    let reached = &findings.reached;
    outln!(
        "reached    {} of {} pairs of ports",
        reached.pairs - reached.lost,
        reached.pairs
    );
    // By LID and not by name: with an LMC one port has several, and only one may be lost.
    for pair in reached.listed.iter().take(SHOWN) {
        let from = end_name(parts, pair.source);
        outln!("lost       {from} to LID {}", pair.lid);
    }
    Ok(())
}

/// Tables that are all well are counted; only faults are named.
fn print_multicast(parts: &FabricState, recorded: &Recorded, multicast: &Multicast) {
    let count = recorded.tables.len();
    let mlids = display::count(count, "MLID", "MLIDs");
    match &multicast.credit_loop {
        // An empty file of tables proves nothing about groups to come.
        None if count == 0 => {
            outln!("multicast  no MLID in the tables; --members everywhere checks the worst groups")
        }
        None => outln!("multicast  {mlids}, no credit loop together with unicast"),
        // The loop itself is printed above, under unicast.
        Some((_, ClosedBy::Unicast)) => {
            outln!("multicast  {mlids}; unicast alone closes the credit loop");
        }
        Some((found, by)) => {
            let by = match by {
                ClosedBy::Multicast => "multicast alone closes a credit loop",
                _ => "unicast and multicast together close a credit loop, neither alone does",
            };
            outln!(
                "multicast  {mlids}; {by}, each may wait for the next:\n{}",
                words(parts, found)
            );
            outln!(
                "groups     passing there: {}",
                passing(multicast).join(", ")
            );
        }
    }
    for fault in &multicast.faults {
        print_fault(parts, fault);
    }
    outln!(
        "members    {} of {} pairs of group members are connected",
        multicast.pairs - multicast.unreached,
        multicast.pairs
    );
}

/// A table may be at fault in all three ways; each has its own line.
fn print_fault(parts: &FabricState, fault: &Fault) {
    let mlid = mlid_name(fault.mlid);
    if !fault.cycle.is_empty() {
        outln!("no tree    {mlid}: a packet comes back and runs round without end:");
        circle(parts, fault)
            .iter()
            .for_each(|step| outln!("{step}"));
    }
    for switch in fault.twice.iter().take(SHOWN) {
        let name = switch_name(parts, *switch);
        outln!("no tree    {mlid}: {name} gets a packet by two ways");
    }
    if fault.unreached > 0 {
        let name = |(from, to): &(EndPortIx, EndPortIx)| {
            format!("{} to {}", end_name(parts, *from), end_name(parts, *to))
        };
        let some: Vec<_> = fault.listed.iter().take(EXAMPLES).map(name).collect();
        let (count, some) = (fault.unreached, some.join(", "));
        let pairs = display::count(count, "pair of members", "pairs of members");
        outln!("unreached  {mlid}: {pairs}, such as {some}");
    }
}

/// The verdict for programs. Of each loop there are the lines that say who waits for whom; none
/// where there is no loop.
/// It borrows names from the fabric. Of the two loops of unicast at most one is there, as one of
/// management is only looked for where hosts close none.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Of what hosts send each other; `management_cycle` does not count here.
    acyclic: bool,
    cycle: Vec<String>,
    /// Of packets that a switch itself sends or gets.
    management_cycle: Vec<String>,
    /// Where the SLs of paths come from.
    /// One of `psl`, `torus-2QoS.conf`, `any SL on any path`, `the snapshot`.
    sls: &'static str,
    switches: usize,
    /// Of a port and a LID of another one.
    pairs: u64,
    /// Of `pairs`, those without a path.
    lost: u64,
    /// Of hosts.
    /// These decide on the exit status; `lost` also has those with port 0 of a switch.
    pairs_lost: u64,
    /// None without multicast tables.
    multicast: Option<OfMulticast<'a>>,
    /// None where it is not asked for.
    everywhere: Option<Everywhere>,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.check/1";
}

/// Unicast and recorded multicast together.
/// Its `cycle` is that of both together, which is why `acyclic` may be false here and in [`Report`]
/// for one and the same loop; `closed_by` says which of them has to be changed.
#[derive(Debug, Serialize)]
struct OfMulticast<'a> {
    /// MLIDs with a table, or with members.
    groups: usize,
    /// None when nobody says who the members are.
    groups_from: Option<String>,
    acyclic: bool,
    /// Channels in words; each may wait for the next, the last for the first.
    cycle: Vec<String>,
    /// `unicast`, `multicast` or `unicast and multicast`; none without a loop.
    closed_by: Option<&'static str>,
    /// MLIDs that are forwarded where the loop passes.
    passing: Vec<String>,
    /// Ordered pairs of members of one group.
    pairs: u64,
    /// Of `pairs`: tables do not deliver what one sends to the other.
    unreached: u64,
    faults: Vec<OfTable<'a>>,
}

/// What is wrong with one table.
/// Tables without a fault are not listed.
#[derive(Debug, Serialize)]
struct OfTable<'a> {
    /// In hexadecimal, as `0xC000`.
    mlid: String,
    /// It is a tree; some members are not reached.
    tree: bool,
    /// Around which a packet runs without end.
    /// Switch and port, in the order of the packet; empty for a tree.
    circle: Vec<String>,
    /// Switches that get one packet by two ways.
    twice: Vec<String>,
    unreached: u64,
    /// Some of them.
    /// Sender and receiver, by name; at most 20 for a table.
    unreached_pairs: Vec<[&'a str; 2]>,
}

/// Unicast and groups of everybody together.
/// For groups that need not exist: it answers whether a group may be made, not whether one is well.
#[derive(Debug, Serialize)]
struct Everywhere {
    acyclic: bool,
    cycle: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(findings: &'a Findings) -> Self {
        let parts = &findings.parts;
        let reached = &findings.reached;
        let multicast = findings.multicast.as_ref();
        let everywhere = findings.everywhere.as_ref();
        Self {
            acyclic: findings.loops.hosts.is_none(),
            cycle: cycle(parts, findings.loops.hosts.as_ref()),
            management_cycle: cycle(parts, findings.loops.management.as_ref()),
            sls: findings.sls.name(),
            switches: parts.topology.switches.len(),
            pairs: reached.pairs,
            lost: reached.lost,
            pairs_lost: reached.lost_between_hosts,
            multicast: multicast.map(|(recorded, it)| OfMulticast::new(parts, recorded, it)),
            everywhere: everywhere.map(|found| Everywhere {
                acyclic: found.is_none(),
                cycle: cycle(parts, found.as_ref()),
            }),
        }
    }
}

impl<'a> OfMulticast<'a> {
    fn new(parts: &'a FabricState, recorded: &Recorded, multicast: &Multicast) -> Self {
        let found = multicast.credit_loop.as_ref();
        let from = recorded.groups_path.as_ref();
        let faults = multicast.faults.iter();
        Self {
            groups: recorded.tables.len(),
            groups_from: from.map(|path| path.display().to_string()),
            acyclic: found.is_none(),
            cycle: cycle(parts, found.map(|(found, _)| found)),
            closed_by: found.map(|(_, by)| by.name()),
            passing: passing(multicast),
            pairs: multicast.pairs,
            unreached: multicast.unreached,
            faults: faults.map(|fault| OfTable::new(parts, fault)).collect(),
        }
    }
}

impl<'a> OfTable<'a> {
    fn new(parts: &'a FabricState, fault: &Fault) -> Self {
        let twice = fault.twice.iter().map(|switch| switch_name(parts, *switch));
        let listed = fault.listed.iter();
        let listed = listed.map(|(from, to)| [end_name(parts, *from), end_name(parts, *to)]);
        Self {
            mlid: mlid_name(fault.mlid),
            tree: fault.is_tree(),
            circle: circle(parts, fault),
            twice: twice.collect(),
            unreached: fault.unreached,
            unreached_pairs: listed.collect(),
        }
    }
}

/// In ascending order, as the set has them.
fn passing(multicast: &Multicast) -> Vec<String> {
    multicast
        .passing
        .iter()
        .map(|mlid| mlid_name(*mlid))
        .collect()
}

/// Where a packet comes by, a line each.
fn circle(parts: &FabricState, fault: &Fault) -> Vec<String> {
    let steps = fault.cycle.iter();
    steps
        .map(|(switch, port)| format!("{} port {port}", switch_name(parts, *switch)))
        .collect()
}

/// The same lines that people see, as an array: each names a channel by switch, port and VL.
fn cycle(parts: &FabricState, found: Option<&CreditLoop>) -> Vec<String> {
    let words = found.map(|found| words(parts, found)).unwrap_or_default();
    words.lines().map(str::to_owned).collect()
}

fn words(parts: &FabricState, found: &CreditLoop) -> String {
    found.in_words(&parts.topology, &parts.routes)
}

/// Quoted, as descriptions may hold blanks, and with the GUID, as several switches may have the
/// same one.
fn switch_name(parts: &FabricState, switch: SwitchIx) -> String {
    let switch = parts.topology.switch(switch);
    format!("switch {:?} ({})", switch.description, switch.guid)
}

/// The description alone: pairs are many, and hosts have names of their own.
fn end_name(parts: &FabricState, end: EndPortIx) -> &str {
    &parts.topology.end_port(end).description
}
