//! Two Subnet Managers, clients that set something, and what the SA tells of it.

use std::fs;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use sa_rig::tap::{Tap, Writes};
use sa_rig::{Fabric, wait_for};
use sa_tests::cli::sapphire_on;
use sa_tests::client::Client;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_wire::mad::method;
use sa_wire::records::{ANY16, ANY24, InformInfo};
use sa_wire::request;
use sa_wire::sa::AttributeId;
use serde_json::Value;
use zerocopy::{FromZeros, IntoBytes};

use crate::groups::BROADCAST;
use crate::handover::ours_each;
use crate::sweep::TREE;

/// Polls that come only after a test has given up.
pub(super) const RARE: &str = "sminfo_polling_timeout = 600000\n";
/// A master that dies is missed within 600 ms.
pub(super) const OFTEN: &str = "sminfo_polling_timeout = 300\npolling_retry_number = 2\n";

/// Long enough for something to happen between two polls; a master that dies is missed within 10 s.
pub(super) const SLOW: &str = "sminfo_polling_timeout = 5000\npolling_retry_number = 4\n";

/// A group that clients make, with a Q_Key and more of its own.
const OWN: &str = "ff12::4:77";
/// Another one.
pub(super) const LATE: &str = "ff12::4:78";

/// SMs are on H0 and H2, clients on H1 and H3.
pub(super) struct Bed {
    pub(super) fabric: Fabric,
    pub(super) tap: Tap,
}

impl Bed {
    pub(super) fn new() -> Result<Self> {
        let (fabric, _, tap) = Fabric::tapped(TREE)?;
        tap.ports_can_register_again();
        Ok(Self { fabric, tap })
    }

    pub(super) fn sm(&self, node: &str, priority: u8, keys: &str) -> Result<Daemon> {
        ours_each(600, &self.fabric, node, priority, keys)
    }

    /// Status and records.
    pub(super) fn ask(&self, node: &str, arguments: &[&str]) -> Result<(String, Vec<Value>)> {
        let via = format!("ibsim:{node}");
        let all = [&["query"], arguments, &["--via", &via, "--json"]].concat();
        // A simulator under load loses packets and exchanges of its clients, and nobody repeats them. Each request may come twice.
        let mut reply = Err(anyhow::anyhow!("not asked"));
        for _ in 0..TRIES {
            reply = replied(&sapphire_on(&self.fabric, &all)?);
            if reply.is_ok() {
                break;
            }
        }
        let (status, reply) = reply.with_context(|| format!("{arguments:?}"))?;
        let records = reply["records"].as_array().cloned();
        Ok((status, records.unwrap_or_default()))
    }

    pub(super) fn set(&self, node: &str, arguments: &[&str]) -> Result<()> {
        let (status, _) = self.ask(node, arguments)?;
        ensure!(status == "0x0000", "{arguments:?}: {status}");
        Ok(())
    }

    pub(super) fn joins(&self, node: &str, mgid: &str, gid: &str, state: &str) -> Result<()> {
        let mut join = vec!["mcmr", "--set", "--mgid", mgid, "--port-gid", gid];
        join.extend(["--join-state", state]);
        if mgid != BROADCAST {
            join.extend(["--q-key", "0x0b1c", "--tclass", "3", "--pkey", "0xffff"]);
            join.extend(["--sl", "0", "--flow-label", "5"]);
        }
        self.set(node, &join)
    }

    /// Members of two groups as full, half and by an alias, services with a lease and without, and somebody who wants to hear of all.
    /// Over OpenSM no table may be longer than a MAD: then there is less of each.
    pub(super) fn clients_set(&self, is_all: bool) -> Result<()> {
        self.joins("H1", BROADCAST, "fe80::10:11", "1")?;
        self.joins("H3", BROADCAST, "fe80::10:31", "4")?;
        self.joins("H3", OWN, "fe80::10:31", "1")?;
        if is_all {
            self.joins("H1", OWN, "fe80::10:11", "2")?;
            let lid = self.lid("H3")?;
            let place = ["--lid", &lid, "--block-num", "0", "--guid1", "0x1234"];
            self.set("H3", &[&["gir", "--set"][..], &place].concat())?;
            wait_for("a member by its alias", PATIENCE, || {
                Ok(self.joins("H3", BROADCAST, "fe80::1234", "1").is_ok())
            })?;
            let own = ["sr", "--set", "--service-id", "0x11", "--service-gid"];
            self.set("H1", &[&own[..], &["fe80::10:11"]].concat())?;
        }
        let mut attached = Client::attach(&self.fabric, "H3");
        for _ in 1..TRIES {
            attached = attached.or_else(|_| Client::attach(&self.fabric, "H3"));
        }
        let mut client = attached?;
        let mut info = InformInfo::new_zeroed();
        info.lid_range_begin = ANY16.into();
        (info.is_generic, info.subscribe) = (1, 1);
        (info.trap_type, info.trap_number) = (ANY16.into(), 66.into());
        info.producer_type = ANY24;
        let asked = AttributeId::INFORM_INFO;
        let slot = request::request(client.lid, method::SET, asked, 0, info.as_bytes());
        let reply = client.ask(&slot)?;
        ensure!(reply[4..6] == [0, 0], "{reply:02x?}");
        // The last of all: see `wait_copied`.
        let mut leased = vec!["sr", "--set", "--service-id", "0x5a5b5c5d", "--service-gid"];
        leased.extend(["fe80::10:31", "--service-name", "a.service"]);
        leased.extend(["--service-lease", "3600"]);
        leased.extend(["--service-key", "0123456789abcdef0123456789abcdef"]);
        self.set("H3", &leased)
    }

    pub(super) fn lid(&self, node: &str) -> Result<String> {
        let (_, nodes) = self.ask("H1", &["nr"])?;
        let of = |record: &&Value| record["node_description"] == node;
        let found = nodes.iter().find(of).context("a node")?;
        Ok(found["lid"].to_string())
    }

    /// What the SA tells of all that, as who has its key; leases are apart.
    pub(super) fn told(&self) -> Result<(Vec<Value>, u64)> {
        let mut all = Vec::new();
        let mut lease = 0;
        for record in ["mcmr", "sr", "iir", "gir"] {
            let key: &[&str] = match record {
                "mcmr" | "sr" | "iir" => &["--sa-key", "1"],
                _ => &[],
            };
            let (status, mut records) = self.ask("H1", &[&[record], key].concat())?;
            ensure!(status == "0x0000", "{record}: {status}");
            for told in &mut records {
                if let Some(place) = told.get_mut("service_lease") {
                    let left = place.as_u64().context("a lease")?;
                    if left != u64::from(u32::MAX) {
                        (lease, *place) = (left, Value::Null);
                    }
                }
            }
            ensure!(!records.is_empty(), "no {record}");
            all.append(&mut records);
        }
        Ok((all, lease))
    }

    /// Both SMs, and no write of tables between two looks.
    pub(super) fn settled(&self) -> Result<Writes> {
        let mut before = self.tap.writes();
        wait_for("a subnet that is not written", PATIENCE, || {
            let now = self.tap.writes();
            let is_still = now.last.is_none_or(|last| last.elapsed().as_millis() > 300);
            before = now;
            Ok(is_still)
        })?;
        Ok(before)
    }

    /// The standby on H2 has read what was set last.
    pub(super) fn wait_copied(&self) -> Result<()> {
        let journal = self.fabric.dir().join("H2.state/sa.journal");
        Ok(wait_for("a copy", PATIENCE, || {
            let text = fs::read_to_string(&journal).unwrap_or_default();
            Ok(text.contains("put service 000000005a5b5c5d"))
        })?)
    }

    /// The next master tells the same as the one before, has asked no port, and has touched no multicast table.
    pub(super) fn is_inherited(
        &self,
        mut next: Daemon,
        before: &(Vec<Value>, u64),
        written: Writes,
    ) -> Result<()> {
        next.next_epoch("ready").with_context(|| next.logged())?;
        next.wait_logged("they need not register again")?;
        let mut last = None;
        let waited = wait_for("the same records", PATIENCE, || {
            let told = self.told().ok();
            let is_same = told.as_ref().is_some_and(|(told, _)| *told == before.0);
            last = told;
            Ok(is_same)
        });
        waited.with_context(|| format!("{last:?} instead of {before:?}: {}", next.logged()))?;
        let lease = last.context("records")?.1;
        ensure!(
            lease <= before.1 && lease + 60 > before.1,
            "{lease} of {}",
            before.1
        );
        // Whatever else it would write comes with its next sweep.
        next.signal("HUP")?;
        next.next_epoch("reloaded")?;
        let now = self.settled()?;
        ensure!(now.ports > written.ports, "ports know it: {now:?}");
        let asked = now.registrations - written.registrations;
        ensure!(asked == 0, "{asked} asked: {}", next.logged());
        let tables = now.multicast - written.multicast;
        ensure!(tables == 0, "{tables} tables written: {}", next.logged());
        // And it is at work: the same subscriber may ask again, and a group has place for one more.
        self.joins("H1", OWN, "fe80::10:11", "1")
    }
}

pub(super) fn master_and_standby(bed: &Bed, keys: &str) -> Result<(Daemon, Daemon)> {
    let mut first = bed.sm("H0", 5, keys)?;
    first.next_epoch("ready")?;
    let mut second = bed.sm("H2", 2, keys)?;
    second.wait_logged("standing by: the SM of port")?;
    second.wait_logged("is read with each poll, to go on with it")?;
    Ok((first, second))
}

/// Sweeps once more, to know who stands by, and until multicast tables are written.
pub(super) fn is_known(bed: &Bed, first: &Daemon) -> Result<()> {
    let before = first.printed().lines().count();
    first.signal("HUP")?;
    wait_for("another sweep", PATIENCE, || {
        Ok(first.printed().lines().count() > before)
    })?;
    bed.settled().map(drop)
}

/// Status and the whole reply, as `sapphire query` prints it. Errors: there was none.
fn replied(output: &Output) -> Result<(String, Value)> {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().with_context(|| format!("{output:?}"))?;
    let reply: Value = serde_json::from_str(line)?;
    let status = reply["status"].as_str();
    let status = status.with_context(|| format!("{output:?}"))?.to_owned();
    Ok((status, reply))
}

/// How often something is asked of the simulator.
const TRIES: u32 = 3;
