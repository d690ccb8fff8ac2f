//! The kernel's local service from both ends: any bytes to the agent and to the emulated kernel.
//!
//! The first byte of an input chooses: the rest as it lies there, or choices that make messages,
//! most of them nearly right. Panics when a reply is missing, too many, wrong, or would fail a query.

use std::time::{Duration, Instant};

use kernel_emulator::{Asked, Flavour, Kernel, Next, Outcome, Queue, Sender};
use sa_local::agent::{Agent, Reason, Records, Replies, Resolver, Verdict};
use sa_wire::Gid;
use sa_wire::netlink_ls::{IpResolve, PathFlags, PathUse, Resolve, rfc_v2};
use sa_wire::path_record::PathRecord;

use super::choices::Choices;

/// What inputs did, for counting.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Requests heard.
    pub requests: u64,
    /// Replies with a record or a GID.
    pub granted: u64,
    /// Refusals.
    pub refused: u64,
    /// Queries of the emulated kernel that took records.
    pub accepted: u64,
    /// Those that hostile replies made fail.
    pub failed: u64,
}

/// An agent and an emulated kernel that live from input to input.
pub struct World {
    agent: Agent<Fickle>,
    kernels: [Kernel<Queue>; 3],
    replies: Replies,
    datagram: Vec<u8>,
    now: Instant,
    done: Done,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// Nothing heard yet.
    pub fn new() -> Self {
        Self {
            agent: Agent::new(Fickle),
            kernels: Flavour::ALL.map(|flavour| Kernel::new(flavour, Queue::new(16))),
            replies: Replies::new(),
            datagram: Vec::new(),
            now: Instant::now(),
            done: Done::default(),
        }
    }

    /// What inputs did so far.
    pub fn done(&self) -> Done {
        self.done
    }

    /// Plays one input.
    pub fn play(&mut self, input: &[u8]) {
        let mut choices = Choices::new(input);
        let first = choices.byte();
        self.datagram.clear();
        if first & 1 == 0 {
            while !choices.is_over() && self.datagram.len() < 600 {
                message(&mut choices, &mut self.datagram);
            }
        } else {
            self.datagram
                .extend_from_slice(input.get(1..).unwrap_or(&[]));
        }
        let sender = u32::from(first & 0xf0 == 0xf0);
        self.hear(sender);
        self.tell(usize::from(first >> 1) % 3);
    }

    /// To the agent.
    fn hear(&mut self, sender: u32) {
        self.replies.clear();
        self.agent.turn(&self.datagram, sender, &mut self.replies);
        let mut replies = self.replies.messages();
        for request in requests(&self.datagram).filter(|_| sender == 0) {
            let reply = replies
                .next()
                .unwrap_or_else(|| panic!("silence: {:02x?}", self.datagram));
            assert_eq!(
                (&reply[4..6], &reply[8..12]),
                (&request[4..6], &request[8..12])
            );
            self.done.requests += 1;
            match (half(reply, 6), reply.len(), half(reply, 4)) {
                (0x100, 16, _) => self.done.refused += 1,
                (0, 92 | 168 | 244, 0x1000) | (0, 36, 0x1002) => self.done.granted += 1,
                other => panic!("{other:x?}: {reply:02x?} to {request:02x?}"),
            }
        }
        assert_eq!(replies.next(), None, "{:02x?}", self.datagram);
    }

    /// To the kernel, where two queries wait; what the agent said to the same bytes too.
    fn tell(&mut self, kernel: usize) {
        let kernel = &mut self.kernels[kernel];
        while kernel.listener().receive() != Next::Nothing {}
        kernel.continue_after(0);
        for path_use in [PathUse::All, PathUse::Unidirectional] {
            let query = Resolve { path_use, ..QUERY };
            assert!(matches!(kernel.ask(&query, self.now), Asked::Waiting(_)));
        }
        kernel.receive(&self.datagram, Sender::Privileged, self.now);
        let hostile = self.datagram.len();
        kernel.receive(self.replies.as_bytes(), Sender::Privileged, self.now);
        self.now += Duration::from_secs(3600);
        kernel.tick(self.now);
        let mut ended = 0;
        while let Some(finished) = kernel.finished() {
            ended += 1;
            match finished.outcome {
                Outcome::Accepted(taken) => {
                    assert!((1..=3).contains(&taken.records().len()));
                    self.done.accepted += 1;
                }
                Outcome::FailedEio | Outcome::FailedRoute => {
                    assert!(hostile > 0);
                    self.done.failed += 1;
                }
                _ => {}
            }
        }
        assert_eq!((ended, kernel.waiting()), (2, 0), "{:02x?}", self.datagram);
        assert!((100..=200_000).contains(&kernel.timeout_ms()));
    }
}

/// Any bytes as messages of RFC v2; what is read is written and read again, equal.
pub fn rfc(input: &[u8]) -> u64 {
    let mut count = 0;
    for message in rfc_v2::read(input) {
        let Ok((head, items)) = message else { continue };
        let items: Vec<_> = items.map_while(Result::ok).collect();
        let mut room = vec![0; 16 + input.len() + 4 * items.len()];
        let length = rfc_v2::write(&mut room, head, &items).expect("as long as it was");
        let mut again = rfc_v2::read(&room[..length]);
        let (same, read) = again.next().expect("a message").expect("a good one");
        assert_eq!(same, head);
        assert_eq!(
            read.map(|item| item.expect("a good item"))
                .collect::<Vec<_>>(),
            items
        );
        assert!(again.next().is_none());
        count += 1;
    }
    count
}

/// Makes an input of [`rfc`] that is nearly right.
pub fn rfc_message(input: &[u8], out: &mut Vec<u8>) {
    let mut choices = Choices::new(input);
    let start = out.len();
    let kind = choices.pick(&[0x1000, 0x1000, 0x1001, 0x1002]);
    let flags = choices.pick(&[1, 0x100, 0x200, 0x300]);
    header(out, kind, flags, choices.word());
    for _ in 0..choices.byte() % 4 {
        let (kind, flags, length) = match choices.byte() % 7 {
            0 => (0, u32::from(choices.byte() % 4), 0),
            1 => (
                1,
                4 | u32::from(choices.byte() % 4),
                usize::from(choices.byte() % 20),
            ),
            2 => (1, 8 | u32::from(choices.byte() % 4), 4),
            3 => (1, 16 | u32::from(choices.byte() % 4), 16),
            4 => (2, u32::from(choices.byte() % 64), 64),
            5 => (2, 64 | u32::from(choices.byte() % 64), 64),
            _ => (3, choices.word(), 0),
        };
        let mut payload = flags.to_ne_bytes().to_vec();
        payload.extend((0..length).map(|_| choices.byte()));
        attribute(out, kind, &payload, &mut choices);
    }
    close(out, start, &mut choices);
}

/// Grants by the last byte of the DGID, also what it should not.
struct Fickle;

impl Resolver for Fickle {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        let [.., last] = question.dgid.expect("a destination").0;
        assert!(question.port > 0 && question.device.len() <= 64);
        for _ in 0..last % 5 {
            let flags = match last & 0x40 {
                0 => PathFlags::for_main(question.path_use),
                _ => PathFlags(last.into()),
            };
            let _ = records.push(flags, PathRecord::default());
        }
        if last & 0x80 == 0 {
            Verdict::Resolved
        } else {
            Verdict::Unresolved(Reason::NoPath)
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        if question.ifindex & 1 == 0 {
            Ok(Gid([9; 16]))
        } else {
            Err(Reason::UnknownAddress)
        }
    }
}

const QUERY: Resolve<'static> = Resolve {
    seq: 0,
    device: b"mlx5_0",
    port: 1,
    path_use: PathUse::All,
    service_id: None,
    dgid: Some(Gid([1; 16])),
    sgid: Some(Gid([2; 16])),
    tclass: None,
    pkey: Some(0xffff),
    qos_class: None,
};

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Whole messages of the local service with NLM_F_REQUEST, found without the code under test.
fn requests(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        loop {
            let length = u32::from_ne_bytes(*rest.first_chunk::<4>()?) as usize;
            if rest.len() < 16 || length < 16 || length > rest.len() {
                return None;
            }
            let message = &rest[..length];
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            if half(message, 4) >> 10 == 4 && half(message, 6) & 1 == 1 {
                return Some(message);
            }
        }
    })
}

/// One message, most often a right one.
fn message(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    let kind = match choices.byte() {
        0..=150 => 0x1000,
        151..=190 => 0x1002,
        191..=220 => 0x1001,
        221..=235 => 0x1003,
        236..=245 => choices.pick(&[0, 1, 2, 3, 0x1400, 0x0800]),
        _ => choices.half(),
    };
    let is_request = choices.byte() < 170;
    let flags = match choices.byte() {
        0..=200 => u16::from(is_request),
        201..=230 => u16::from(is_request) | 0x100,
        _ => choices.half(),
    };
    header(out, kind, flags, u32::from(choices.byte() % 4));
    match (kind, is_request) {
        (0x1000, true) => {
            family_header(choices, out);
            let mut dgid = [1; 16];
            dgid[15] = choices.byte();
            if !choices.hits(30) {
                attribute(out, 4, &dgid, choices);
            }
        }
        (0x1002, true) => {
            out.extend(choices.word().to_ne_bytes());
            if !choices.hits(30) {
                attribute(out, 9, &[10, 0, 0, choices.byte()], choices);
            }
        }
        _ => {}
    }
    for _ in 0..choices.byte() % 7 {
        let right = if is_request {
            choices.pick(&[3, 5, 6, 7, 8, 8, 5, 7, 40, 4, 9, 1])
        } else {
            choices.byte() % 3
        };
        let mut payload = [0; 72];
        let length = LENGTHS.get(usize::from(right)).copied().unwrap_or(4);
        for byte in payload[..length.min(20)].iter_mut() {
            *byte = choices.byte();
        }
        let length = if choices.hits(5) {
            usize::from(choices.byte() % 73)
        } else {
            length
        };
        attribute(out, u16::from(right), &payload[..length], choices);
    }
    if choices.hits(8) {
        out.extend([choices.byte(), 0][..usize::from(choices.byte() % 3)].iter());
    }
    close(out, start, choices);
}

/// Of payloads, by attribute type.
const LENGTHS: [usize; 11] = [4, 72, 4, 8, 16, 16, 1, 2, 2, 4, 16];

fn family_header(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let name = if choices.hits(20) { [b'd'; 64] } else { NAME };
    out.extend_from_slice(&name);
    out.push(if choices.hits(10) { 0 } else { 1 });
    out.push(if choices.hits(10) {
        choices.byte()
    } else {
        choices.byte() % 3
    });
    out.extend([0, 0]);
    if choices.hits(10) {
        out.truncate(out.len() - usize::from(choices.byte() % 68));
    }
}

const NAME: [u8; 64] = {
    let mut name = [0; 64];
    name[0] = b'q';
    name
};

fn header(out: &mut Vec<u8>, kind: u16, flags: u16, seq: u32) {
    out.extend([0; 4]);
    out.extend(kind.to_ne_bytes());
    out.extend(flags.to_ne_bytes());
    out.extend(seq.to_ne_bytes());
    out.extend([0; 4]);
}

fn attribute(out: &mut Vec<u8>, kind: u16, payload: &[u8], choices: &mut Choices<'_>) {
    let right = u16::try_from(payload.len() + 4).unwrap_or(u16::MAX);
    let length = if choices.hits(6) {
        choices.half() % 100
    } else {
        right
    };
    let bits = if choices.hits(20) {
        choices.half() & 0xe000
    } else {
        0
    };
    let kind = if choices.hits(6) {
        choices.half()
    } else {
        kind | bits
    };
    out.extend(length.to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend_from_slice(payload);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Fills in nlmsg_len.
fn close(out: &mut Vec<u8>, start: usize, choices: &mut Choices<'_>) {
    let right = u32::try_from(out.len() - start).unwrap_or(0);
    let length = if choices.hits(4) {
        u32::from(choices.half() % 300)
    } else {
        right
    };
    out[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
}
