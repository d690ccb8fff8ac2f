//! `sapphire check`: a proof over finished tables, whoever made them.

mod multicast;
mod report;
mod sls;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use multicast::{ClosedBy, Multicast, Recorded};
use routing::EngineKind;
use routing::proof::{CreditLoop, Loops, Reachability, reachability};
use sa_compiler::pipeline::{self, Inputs, LISTED_PAIRS};
use sa_compiler::state::FabricState;
use sa_fabric::detect::DumpDir;
use sa_fabric::display;
use sls::Sls;

use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, or_fail, warn};

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Directory of OpenSM dumps: opensm-lfts.dump with opensm-subnet.lst or net, and where there
    /// are any opensm-sl2vl.dump, psl, opensm.mcfdbs and mcgroups.txt
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where there is no psl: path SLs as torus-2QoS gives them with this configuration [default:
    /// torus-2QoS.conf in DIR, if there is one]
    #[arg(long, value_name = "FILE")]
    torus_conf: Option<PathBuf>,
    /// Members and SLs of multicast groups [default: mcgroups.txt in DIR; without it SL 0, and
    /// members are those whom opensm.mcfdbs delivers to]
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Which multicast groups to check: those of opensm.mcfdbs, or besides them the worst that
    /// torus-2QoS could make, with everybody a member (needs --torus-conf)
    #[arg(long, value_enum, default_value_t = Members::Recorded)]
    members: Members,
    /// Exit 3 also when only packets that switches themselves (port 0) send each other could close
    /// a credit loop; packets of hosts always decide
    #[arg(long)]
    strict: bool,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Members {
    Recorded,
    Everywhere,
}

/// Everything that was found.
struct Findings {
    parts: FabricState,
    sls: Sls,
    /// Of unicast.
    loops: Loops,
    reached: Reachability,
    /// None without tables.
    multicast: Option<(Recorded, Multicast)>,
    /// With members everywhere; none when not asked for.
    everywhere: Option<Option<CreditLoop>>,
}

pub(crate) fn run(verb: &Check) -> Outcome {
    let findings = find(verb)?;
    report::print(verb, &findings)?;
    let problems = problems(&findings, verb.strict);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused(problems.join("; ")))
    }
}

fn find(verb: &Check) -> Outcome<Findings> {
    let beside = Some(pipeline::torus_conf_beside(&verb.directory));
    let torus_conf = verb.torus_conf.clone();
    let torus_conf = torus_conf.or_else(|| beside.filter(|path| path.is_file()));
    if verb.members == Members::Everywhere && torus_conf.is_none() {
        let text = "--members everywhere needs --torus-conf, which gives the tree of such a group";
        return Err(Failure::usage(text.to_owned()));
    }
    let inputs = Inputs {
        fabric: verb.directory.clone(),
        engine: Some(EngineKind::Files),
        ..Inputs::default()
    };
    let sources = or_fail(pipeline::read(&inputs))?;
    let mut warnings = sources.warnings.clone();
    let parts = pipeline::route(sources).map_err(failure)?;
    let topology = &parts.topology;
    let directory = or_fail(DumpDir::open(&verb.directory))?;
    let sls = Sls::read(&directory, torus_conf.as_deref(), &parts)?;
    let recorded = Recorded::read(&directory, verb.groups.as_deref(), topology)?;
    warnings.extend(recorded.iter().flat_map(|it| it.warnings(topology)));
    warn(&warnings);
    let (loops, multicast) = sls.judged(&parts, |judge| {
        let unicast = judge.everybody();
        let loops = judge.loops(&unicast, |_| ());
        let multicast = recorded.map(|recorded| {
            let alone = loops.hosts.as_ref();
            let found = Multicast::check(&recorded, &parts, judge, unicast, alone);
            (recorded, found)
        });
        (loops, multicast)
    });
    let everywhere = match (verb.members, &torus_conf) {
        (Members::Everywhere, Some(conf)) => Some(multicast::everywhere(conf, &parts, &sls)?),
        _ => None,
    };
    Ok(Findings {
        reached: reachability(topology, &parts.routes, LISTED_PAIRS),
        sls,
        loops,
        multicast,
        everywhere,
        parts,
    })
}

/// What makes the verdict bad. With a loop of unicast alone nothing else counts.
fn problems(findings: &Findings, strict: bool) -> Vec<String> {
    if findings.loops.hosts.is_some() {
        return vec!["the tables have a credit loop".to_owned()];
    }
    let mut problems = Vec::new();
    if strict && findings.loops.management.is_some() {
        problems.push("packets between ports 0 of switches have a credit loop".to_owned());
    }
    if let Some((_, multicast)) = &findings.multicast {
        problems.extend(multicast.credit_loop.as_ref().map(|(_, by)| match by {
            ClosedBy::Multicast => "the multicast tables have a credit loop".to_owned(),
            _ => "unicast and multicast together have a credit loop".to_owned(),
        }));
        let no_trees = multicast.faults.iter().filter(|fault| !fault.is_tree());
        match no_trees.count() {
            0 => {}
            1 => problems.push("1 multicast table is no tree".to_owned()),
            count => problems.push(format!("{count} multicast tables are no trees")),
        }
        match multicast.unreached {
            0 => {}
            lost => problems.push(format!(
                "{} not connected",
                display::count(
                    lost,
                    "pair of group members is",
                    "pairs of group members are"
                )
            )),
        }
    }
    if matches!(findings.everywhere, Some(Some(_))) {
        problems.push("a group with members everywhere would close a credit loop".to_owned());
    }
    match findings.reached.lost_between_hosts {
        0 => {}
        lost => problems.push(format!(
            "{} no path",
            display::count(lost, "pair of hosts has", "pairs of hosts have")
        )),
    }
    problems
}
