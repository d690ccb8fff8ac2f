//! What somebody else writes to switches, past the Subnet Manager.

use std::io::{Error, ErrorKind};

use anyhow::{Context, Result, ensure};
use sa_port::ibsim::{Attachment, IbsimClient, Options};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::served::Served;
use sa_tests::skip;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{PERMISSIVE_LID, Smp, attribute};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use crate::sweep::TREE;

/// A host that sends SMPs to its own leaf.
struct Host {
    client: IbsimClient,
    transaction: u64,
    // After what uses it.
    _attachment: Attachment,
}

impl Host {
    fn on(fabric: &Fabric, node: &str) -> Result<Self> {
        let attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            ..Options::on(node)
        })?;
        Ok(Self {
            client: attachment.client()?,
            transaction: 0,
            _attachment: attachment,
        })
    }

    /// The first block of the leaf's forwarding table, after a Set of it where there is one.
    fn table(&mut self, set: Option<[u8; 64]>) -> Result<[u8; 64]> {
        self.transaction += 1;
        let method = set.map_or(method::GET, |_| method::SET);
        let smp = Smp::directed(method, attribute::LINEAR_TABLE, self.transaction, &[1]);
        let mut smp = smp.context("a route")?;
        smp.data = set.unwrap_or([0; 64]);
        let mut slot = Slot::EMPTY;
        slot.header.lid = PERMISSIVE_LID.into();
        slot.mad = zerocopy::transmute!(smp);
        ensure!(self.client.send_any(&slot)?, "no room");
        let mut answer = None;
        wait_for("an answer of the leaf", PATIENCE, || {
            while let Some(slot) = self.client.receive_any().map_err(Error::other)? {
                let smp = Smp::read_from_bytes(&slot.mad).map_err(|_| ErrorKind::InvalidData)?;
                let transaction = smp.header.transaction_id.get() & 0xffff_ffff;
                answer = answer.or_else(|| (transaction == self.transaction).then_some(smp));
            }
            Ok(answer.is_some())
        })?;
        let answer = answer.context("an answer")?;
        ensure!(answer.status() == Status::OK, "{answer:?}");
        Ok(answer.data)
    }
}

#[test]
fn what_somebody_else_wrote_is_mended() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let config = Config::of_sweep()
        .with("audit_interval = 1\n")
        .ibsim("H0")
        .routing("engine = \"updn\"\n")
        .with("[control]\npath = \"control\"\n");
    let bed = Served::on(Fabric::start(TREE)?, &config)?;
    let mut host = Host::on(&bed.fabric, "H3")?;
    let held = host.table(None)?;
    let mut other = held;
    let entry = other.iter_mut().find(|port| **port == 4).context("H3")?;
    *entry = 1;
    ensure!(host.table(Some(other))? == other);
    wait_for("the entry to be written again", PATIENCE, || {
        Ok(host.table(None).map_err(Error::other)? == held)
    })?;
    let log = bed.daemon.logged();
    let told = "holds another LinearForwardingTable (modifier 0x0) than it was written";
    ensure!(log.contains(told), "{log}");
    let status = &bed.status()?["subnet_manager"];
    ensure!(status["audit_differing"] == 1, "{status}");
    ensure!(status["audit_reads"].as_u64() > Some(100), "{status}");
    // What answers has not changed.
    ensure!(bed.fabric.saquery("H1", &["PR", "--slid", "1"]).is_ok());
    Ok(())
}
