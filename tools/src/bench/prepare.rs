//! The fabric that is asked about, its snapshot and its reference.
//!
//! Everything that is not timed: making the fabric, compiling it, opening the snapshot. A made-up
//! fabric goes through the same files and the same pipeline as a real one, so what is measured is
//! what would be served.
//!
//! ```text
//! torus:24x24x24   links alike: paths by coordinates        few classes, small snapshot
//! dense:24x24x24   every 5th link slower, every 7th more    a class for each pair of switches
//! fat-tree:56      shortest paths up and down              a class for each number of levels
//! random:500x12x16 paths over several VLs                  as dense
//! a file           whatever it gives
//! ```
//!
//! A dense fabric is the same torus with links of several rates: pairs then differ by more than
//! their coordinates say, and the snapshot holds a table of all of them, as it would for a fabric
//! of any form.
//!
//! In a net file a cable is a line under its switch; what makes it slower is a word behind it:
//!
//! ```text
//! Switch 36 "S0_0_0"
//! [1] "S1_0_0"[2] s=2
//! ```

use core::ops::RangeInclusive;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sa_bench::rules::RuleSpec;
use sa_bench::shapes;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::generate::{self, TorusPlan, TorusSpec, Wiring, plan};
use sa_snapshot::Snapshot;

use super::Bench;
use crate::failure::{Failure, Outcome};
use crate::inputs::{failure, open_snapshot, or_fail, warn};
use crate::scratch::Scratch;

/// What is measured.
/// Lives for the whole run of the verb; all workloads and layers share it.
pub(super) struct Bed {
    /// What the fabric is, in words.
    pub(super) name: String,
    /// Compiled from it.
    /// Its reference says what is right.
    pub(super) compiled: Compiled,
    /// What is served: the same, or what a file holds.
    /// With `--snapshot` another file's bytes, which must answer as the reference does.
    pub(super) snapshot: Snapshot,
    /// The policy that was made up, after which requests ask.
    /// None for a fabric file and for a policy that was given.
    pub(super) rules: Option<RuleSpec>,
}

/// Makes or reads the fabric, and compiles it.
/// Errors: wrong sizes (2), a fabric that is refused or has a problem (3), files (1).
pub(super) fn prepare(verb: &Bench) -> Outcome<Bed> {
    let name = verb.fabric.as_deref().unwrap_or("torus:24x24x24");
    // A path with a colon in it would have to begin with one of the words of shapes.
    let (compiled, rules) = match name.split_once(':') {
        Some((kind @ "torus", size)) => torus(verb, kind, size, Paths::Torus)?,
        Some((kind @ "dense", size)) => torus(verb, kind, size, Paths::Dense)?,
        _ => match generate::named(name).map_err(|error| Failure::usage(error.to_string()))? {
            Some(wiring) => shape(verb, name, &wiring)?,
            None => (file(verb, name)?, None),
        },
    };
    let snapshot = match &verb.snapshot {
        Some(path) => open_snapshot(path)?,
        None => or_fail(Snapshot::from_bytes(compiled.snapshot.as_bytes()))?,
    };
    Ok(Bed {
        name: name.to_owned(),
        compiled,
        snapshot,
        rules,
    })
}

/// A fabric of its own: neither hosts nor rules are made up for it.
fn file(verb: &Bench, name: &str) -> Outcome<Compiled> {
    if verb.hosts.is_some() || verb.rules.is_some() {
        return Err(Failure::usage(
            "--hosts and --rules are for a made-up fabric; a fabric file has its own hosts, and \
             --policy names its rules"
                .to_owned(),
        ));
    }
    let compiled = compile(&verb.policy.apply(verb.site.inputs(Path::new(name))))?;
    warn(&compiled.warnings);
    Ok(compiled)
}

/// How paths of a made-up fabric are held, which is routed by torus-2QoS in any case.
/// ADR 0002 has the two ways in which a snapshot holds pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    /// All links are alike: paths are computed from coordinates.
    Torus,
    /// Links have several rates: paths are looked up in a table of all pairs, as on a fabric of any
    /// form.
    Dense,
}

/// Files go into a temporary directory, which is removed when this returns: all that is needed is
/// in memory by then.
fn torus(
    verb: &Bench,
    kind: &str,
    size: &str,
    paths: Paths,
) -> Outcome<(Compiled, Option<RuleSpec>)> {
    let spec = TorusSpec::new(radix(kind, size)?, verb.hosts.unwrap_or(2));
    let plan = plan(&spec).map_err(|error| Failure::usage(error.to_string()))?;
    let directory = or_fail(Scratch::new())?;
    let [net, conf, policy] =
        ["net", "torus-2QoS.conf", "qos-policy.conf"].map(|name| directory.path().join(name));
    let text = match paths {
        Paths::Torus => plan.net(),
        Paths::Dense => of_several_rates(&plan),
    };
    or_fail(fs::write(&net, text))?;
    or_fail(fs::write(&conf, plan.torus_conf()))?;
    let mut inputs = verb.policy.apply(verb.site.inputs(&net));
    if inputs.torus_conf.is_some() {
        return Err(Failure::usage(
            "--torus-conf: a torus:XxYxZ comes with its own; give a fabric file".to_owned(),
        ));
    }
    inputs.torus_conf = Some(conf);
    let rules = add_rules(verb, &mut inputs, &policy, &guids(&plan))?;
    Ok((compile(&inputs)?, rules))
}

/// A fabric of another shape, whose hosts are said by its word. By the engine that goes with the
/// shape where none is named.
fn shape(verb: &Bench, word: &str, wiring: &Wiring) -> Outcome<(Compiled, Option<RuleSpec>)> {
    if verb.hosts.is_some() {
        return Err(Failure::usage(
            "--hosts is for torus:XxYxZ and dense:XxYxZ; other shapes have it in their word"
                .to_owned(),
        ));
    }
    let directory = or_fail(Scratch::new())?;
    let [net, policy] = ["net", "qos-policy.conf"].map(|name| directory.path().join(name));
    or_fail(fs::write(&net, wiring.net()))?;
    let mut inputs = verb.policy.apply(verb.site.inputs(&net));
    inputs.engine.get_or_insert_with(|| shapes::engine(word));
    inputs.qos.get_or_insert(true);
    let rules = add_rules(verb, &mut inputs, &policy, &wiring.host_port_guids())?;
    Ok((compile(&inputs)?, rules))
}

/// Writes the made-up policy, unless there is none. Its rules name hosts' GUIDs, so the fabric is
/// planned before.
fn add_rules(
    verb: &Bench,
    inputs: &mut Inputs,
    file: &Path,
    guids: &RangeInclusive<u64>,
) -> Outcome<Option<RuleSpec>> {
    let rules = rules(verb, inputs.policy.is_some())?;
    if let Some(rules) = &rules {
        or_fail(fs::write(file, rules.text_for(guids)))?;
        inputs.policy = Some(file.to_owned());
    }
    Ok(rules)
}

/// None for 0 and where a policy was given; both are measured without made-up rules.
fn rules(verb: &Bench, has_policy: bool) -> Outcome<Option<RuleSpec>> {
    match verb.rules.unwrap_or(1000) {
        0 => Ok(None),
        _ if has_policy => Ok(None),
        rules if rules > MOST_RULES => Err(Failure::usage(format!(
            "--rules: at most {MOST_RULES}, which is what a policy holds"
        ))),
        rules => Ok(Some(RuleSpec {
            labels: verb.labels,
            ..RuleSpec::mixed(rules, GROUPS)
        })),
    }
}

/// Those of the host ports.
/// A made-up fabric counts them up, so a range has them all.
fn guids(plan: &TorusPlan) -> RangeInclusive<u64> {
    let guids = plan.hosts.iter().map(|host| host.guid + 1);
    let (first, last) = (guids.clone().min(), guids.max());
    first.unwrap_or(0)..=last.unwrap_or(0)
}

/// The net file with every fifth cable between switches slower and every seventh slower still.
/// Writes ibsim's ` s=1` and ` s=2` behind both ends of a link. By place in the list, so that it is
/// the same every time.
fn of_several_rates(plan: &TorusPlan) -> String {
    let mut slow = BTreeMap::new();
    for (nth, link) in plan.links.iter().enumerate() {
        let speed = match nth {
            nth if nth % 7 == 6 => " s=1",
            nth if nth % 5 == 4 => " s=2",
            _ => continue,
        };
        for ([x, y, z], port) in [link.from, link.to] {
            slow.insert((format!("S{x}_{y}_{z}"), port.to_string()), speed);
        }
    }
    // Switch and port of the line at hand; a host has an empty name, which no link has.
    let mut place = (String::new(), String::new());
    let mut text = String::new();
    for line in plan.net().lines() {
        text += line;
        if let Some(name) = line
            .split('"')
            .nth(1)
            .filter(|_| line.starts_with("Switch"))
        {
            place.0 = name.to_owned();
        } else if line.starts_with("Hca") {
            place.0.clear();
        } else if let Some((port, _)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
            place.1 = port.to_owned();
            text += slow.get(&place).unwrap_or(&"");
        }
        text.push('\n');
    }
    text
}

/// Zero and too large sizes are refused by the plan.
fn radix(kind: &str, size: &str) -> Outcome<[u8; 3]> {
    let parts: Option<Vec<u8>> = size.split('x').map(|part| part.parse().ok()).collect();
    let radix = parts.and_then(|parts| <[u8; 3]>::try_from(parts).ok());
    radix.ok_or_else(|| {
        Failure::usage(format!(
            "--fabric {kind}:{size}: expected three sizes, as {kind}:8x8x8"
        ))
    })
}

/// With the same strictness as the daemon: a fabric with a problem would be answered in ways nobody
/// serves.
fn compile(inputs: &Inputs) -> Outcome<Compiled> {
    let compiled = pipeline::compile(inputs, Stamp::default()).map_err(failure)?;
    compiled.publishable().map_err(failure)?;
    match &compiled.parts.refusal {
        None => Ok(compiled),
        Some(refusal) => Err(Failure::refused(refusal.words.clone())),
    }
}

/// Port groups of a made-up policy.
const GROUPS: u64 = 60;
/// What a policy holds at most.
const MOST_RULES: u64 = 16_384;
