//! A requester that puts segments together by itself.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sa_answer::rmpp::{Allowance, Arrival, Class, Receivers, classify, is_part, is_single};
use sa_port::Destination;
use sa_port::umad::{Options, RawPort, UmadClient};
use sa_wire::mad::method::RESPONSE_BIT;
use sa_wire::rmpp::{RmppHeader, flag, packet_type, status};
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot};

use super::weather::{Way, Weather};
use super::{kernel, records};

/// What came, and what was lost of it on the way.
pub(super) struct Answer {
    pub(super) message: Vec<u8>,
    pub(super) lost: u64,
}

/// Asks, and acknowledges until the reply is whole. Errors: it does not become whole.
pub(super) fn ask(
    device: &str,
    to: Destination,
    mad: &[u8; MAD_SIZE],
    weather: Weather,
) -> Result<Answer> {
    let mut way = submit(device, to, mad, weather)?;
    let began = Instant::now();
    let mut receivers = Receivers::new(4, Allowance::for_messages_of(64 << 20));
    let (mut slot, mut out) = (Slot::EMPTY, Slot::EMPTY);
    let mut segments = 0;
    while began.elapsed() < PATIENCE {
        while way.receive(&mut slot)? {
            let mad = SaMad::from_bytes(&slot.mad);
            if !is_part(mad) && !is_single(mad) || classify(mad) == Class::Control {
                continue;
            }
            segments += 1;
            let arrival = receivers.receive(&slot, began.elapsed(), &mut out);
            if arrival == Arrival::Quiet {
                continue;
            }
            std::thread::sleep(weather.hold_acknowledgements);
            way.send(&out, Duration::ZERO)?;
            if let Arrival::Message(message) = arrival {
                return Ok(Answer {
                    message,
                    lost: way.lost,
                });
            }
        }
        way.wait(PAUSE)?;
    }
    bail!(
        "no reply in {} s, after {segments} segments",
        PATIENCE.as_secs()
    )
}

/// Gives up in the middle, and says so: the kernel must stop sending.
pub(super) fn abort(device: &str, to: Destination, mad: &[u8; MAD_SIZE]) -> Result<()> {
    let mut way = submit(device, to, mad, Weather::FINE)?;
    let began = Instant::now();
    let mut receivers = Receivers::new(4, Allowance::for_messages_of(64 << 20));
    let (mut slot, mut out) = (Slot::EMPTY, Slot::EMPTY);
    let (mut segments, mut behind) = (0, 0);
    let mut aborted: Option<Instant> = None;
    // Longer than the kernel waits before it sends again.
    while aborted.is_none_or(|at| at.elapsed() < Duration::from_secs(3)) {
        ensure!(began.elapsed() < PATIENCE, "{segments} segments came");
        while way.receive(&mut slot)? {
            if classify(SaMad::from_bytes(&slot.mad)) != Class::Segment {
                continue;
            }
            if aborted.is_some() {
                behind += 1;
                continue;
            }
            segments += 1;
            if segments == ENOUGH {
                way.send(&refusal(&slot), Duration::ZERO)?;
                aborted = Some(Instant::now());
            } else if receivers.receive(&slot, began.elapsed(), &mut out) == Arrival::Answer {
                way.send(&out, Duration::ZERO)?;
            }
        }
        way.wait(PAUSE)?;
    }
    ensure!(
        behind <= WINDOW,
        "{behind} segments after an ABORT, {WINDOW} may have been on their way"
    );
    Ok(())
}

/// The largest table of the subnet from OpenSM, whose kernel segments it; the same by both kinds of
/// receiver.
pub(super) fn from_opensm(device: &str) -> Result<()> {
    let to = UmadClient::open(Some(device), Some(1))?.sa();
    let to = to.context("no SM")?;
    let mad = records::request(0, 3);
    let whole = kernel::ask(device, to, &mad, PATIENCE, 0)?;
    let mut whole = whole.context("OpenSM gave no table")?;
    let count = (whole.len() - sa_wire::sa::DATA_OFFSET) / records::RECORD;
    ensure!(count > 5000, "a table of {count} records is not large");
    let began = Instant::now();
    let mut ours = ask(device, to, &mad, Weather::FINE)?.message;
    let seconds = began.elapsed().as_secs_f32();
    for message in [&mut whole, &mut ours] {
        // The transaction is the transport's.
        message[8..16].fill(0);
    }
    ensure!(whole == ours, "the same table is another by our receiver");
    println!("ok   OpenSM's table, our receiver: {count} records, {seconds:.2} s");
    Ok(())
}

fn submit(device: &str, to: Destination, mad: &[u8; MAD_SIZE], weather: Weather) -> Result<Way> {
    let port = RawPort::open(&Options {
        device: Some(device.to_owned()),
        port: Some(1),
        methods: Vec::new(),
    })?;
    let mut way = Way::new(port, weather);
    let mut slot = Slot::EMPTY;
    slot.header.lid = to.lid.get().into();
    slot.header.qpn = to.qpn.into();
    slot.header.sl = to.sl.get();
    slot.mad = *mad;
    way.send(&slot, PATIENCE)?;
    Ok(way)
}

/// An ABORT for the sender of a segment.
fn refusal(segment: &Slot) -> Slot {
    let mut slot = *segment;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.method &= !RESPONSE_BIT;
    mad.rmpp = RmppHeader::data(flag::ACTIVE, 0, 0);
    mad.rmpp.packet_type = packet_type::ABORT;
    mad.rmpp.status = status::TIME_TOO_LONG;
    slot
}

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// In the middle of a table. Units: segments.
const ENOUGH: u64 = 500;
/// A kernel's receiver grants it, and so does ours. Units: segments.
const WINDOW: u64 = 64;
