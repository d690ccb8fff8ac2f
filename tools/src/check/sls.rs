//! Which SLs paths use, for the proof over finished tables.
//!
//! A credit loop is a matter of VLs, which switches choose by SL. So the proof asks for every path
//! which SLs it may take, and is answered from the best source there is:
//!
//! ```text
//! psl in the directory     what an SA answered, pair by pair          exact
//! a torus-2QoS.conf        both QoS levels that the rule can give     all that an SA could answer
//! neither                  all SLs on every path                      more than any SA answers
//! ```
//!
//! The more SLs are taken, the more dependencies there are: a proof with the last source implies
//! the other two, and a loop with the first one is real.

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
/// Made once per run and borrowed by the judge for as long as it works.
pub(super) enum Sls {
    /// Recorded answers of an SA.
    /// By GUID of the source node and base LID of the destination. A pair with an empty mask was
    /// refused a path, and a pair that is missing has none either: no packet of such a pair makes a
    /// dependency.
    Psl(HashMap<(u64, u16), SlVlMask>),
    /// The engine's rule, with coordinates found from a configuration.
    /// Boxed: with every switch and its ports it is much larger than the other variants.
    Torus(Box<Torus>),
    /// Nobody says: any SL on any path.
    Any,
}

impl Sls {
    /// From `psl` in the directory, else by the configuration.
    /// Errors: a file that is there cannot be read, or the configuration does not fit the fabric.
    pub(super) fn read(
        directory: &DumpDir,
        torus_conf: Option<&Path>,
        parts: &FabricState,
    ) -> Outcome<Self> {
        // Recorded answers win over the rule: they are what packets really carry.
        match (or_fail(directory.read("psl"))?, torus_conf) {
            (Some(input), _) => Self::psl(&input),
            (None, Some(path)) => Ok(Self::Torus(Box::new(place(path, parts)?))),
            (None, None) => Ok(Self::Any),
        }
    }

    /// One bit for each pair, as a recorded answer names one SL.
    fn psl(input: &Input) -> Outcome<Self> {
        let entries = psl::read(&input.bytes).map_err(|error| input.refused(error));
        let mut sls = HashMap::new();
        for entry in or_fail(entries)? {
            let mask = entry.sl.map_or(SlVlMask(0), |sl| SlVlMask(1 << sl.get()));
            // Of several lines for a pair the last one counts.
            sls.insert((entry.source.get(), entry.dlid.get()), mask);
        }
        Ok(Self::Psl(sls))
    }

    /// Gives `work` the judge of the tables with these SLs.
    /// A callback, because the judge borrows a closure over the SLs that lives on this stack frame
    /// only.
    pub(super) fn judged<T>(&self, parts: &FabricState, work: impl FnOnce(Judge<'_>) -> T) -> T {
        match self {
            Self::Psl(recorded) => {
                let topology = &parts.topology;
                let sls = |source, lid| recorded_sls(topology, parts, recorded, source, lid);
                work(pipeline::judge(parts, PathSls::ByPair(&sls)))
            }
            Self::Torus(torus) => {
                let sls = |from, to| {
                    // Bit 3 of the SL is the QoS level, which a policy may choose; bits 0 to 2 are
                    // the rule's. Both levels are taken, as the policy is not known here.
                    let level = |hint| 1u16 << torus.path_sl(hint, from, to).get();
                    SlVlMask(level(Sl::from_low_bits(0)) | level(Sl::from_low_bits(8)))
                };
                // By switch and not by pair: all hosts of a switch share its coordinate, so the
                // judge can fold them.
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
/// By torus-proved, whose placement has switches too that torus-2QoS leaves outside.
fn place(path: &Path, parts: &FabricState) -> Outcome<Torus> {
    // Paths of switches that torus-2QoS leaves outside exist only in tables of torus-proved.
    let placed = routing::engine::torus_proved::place(&parts.topology, &torus_conf(path)?);
    let (torus, _) = placed.map_err(|refusal| Failure::refused(refusal.to_string()))?;
    Ok(torus)
}

/// Reads a torus-2QoS.conf. Errors: all that is wrong with it.
/// The failure has the place of the first error; its text has all of them, a line each.
pub(super) fn torus_conf(path: &Path) -> Outcome<TorusConfig> {
    let text = or_fail(intake::read(Kind::Dump, path))?;
    TorusConfig::parse(&sa_text::decode(&text)).map_err(|errors| {
        let report = errors.report(&path.display().to_string());
        let first = errors.0.first().map_or(Position::START, |error| error.at);
        Failure::failed(report.trim_end().to_owned()).about(Location::new(path, first))
    })
}

/// psl names source nodes and base LIDs; the other LIDs of a port have its SL.
/// Called for every pair that the graph is built from: two look-ups, no allocation.
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
        // No line, no path, no packets, so nothing that could wait.
        .unwrap_or(SlVlMask(0))
}
