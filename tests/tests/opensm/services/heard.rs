//! Reports that a subscriber gets from OpenSM, and those that our database would send it.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_port::ibsim::{Attachment, IbsimClient, IbsimPort, IbsimReply, Options, Role};
use sa_port::{ClientPort, Destination, MadPort, Patience, Reply, ReplyPort, Verdict};
use sa_rig::{Fabric, wait_for};
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::records::{ANY16, ANY24, GuidInfoRecord, InformInfo, McMemberRecord};
use sa_wire::sa::AttributeId;
use sa_wire::umad::Slot;
use zerocopy::{FromZeros, IntoBytes};

use super::pair::{Ask, Pair};
use super::random::gid_of;
use crate::records::site::Site;

/// A queue pair of its own, so that the simulator gives it what is meant for that one.
const QP: u32 = 0x321;
/// What comes through the simulator.
const SEEN: usize = 224;
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody on H3 who subscribes and listens.
struct Listener {
    client: IbsimClient,
    port: IbsimPort,
    replies: IbsimReply,
    _attachment: Attachment,
    lid: u16,
    sa: Lid,
}

impl Listener {
    fn new(fabric: &Fabric) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            node: "H3".to_owned(),
            role: Role::Plain,
            qp: QP,
        })?;
        let facts = attachment.port()?;
        Ok(Self {
            client: attachment.client()?,
            port: attachment.serve()?,
            replies: attachment.reply_port()?,
            _attachment: attachment,
            lid: Lid::raw(facts.lid),
            sa: facts.sm_lid.context("no SM has configured the port")?,
        })
    }

    /// Subscribes with both.
    fn subscribe(&mut self, pair: &mut Pair, info: &InformInfo) -> Result<()> {
        let attribute = AttributeId::INFORM_INFO;
        let ask = Ask::new(attribute, method::SET, 0, info.as_bytes());
        let mut slot = ask.slot(self.lid, 77);
        slot.header.qpn = QP.into();
        let ours = pair.respond(&slot).context("our reply")?;
        let mut reply = Reply::default();
        let to = Destination::sa(self.sa);
        let patience = Patience::default();
        self.client.ask(&to, &slot.mad, patience, &mut reply)?;
        ensure!(ours[4..6] == [0, 0] && reply.mad[4..6] == [0, 0]);
        Ok(())
    }

    /// As many Reports as are expected, each answered; in order.
    fn hear(&mut self, count: usize) -> Result<Vec<Slot>> {
        let mut heard: Vec<Slot> = Vec::new();
        wait_for("OpenSM's Reports", PATIENCE, || {
            let lent = self.port.recv().map_err(io::Error::other)?;
            let reports: Vec<Slot> = lent.to_vec();
            self.port
                .send(&vec![Verdict::Silence; reports.len()])
                .map_err(io::Error::other)?;
            for report in reports {
                let mut response = report.mad;
                response[3] = method::REPORT_RESP;
                self.replies
                    .reply(&report, &response)
                    .map_err(io::Error::other)?;
                heard.push(report);
            }
            Ok(heard.len() >= count)
        })?;
        Ok(heard)
    }
}

/// Makes a group and leaves it, and compares what the listener is told.
pub(crate) fn compare(site: &Site) -> Result<usize> {
    let (mut pair, fabric, _opensm) = Pair::start(site)?;
    let mut listener = Listener::new(&fabric)?;
    let issuer = pair.parts().subnet.end_ports()[pair.parts().subnet.sm()];
    for info in subscriptions(issuer.lid.get(), issuer.guid.get()) {
        listener.subscribe(&mut pair, &info)?;
    }
    let mut compared = 0;
    for (nth, pkey) in [0x8001, 0xffff, 0x8001].into_iter().enumerate() {
        let group = group(u8::try_from(nth).unwrap_or(0), pkey);
        for (asked, mask) in [(method::SET, CREATE), (method::DELETE, LEAVE)] {
            let ask = Ask::new(AttributeId::MC_MEMBER_RECORD, asked, mask, group.as_bytes());
            // H2, a full member of one partition and a limited one of the other.
            pair.compare(1, &ask)?;
            let ours = pair.reports();
            let theirs = listener.hear(ours.len())?;
            ensure!(
                ours.len() == theirs.len(),
                "{} Reports, OpenSM sends {}",
                ours.len(),
                theirs.len()
            );
            for (ours, theirs) in ours.iter().zip(&theirs) {
                ensure!(ours.to.lid.get() == listener.lid && ours.to.qpn.get() == QP);
                let (ours, theirs) = (seen(&ours.mad), seen(&theirs.mad));
                ensure!(ours == theirs, "ours   {ours:02x?}\ntheirs {theirs:02x?}");
                compared += 1;
            }
        }
    }
    pair.finish()?;
    Ok(compared)
}

/// An alias that is a member of a group is not to be deleted.
pub(crate) fn alias_in_a_group(site: &Site) -> Result<()> {
    const ALIAS: u64 = 0xb001;
    let (mut pair, _fabric, _opensm) = Pair::start(site)?;
    let mut block = GuidInfoRecord {
        lid: pair.clients[1].lid.into(),
        ..GuidInfoRecord::default()
    };
    block.guids[1] = ALIAS.into();
    let mut member = group(1, 0x8001);
    member.port_gid = gid_of(ALIAS);
    let alias = |asked| {
        let mask = bit(0) | bit(1) | bit(5);
        Ask::new(AttributeId::GUID_INFO_RECORD, asked, mask, block.as_bytes())
    };
    let group = |asked, mask| {
        Ask::new(
            AttributeId::MC_MEMBER_RECORD,
            asked,
            mask,
            member.as_bytes(),
        )
    };
    let steps = [
        (group(method::SET, CREATE), 0x0200),
        (alias(method::SET), 0),
        (group(method::SET, CREATE), 0),
        (alias(method::DELETE), 0x0700),
        (group(method::DELETE, LEAVE), 0),
        (alias(method::DELETE), 0),
        (group(method::SET, CREATE), 0x0200),
    ];
    for (nth, (ask, status)) in steps.into_iter().enumerate() {
        let got = pair.compare(1, &ask)?;
        ensure!(got == Some(status), "step {nth}: {got:x?}");
    }
    pair.finish()
}

/// Without the transaction, and what OpenSM leaves unset: NoticeToggle and NoticeCount, and the
/// details around the GID.
fn seen(mad: &[u8; 256]) -> Vec<u8> {
    let mut bytes = mad[..SEEN].to_vec();
    bytes[8..16].fill(0);
    bytes[56 + 8..56 + 16].fill(0);
    bytes[56 + 32..56 + 64].fill(0);
    bytes
}

/// Different subscriptions of one listener.
fn subscriptions(issuer: u16, guid: u64) -> Vec<InformInfo> {
    let mut all = Vec::new();
    for trap in [ANY16, 66, 67, 64] {
        let mut info = InformInfo::new_zeroed();
        info.lid_range_begin = ANY16.into();
        info.is_generic = 1;
        info.subscribe = 1;
        info.trap_type = ANY16.into();
        info.trap_number = trap.into();
        info.producer_type = ANY24;
        all.push(info);
        info.producer_type = [0, 0, 4];
        all.push(info);
        info.producer_type = [0, 0, 2];
        all.push(info);
        info.producer_type = ANY24;
        info.trap_type = 3.into();
        info.lid_range_begin = issuer.into();
        info.lid_range_end = issuer.into();
        all.push(info);
        info.lid_range_end = 0.into();
        all.push(info);
        info.gid = gid_of(guid);
        info.trap_type = 4.into();
        all.push(info);
    }
    all
}

fn group(nth: u8, pkey: u16) -> McMemberRecord {
    let mut record = McMemberRecord::new_zeroed();
    record.mgid = [0xff, 0x12, 0xa0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, nth];
    record.port_gid = gid_of(0x10_0011);
    record.q_key = 0x123.into();
    record.pkey = pkey.into();
    let bytes = record.as_mut_bytes();
    // Scope 2, full member.
    bytes[48] = 0x21;
    record
}

const LEAVE: u64 = bit(0) | bit(1) | bit(16);
/// MGID, PortGID, Q_Key, TClass, P_Key, SL, flow label, JoinState.
const CREATE: u64 = LEAVE | bit(2) | bit(6) | bit(7) | bit(12) | bit(13);

const fn bit(component: u32) -> u64 {
    1 << component
}
