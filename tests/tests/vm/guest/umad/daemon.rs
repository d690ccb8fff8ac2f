//! The daemon on a device of its own, asked well and badly.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_port::umad::UmadClient;
use sa_port::{ClientPort, Destination, Patience, Reply, low_transaction};
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::MAD_SIZE;

use super::asker::{ONCE, flood, path};
use super::{at, bad, lid_of};

/// `process` logs to `log`.
pub(crate) fn run(server: &str, client: &str, other: &str, process: &str, log: &str) -> Result<()> {
    let to = at(server)?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let mut second = UmadClient::open(Some(other), Some(1))?;
    let from = lid_of(&port)?.get();
    let get = |number| path(from, to.lid.get(), number);
    one(&mut port, to, &get(1))?;
    println!("ok   Get");
    table(&mut port, to)?;
    flooded(&mut port, to, get)?;
    same_transactions(&mut port, &mut second, to, get)?;

    let before = counted(process, log)?;
    let (sent, refused) = bad::lengths(client, to)?;
    let (sending, long) = bad::long_requests(client, to)?;
    let odd = bad::contents(client, to, ODD)?;
    one(&mut port, to, &get(2))?;
    println!(
        "ok   {sent} writes of odd lengths, {refused} more refused by the kernel, {long} long \
         requests, {odd} odd MADs; then a Get"
    );
    drop(sending);
    // Wrong versions do not get there, nor does what RMPP keeps to itself.
    let after = settled(process, log, before.received + u64::from(odd / 2))?;
    let received = after.received - before.received;
    ensure!(
        after.received == after.accounted,
        "of {} requests {} are accounted for",
        after.received,
        after.accounted
    );
    println!("ok   all {received} of them that came are counted");
    Ok(())
}

/// One Get, of whoever is the SA on a device.
pub(crate) fn get(server: &str, client: &str) -> Result<()> {
    let to = at(server)?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let mad = path(lid_of(&port)?.get(), to.lid.get(), 1);
    one(&mut port, to, &mad)
}

/// A Get and its answer.
pub(super) fn one(port: &mut UmadClient, to: Destination, mad: &[u8; MAD_SIZE]) -> Result<()> {
    let mut reply = Reply::default();
    port.ask(&to, mad, Patience::default(), &mut reply)?;
    let head = reply.mad.get(3..6);
    ensure!(head == Some(&[method::GET_RESP, 0, 0]), "{head:02x?}");
    Ok(())
}

/// All paths, from every port to every port, by the kernel's RMPP.
fn table(port: &mut UmadClient, to: Destination) -> Result<()> {
    let nodes = records(port, to, AttributeId::NODE_RECORD, 112)?;
    let began = Instant::now();
    let paths = records(port, to, AttributeId::PATH_RECORD, 64)?;
    ensure!(
        paths == nodes * nodes && paths > 1000,
        "{paths} paths between {nodes} nodes"
    );
    let seconds = began.elapsed().as_secs_f32();
    println!("ok   GetTable: {paths} records by the kernel's RMPP, {seconds:.2} s");
    Ok(())
}

fn records(
    port: &mut UmadClient,
    to: Destination,
    attribute: AttributeId,
    stride: usize,
) -> Result<usize> {
    let mut reply = Reply::default();
    // For a while the kernel takes an answer with a known transaction for one of before.
    let mad = whole(attribute, u64::from(attribute.get()) << 8).mad;
    let patience = Patience {
        timeout: Duration::from_secs(30),
        retries: 0,
    };
    port.ask(&to, &mad, patience, &mut reply)?;
    let data = reply.mad.get(DATA_OFFSET..).context("a short reply")?;
    ensure!(data.len().is_multiple_of(stride), "{} bytes", data.len());
    Ok(data.len() / stride)
}

fn whole(attribute: AttributeId, transaction: u64) -> sa_wire::umad::Slot {
    let mut slot = request::request(0, method::GET_TABLE, attribute, 0, &[]);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.transaction_id = transaction.into();
    slot
}

fn flooded(
    port: &mut UmadClient,
    to: Destination,
    get: impl Fn(u32) -> [u8; MAD_SIZE],
) -> Result<()> {
    let tally = flood(port, to, FLOOD, IN_FLIGHT, get)?;
    ensure!(
        tally.answered == FLOOD as usize && tally.in_flight == IN_FLIGHT,
        "{tally:?}"
    );
    println!("ok   {FLOOD} Gets, {IN_FLIGHT} in flight, none lost");
    Ok(())
}

/// The same transaction from two clients, twice from one, and again and again while its table is
/// under way.
fn same_transactions(
    port: &mut UmadClient,
    second: &mut UmadClient,
    to: Destination,
    get: impl Fn(u32) -> [u8; MAD_SIZE],
) -> Result<()> {
    let mad = get(77);
    for _ in 0..2 {
        // The kernel refuses the second, which is as good as sent.
        ensure!(port.submit(&to, &mad, ONCE)?, "no room");
        ensure!(second.submit(&to, &mad, ONCE)?, "no room");
    }
    for client in [&mut *port, &mut *second] {
        ensure!(answers(client, 77)? == 1, "not one answer");
    }
    println!("ok   the same transaction of two clients, twice of each: one answer for each");

    let impatient = Patience {
        timeout: Duration::from_millis(100),
        retries: 200,
    };
    let table = whole(AttributeId::PATH_RECORD, 78).mad;
    let began = Instant::now();
    for client in [&mut *port, &mut *second] {
        ensure!(client.submit(&to, &table, impatient)?, "no room");
        ensure!(client.submit(&to, &get(79), ONCE)?, "no room");
    }
    for client in [&mut *port, &mut *second] {
        let mut whole = 0;
        for _ in 0..2 {
            let reply = next(client)?;
            whole += usize::from(reply.mad.len() > 64_000);
        }
        ensure!(whole == 1, "not one table");
    }
    let seconds = began.elapsed().as_secs_f32();
    println!("ok   two impatient clients ask for one table with one transaction, {seconds:.2} s");
    Ok(())
}

/// How many answers come within a while.
fn answers(port: &mut UmadClient, transaction: u32) -> Result<usize> {
    let mut reply = next(port)?;
    let mut count = 0;
    loop {
        let known = low_transaction(&reply.mad) == Some(transaction);
        ensure!(known && reply.header.status == 0, "{:?}", reply.header);
        count += 1;
        port.wait(Duration::from_millis(200))?;
        if !port.take(&mut reply)? {
            return Ok(count);
        }
    }
}

fn next(port: &mut UmadClient) -> Result<Reply> {
    let deadline = Instant::now() + Duration::from_secs(40);
    let mut reply = Reply::default();
    while !port.take(&mut reply)? {
        ensure!(Instant::now() < deadline, "no answer");
        port.wait(Duration::from_millis(100))?;
    }
    Ok(reply)
}

/// What the daemon says of its first port.
struct Counted {
    received: u64,
    /// Answered, refused, dropped or given to the slow lane.
    accounted: u64,
}

/// The counters when they stay as they are, and there are as many requests.
fn settled(process: &str, log: &str, least: u64) -> Result<Counted> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut before = counted(process, log)?;
    loop {
        let now = counted(process, log)?;
        if now.received == before.received && now.received >= least {
            return Ok(now);
        }
        ensure!(
            Instant::now() < deadline,
            "{} of {least} requests came",
            now.received
        );
        before = now;
    }
}

/// Asks it to log them.
fn counted(process: &str, log: &str) -> Result<Counted> {
    let lines = || -> Result<Vec<String>> {
        let text = fs::read_to_string(log).context(log.to_owned())?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole
            .lines()
            .filter(|line| line.contains("counters port=0"));
        Ok(lines.map(str::to_owned).collect())
    };
    let before = lines()?.len();
    let kill = Command::new("kill").args(["-USR1", process]).status()?;
    ensure!(kill.success(), "the daemon is gone");
    let deadline = Instant::now() + Duration::from_secs(20);
    let line = loop {
        if let Some(line) = lines()?.into_iter().nth(before) {
            break line;
        }
        ensure!(Instant::now() < deadline, "the daemon logs no counters");
        std::thread::sleep(Duration::from_millis(20));
    };
    let value = |name: &str| {
        let word = line.split_whitespace().find_map(|word| {
            let (known, value) = word.split_once('=')?;
            (known == name).then_some(value)
        });
        word.with_context(|| format!("no {name} in {line}"))
    };
    let sum = |name: &str| -> Result<u64> {
        let numbers = value(name)?.split(',').map(|reason| {
            let (_, number) = reason.split_once(':').unwrap_or(("", reason));
            Ok(number.parse::<u64>()?)
        });
        numbers.sum()
    };
    Ok(Counted {
        received: sum("received")?,
        accounted: sum("answered")? + sum("refused")? + sum("dropped")? + sum("punted")?,
    })
}

const IN_FLIGHT: usize = 1000;
const FLOOD: u32 = 3000;
const ODD: u32 = 2000;
