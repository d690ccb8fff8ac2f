//! Which SLs paths use, for the proof over finished tables.

use std::collections::HashMap;
use std::path::Path;

use routing::proof::{Judge, PathSls};
use routing::{EndPortIx, Topology, Torus, TorusConfig};
use sa_compiler::pipeline;
use sa_compiler::state::FabricState;
use sa_fabric::detect::{DumpDir, Input};
use sa_fabric::formats::psl;
use sa_fabric::intake::{self, Kind};
use sa_text::{Location, Position};
use sa_wire::{Lid, Sl, SlVlMask};

use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Where path SLs come from.
pub(super) enum Sls {
    /// Recorded answers of an SA.
    Psl(HashMap<(u64, u16), SlVlMask>),
    /// The engine's rule, with coordinates found from a configuration.
    Torus(Box<Torus>),
    /// Nobody says: any SL on any path.
    Any,
}

impl Sls {
    /// From `psl` in the directory, else by the configuration.
    pub(super) fn read(
        directory: &DumpDir,
        torus_conf: Option<&Path>,
        parts: &FabricState,
    ) -> Outcome<Self> {
        match (or_fail(directory.read("psl"))?, torus_conf) {
            (Some(input), _) => Self::psl(&input),
            (None, Some(path)) => Ok(Self::Torus(Box::new(place(path, parts)?))),
            (None, None) => Ok(Self::Any),
        }
    }

    fn psl(input: &Input) -> Outcome<Self> {
        let entries = psl::read(&input.bytes).map_err(|error| input.refused(error));
        let mut sls = HashMap::new();
        for entry in or_fail(entries)? {
            let mask = entry.sl.map_or(SlVlMask(0), |sl| SlVlMask(1 << sl.get()));
            sls.insert((entry.source.get(), entry.dlid.get()), mask);
        }
        Ok(Self::Psl(sls))
    }

    /// Gives `work` the judge of the tables with these SLs.
    pub(super) fn judged<T>(&self, parts: &FabricState, work: impl FnOnce(Judge<'_>) -> T) -> T {
        match self {
            Self::Psl(recorded) => {
                let topology = &parts.topology;
                let sls = |source, lid| recorded_sls(topology, parts, recorded, source, lid);
                work(pipeline::judge(parts, PathSls::ByPair(&sls)))
            }
            Self::Torus(torus) => {
                let sls = |from, to| {
                    let level = |hint| 1u16 << torus.path_sl(hint, from, to).get();
                    SlVlMask(level(Sl::from_low_bits(0)) | level(Sl::from_low_bits(8)))
                };
                work(pipeline::judge(parts, PathSls::BySwitch(&sls)))
            }
            Self::Any => work(pipeline::judge(parts, PathSls::Any(SlVlMask::ALL))),
        }
    }

    /// For reports.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Psl(_) => "psl",
            Self::Torus(_) => "torus-2QoS.conf",
            Self::Any => "any SL on any path",
        }
    }
}

/// Places switches as a configuration says. Errors: it cannot be read; refused.
fn place(path: &Path, parts: &FabricState) -> Outcome<Torus> {
    // Paths of switches that torus-2QoS leaves outside exist only in tables of torus-proved.
    let placed = routing::engine::torus_proved::place(&parts.topology, &torus_conf(path)?);
    let (torus, _) = placed.map_err(|refusal| Failure::refused(refusal.to_string()))?;
    Ok(torus)
}

/// Reads a torus-2QoS.conf. Errors: all that is wrong with it.
pub(super) fn torus_conf(path: &Path) -> Outcome<TorusConfig> {
    let text = or_fail(intake::read(Kind::Dump, path))?;
    TorusConfig::parse(&sa_text::decode(&text)).map_err(|errors| {
        let report = errors.report(&path.display().to_string());
        let first = errors.0.first().map_or(Position::START, |error| error.at);
        Failure::failed(report.trim_end().to_owned()).about(Location::new(path, first))
    })
}

/// psl names source nodes and base LIDs; the other LIDs of a port have its SL.
fn recorded_sls(
    topology: &Topology,
    parts: &FabricState,
    recorded: &HashMap<(u64, u16), SlVlMask>,
    source: EndPortIx,
    lid: Lid,
) -> SlVlMask {
    let from = topology.end_port(source).node_guid.get();
    let base = parts
        .routes
        .lids()
        .owner(lid)
        .map(|owner| topology.end_port(owner).lid);
    recorded
        .get(&(from, base.unwrap_or(lid).get()))
        .copied()
        .unwrap_or(SlVlMask(0))
}
