//! What other Subnet Managers learn of `sapphired` as the Subnet Manager: they ask by Get(SMInfo).

use anyhow::{Context, Result, anyhow, ensure};
use sa_port::ibsim::{Attachment, IbsimClient, Options};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::served::Served;
use sa_tests::skip;
use sa_wire::mad::{Status, method};
use sa_wire::records::SmInfoRecord;
use sa_wire::smp::{MGMT_CLASS_LID, PERMISSIVE_LID, Smp, attribute};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

/// The SM on H1, and somebody who asks from H2, one switch away.
fn bed(keys: &str) -> Result<(Served, Asker)> {
    let config = Config::of_sweep().with(keys).ibsim("H1");
    let bed = Served::on(Fabric::start(TWO_HOSTS)?, &config)?;
    let asker = Asker::on(&bed.fabric)?;
    Ok((bed, asker))
}

struct Asker {
    client: IbsimClient,
    transaction: u64,
    sm_lid: u16,
    // After what uses it.
    _attachment: Attachment,
}

impl Asker {
    fn on(fabric: &Fabric) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            ..Options::on("H2")
        })?;
        let sm_lid = attachment.port()?.sm_lid.context("an SM's LID")?.get();
        Ok(Self {
            client: attachment.client()?,
            transaction: 0,
            sm_lid,
            _attachment: attachment,
        })
    }

    /// Asks once, by a directed route or by LID. Errors: no answer within [`PATIENCE`].
    fn ask(&mut self, method: u8, is_directed: bool) -> Result<Smp> {
        self.transaction += 1;
        // Out at the own port, then at the switch's port to H1.
        let mut smp = Smp::directed(method, attribute::SM_INFO, self.transaction, &[1, 1])
            .context("a route")?;
        let mut slot = Slot::EMPTY;
        slot.header.lid = PERMISSIVE_LID.into();
        if !is_directed {
            smp.header.mgmt_class = MGMT_CLASS_LID;
            smp.header.class_specific = 0.into();
            slot.header.lid = self.sm_lid.into();
        }
        slot.mad = zerocopy::transmute!(smp);
        ensure!(self.client.send_any(&slot)?, "no room");
        let mut found = None;
        let transaction = self.transaction;
        wait_for("an answer about SMInfo", PATIENCE, || {
            while let Some(slot) = self.client.receive_any().map_err(std::io::Error::other)? {
                let answer =
                    Smp::read_from_bytes(&slot.mad).map_err(|_| std::io::ErrorKind::InvalidData)?;
                // The simulator has the upper half of the transaction.
                let is_ours = answer.header.transaction_id.get() & 0xffff_ffff == transaction;
                if is_ours && slot.header.status == 0 && answer.header.is_response() {
                    found = Some(answer);
                }
            }
            Ok(found.is_some())
        })?;
        found.context("an answer")
    }
}

/// GUID, SM_Key, priority and state: SMInfo is laid out as its record behind the LID.
fn told(answer: &Smp) -> Result<(u64, u64, u8, u8)> {
    let data = answer.data.first_chunk::<28>().context("an SMInfo")?;
    let bytes = [&[0; 4], &data[..]].concat();
    let info = SmInfoRecord::read_from_bytes(&bytes).map_err(|_| anyhow!("no SMInfo"))?;
    let (priority, state) = (info.priority_and_state >> 4, info.priority_and_state & 0xf);
    Ok((info.guid.get(), info.sm_key.get(), priority, state))
}

#[test]
fn others_are_told_who_the_master_is_while_it_sweeps_too() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut bed, mut asker) = bed("sm_priority = 7\n")?;
    // Sweep after sweep, each with every file read anew.
    for round in 0..10 {
        bed.daemon.signal("HUP")?;
        for is_directed in [true, false] {
            let answer = asker.ask(method::GET, is_directed)?;
            ensure!(answer.status() == Status::OK, "{round}: {answer:?}");
            let told = told(&answer)?;
            ensure!(told == (PORT_OF_H1, 1, 7, MASTER), "{round}: {told:x?}");
        }
    }
    let log = bed.daemon.logged();
    ensure!(log.matches("Entering MASTER state").count() == 1, "{log}");
    bed.daemon.alive()?;
    Ok(())
}

#[test]
fn a_command_of_another_sm_is_refused_and_changes_nothing() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (_bed, mut asker) = bed("")?;
    for is_directed in [true, false] {
        let before = told(&asker.ask(method::GET, is_directed)?)?;
        let refused = asker.ask(method::SET, is_directed)?;
        ensure!(refused.status() == Status::INVALID_FIELD, "{refused:?}");
        ensure!(told(&asker.ask(method::GET, is_directed)?)? == before);
    }
    Ok(())
}

/// Of the simulator: the node GUID and the port number.
const PORT_OF_H1: u64 = 0x10_0001;
/// SMState.
const MASTER: u8 = 3;
