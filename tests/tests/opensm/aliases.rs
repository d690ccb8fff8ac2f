//! Alias GUIDs: a running OpenSM that found some in its database at start, and this program, which
//! reads the same file, answer thousands of random PathRecord and MultiPathRecord requests alike,
//! but for rows of `docs/deviations.md`. Ends are named by aliases, by ports' own GUIDs, by LIDs,
//! by both, or not at all.
//!
//! `SAPPHIRE_ALIASES_SCALE=20` asks twenty times as much; `SAPPHIRE_ALIASES_SEED=n` asks something
//! else, and is what a failure names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_rig::{Fabric, Process};
use sa_service::dispatch::respond_with;
use sa_tests::client::{Client, Question};
use sa_tests::random::options::{self, Names};
use sa_tests::rng::Rng;
use sa_tests::skip;
use sa_wire::NodeType;
use sa_wire::mad::method;
use sa_wire::umad::Slot;

use crate::paths::compare::{Case, Sides, Verdict};
use crate::paths::site::Site;
use crate::paths::tally::Tally;
use crate::paths::world::World;
use crate::paths::{sites, strange};

#[test]
fn a_tree_with_routers() -> Result<()> {
    run(&sites::tree(), 4000, 1)
}

#[test]
fn a_tree_with_many_lids() -> Result<()> {
    run(&sites::wide_tree(), 4000, 2)
}

#[test]
fn links_that_are_all_alike() -> Result<()> {
    run(&sites::line(), 4000, 3)
}

#[test]
fn partitions_with_limited_members() -> Result<()> {
    run(&sites::limited(), 4000, 4)
}

#[test]
fn a_qos_policy() -> Result<()> {
    run(&sites::policy(), 4000, 5)
}

fn run(site: &Site, count: usize, salt: u64) -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let seed = from_environment("SAPPHIRE_ALIASES_SEED").unwrap_or(0);
    let scale = from_environment("SAPPHIRE_ALIASES_SCALE").unwrap_or(1);
    let mut rng = Rng::new(seed << 16 | salt << 8);
    let mut lab = Lab::start(site, &mut rng)?;
    let (tally, aliased) = lab.compare(count * usize::try_from(scale)?, &mut rng)?;
    eprintln!("{}: {aliased} records by an alias; {tally}", site.name);
    if let Some(first) = tally.different.first() {
        bail!(
            "SAPPHIRE_ALIASES_SEED={seed}, {}: {} of {} replies differ; first:\n{first}",
            site.name,
            tally.different.len(),
            tally.requests()
        );
    }
    ensure!(tally.with_records() > tally.requests() / 4, "{tally}");
    ensure!(aliased > tally.requests() / 16, "{aliased} by an alias");
    ensure!(
        tally.count("0x0400") > 0,
        "none asks for one and gets several"
    );
    Ok(())
}

struct Lab {
    sides: Sides,
    clients: Vec<Client>,
    // Last, in this order, in which they are dropped.
    opensm: Process,
    _fabric: Fabric,
}

impl Lab {
    fn start(site: &Site, rng: &mut Rng) -> Result<Self> {
        let fabric = Fabric::start(&site.net)?;
        let inputs = site.write(fabric.dir())?;
        let conf = inputs.opensm_conf.clone().context("a file")?;
        let aliases = fabric.dir().join("aliases.dump");
        fs::write(&aliases, options::aliases(rng, &hosts(&site.net)?, 2))?;
        let mut text = fs::read_to_string(&conf)?;
        writeln!(text, "sa_db_file {}", aliases.display())?;
        fs::write(&conf, text)?;
        let opensm = fabric.opensm(site.sm, &["-F", conf.to_str().context("a name")?])?;
        let clients = site.clients.iter();
        let clients: Result<_> = clients.map(|node| Client::attach(&fabric, node)).collect();
        let inputs = Inputs {
            aliases: Some(aliases),
            ..inputs
        };
        let sides = Sides {
            world: World::new(&inputs)?,
            without_engine: None,
            wrapped_sls: wrapped(&inputs, site)?,
            members: Vec::new(),
        };
        Ok(Self {
            sides,
            clients: clients?,
            opensm,
            _fabric: fabric,
        })
    }

    /// What was seen, and how many records were by an alias.
    fn compare(&mut self, count: usize, rng: &mut Rng) -> Result<(Tally, usize)> {
        let (mut tally, mut aliased) = (Tally::default(), 0);
        let sides = &self.sides;
        let share = count.div_ceil(self.clients.len());
        for client in &mut self.clients {
            let questions: Vec<_> = (0..share)
                .map(|_| question(rng, sides, client.lid))
                .collect();
            let replies = client.ask_all(&questions)?;
            for (question, theirs) in questions.iter().zip(replies) {
                let (slot, theirs) = (&question.slot, theirs.as_deref());
                tally.note(slot, theirs);
                let case = Case {
                    site: sides,
                    slot,
                    theirs,
                };
                match case.verdict() {
                    Verdict::Same => aliased += by_alias(sides, theirs),
                    Verdict::Explained(rows) => *tally.explained.entry(rows).or_default() += 1,
                    Verdict::Different => tally.different.push(case.shown()),
                }
            }
        }
        self.opensm.check()?;
        Ok((tally, aliased))
    }
}

/// The ports whose GUID tables have room in the simulator.
fn hosts(net: &str) -> Result<Names> {
    let fabric = net::parse(net.as_bytes())?;
    let hosts = fabric.nodes().iter();
    let hosts = hosts.filter(|node| node.kind != NodeType::Switch);
    let guids = hosts.flat_map(|node| &node.ports);
    Ok(Names {
        guids: guids.filter_map(|port| Some(port.guid?.get())).collect(),
        routers: Vec::new(),
        nodes: Vec::new(),
    })
}

/// With the SLs that OpenSM makes of odd ones.
fn wrapped(inputs: &Inputs, site: &Site) -> Result<Option<World>> {
    let odd = site.policy.as_ref();
    let Some(policy) = odd.filter(|policy| policy.contains(sites::ODD_SL)) else {
        return Ok(None);
    };
    let path = inputs.policy.clone().context("a policy")?;
    let path = path.with_file_name("wrapped.conf");
    fs::write(&path, sites::wrapped(policy))?;
    let inputs = Inputs {
        policy: Some(path),
        ..inputs.clone()
    };
    World::new(&inputs).map(Some)
}

fn question(rng: &mut Rng, sides: &Sides, lid: u16) -> Question {
    let slot = strange::request(rng, sides, lid);
    let world = &sides.world;
    let ours = respond_with(&world.snapshot, Some(&world.parts), &slot);
    // Refusals of what OpenSM does not even know get silence from it.
    let is_answered = ours.is_some_and(|ours| ours[4..6] != [0, 0x0c] || is_known(&slot));
    Question { slot, is_answered }
}

/// GetMulti of paths, and Get of several: refused by OpenSM too.
fn is_known(slot: &Slot) -> bool {
    let reads = [method::GET, method::GET_TABLE, method::GET_MULTI];
    slot.mad[16] == 0 && [0x35, 0x3a].contains(&slot.mad[17]) && reads.contains(&slot.mad[3])
}

/// Records of the first MAD that came through and have an alias.
fn by_alias(sides: &Sides, reply: Option<&[u8]>) -> usize {
    let reply = reply.filter(|reply| reply[4..6] == [0, 0] && reply[44..46] == [0, 8]);
    let records = reply.map_or(&[][..], |reply| &reply[56..]);
    let alias = |bytes: &[u8]| {
        let guid = u64::from_be_bytes(bytes.try_into().unwrap());
        sides.world.snapshot.alias(guid).is_some()
    };
    let whole = records.chunks_exact(64).take(2);
    whole
        .filter(|record| alias(&record[16..24]) || alias(&record[32..40]))
        .count()
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}
