//! Traps of devices, as `sapphired` hears them as the Subnet Manager, and what its subscribers hear.

use std::collections::BTreeSet;
use std::io;

use anyhow::{Context, Result, ensure};
use sa_fabric::generate::named;
use sa_port::ibsim::{Attachment, IbsimPort, IbsimReply, Options, Role};
use sa_port::{ClientPort, Destination, MadPort, Patience, Reply, ReplyPort, Verdict};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::served::Served;
use sa_tests::skip;
use sa_wire::mad::method;
use sa_wire::notice::Notice;
use sa_wire::records::{ANY16, ANY24, InformInfo};
use sa_wire::request;
use sa_wire::sa::{AttributeId, SaMad};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::groups::{MADE, change};
use super::sweep::{TREE, said};

/// No sweep comes by itself while a test runs.
fn config() -> Config {
    Config::of_sweep_each(3600)
        .ibsim("H0")
        .routing("engine = \"updn\"\n")
        .with("[control]\npath = \"control\"\n[http]\nlisten = \"127.0.0.1:0\"\n")
}

/// The way of packets from H1 to H2, by the switches' tables.
fn way(fabric: &Fabric) -> Result<String> {
    Ok(fabric.tool("ibtracert", "H1", &["-G", "0x100011", "0x100021"])?)
}

#[test]
fn a_cable_that_fails_is_followed_at_once() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let bed = Served::on(fabric, &config())?;
    let before = way(&bed.fabric)?;
    let is_by = |way: &str, spine: &str| way.contains(&format!("\"{spine}\""));
    let (first, other) = match is_by(&before, "S0") {
        true => ("S0", "S1"),
        false => ("S1", "S0"),
    };
    ensure!(is_by(&before, first), "{before}");
    console.say(&format!("Unlink \"{first}\"[1]"))?;
    wait_for("the other spine", PATIENCE, || {
        Ok(way(&bed.fabric).is_ok_and(|way| is_by(&way, other)))
    })?;
    ensure!(bed.metric("sapphire_sm_traps_total ")? >= 1.0);
    ensure!(bed.metric("sapphire_sm_traps_dropped_total ")? == 0.0);
    // It is told when the sweep is over, which is after the switches have their routes.
    wait_for("the cause of the sweep in the log", PATIENCE, || {
        Ok(bed.daemon.logged().contains("cause=\"trap 128\""))
    })?;
    Ok(())
}

/// 80 switches. Nothing is due by the clock, so that what a sweep asks is what the trap has told of.
#[test]
fn a_trap_costs_the_switches_that_sent_it_where_no_sweep_comes_by_itself() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let tree = named("fat-tree:8")?.context("no generator")?.net();
    let switches = 80;
    let (fabric, mut console) = Fabric::with_console(&tree)?;
    let config = Config::of_sweep_each(0)
        .ibsim("H0_0_0")
        .routing("engine = \"updn\"\n");
    let mut bed = Served::on(fabric, &config)?;
    let cable = trunk(&tree).context("no cable between switches")?;
    for change in ["Unlink", "Relink"] {
        console.say(&format!("{change} {cable}"))?;
        bed.daemon.next_epoch("reloaded")?;
        let gets = said(&bed.daemon, "smps")? - said(&bed.daemon, "sets")?;
        ensure!(gets > 0, "{}", bed.daemon.logged());
        ensure!(gets < switches, "{gets}: {}", bed.daemon.logged());
    }
    Ok(())
}

/// The last switch of a fabric and the first of its ports that leads to another one, as the simulator's console takes it.
fn trunk(net: &str) -> Option<String> {
    let (_, last) = net.rsplit_once("\nSwitch ")?;
    let name = last.split('"').nth(1)?;
    let line = last.lines().find(|line| line.starts_with('['))?;
    let (port, _) = line.split_once(' ')?;
    Some(format!("\"{name}\"{port}"))
}

/// A queue pair of its own, so that the simulator gives it what is meant for that one.
const QP: u32 = 0x321;

/// Somebody on H3 who wants to hear of everything.
struct Subscriber {
    port: IbsimPort,
    replies: IbsimReply,
    _attachment: Attachment,
    /// Trap numbers.
    heard: BTreeSet<u16>,
}

impl Subscriber {
    fn new(fabric: &Fabric) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            node: "H3".to_owned(),
            role: Role::Plain,
            qp: QP,
        })?;
        let sa = attachment.port()?.sm_lid.context("the SM's LID")?;
        let mut info = InformInfo::new_zeroed();
        info.lid_range_begin = ANY16.into();
        (info.is_generic, info.subscribe) = (1, 1);
        info.trap_type = ANY16.into();
        info.trap_number = ANY16.into();
        info.producer_type = ANY24;
        let asked = AttributeId::INFORM_INFO;
        let slot = request::request(1, method::SET, asked, 0, info.as_bytes());
        let mut reply = Reply::default();
        let to = Destination::sa(sa);
        let mut client = attachment.client()?;
        client.ask(&to, &slot.mad, Patience::default(), &mut reply)?;
        ensure!(reply.mad[4..6] == [0, 0], "{:02x?}", reply.mad);
        Ok(Self {
            port: attachment.serve()?,
            replies: attachment.reply_port()?,
            _attachment: attachment,
            heard: BTreeSet::new(),
        })
    }

    /// Until all of these have been told since the last call; each Report is answered.
    fn wait(&mut self, numbers: &[u16]) -> Result<()> {
        let waited = wait_for("Reports", PATIENCE, || {
            let reports = self.port.recv().map_err(io::Error::other)?.to_vec();
            self.port
                .send(&vec![Verdict::Silence; reports.len()])
                .map_err(io::Error::other)?;
            for report in reports {
                let mad = SaMad::from_bytes(&report.mad);
                let notice = Notice::read_from_prefix(&mad.data);
                let (notice, _) = notice.map_err(|_| io::ErrorKind::InvalidData)?;
                self.heard.insert(notice.trap_number.get());
                let mut response = report.mad;
                response[3] = method::REPORT_RESP;
                self.replies
                    .reply(&report, &response)
                    .map_err(io::Error::other)?;
            }
            Ok(numbers.iter().all(|number| self.heard.contains(number)))
        });
        waited.with_context(|| format!("{numbers:?}, heard {:?}", self.heard))?;
        self.heard.clear();
        Ok(())
    }
}

#[test]
fn subscribers_hear_of_ports_groups_and_traps_of_devices() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let bed = Served::on(fabric, &config())?;
    let mut subscriber = Subscriber::new(&bed.fabric)?;
    console.say("Unlink \"H2\"[1]")?;
    subscriber.wait(&[128, 65])?;
    console.say("Link \"H2\"[1] \"L1\"[3]")?;
    subscriber.wait(&[128, 64])?;
    ensure!(change(&bed, "H1", "--set", MADE, "10:11")? == "0x0000");
    subscriber.wait(&[66])?;
    ensure!(change(&bed, "H1", "--delete", MADE, "10:11")? == "0x0000");
    subscriber.wait(&[67])
}
