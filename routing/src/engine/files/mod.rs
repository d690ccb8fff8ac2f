//! Tables that something else made: OpenSM's dumps, or what a sweep read from the switches.
//!
//! They are taken as they are and only checked against the fabric (a table per switch, no port that
//! a switch lacks): what is answered must be what the switches do, be it good or bad. Whether such
//! tables can deadlock is for [`crate::proof`].
//!
//! Used for `opensm-lfts.dump` and its kin, and for what a running SA or the switches tell. Nothing
//! is corrected: a switch that forwards a LID in a circle does so here, too, and its pairs count as
//! lost.
//!
//! SLs of paths are not in any table. Where OpenSM ran torus-2QoS, its places give them
//! ([`route_on_torus`]); otherwise the policy's SL stands.

mod held;
mod reason;

pub use self::held::{Held, route_held};

use self::reason::{FilesReason, above_max_lid};
use super::{Engine, EngineInput, Needs, Request, wrong_input};
use crate::error::{Reason, Refusal, SwitchName, Warning};
use crate::kind::EngineKind;
use crate::placement::Torus;
use crate::tables::sl2vl::{GivenSl2Vl, Sl2Vl};
use crate::tables::{EngineFacts, Lft, NO_PATH, PathSlRule, Routes};
use crate::topology::{SwitchIx, Topology};

/// Tables that something else made; see the module.
pub(super) struct Files;

impl Engine for Files {
    fn needs(&self) -> Needs {
        Needs::Tables
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        match request.input {
            EngineInput::Tables { lfts, sl2vl } => route(request.topology, lfts, sl2vl),
            _ => Err(wrong_input(EngineKind::Files)),
        }
    }
}

/// Takes over forwarding tables, and SL2VL tables where there are any; elsewhere the configured
/// SL2VL tables hold.
///
/// Shape: `lfts` by switch index, then by LID, with [`NO_PATH`] for LIDs without an entry; a table
/// may be shorter than the largest LID.
/// Errors: a different number of tables than of switches; ports that a switch does not have.
///
/// Cost: a copy of all tables. Entries for LIDs that nobody owns stay where they are below the
/// largest LID in use, as nobody asks for them.
pub fn route(topology: &Topology, lfts: &[Vec<u8>], sl2vl: &GivenSl2Vl) -> Result<Routes, Refusal> {
    let mut warnings = Vec::new();
    let mut reasons = Vec::new();
    let (given, switches) = (lfts.len(), topology.switches.len());
    // Told beside the other reasons, not instead: the first tables are looked at all the same.
    if given != switches {
        reasons.push(FilesReason::TableCount { given, switches });
    }
    let max_lid = topology.max_lid();
    for (switch, table) in topology.switch_ixs().zip(lfts) {
        reasons.extend(wrong_port(topology, switch, table));
        // Left over from a larger fabric; harmless, but a sign that dump and topology are of two
        // sweeps.
        let above = table
            .iter()
            .skip(usize::from(max_lid) + 1)
            .filter(|port| **port != NO_PATH);
        let count = above.count();
        if count > 0 {
            let switch = SwitchName::new(topology, switch, None);
            warnings.push(above_max_lid(&switch, count, max_lid));
        }
    }
    reasons.extend(wrong_sl2vl(topology, sl2vl));
    if !reasons.is_empty() {
        return Err(refused(&reasons, warnings));
    }
    let lft = copied(topology, lfts, max_lid);
    let sl2vl = Sl2Vl::given(topology, sl2vl);
    let routes = Routes::new(topology, EngineKind::Files, lft, sl2vl);
    Ok(Routes { warnings, ..routes })
}

/// [`route`] on a torus: paths have the SLs that torus-2QoS gives them by the places of their ends,
/// whatever way the tables lead. For switches that torus-2QoS programmed before the fabric changed,
/// or that have its tables only in part. Errors: as [`route`].
/// The torus must be the one that OpenSM found, or SLs come out as OpenSM would not give them.
pub fn route_on_torus(
    topology: &Topology,
    lfts: &[Vec<u8>],
    sl2vl: &GivenSl2Vl,
    torus: Torus,
) -> Result<Routes, Refusal> {
    let facts = EngineFacts {
        path_sl: PathSlRule::Datelines,
        torus: Some(torus),
        ..EngineFacts::default()
    };
    route(topology, lfts, sl2vl).map(|routes| Routes { facts, ..routes })
}

/// SL2VL tables of ports that their switch lacks.
/// Without this check the tables of one switch would be taken for those of the next.
fn wrong_sl2vl(topology: &Topology, sl2vl: &GivenSl2Vl) -> impl Iterator<Item = FilesReason> {
    let tables = sl2vl.switches.iter();
    tables.filter_map(|(switch, input, output, _)| {
        let ports = topology.switch(*switch).ports.len() - 1;
        (usize::from(*input.max(output)) > ports).then(|| FilesReason::Sl2VlOutOfRange {
            switch: SwitchName::new(topology, *switch, None),
            input: *input,
            output: *output,
            ports,
        })
    })
}

fn refused(reasons: &[FilesReason], warnings: Vec<Warning>) -> Refusal {
    Refusal {
        engine: EngineKind::Files,
        reasons: reasons.iter().map(Reason::from).collect(),
        warnings,
        torus: None,
    }
}

/// The first entry that names a port which the switch lacks.
/// One per switch is enough to see that the files do not belong together.
fn wrong_port(topology: &Topology, switch: SwitchIx, table: &[u8]) -> Option<FilesReason> {
    let ports = topology.switch(switch).ports.len() - 1;
    let wrong = |port: u8| port != NO_PATH && usize::from(port) > ports;
    let (lid, port) = (0..=u16::MAX).zip(table).find(|(_, port)| wrong(**port))?;
    let switch = SwitchName::new(topology, switch, None);
    Some(FilesReason::PortOutOfRange {
        switch,
        lid,
        port: *port,
        ports,
    })
}

/// The tables up to the largest LID in use.
/// Shorter tables leave the rest without a path, longer ones were warned about.
fn copied(topology: &Topology, lfts: &[Vec<u8>], max_lid: u16) -> Lft {
    let mut lft = Lft::empty(topology, max_lid);
    let stride = lft.stride();
    for (switch, table) in topology.switch_ixs().zip(lfts) {
        let used = table.len().min(stride);
        lft.table_mut(switch)[..used].copy_from_slice(&table[..used]);
    }
    lft
}
