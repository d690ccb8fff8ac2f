//! The kernel's RMPP, as receiver and as sender.

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_port::umad::{Options, Umad, UmadClient};
use sa_port::{AskError, ClientPort, Destination, MadPort, Patience, Reply, ReplyPort, Verdict};
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::MAD_SIZE;

use super::receive::{self, Answer};
use super::records::{RECORD, asked_for, expect_records, fill, reply_head, request};
use super::weather::Weather;

/// The reply to a request by the kernel's receiver, if one comes.
pub(super) fn ask(
    device: &str,
    to: Destination,
    mad: &[u8; MAD_SIZE],
    timeout: Duration,
    retries: u32,
) -> Result<Option<Vec<u8>>> {
    let mut port = UmadClient::open(Some(device), Some(1))?;
    let mut reply = Reply::default();
    match port.ask(&to, mad, Patience { timeout, retries }, &mut reply) {
        Ok(()) => Ok(Some(reply.mad)),
        Err(AskError::TimedOut { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Asks, and is gone when there was `enough` of the reply.
pub(super) fn ask_and_leave(
    device: &str,
    to: Destination,
    mad: &[u8; MAD_SIZE],
    enough: impl Fn() -> bool,
) -> Result<()> {
    let mut port = UmadClient::open(Some(device), Some(1))?;
    let patience = Patience {
        timeout: Duration::from_secs(30),
        retries: 0,
    };
    ensure!(port.submit(&to, mad, patience)?, "no room for a request");
    let deadline = Instant::now() + patience.timeout;
    while !enough() {
        ensure!(Instant::now() < deadline, "no reply began");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Tables that the kernel segments for us, to our receiver.
pub(super) fn sends_to_us(server: &str, client: &str, to: Destination) -> Result<()> {
    let umad = Umad::open(&Options {
        device: Some(server.to_owned()),
        port: Some(1),
        ..Options::default()
    })?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&umad, &stop));
        let asked = ask_all(client, to);
        stop.store(true, Ordering::Relaxed);
        let served = serving
            .join()
            .ok()
            .context("the server's thread panicked")?;
        asked.and(served)
    })
}

fn ask_all(client: &str, to: Destination) -> Result<()> {
    for (name, weather, count) in RECEIVING {
        let began = Instant::now();
        let Answer { message, lost } = receive::ask(client, to, &request(count, 1), weather)?;
        expect_records(&message, count)?;
        let seconds = began.elapsed().as_secs_f32();
        println!(
            "ok   the kernel's sender, our receiver, {name}: {count} records, {seconds:.2} s, {lost} segments lost"
        );
    }
    receive::abort(client, to, &request(140_000, 1))?;
    let few = receive::ask(client, to, &request(100, 2), Weather::FINE)?;
    expect_records(&few.message, 100)?;
    println!("ok   our receiver aborts, and gets the next");
    Ok(())
}

fn serve(umad: &Umad, stop: &AtomicBool) -> Result<()> {
    serve_tables(umad, Box::new(umad.reply_port()), stop)
}

/// Answers requests by as many records as they ask for, until told to stop.
pub(in crate::guest) fn serve_tables(
    umad: &Umad,
    mut replies: Box<dyn ReplyPort>,
    stop: &AtomicBool,
) -> Result<()> {
    let mut port = umad.worker()?;
    while !stop.load(Ordering::Relaxed) {
        umad.wait_readable(Duration::from_millis(20))?;
        let asked = port.recv()?.to_vec();
        for slot in &asked {
            let mut reply = reply_head(&slot.mad)[..DATA_OFFSET].to_vec();
            let count = usize::try_from(asked_for(SaMad::from_bytes(&slot.mad)))?;
            reply.resize(reply.len() + count * RECORD, 0);
            let records = reply[DATA_OFFSET..].chunks_exact_mut(RECORD);
            (0..)
                .zip(records)
                .for_each(|(number, record)| fill(number, record));
            replies.reply(slot, &reply)?;
        }
        port.send(&vec![Verdict::Punted; asked.len()])?;
    }
    Ok(())
}

/// Ways on which the kernel's segments come to our receiver, and how many records. The kernel
/// waits two seconds for an acknowledgement.
const RECEIVING: [(&str, Weather, u32); 4] = [
    ("a large table", Weather::FINE, 40_000),
    (
        "segments lost",
        Weather {
            lose: 400,
            ..Weather::FINE
        },
        super::MANY,
    ),
    (
        "segments doubled",
        Weather {
            double: 5,
            ..Weather::FINE
        },
        super::MANY,
    ),
    (
        "slow acknowledgements",
        Weather {
            hold_acknowledgements: Duration::from_millis(200),
            ..Weather::FINE
        },
        640,
    ),
];
