//! `sapphire check`: a proof over finished tables, whoever made them.
//!
//! It knows no engine and asks none: tables may come from OpenSM, from `sapphire route`, or from
//! hand. What is proved, in this order, because a report begins with what is worst:
//!
//! ```text
//! opensm-lfts.dump  +  opensm-sl2vl.dump, SLs of paths   ->  unicast: no credit loop
//! opensm.mcfdbs     +  mcgroups.txt                      ->  trees; no credit loop with unicast
//! opensm-lfts.dump                                       ->  every pair of ports has its path
//! ```
//!
//! Where nobody says which SL a path takes, any SL on any path is taken ([`sls`]): a proof then
//! holds for every SA, and a loop may be one that no real packet can take part in. The proof itself
//! is `routing::proof`; here are its inputs, which of its findings make the verdict bad, and the
//! report. A finding ends the verb with exit status 3, after the whole report has been printed.
//!
//! What a loop looks like in the report, on a ring of three switches whose tables send everything
//! one way round on one VL: each channel is full, and each may wait for the next:
//!
//! ```text
//! S0 -> S1 on VL 0   may wait for   S1 -> S2 on VL 0
//! S1 -> S2 on VL 0   may wait for   S2 -> S0 on VL 0
//! S2 -> S0 on VL 0   may wait for   S0 -> S1 on VL 0
//! ```
//!
//! With `--snapshot` the tables are those that `sapphire compile --keep-tables` kept beside it, and
//! each path has the SLs that the snapshot gives it. It has no multicast tables.
//!
//! It looks at files only. Whether switches hold these tables, `sapphire fabric read` finds out
//! first.

mod multicast;
mod report;
mod sls;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use multicast::{ClosedBy, Multicast, Recorded};
use routing::proof::{CreditLoop, Loops, Reachability, reachability_surveyed};
use routing::watch::Stretch;
use routing::{EngineKind, Survey};
use sa_compiler::pipeline::{self, Inputs, LISTED_PAIRS};
use sa_compiler::state::FabricState;
use sa_fabric::detect::DumpDir;
use sa_fabric::display;
use sls::Sls;

use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, open_kept, or_fail, warn};
use crate::progress;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Directory of OpenSM dumps: opensm-lfts.dump with opensm-subnet.lst or net, and where there
    /// are any opensm-sl2vl.dump, psl, opensm.mcfdbs and mcgroups.txt
    #[arg(value_name = "DIR", required_unless_present = "snapshot")]
    directory: Option<PathBuf>,
    /// In place of dumps: a snapshot of `sapphire compile --keep-tables`, with the tables that were
    /// kept beside it
    #[arg(long, value_name = "FILE.snap", conflicts_with_all = ["directory", "torus_conf", "groups", "members"])]
    snapshot: Option<PathBuf>,
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
    /// Exit 3 also when only packets that a switch itself (port 0) sends or gets could close a
    /// credit loop; packets between hosts always decide
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
/// The report and the verdict are both made from this value, so that the exit status cannot
/// contradict what was printed.
struct Findings {
    /// The fabric with the tables as they were read: the engine is `files`, which computes nothing.
    parts: FabricState,
    /// By which SLs the loops below were looked for. The report names it, because a proof is only
    /// as good as its SLs.
    sls: Sls,
    /// Of unicast.
    loops: Loops,
    /// All ordered pairs of ports, of which only those between hosts decide.
    reached: Reachability,
    /// None without tables.
    /// What was read, for names and counts, and what came of checking it.
    multicast: Option<(Recorded, Multicast)>,
    /// With members everywhere; none when not asked for.
    /// The inner one is the loop, so that `Some(None)` is a proof and `None` is silence.
    everywhere: Option<Option<CreditLoop>>,
}

/// Errors: those of reading; a problem, after the report (exit 3).
pub(crate) fn run(verb: &Check) -> Outcome {
    let findings = match (&verb.directory, &verb.snapshot) {
        (_, Some(snapshot)) => find_kept(snapshot)?,
        (Some(directory), None) => find(verb, directory)?,
        (None, None) => return Err(Failure::usage("give DIR or --snapshot".to_owned())),
    };
    report::print(verb, &findings)?;
    let problems = problems(&findings, verb.strict);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused(problems.join("; ")))
    }
}

/// Reads, then proves; it prints warnings and nothing else. Unicast comes first, as its graph is
/// what multicast is laid upon: it is built once and handed on.
/// Errors: a dump cannot be read or names what the fabric has not; the configuration cannot place
/// the switches.
fn find(verb: &Check, directory: &Path) -> Outcome<Findings> {
    // Beside the dumps OpenSM's own torus-2QoS.conf is the most likely source of their SLs.
    let beside = Some(pipeline::torus_conf_beside(directory));
    let torus_conf = verb.torus_conf.clone();
    let torus_conf = torus_conf.or_else(|| beside.filter(|path| path.is_file()));
    // Found before anything is read: large dumps take seconds.
    if verb.members == Members::Everywhere && torus_conf.is_none() {
        let text = "--members everywhere needs --torus-conf, which gives the tree of such a group";
        return Err(Failure::usage(text.to_owned()));
    }
    // With the engine named, a configuration in the directory does not make torus-2QoS route anew:
    // what is judged are the tables in the dumps.
    let inputs = Inputs {
        fabric: directory.to_owned(),
        engine: Some(EngineKind::Files),
        watch: progress::watch(),
        ..Inputs::default()
    };
    let sources = or_fail(pipeline::read(&inputs))?;
    let mut warnings = sources.warnings.clone();
    let parts = pipeline::route(sources).map_err(failure)?;
    let topology = &parts.topology;
    let directory = or_fail(DumpDir::open(directory))?;
    let (sls, recorded) = progress::step("reading SLs and groups", || {
        let sls = Sls::read(&directory, torus_conf.as_deref(), &parts)?;
        let recorded = Recorded::read(&directory, verb.groups.as_deref(), topology)?;
        Ok::<_, Failure>((sls, recorded))
    })?;
    // All warnings in one go, so that people are told a share of each kind.
    warnings.extend(recorded.iter().flat_map(|it| it.warnings(topology)));
    warn(&warnings);
    // Both need the same judge, which borrows the SLs and so lives in this call only.
    let (loops, multicast) = sls.judged(&parts, |judge| {
        let (unicast, loops) = progress::step(pipeline::PROVING, || {
            let everybody = |share: Stretch<'_>| judge.everybody_watched(share);
            let unicast = progress::watch().share(everybody);
            let loops = judge.loops(&unicast, |_| ());
            (unicast, loops)
        });
        let multicast = recorded.map(|recorded| {
            let alone = loops.hosts.as_ref();
            let found = progress::step("checking multicast", || {
                Multicast::check(&recorded, &parts, judge, unicast, alone)
            });
            (recorded, found)
        });
        (loops, multicast)
    });
    // On its own judge, with a graph of unicast and the worst groups: the recorded ones do not
    // count there.
    let everywhere = match (verb.members, &torus_conf) {
        (Members::Everywhere, Some(conf)) => {
            let found = progress::step("checking multicast with members everywhere", || {
                multicast::everywhere(conf, &parts, &sls)
            });
            Some(found?)
        }
        _ => None,
    };
    Ok(Findings {
        reached: reached(&parts),
        sls,
        loops,
        multicast,
        everywhere,
        parts,
    })
}

/// The same of tables that were kept. Errors: nothing was kept, or it is damaged.
fn find_kept(snapshot: &Path) -> Outcome<Findings> {
    let kept = open_kept(snapshot)?;
    let parts = progress::step("reading tables", || kept.whole(kept.sources()?))?;
    let sls = Sls::of_snapshot(kept.snapshot, &parts);
    let loops = sls.judged(&parts, |judge| {
        progress::step(pipeline::PROVING, || {
            let everybody = |share: Stretch<'_>| judge.everybody_watched(share);
            let unicast = progress::watch().share(everybody);
            judge.loops(&unicast, |_| ())
        })
    });
    Ok(Findings {
        reached: reached(&parts),
        sls,
        loops,
        multicast: None,
        everywhere: None,
        parts,
    })
}

/// Which pairs have a path.
fn reached(parts: &FabricState) -> Reachability {
    let (topology, routes) = (&parts.topology, &parts.routes);
    progress::step("following all pairs", || {
        let follow = |share: Stretch<'_>| Survey::from_routes_watched(topology, routes, share);
        let survey = progress::watch().share(follow);
        reachability_surveyed(topology, routes, &survey, LISTED_PAIRS)
    })
}

/// What makes the verdict bad. With a loop of unicast alone nothing else counts.
/// One sentence each, for the last line on standard error. Empty means exit status 0.
fn problems(findings: &Findings, strict: bool) -> Vec<String> {
    if findings.loops.hosts.is_some() {
        // With multicast on top the same loop would only be found again, and the operator would
        // mend the wrong thing.
        return vec!["the tables have a credit loop".to_owned()];
    }
    let mut problems = Vec::new();
    // Ports 0 talk by VL 15 in the main, which has no credits; so this loop needs unusual traffic.
    if strict && findings.loops.management.is_some() {
        problems
            .push("packets that port 0 of a switch sends or gets have a credit loop".to_owned());
    }
    if let Some((_, multicast)) = &findings.multicast {
        // `ClosedBy::Unicast` cannot come here: the function has returned above.
        problems.extend(multicast.credit_loop.as_ref().map(|(_, by)| match by {
            ClosedBy::Multicast => "the multicast tables have a credit loop".to_owned(),
            _ => "unicast and multicast together have a credit loop".to_owned(),
        }));
        // Members that are not reached are counted below, so they are left out here.
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
    // Lost pairs with a port 0 are in the report and do not decide: no host is cut off by them.
    match findings.reached.lost_between_hosts {
        0 => {}
        lost => problems.push(format!(
            "{} no path",
            display::count(lost, "pair of hosts has", "pairs of hosts have")
        )),
    }
    problems
}
