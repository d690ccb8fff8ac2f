//! The preload library in OpenSM, asked by a daemon that does nothing else.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sa_port::umad::{Options, Umad, UmadClient, UmadError};
use sa_port::{ClientPort, Destination, MadPort, Patience, Reply, ReplyPort, Verdict};
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::MAD_SIZE;
use sa_wire::{Lid, request};
use split_protocol::{
    Carrier, DEFAULT_SOCKET, Frame, HEADER_BYTES, Packet, Reads, ReceiveError, SUBSCRIBER_QP,
    VERSION, Welcome,
};

use super::rmpp::records;

/// OpenSM is on `server`; `client` is another port of its subnet.
pub(super) fn run(server: &str, client: &str) -> Result<()> {
    let lid = UmadClient::open(Some(server), Some(1))?.name().state().lid;
    let lid = lid.context("no LID")?;
    let mut rig = Rig {
        server: server.to_owned(),
        lid,
        client: UmadClient::open(Some(client), Some(1))?,
        tid: 1,
    };
    greets()?;
    hangs_up_on_garbage()?;
    let mut daemon = Daemon::connect()?;
    asks_opensm(&mut rig, &mut daemon)?;
    hears_reports(&mut rig, &mut daemon)?;
    let mut all = vec![splits(&mut rig, daemon)?];
    for _ in 1..3 {
        all.push(splits(&mut rig, Daemon::connect()?)?);
    }
    // One may meet a sweep of OpenSM's, or a busy host.
    let best = all.iter().min().copied().unwrap_or(u128::MAX);
    ensure!(best <= 100, "OpenSM answers again after {all:?} ms");
    println!("ok   another process answers 1000 records in OpenSM's place, and OpenSM the daemon");
    println!("ok   OpenSM answers again after {all:?} ms");
    is_split_again(&mut rig)
}

/// Has the reads of a device's port, and answers nobody, until standard input ends.
pub(super) fn hold(device: &str) -> Result<()> {
    let _umad = open(device)?;
    println!("held");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Is lent the reads and hangs up. Prints OpenSM's process.
pub(super) fn look() -> Result<()> {
    let mut daemon = Daemon::connect()?;
    daemon.lend()?;
    println!("{}", daemon.welcome.pid);
    Ok(())
}

struct Rig {
    server: String,
    lid: Lid,
    client: UmadClient,
    tid: u64,
}

fn greets() -> Result<()> {
    let mut stream = connect()?;
    Frame::Hello(VERSION).send(&mut stream)?;
    let Frame::Welcome(welcome) = Frame::receive(&mut stream)? else {
        bail!("no welcome");
    };
    let pid: u32 = std::env::var("SOFTIB_OSM_PID")?.parse()?;
    let expected = Welcome {
        version: VERSION,
        pid,
        umad: 0,
        reads: Reads::Held,
    };
    ensure!(welcome == expected, "{welcome:?}");
    let mut second = connect()?;
    Frame::Hello(VERSION).send(&mut second)?;
    ensure!(
        Frame::receive(&mut second)? == Frame::Busy,
        "a second daemon is not turned away"
    );
    ensure!(matches!(
        Frame::receive(&mut second),
        Err(ReceiveError::Closed)
    ));
    println!("ok   a daemon is welcome, a second is turned away");
    Ok(())
}

fn hangs_up_on_garbage() -> Result<()> {
    let mut daemon = Daemon::connect()?;
    daemon.stream.write_all(&[0xff; 4096])?;
    let deadline = Instant::now() + PATIENCE;
    while Frame::receive(&mut daemon.stream).is_ok() {
        ensure!(Instant::now() < deadline, "garbage is listened to");
    }
    println!("ok   a daemon that sends garbage is hung up on");
    Ok(())
}

/// The same tables over the socket as over the wire, and both at once.
fn asks_opensm(rig: &mut Rig, daemon: &mut Daemon) -> Result<()> {
    for attribute in [
        AttributeId::NODE_RECORD,
        AttributeId::MC_MEMBER_RECORD,
        AttributeId::SM_INFO_RECORD,
    ] {
        let (number, tid) = (0x1234_5678_9abc, 0x8111_2222_3333_4444);
        daemon.ask(rig, number, tid, method::GET_TABLE, attribute, &[])?;
        let wire = rig.ask(attribute)?;
        let (got, mad) = daemon.reply()?;
        ensure!(got == number, "reply to {got:#x}");
        ensure!(
            mad[8..16] == u64::to_be_bytes(tid),
            "transaction id {:02x?}",
            &mad[8..16]
        );
        ensure!(
            mad[DATA_OFFSET..] == wire[DATA_OFFSET..],
            "{attribute:?} differs"
        );
        ensure!(mad.len() > DATA_OFFSET, "an empty table");
    }
    for number in 0..500 {
        daemon.ask(
            rig,
            number,
            number,
            method::GET_TABLE,
            AttributeId::NODE_RECORD,
            &[],
        )?;
        if number % 50 == 0 {
            rig.ask(AttributeId::NODE_RECORD)?;
        }
    }
    let mut numbers = (0..500)
        .map(|_| daemon.reply().map(|(number, _)| number))
        .collect::<Result<Vec<u64>>>()?;
    numbers.sort_unstable();
    ensure!(numbers == (0..500).collect::<Vec<_>>(), "{numbers:?}");
    println!("ok   OpenSM answers 503 requests of the daemon, and the wire's meanwhile");
    Ok(())
}

/// A subscription of the daemon's, and the Reports of a link that goes and comes.
fn hears_reports(rig: &mut Rig, daemon: &mut Daemon) -> Result<()> {
    daemon.ask(rig, 9, 9, method::SET, AttributeId(0x0003), &inform_info())?;
    let (_, mad) = daemon.reply()?;
    ensure!(
        mad[3] == method::GET_RESP && mad[4..6] == [0, 0],
        "subscription: {:02x?}",
        &mad[..8]
    );
    console("Unlink \"H3\"[1]")?;
    daemon.answer_until(65, "the port gone")?;
    console("ReLink \"H3\"[1]")?;
    daemon.answer_until(64, "the port back")?;
    ensure!(daemon.programmed > 0, "OpenSM programmed nothing");
    ensure!(daemon.overheard > 0, "no answer to an SMP was copied");
    daemon.answer_for(Duration::from_millis(1500))?;
    for error in ["ERR 5410", "ERR 5413", "ERR 541A", "ERR 1A06"] {
        ensure!(!log()?.contains(error), "{error} in OpenSM's log");
    }
    println!(
        "ok   Reports come and are answered; {} Set(SMP)s seen",
        daemon.programmed
    );
    console("Unlink \"H3\"[1]")?;
    daemon.report()?;
    let deadline = Instant::now() + PATIENCE;
    while !log()?.contains("ERR 1A06") {
        ensure!(
            Instant::now() < deadline,
            "OpenSM waits for ever for the reply to a Report"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    console("ReLink \"H3\"[1]")?;
    rig.ask(AttributeId::NODE_RECORD)?;
    println!("ok   of a Report that is not answered OpenSM hears that its time is up");
    Ok(())
}

/// Another process has the reads, then is gone. Gives the time until OpenSM answers. Units: ms.
fn splits(rig: &mut Rig, mut daemon: Daemon) -> Result<u128> {
    ensure!(open(&rig.server).is_err(), "OpenSM does not hold its reads");
    let (file, agent) = daemon.lend()?;
    let umad = lent(&rig.server, file, agent)?;
    let stop = AtomicBool::new(false);
    let beats = daemon.stream.stream().try_clone()?;
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&umad, &stop));
        scope.spawn(|| beat(&beats, &stop));
        let outcome = while_split(rig, &mut daemon);
        stop.store(true, Ordering::Relaxed);
        outcome.and(
            serving
                .join()
                .ok()
                .context("the server's thread panicked")?,
        )
    })?;
    // The order of a process that is killed: its socket first, then its umad file. What is asked
    // in between waits on it.
    drop((beats, daemon));
    drop(umad);
    let gone = Instant::now();
    rig.until_answered(gone)
}

/// Says that the daemon lives.
fn beat(mut stream: &UnixStream, stop: &AtomicBool) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) && Frame::Beat(number).send(&mut stream).is_ok() {
        number += 1;
        std::thread::sleep(split_protocol::BEAT);
    }
}

fn while_split(rig: &mut Rig, daemon: &mut Daemon) -> Result<()> {
    let reply = rig.ask_mad(&records::request(1000, 77))?;
    records::expect_records(&reply, 1000)?;
    daemon.ask(rig, 5, 5, method::GET_TABLE, AttributeId::NODE_RECORD, &[])?;
    let (_, mad) = daemon.reply()?;
    ensure!(mad.len() > DATA_OFFSET, "an empty table");
    Ok(())
}

/// Lent and back on request; OpenSM's own tables in between.
fn is_split_again(rig: &mut Rig) -> Result<()> {
    let mut daemon = Daemon::connect()?;
    for _ in 0..20 {
        let (file, agent) = daemon.lend()?;
        let umad = lent(&rig.server, file, agent)?;
        ensure!(open(&rig.server).is_err(), "the methods are nobody's");
        daemon.send(&Frame::TakeBack)?;
        daemon.expect_reads(Reads::Held)?;
        rig.ask(AttributeId::NODE_RECORD)?;
        drop(umad);
    }
    println!("ok   lent and taken back 20 times");
    Ok(())
}

fn lent(device: &str, file: OwnedFd, agent: u32) -> Result<Umad, UmadError> {
    Umad::lent(&options(device), file, agent)
}

fn options(device: &str) -> Options {
    Options {
        device: Some(device.to_owned()),
        port: Some(1),
        ..Options::default()
    }
}

fn open(device: &str) -> Result<Umad, UmadError> {
    Umad::open(&options(device))
}

fn serve(umad: &Umad, stop: &AtomicBool) -> Result<()> {
    let (mut port, mut replies) = (umad.worker()?, umad.reply_port());
    while !stop.load(Ordering::Relaxed) {
        umad.wait_readable(Duration::from_millis(20))?;
        let asked = port.recv()?.to_vec();
        for slot in &asked {
            let mut reply = records::reply_head(&slot.mad)[..DATA_OFFSET].to_vec();
            let count = usize::try_from(records::asked_for(SaMad::from_bytes(&slot.mad)))?;
            reply.resize(reply.len() + count * records::RECORD, 0);
            let places = reply[DATA_OFFSET..].chunks_exact_mut(records::RECORD);
            (0..)
                .zip(places)
                .for_each(|(number, record)| records::fill(number, record));
            replies.reply(slot, &reply)?;
        }
        port.send(&vec![Verdict::Punted; asked.len()])?;
    }
    Ok(())
}

impl Rig {
    /// A whole table, over the wire.
    fn ask(&mut self, attribute: AttributeId) -> Result<Vec<u8>> {
        self.ask_mad(&request::request(0, method::GET_TABLE, attribute, 0, &[]).mad)
    }

    fn ask_mad(&mut self, mad: &[u8; MAD_SIZE]) -> Result<Vec<u8>> {
        self.try_ask(mad, Patience::default())
    }

    fn try_ask(&mut self, mad: &[u8; MAD_SIZE], patience: Patience) -> Result<Vec<u8>> {
        self.tid += 1;
        let mut mad = *mad;
        mad[8..16].copy_from_slice(&self.tid.to_be_bytes());
        let mut reply = Reply::default();
        self.client
            .ask(&Destination::sa(self.lid), &mad, patience, &mut reply)?;
        ensure!(
            reply.mad[4..6] == [0, 0],
            "status {:02x?}",
            &reply.mad[4..6]
        );
        Ok(reply.mad)
    }

    /// Units: ms, since `began`.
    fn until_answered(&mut self, began: Instant) -> Result<u128> {
        let mad = request::request(0, method::GET, AttributeId::CLASS_PORT_INFO, 0, &[]).mad;
        let patience = Patience {
            timeout: Duration::from_millis(20),
            retries: 0,
        };
        while self.try_ask(&mad, patience).is_err() {
            ensure!(began.elapsed() < PATIENCE, "nobody answers any more");
        }
        Ok(began.elapsed().as_millis())
    }
}

struct Daemon {
    stream: Carrier,
    lent: Vec<(OwnedFd, u32)>,
    welcome: Welcome,
    reports: Vec<Packet>,
    replies: Vec<(u64, Vec<u8>)>,
    reads: Vec<Reads>,
    programmed: u64,
    /// Copied answers to SMPs.
    overheard: usize,
}

impl Daemon {
    /// Errors: not welcome.
    fn connect() -> Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut stream = connect()?;
            Frame::Hello(VERSION).send(&mut stream)?;
            match Frame::receive(&mut stream) {
                Ok(Frame::Welcome(welcome)) => {
                    return Ok(Self {
                        stream,
                        lent: Vec::new(),
                        welcome,
                        reports: Vec::new(),
                        replies: Vec::new(),
                        reads: Vec::new(),
                        programmed: 0,
                        overheard: 0,
                    });
                }
                // That the last one is gone is noticed in its own time.
                Ok(Frame::Busy) if Instant::now() < deadline => {}
                other => bail!("no welcome: {other:?}"),
            }
        }
    }

    fn send(&mut self, frame: &Frame) -> Result<()> {
        Ok(frame.send(&mut self.stream)?)
    }

    fn ask(
        &mut self,
        rig: &Rig,
        number: u64,
        tid: u64,
        asked: u8,
        attribute: AttributeId,
        data: &[u8],
    ) -> Result<()> {
        let mut mad = request::request(0, asked, attribute, 0, data).mad;
        mad[8..16].copy_from_slice(&tid.to_be_bytes());
        let qpn = if asked == method::SET {
            SUBSCRIBER_QP
        } else {
            1
        };
        let header = header(rig.lid, qpn);
        self.send(&Frame::Request(number, Packet { header, mad }))
    }

    fn take(&mut self) -> Result<()> {
        match Frame::receive(&mut self.stream)? {
            Frame::Reply(number, mad) => self.replies.push((number, mad)),
            Frame::Report(packet) => self.reports.push(packet),
            Frame::Reads(reads) => self.reads.push(reads),
            Frame::Beat(_) => {}
            Frame::Overheard(lost, words) => {
                ensure!(lost == 0, "{lost} answers to SMPs were not copied");
                self.overheard += words.len();
            }
            Frame::Lent(agent) => {
                let file = self.stream.take_file().context("no file")?;
                self.lent.push((file, agent));
            }
            Frame::Programmed(count) => {
                ensure!(count > self.programmed, "programmed {count}");
                self.programmed = count;
            }
            other => bail!("{other:?}"),
        }
        Ok(())
    }

    /// The read methods, with the file and the agent that have them.
    fn lend(&mut self) -> Result<(OwnedFd, u32)> {
        self.send(&Frame::Lend)?;
        while self.lent.is_empty() {
            self.take().context("nothing is lent")?;
        }
        Ok(self.lent.remove(0))
    }

    fn reply(&mut self) -> Result<(u64, Vec<u8>)> {
        while self.replies.is_empty() {
            self.take().context("no reply of OpenSM's")?;
        }
        Ok(self.replies.remove(0))
    }

    fn report(&mut self) -> Result<Packet> {
        while self.reports.is_empty() {
            self.take().context("no Report")?;
        }
        Ok(self.reports.remove(0))
    }

    fn answer(&mut self, report: &Packet) -> Result<()> {
        let mut answer = report.clone();
        answer.mad[3] = 0x86;
        self.send(&Frame::Tell(answer))
    }

    /// Others come too: groups that IPoIB makes.
    fn answer_for(&mut self, time: Duration) -> Result<()> {
        let deadline = Instant::now() + time;
        self.stream
            .stream()
            .set_read_timeout(Some(Duration::from_millis(50)))?;
        while Instant::now() < deadline {
            match self.take() {
                Ok(()) => {}
                Err(error) if error.is::<ReceiveError>() => {}
                Err(error) => return Err(error),
            }
            for report in core::mem::take(&mut self.reports) {
                self.answer(&report)?;
            }
        }
        Ok(self.stream.stream().set_read_timeout(Some(PATIENCE))?)
    }

    fn answer_until(&mut self, trap: u16, what: &str) -> Result<()> {
        loop {
            let report = self
                .report()
                .with_context(|| format!("waiting for {what}"))?;
            ensure!(report.mad[3] == 0x06, "method {:#x}", report.mad[3]);
            self.answer(&report)?;
            // Notice: type and producer, then the trap's number.
            if report.mad[DATA_OFFSET + 4..DATA_OFFSET + 6] == trap.to_be_bytes() {
                return Ok(());
            }
        }
    }

    fn expect_reads(&mut self, wanted: Reads) -> Result<()> {
        while self.reads.is_empty() {
            self.take().with_context(|| format!("no {wanted:?}"))?;
        }
        let reads = self.reads.remove(0);
        ensure!(reads == wanted, "{reads:?}, not {wanted:?}");
        Ok(())
    }
}

fn connect() -> Result<Carrier> {
    let stream = UnixStream::connect(DEFAULT_SOCKET).context(DEFAULT_SOCKET)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Carrier::new(stream))
}

/// As if it came from that port.
fn header(lid: Lid, qpn: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[20..24].copy_from_slice(&qpn.to_be_bytes());
    header[24..28].copy_from_slice(&0x8001_0000u32.to_be_bytes());
    header[28..30].copy_from_slice(&lid.get().to_be_bytes());
    header
}

/// A subscription to all there is.
fn inform_info() -> [u8; 36] {
    let mut data = [0; 36];
    data[16..18].copy_from_slice(&[0xff; 2]);
    // IsGeneric, Subscribe, Type, TrapNumber.
    data[22..28].copy_from_slice(&[1, 1, 0xff, 0xff, 0xff, 0xff]);
    // ProducerType.
    data[33..36].copy_from_slice(&[0xff; 3]);
    data
}

/// A command for ibsim.
fn console(command: &str) -> Result<()> {
    let mut console = fs::OpenOptions::new()
        .write(true)
        .open(std::env::var("SOFTIB_CTL")?)?;
    Ok(writeln!(console, "{command}")?)
}

fn log() -> Result<String> {
    let path = format!("{}/opensm.log", std::env::var("SOFTIB_LOG")?);
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

const PATIENCE: Duration = Duration::from_secs(10);
