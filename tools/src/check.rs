//! `sapphire check`: a proof over finished tables, whoever made them.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use routing::check::{CreditLoop, PathSls, Reachability, reachability, unicast_loop};
use routing::{EndPortIx, Topology};
use sa_wire::SlVlMask;
use serde_json::json;
use sm_control::dump::psl;
use sm_control::fabric::detect::{DumpDir, Input};
use sm_control::pipeline::{self, EngineChoice, Inputs, LISTED_PAIRS, Parts};

use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, or_fail, warn};
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Directory of OpenSM dumps: opensm-lfts.dump with opensm-subnet.lst or net, and where there
    /// are any opensm-sl2vl.dump and psl
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where there is no psl: path SLs as torus-2QoS gives them with this configuration
    #[arg(long, value_name = "FILE")]
    torus_conf: Option<PathBuf>,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Check) -> Outcome {
    let inputs = Inputs {
        fabric: verb.directory.clone(),
        engine: EngineChoice::Files,
        ..Inputs::default()
    };
    let sources = or_fail(pipeline::read(&inputs))?;
    warn(&sources.warnings);
    let parts = pipeline::route(sources).map_err(failure)?;
    let sls = Sls::read(verb, &parts)?;
    let credit_loop = sls.find_loop(&parts);
    let reached = reachability(&parts.topology, &parts.routes, LISTED_PAIRS);
    report(verb, &parts, &sls, credit_loop.as_ref(), &reached)?;
    match (&credit_loop, reached.lost_between_hosts) {
        (None, 0) => Ok(()),
        (Some(_), _) => Err(Failure::Refused("the tables have a credit loop".to_owned())),
        (None, lost) => Err(Failure::Refused(format!(
            "{lost} pairs of hosts have no path"
        ))),
    }
}

/// Where path SLs come from.
enum Sls {
    /// Recorded answers of an SA.
    Psl(HashMap<(u64, u16), SlVlMask>),
    /// The engine's rule, with coordinates found from a configuration.
    Torus(Box<routing::Torus>),
    /// Nobody says: any SL on any path.
    Any,
}

impl Sls {
    fn read(verb: &Check, parts: &Parts) -> Outcome<Self> {
        let directory = or_fail(DumpDir::open(&verb.directory))?;
        match (or_fail(directory.read("psl"))?, &verb.torus_conf) {
            (Some(input), _) => Self::psl(&input),
            (None, Some(path)) => {
                let text = or_fail(sm_control::fabric::xz::read(path))?;
                let text = policy::decode(&text);
                let config = routing::TorusConfig::parse(&text).map_err(|errors| {
                    Failure::Failed(
                        errors
                            .report(&path.display().to_string())
                            .trim_end()
                            .to_owned(),
                    )
                })?;
                let placed = routing::torus::place(&parts.topology, &config);
                let (torus, _) = placed.map_err(|refusal| Failure::Refused(refusal.to_string()))?;
                Ok(Self::Torus(Box::new(torus)))
            }
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

    fn find_loop(&self, parts: &Parts) -> Option<CreditLoop> {
        let (topology, routes) = (&parts.topology, &parts.routes);
        match self {
            Self::Psl(recorded) => {
                let sls = |source, lid| recorded_sls(topology, parts, recorded, source, lid);
                unicast_loop(topology, routes, PathSls::ByPair(&sls))
            }
            Self::Torus(torus) => {
                let sls = |from, to| {
                    let level = |hint| 1u16 << torus.path_sl(hint, from, to).get();
                    SlVlMask(
                        level(sa_wire::Sl::from_low_bits(0)) | level(sa_wire::Sl::from_low_bits(8)),
                    )
                };
                unicast_loop(topology, routes, PathSls::BySwitch(&sls))
            }
            Self::Any => unicast_loop(topology, routes, PathSls::Any(SlVlMask::ALL)),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Psl(_) => "psl",
            Self::Torus(_) => "torus-2QoS.conf",
            Self::Any => "any SL on any path",
        }
    }
}

/// psl names source nodes and base LIDs; the other LIDs of a port have its SL.
fn recorded_sls(
    topology: &Topology,
    parts: &Parts,
    recorded: &HashMap<(u64, u16), SlVlMask>,
    source: EndPortIx,
    lid: u16,
) -> SlVlMask {
    let from = topology.end_port(source).node_guid.get();
    let base = parts
        .routes
        .lids()
        .owner(lid)
        .map(|owner| topology.end_port(owner).lid.get());
    recorded
        .get(&(from, base.unwrap_or(lid)))
        .copied()
        .unwrap_or(SlVlMask(0))
}

fn report(
    verb: &Check,
    parts: &Parts,
    sls: &Sls,
    credit_loop: Option<&CreditLoop>,
    reached: &Reachability,
) -> Outcome {
    let words = credit_loop.map(|found| found.in_words(&parts.topology, &parts.routes));
    if verb.json {
        let cycle: Vec<&str> = words
            .as_deref()
            .map(|words| words.lines().collect())
            .unwrap_or_default();
        return json::print(&json!({
            "acyclic": credit_loop.is_none(),
            "cycle": cycle,
            "sls": sls.name(),
            "switches": parts.topology.switches.len(),
            "pairs": reached.pairs,
            "lost": reached.lost,
            "pairs_lost": reached.lost_between_hosts,
            "multicast": null,
        }));
    }
    println!(
        "{} switches, path SLs from {}",
        parts.topology.switches.len(),
        sls.name()
    );
    match words {
        None => println!("unicast    no credit loop"),
        Some(words) => println!(
            "unicast    credit loop, each may wait for the next:\n{}",
            words.trim_end()
        ),
    }
    println!("multicast  not checked yet");
    println!(
        "reached    {} of {} pairs of ports",
        reached.pairs - reached.lost,
        reached.pairs
    );
    for pair in reached.listed.iter().take(20) {
        let from = topology_name(parts, pair.source);
        println!("lost       {from} to LID {}", pair.lid);
    }
    Ok(())
}

fn topology_name(parts: &Parts, end: EndPortIx) -> &str {
    &parts.topology.end_port(end).description
}
