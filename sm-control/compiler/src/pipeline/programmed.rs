//! The engine's tables beside those that the switches hold.
//!
//! With a running SA as source the switches are programmed already, by an OpenSM that may be of
//! another version, or that had its reasons. Where a torus configuration is given, the engine
//! computes what it would program, and that is compared entry by entry with what was read:
//!
//! | engine | switches | served | SLs |
//! |---|---|---|---|
//! | routes | hold the same | the engine's | by coordinates |
//! | routes | hold others | those of the switches | by coordinates |
//! | refuses, but places | hold some | those of the switches | by coordinates |
//! | anything else than was planned here | hold some | those of the switches | by the plan's coordinates |
//! | refuses | hold some | those of the switches | of policy and partitions |
//!
//! What is answered must be what the switches do: a path that exists in our tables only is none.
//! Such tables are served whatever the proof says of them (`publishable`), with warnings: the SM
//! made them, and silence would mend nothing.
//!
//! Without a torus configuration the tables are taken as they are from the start
//! ([`crate::state::Given::HeldTables`]).

use routing::engine::files;
use routing::{EngineKind, NO_PATH, Peer, Refusal, Routes, SwitchIx, Topology, Torus};
use sa_fabric::display::{count, first_few};
use sa_fabric::sa_records::SaFabric;
use sa_text::Remark;
use sa_wire::Lid;

use super::Compiled;
use super::route::{by_engine, in_words};
use crate::state::{FabricState, Sources};

/// Routes, and why they are not the engine's.
///
/// Made once per compilation, for fabrics from files with empty notes.
pub(super) struct Programmed {
    /// The engine's routes, or those of the switches.
    pub(super) routed: Result<Routes, Refusal>,
    /// Empty where the engine's are what the switches hold.
    pub(super) notes: Vec<Remark>,
}

/// Routes by the engine. Where the switches' own tables were read and are others, or the engine
/// refuses, those tables are taken as they are: what is answered must be what the switches do.
///
/// Where both agree the engine's routes are the better ones: they know coordinates, trees and what
/// comes after a failure.
pub(super) fn route(
    sources: &Sources,
    topology: &Topology,
    before: Option<&FabricState>,
) -> Programmed {
    let routed = by_engine(sources, topology, before);
    // Other engines are not tried on a running fabric: their routes are their own choice.
    let computes = sources.routing.torus_conf().is_some();
    let Some(from_sa) = sources.from_sa.as_deref().filter(|_| computes) else {
        return Programmed {
            routed,
            notes: Vec::new(),
        };
    };
    let notes = match &routed {
        Ok(routes) => differences(routes, from_sa, topology),
        Err(refusal) => {
            let words = in_words(refusal, &sources.routing);
            vec![Remark::warning("engine-refuses", words)]
        }
    };
    // Where switches lie, which the engine knows also when it refuses to route.
    let placed = match &routed {
        Ok(routes) => routes.torus(),
        Err(refusal) => refusal.torus.as_deref(),
    };
    let heard = sources.heard_sls.as_ref();
    let planned = heard.and_then(|heard| heard.torus_of_plan(topology));
    let agrees = |planned: &Torus| placed.is_some_and(|placed| planned.has_places_of(placed));
    // Nothing differs, so what the engine made is what the switches do.
    if notes.is_empty() && planned.as_ref().is_none_or(agrees) {
        return Programmed { routed, notes };
    }
    // The tables are those of the plan, and so are its SLs, whatever the engine would do now.
    let torus = planned.or_else(|| placed.cloned());
    let mut notes = notes;
    let sls = match &torus {
        Some(_) => "torus-2QoS by coordinates",
        None => "policy and partitions",
    };
    let text = format!("{INSTEAD} {sls}, {UNTIL}");
    notes.push(Remark::warning("switch-tables-served", text));
    let routed = match torus {
        Some(torus) => files::route_on_torus(
            topology,
            &from_sa.lfts(topology),
            &from_sa.sl2vl(topology),
            torus,
        ),
        None => as_read(sources, topology, before),
    };
    Programmed { routed, notes }
}

/// The tables that the switches hold; those that they held `before` lie where they lay. Errors: SL2VL tables
/// name ports that switches do not have.
///
/// Without an SA there are none, and each pair is without path.
pub(super) fn as_read(
    sources: &Sources,
    topology: &Topology,
    before: Option<&FabricState>,
) -> Result<Routes, Refusal> {
    let Some(from_sa) = sources.from_sa.as_deref() else {
        return files::route(topology, &[], &routing::GivenSl2Vl::default());
    };
    let before = before.filter(|it| it.routes.engine() == EngineKind::Files);
    let was = before.and_then(|it| Some((&it.topology, it.from_sa.as_deref()?)));
    let held = AsTold {
        from_sa,
        topology,
        was,
    };
    let routes = before.map(|it| &it.routes);
    files::route_held(topology, &held, &from_sa.sl2vl(topology), routes)
}

/// Tables as an SA tells them, beside those that it told before.
struct AsTold<'a> {
    from_sa: &'a SaFabric,
    topology: &'a Topology,
    was: Option<(&'a Topology, &'a SaFabric)>,
}

impl files::Held for AsTold<'_> {
    fn write(&self, switch: SwitchIx, row: &mut [u8]) {
        self.from_sa.write_lft(self.topology, switch, row);
    }

    fn stays(&self, switch: SwitchIx) -> bool {
        let Some((topology, before)) = self.was else {
            return false;
        };
        let own = self.topology.switch(switch);
        let old = topology.switches.get(switch.index());
        let is_it =
            |old: &routing::Switch| old.guid == own.guid && old.ports.len() == own.ports.len();
        old.is_some_and(is_it) && self.from_sa.shares_lft(self.topology, switch, before)
    }
}

/// How the switches' tables differ from those that were made, in words.
/// Empty where everything is the same. Cost: each table once, without copying those that agree.
fn differences(routes: &Routes, from_sa: &SaFabric, topology: &Topology) -> Vec<Remark> {
    let mut notes = Vec::new();
    notes.extend(lft_differences(routes, from_sa, topology));
    notes.extend(sl2vl_differences(routes, from_sa, topology));
    notes
}

/// One remark for all switches, with an example for each of the first few.
fn lft_differences(routes: &Routes, from_sa: &SaFabric, topology: &Topology) -> Option<Remark> {
    let lids = used_lids(topology);
    let mut pairs = 0;
    let mut switches = Vec::new();
    for switch in topology.switch_ixs() {
        let made = routes.lft(switch);
        // The quick way for nearly all; only tables that differ are unpacked.
        if from_sa.holds(topology, switch, made) {
            continue;
        }
        let held = &from_sa.lft(topology, switch);
        let entry = |table: &[u8], lid: Lid| {
            let entry = table.get(lid.index());
            entry.copied().unwrap_or(NO_PATH)
        };
        let differs = |lid: &&Lid| entry(made, **lid) != entry(held, **lid);
        let different: Vec<Lid> = lids.iter().filter(differs).copied().collect();
        if let Some(lid) = different.first() {
            pairs += different.len();
            let (ours, theirs) = (port(entry(made, *lid)), port(entry(held, *lid)));
            switches.push(format!(
                "{} ({}; LID {lid} by {theirs}, not {ours})",
                name(topology, switch),
                count(different.len(), "LID", "LIDs")
            ));
        }
    }
    (!switches.is_empty()).then(|| {
        let text = format!(
            "{} of {} switches forward {pairs} (switch, LID) pairs differently from {}: {}",
            switches.len(),
            topology.switches.len(),
            routes.engine(),
            first_few(&switches)
        );
        Remark::warning("lfts-differ", text)
    })
}

/// Of tables between ports that a packet can come by: input 0 is the switch itself, other inputs
/// need a cable.
fn sl2vl_differences(routes: &Routes, from_sa: &SaFabric, topology: &Topology) -> Option<Remark> {
    let given = from_sa.sl2vl(topology);
    let is_used =
        |switch: SwitchIx, input: u8| input == 0 || topology.peer(switch, input) != Peer::Nothing;
    let tables = given.switches.iter();
    let different: Vec<String> = tables
        .filter(|(switch, input, ..)| is_used(*switch, *input))
        .filter(|(switch, input, output, held)| routes.sl2vl(*switch, *input, *output) != *held)
        .map(|(switch, input, output, _)| {
            format!("{} port {input} to {output}", name(topology, *switch))
        })
        .collect();
    (!different.is_empty()).then(|| {
        let text = format!(
            "{} not those of {}: {}",
            count(different.len(), "SL2VL table is", "SL2VL tables are"),
            routes.engine(),
            first_few(&different)
        );
        Remark::warning("sl2vl-differs", text)
    })
}

/// LIDs that a port owns; what stands behind others in a table is of no consequence.
///
/// Ascending.
fn used_lids(topology: &Topology) -> Vec<Lid> {
    let ends = topology.end_ports.iter();
    let mut lids: Vec<Lid> = ends.flat_map(routing::EndPort::lids).collect();
    lids.sort_unstable();
    lids
}

/// A forwarding entry in words.
fn port(entry: u8) -> String {
    match entry {
        NO_PATH => "no port".to_owned(),
        port => format!("port {port}"),
    }
}

/// A switch by its description, as operators know it.
fn name(topology: &Topology, switch: SwitchIx) -> &str {
    &topology.switch(switch).description
}

/// What is served then: the beginning of the sentence, and its end.
const INSTEAD: &str =
    "all pairs are answered by the tables that the switches hold, with the SLs of";
const UNTIL: &str = "until the engine's tables agree with them";

/// What is wrong with tables that are served because the switches hold them.
///
/// The same things that would keep an engine's tables from being published.
pub(super) fn flaws(compiled: &Compiled) -> Vec<Remark> {
    let mut flaws = Vec::new();
    if let Some(cycle) = &compiled.proof.credit_loop {
        let words = cycle.in_words(&compiled.parts.topology, &compiled.parts.routes);
        let text = format!(
            "the tables that the switches hold have a credit loop on the SLs in use, each may wait \
             for the next:\n{words}"
        );
        flaws.push(Remark::warning("held-credit-loop", text));
    }
    let lost = compiled.proof.reachability.lost_between_hosts;
    if lost > 0 {
        let text = format!(
            "by the tables that the switches hold {lost} pairs of hosts that are wired together \
             have no path"
        );
        flaws.push(Remark::warning("held-lost-pairs", text));
    }
    flaws
}
