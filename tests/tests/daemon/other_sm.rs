//! `sapphired` as the Subnet Manager beside others: what these learn by Get(SMInfo), and who of them is the master.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use sa_port::ibsim::{Attachment, IbsimClient, Options};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::http;
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
    let asker = Asker::on(&bed.fabric, ("H2", 1))?;
    Ok((bed, asker))
}

/// Asks the SM of a node what it is, and commands it.
pub(super) struct Asker {
    client: IbsimClient,
    transaction: u64,
    sm_lid: u16,
    /// The ports of switches that lead to the SM which is asked by a directed route.
    pub(super) path: Vec<u8>,
    // After what uses it.
    _attachment: Attachment,
}

impl Asker {
    /// On a node; the SM is behind that port of the switch.
    fn on(fabric: &Fabric, (node, port): (&str, u8)) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            ..Options::on(node)
        })?;
        let sm_lid = attachment.port()?.sm_lid.context("an SM's LID")?.get();
        Ok(Self {
            client: attachment.client()?,
            transaction: 0,
            sm_lid,
            path: vec![port],
            _attachment: attachment,
        })
    }

    /// The same where no SM was yet; it asks by directed routes alone.
    pub(super) fn at(fabric: &Fabric, node: &str, port: u8) -> Result<Self> {
        let attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            ..Options::on(node)
        })?;
        Ok(Self {
            client: attachment.client()?,
            transaction: 0,
            sm_lid: 0,
            path: vec![port],
            _attachment: attachment,
        })
    }

    /// A command by a directed route, of a master with this GUID and key. Errors: no answer.
    pub(super) fn command(&mut self, modifier: u32, guid: u64, sm_key: u64) -> Result<Smp> {
        let mut data = [0; 64];
        data[..8].copy_from_slice(&guid.to_be_bytes());
        data[8..16].copy_from_slice(&sm_key.to_be_bytes());
        // The highest priority, and Master.
        data[20] = 0xf3;
        self.sent((method::SET, modifier, data), true, PATIENCE)
    }

    /// Asks once by a directed route. Errors: no answer by then.
    pub(super) fn ask_within(&mut self, method: u8, most: Duration) -> Result<Smp> {
        self.sent((method, 0, [0; 64]), true, most)
    }

    /// Asks once, by a directed route or by LID. Errors: no answer within [`PATIENCE`].
    fn ask(&mut self, method: u8, is_directed: bool) -> Result<Smp> {
        self.sent((method, 0, [0; 64]), is_directed, PATIENCE)
    }

    fn sent(
        &mut self,
        (method, modifier, data): (u8, u32, [u8; 64]),
        is_directed: bool,
        most: Duration,
    ) -> Result<Smp> {
        self.transaction += 1;
        // Out at the own port, then at the switches'.
        let path = [&[1], self.path.as_slice()].concat();
        let mut smp = Smp::directed(method, attribute::SM_INFO, self.transaction, &path)
            .context("a route")?;
        smp.header.attribute_modifier = modifier.into();
        smp.data = data;
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
        wait_for("an answer about SMInfo", most, || {
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
pub(super) fn told(answer: &Smp) -> Result<(u64, u64, u8, u8)> {
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

/// What the port of a node says: its LID, and that of its SM.
fn lids(fabric: &Fabric, node: &str) -> Result<(u16, u16)> {
    let mut attachment = Attachment::new(&Options {
        base: fabric.base().to_owned(),
        ..Options::on(node)
    })?;
    let facts = attachment.port()?;
    let lid = |lid: Option<sa_wire::Lid>| lid.map_or(0, |lid| lid.get());
    Ok((lid(facts.lid), lid(facts.sm_lid)))
}

#[test]
fn it_stands_by_for_an_opensm_and_takes_over_when_that_is_gone() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let mut opensm = fabric.opensm("H1", &[])?;
    // Nobody attaches to H1 beside OpenSM now: the simulator would take IsSM off its port.
    let before = lids(&fabric, "H2")?;
    let theirs = before.1;
    ensure!(theirs != 0 && theirs != before.0, "{before:?}");
    // SUBNET UP comes before others can see that there is an SM.
    wait_for("OpenSM to be seen", PATIENCE, || {
        let seen = fabric.tool("smpquery", "H2", &["-D", "portinfo", "0,1,1"])?;
        Ok(seen.contains("IsSM"))
    })?;
    // Not above OpenSM's, which would hand over where its sweep meets this one.
    let keys = "sm_priority = 0\nsminfo_polling_timeout = 200\npolling_retry_number = 2\n";
    let config = Config::of_sweep()
        .with(keys)
        .with("[http]\nlisten = \"127.0.0.1:0\"\n")
        .ibsim("H2")
        .write(fabric.dir())?;
    let mut daemon = Daemon::start(&fabric, &config)?;
    daemon.wait_logged("Entering STANDBY state")?;
    let mut asker = Asker::on(&fabric, ("H1", 2))?;
    // Over many polls, each of which would end it if it went wrong.
    for _ in 0..20 {
        let told = told(&asker.ask(method::GET, true)?)?;
        ensure!((told.2, told.3) == (0, STANDBY), "{told:x?}");
    }
    daemon.wait_logged("standing by: the SM of port")?;
    let (_, page) = http::get(http::address(&daemon.logged())?, "/metrics")?;
    ensure!(
        page.contains("\nsapphire_sm_sweep_failures_total 0\n"),
        "nothing has failed: {page}"
    );
    ensure!(lids(&fabric, "H2")? == before, "it wrote something");

    opensm.stop();
    ensure!(daemon.next_epoch("ready")? == 1);
    let log = daemon.logged();
    ensure!(
        log.contains("Entering DISCOVERING state") && log.contains("Entering MASTER state"),
        "{log}"
    );
    let own = before.0;
    ensure!(lids(&fabric, "H2")? == (own, own), "LIDs stay");
    ensure!(lids(&fabric, "H1")? == (theirs, own));
    ensure!(told(&asker.ask(method::GET, true)?)?.3 == MASTER);
    Ok(())
}

#[test]
fn an_opensm_stands_by_for_it_and_it_goes_on() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut bed, _) = bed("sm_priority = 7\n")?;
    let mut opensm = bed.fabric.opensm_standing_by("H2", &["-p", "3"])?;
    bed.daemon.signal("HUP")?;
    bed.daemon.next_epoch("reloaded")?;
    let (own, sm) = lids(&bed.fabric, "H1")?;
    ensure!(lids(&bed.fabric, "H2")?.1 == own && sm == own);
    opensm.stop();
    Ok(())
}

/// Of the simulator: the node GUID and the port number.
const PORT_OF_H1: u64 = 0x10_0001;
/// SMState.
pub(super) const MASTER: u8 = 3;
/// SMState.
pub(super) const STANDBY: u8 = 2;
