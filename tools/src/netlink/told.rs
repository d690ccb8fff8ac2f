//! From an agent to the kernel: what becomes of the query that waits, or of the message.
//!
//! A kernel reads a reply only against the query that it waits with, so each message is played in
//! four steps: make a kernel, have it ask what the corpus names (`pending_query`), give it the
//! message, and let its time run out. A query that still waits then ends as the kernel ends it,
//! with the SA or an error.
//!
//! The sequence number is the kernel's own and differs from that of the recording: it is written
//! into the message before it is played, except in the one vector that is about a wrong number.

use std::time::{Duration, Instant};

use kernel_emulator::{Asked, Flavour, Kernel, Next, Queue, Sender};
use sa_wire::netlink_ls::{DEFAULT_TIMEOUT_MS, Heard, PathUse, Resolve, heard};
use sa_wire::{Gid, ServiceId};

use super::replay::Played;
use super::vector::Vector;
use crate::failure::{Failure, Outcome};

/// Errors: the message is no hexadecimal text; the corpus names a query that is not known.
///
/// Time is made up: nothing is waited for, whatever the query's timeout.
pub(super) fn play(vector: &Vector, flavour: Flavour) -> Outcome<Played> {
    let mut datagram = vector.bytes()?;
    let now = Instant::now();
    let mut kernel = Kernel::new(flavour, Queue::default());
    let waiting = match vector.pending_query {
        Some(kind) => Some(ask(&mut kernel, query(vector, kind)?, now)?),
        None => None,
    };
    // Recordings carry the number that some kernel used; here a query has the emulated one's.
    if let Some(seq) = waiting.filter(|_| vector.name != WRONG_SEQ) {
        patch(&mut datagram, seq);
    }
    // What the kernel asked is not what it says to the message.
    // Drained: an acknowledgement that is looked for below must be one to the message.
    while kernel.listener().receive() != Next::Nothing {}
    kernel.receive(&datagram, Sender::Privileged, now);
    // Past the deadline of the query: what was not answered by now is finished by the kernel
    // itself.
    kernel.tick(now + Duration::from_millis(DEFAULT_TIMEOUT_MS.into()));
    let outcome = match (waiting, kernel.finished()) {
        (Some(_), Some(finished)) => finished.outcome.word().to_owned(),
        _ => acknowledgement(kernel.listener()),
    };
    Ok(Played {
        outcome,
        parsed: None,
    })
}

/// Has the kernel ask. Returns the number of its query. Errors: it did not ask, which a kernel with
/// a listener always does.
fn ask(kernel: &mut Kernel<Queue>, query: Resolve<'_>, now: Instant) -> Outcome<u32> {
    match kernel.ask(&query, now) {
        Asked::Waiting(seq) => Ok(seq),
        other => Err(Failure::failed(format!(
            "the emulated kernel did not ask: {other:?}"
        ))),
    }
}

/// The queries that the corpus names by number.
///
/// Three kinds, as the corpus has no more; each differs in what the kernel may accept as reply.
fn query(vector: &Vector, kind: u8) -> Outcome<Resolve<'static>> {
    let plain = Resolve {
        seq: 0,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::Unidirectional,
        service_id: None,
        dgid: Some(Gid(
            0xfe80_0000_0000_0000_0002_c903_0000_0100_u128.to_be_bytes()
        )),
        sgid: Some(Gid(
            0xfe80_0000_0000_0000_0002_c903_0000_0003_u128.to_be_bytes()
        )),
        tclass: None,
        pkey: Some(0xffff),
        qos_class: None,
    };
    let service_id = Some(ServiceId(0x0106_1234));
    match kind {
        0 => Ok(plain),
        1 => Ok(Resolve {
            path_use: PathUse::All,
            ..plain
        }),
        2 => Ok(Resolve {
            path_use: PathUse::All,
            service_id,
            qos_class: Some(0x123),
            ..plain
        }),
        _ => Err(Failure::failed(format!(
            "{}: \"pending_query\" is {kind}; known are 0 (UNIDIRECTIONAL), 1 (ALL) and 2 (ALL \
             with service id and QoS class)",
            vector.id
        ))),
    }
}

/// nlmsg_seq of the first message.
///
/// Where a datagram has several messages, only the first is a reply to the query.
fn patch(datagram: &mut [u8], seq: u32) {
    let place = datagram
        .get_mut(8..)
        .and_then(|rest| rest.first_chunk_mut::<4>());
    if let Some(place) = place {
        *place = seq.to_ne_bytes();
    }
}

/// What the kernel said to the message, if it did.
///
/// `ack 0` is consent, other numbers are errno values, negative as netlink has them. `no-ack`:
/// silence, as to a message that did not ask for an acknowledgement.
fn acknowledgement(listener: &mut Queue) -> String {
    while let Next::Datagram(bytes) = listener.receive() {
        for message in heard(&bytes) {
            if let Heard::Ack { code, .. } = message {
                return format!("ack {code}");
            }
        }
    }
    "no-ack".to_owned()
}

/// The one vector whose number belongs to no query.
// By name, not by what it is about: its message looks like any other.
const WRONG_SEQ: &str = "rep-wrong-seq";
