//! OpenSM and this program side by side.

use std::fs;
use std::thread;

use anyhow::{Context, Result, anyhow};
use sa_compiler::pipeline::Inputs;
use sa_rig::{Fabric, Process};
use sa_service::dispatch::respond_with;
use sa_tests::client::{Client, Question};
use sa_tests::rng::Rng;
use sa_wire::mad::method;
use sa_wire::request::path_by_lids;
use sa_wire::umad::Slot;
use sa_wire::{Gid, Lid};

use super::compare::{Case, Member, Sides, Verdict};
use super::site::Site;
use super::sites::{ODD_SL, wrapped};
use super::strange;
use super::tally::Tally;
use super::world::World;

pub(crate) struct Lab {
    sides: Sides,
    clients: Vec<Client>,
    // Last, in this order, in which they are dropped.
    opensm: Process,
    _fabric: Fabric,
}

impl Lab {
    /// Brings the fabric up, reads what OpenSM has written about it, and lets a client join a group.
    pub(crate) fn start(site: &Site) -> Result<Self> {
        let fabric = Fabric::start(&site.net)?;
        let inputs = site.write(fabric.dir())?;
        let conf = inputs.opensm_conf.as_ref().context("a file")?;
        let conf = conf.to_str().context("a name")?;
        let opensm = fabric.opensm(site.sm, &["-F", conf])?;
        let clients = site.clients.iter();
        let clients = clients.map(|node| Client::attach(&fabric, node));
        let mut lab = Self {
            clients: clients.collect::<Result<_>>()?,
            sides: sides(&inputs, site)?,
            opensm,
            _fabric: fabric,
        };
        lab.join()?;
        Ok(lab)
    }

    /// Lets OpenSM know a member of the first group: the first client whose link is fast enough.
    fn join(&mut self) -> Result<()> {
        let world = &self.sides.world;
        let Some(group) = world.parts.partitions.multicast_groups().first() else {
            return Ok(());
        };
        let prefix = world.parts.options.subnet_prefix;
        for client in &mut self.clients {
            let owner = world.owner(client.lid).context("a port")?;
            let port = world.parts.topology.end_port(owner);
            let guid = port.guid;
            let reply = client.ask(&join(group.mgid, Gid::unicast(prefix, guid)))?;
            if reply[4..6] == [0, 0] {
                self.sides.members.push(Member {
                    lids: port.lids().map(Lid::get).collect(),
                    guid: guid.get(),
                    mgid: group.mgid.0,
                });
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks both for so many paths.
    pub(crate) fn compare(mut self, count: usize, seed: u64) -> Result<Tally> {
        let sides = &self.sides;
        let share = count.div_ceil(self.clients.len());
        let asked = thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(&mut self.clients)
                .map(|(nth, client)| {
                    scope.spawn(move || ask(sides, client, share, seed << 8 | nth))
                })
                .collect();
            let asked = threads.into_iter().map(|thread| {
                let asked = thread.join().map_err(|_| anyhow!("a client panicked"));
                asked?
            });
            asked.collect::<Result<Vec<_>>>()
        })?;
        self.opensm.check()?;
        let mut tally = Tally::default();
        for (slot, theirs) in asked.iter().flatten() {
            let theirs = theirs.as_deref();
            tally.note(slot, theirs);
            let case = Case {
                site: sides,
                slot,
                theirs,
            };
            match case.verdict() {
                Verdict::Same => {}
                Verdict::Explained(rows) => *tally.explained.entry(rows).or_default() += 1,
                Verdict::Different => tally.different.push(case.shown()),
            }
        }
        Ok(tally)
    }
}

/// Set(MCMemberRecord) by which a port becomes a full member of a group that there is.
fn join(mgid: Gid, port: Gid) -> Slot {
    const MGID_PORT_GID_JOIN_STATE: u64 = 1 << 16 | 1 << 1 | 1;
    let mut slot = path_by_lids(0, 0);
    let mad = &mut slot.mad;
    mad[3] = method::SET;
    mad[17] = 0x38;
    mad[48..56].copy_from_slice(&MGID_PORT_GID_JOIN_STATE.to_be_bytes());
    mad[56..].fill(0);
    mad[56..72].copy_from_slice(&mgid.0);
    mad[72..88].copy_from_slice(&port.0);
    mad[56 + 48] = 1;
    slot
}

type Asked = Vec<(Slot, Option<Vec<u8>>)>;

fn ask(sides: &Sides, client: &mut Client, count: usize, seed: u64) -> Result<Asked> {
    let mut rng = Rng::new(seed);
    let world = &sides.world;
    let question = |_| {
        let slot = strange::request(&mut rng, sides, client.lid);
        let ours = respond_with(&world.snapshot, Some(&world.parts), &slot);
        // Refusals of what OpenSM does not even know get silence from it.
        let is_answered = ours.is_some_and(|ours| ours[4..6] != [0, 0x0c] || is_known(&slot));
        Question { slot, is_answered }
    };
    let questions: Vec<_> = (0..count).map(question).collect();
    let replies = client.ask_all(&questions)?;
    let slots = questions.into_iter().map(|question| question.slot);
    Ok(slots.zip(replies).collect())
}

/// GetMulti of paths, and Get of several: refused by OpenSM too.
fn is_known(slot: &Slot) -> bool {
    let reads = [method::GET, method::GET_TABLE, method::GET_MULTI];
    slot.mad[16] == 0 && [0x35, 0x3a].contains(&slot.mad[17]) && reads.contains(&slot.mad[3])
}

fn sides(inputs: &Inputs, site: &Site) -> Result<Sides> {
    let odd = site
        .policy
        .as_ref()
        .filter(|policy| policy.contains(ODD_SL));
    let wrapped_sls = odd.map(|policy| {
        let path = inputs.policy.clone().context("a policy")?;
        let path = path.with_file_name("wrapped.conf");
        fs::write(&path, wrapped(policy))?;
        World::new(&Inputs {
            policy: Some(path),
            ..inputs.clone()
        })
    });
    let without_engine = site.torus.as_ref().map(|_| World::without_engine(inputs));
    Ok(Sides {
        world: World::new(inputs)?,
        without_engine: without_engine.transpose()?,
        wrapped_sls: wrapped_sls.transpose()?,
        members: Vec::new(),
    })
}
