//! The port without the daemon: each way to drive it, what it counts, how its methods get free.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_port::umad::{Trouble, Umad, UmadClient};
use sa_port::{ClientPort, Destination, Patience, PortStats, Reply, ReplyPort};
use sa_wire::umad::MAD_SIZE;

use super::super::rmpp::kernel::serve_tables;
use super::super::rmpp::records::{expect_records, request};
use super::asker::{flood, path};
use super::daemon::one;
use super::responder::{Responder, Way, open, options};
use super::{at, bad, lid_of};

pub(crate) fn run(server: &str, client: &str) -> Result<()> {
    let to = at(server)?;
    for way in Way::ALL {
        serves(way, server, client, to)?;
    }
    duplicates(server, client, to)?;
    released(server, client, to)
}

/// Each begins as soon as its predecessor is gone: so its methods were free.
fn serves(way: Way, server: &str, client: &str, to: Destination) -> Result<()> {
    let name = way.name();
    let umad = open(server)?;
    let taken = Umad::open(&options(server));
    let taken = taken.err().context("two owners of one method")?;
    ensure!(taken.trouble() == Trouble::Taken, "{taken}");
    let responder = Responder::start(way.port(&umad)?)?;
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let from = lid_of(&port)?.get();
    let get = |number| path(from, to.lid.get(), number);
    let tally = flood(&mut port, to, IN_FLIGHT, IN_FLIGHT as usize, get)?;
    ensure!(tally.answered == IN_FLIGHT as usize, "{name}: {tally:?}");
    println!("ok   {name}: {IN_FLIGHT} requests in flight, none lost");

    let (sending, long) = bad::long_requests(client, to)?;
    let long = u64::try_from(long)?;
    ensure!(long > 0, "the kernel sends no long request");
    wait_until("the long requests", || {
        responder.stats.snapshot().oversized >= long
    })?;
    drop(sending);
    one(&mut port, to, &get(1))?;
    println!("ok   {name}: {long} requests of more than one MAD are dropped, then a Get");
    responder.stop()
}

/// A requester that asks again while its table goes out: the kernel has it under way.
fn duplicates(server: &str, client: &str, to: Destination) -> Result<()> {
    let umad = open(server)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (given, stats) = slow_lane(&umad);
        let serving = scope.spawn(|| serve_tables(&umad, given, &stop));
        let asked = ask_again(client, to);
        stop.store(true, Ordering::Relaxed);
        let served = serving.join().ok().context("the server panicked")?;
        asked.and(served)?;
        let stats = stats.context("a reply port counts")?.snapshot();
        ensure!(stats.duplicates > 0 && stats.unsent == 0, "{stats:?}");
        println!(
            "ok   a table of {TABLE} records: {} sent, {} duplicates refused by the kernel and \
             counted",
            stats.sent, stats.duplicates
        );
        Ok(())
    })
}

/// The slow lane's handle and its counters.
fn slow_lane(umad: &Umad) -> (Box<dyn ReplyPort>, Option<Arc<PortStats>>) {
    let replies = umad.reply_port();
    let stats = replies.stats();
    (Box::new(replies), stats)
}

fn ask_again(client: &str, to: Destination) -> Result<()> {
    let mut port = UmadClient::open(Some(client), Some(1))?;
    let mut reply = Reply::default();
    let impatient = Patience {
        timeout: Duration::from_millis(50),
        retries: 600,
    };
    let mad: [u8; MAD_SIZE] = request(TABLE, 1);
    port.ask(&to, &mad, impatient, &mut reply)?;
    expect_records(&reply.mad, TABLE)
}

/// Methods that were given back are free at once, and end those who still have handles.
fn released(server: &str, client: &str, to: Destination) -> Result<()> {
    for way in Way::ALL {
        let umad = open(server)?;
        let responder = Responder::start(way.port(&umad)?)?;
        umad.release();
        let next = open(server)?;
        let ended = responder.ended()?;
        ensure!(
            ended.as_ref().is_err_and(|error| error.is_gone()),
            "{ended:?}"
        );
        let responder = Responder::start(way.port(&next)?)?;
        let mut port = UmadClient::open(Some(client), Some(1))?;
        let mad = path(lid_of(&port)?.get(), to.lid.get(), 1);
        one(&mut port, to, &mad)?;
        responder.stop()?;
    }
    println!("ok   released methods are free at once");
    Ok(())
}

pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        ensure!(Instant::now() < deadline, "{what}: not within 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

const IN_FLIGHT: u32 = 1000;
const TABLE: u32 = 8_000;
