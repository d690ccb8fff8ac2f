//! A kernel with one port, an OpenSM, and MADs.

use core::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::RawFd;
use std::time::Duration;

use split_protocol::{Frame, HEADER_BYTES, MAD_BYTES, Packet};

use crate::mad::{PACKET_BYTES, at, number, set_field};
use crate::registration::{REGISTER, Registration};
use crate::split::{Kernel, Source, Split, Target};

/// OpenSM's umad file.
pub(super) const FILE: RawFd = 7;
/// The read agent's, where it is none that was returned.
pub(super) const READER: RawFd = 8;
pub(super) const UMAD: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) inside: RefCell<Inside>,
}

#[derive(Debug, Default)]
pub(super) struct Inside {
    /// By number.
    pub(super) agents: BTreeMap<u32, Registration>,
    /// On the file of its own.
    pub(super) reader: Option<Registration>,
    /// The gate lets it through.
    pub(super) through: Option<RawFd>,
    /// Files that are open besides OpenSM's.
    pub(super) open: Vec<RawFd>,
    /// Another process has the reads.
    pub(super) taken: bool,
    pub(super) now: Duration,
    pub(super) rung: BTreeMap<RawFd, bool>,
    pub(super) said: Vec<String>,
    /// For OpenSM's file.
    pub(super) queue: VecDeque<Vec<u8>>,
    /// For the read agent's.
    pub(super) reads: VecDeque<Vec<u8>>,
    /// What was sent, with the agent in the header.
    pub(super) sent: Vec<Vec<u8>>,
}

impl Kernel for Fake {
    fn open_again(&self, fd: RawFd) -> Result<RawFd, i32> {
        assert_eq!(fd, FILE);
        self.inside.borrow_mut().open.push(READER);
        Ok(READER)
    }

    fn are_of_one_device(&self, fd: RawFd, _: RawFd) -> bool {
        fd == FILE
    }

    fn close(&self, fd: RawFd) {
        let mut inside = self.inside.borrow_mut();
        let place = inside.open.iter().position(|open| *open == fd);
        inside.open.remove(place.expect("it is open"));
        assert_ne!(inside.through, Some(fd), "a gate would keep the file");
        if fd == READER {
            // A daemon that was lent it has it still: `taken` says so.
            inside.reader = None;
        }
    }

    fn register(&self, fd: RawFd, registration: &Registration) -> Result<u32, i32> {
        assert_eq!(fd, READER);
        let mut inside = self.inside.borrow_mut();
        if inside.taken {
            return Err(libc::EINVAL);
        }
        inside.reader = Some(*registration);
        Ok(READ_AGENT)
    }

    fn unregister(&self, fd: RawFd, agent: u32) -> Result<(), i32> {
        assert_eq!((fd, agent), (READER, READ_AGENT));
        let gone = self.inside.borrow_mut().reader.take();
        gone.map(drop).ok_or(libc::EINVAL)
    }

    fn gate(&self) -> Result<RawFd, i32> {
        Ok(99)
    }

    fn let_through(&self, gate: RawFd, fd: RawFd, lets: bool) {
        assert_eq!(gate, 99);
        self.inside.borrow_mut().through = lets.then_some(fd);
    }

    fn bell(&self) -> Result<RawFd, i32> {
        let mut inside = self.inside.borrow_mut();
        let fd = 100 + RawFd::try_from(inside.rung.len()).unwrap();
        inside.rung.insert(fd, false);
        Ok(fd)
    }

    fn ring(&self, bell: RawFd) {
        self.inside.borrow_mut().rung.insert(bell, true);
    }

    fn silence(&self, bell: RawFd) {
        self.inside.borrow_mut().rung.insert(bell, false);
    }

    fn now(&self) -> Duration {
        self.inside.borrow().now
    }

    fn say(&self, what: &str) {
        self.inside.borrow_mut().said.push(what.to_owned());
    }
}

pub(super) type Tested = Split<Fake>;

/// OpenSM's file and its agent for the SA.
pub(super) const OWN: (RawFd, u32) = (FILE, AGENT);
/// The read agent, of a response.
pub(super) const READS: (RawFd, u32) = (READER, READ_AGENT);

/// OpenSM's registration, of Get, Set, GetTable, GetMulti and Delete.
pub(super) fn registration() -> Registration {
    let mut bytes = [0; 40];
    let mask: u32 = 1 << 0x01 | 1 << 0x02 | 1 << 0x12 | 1 << 0x14 | 1 << 0x15;
    bytes[4..8].copy_from_slice(&mask.to_ne_bytes());
    bytes[21] = 3;
    bytes[22] = 2;
    bytes[26] = 1;
    Registration {
        request: REGISTER,
        length: 28,
        bytes,
    }
}

/// OpenSM with its agents for SMPs and the SA, as 0, 1 and 2.
pub(super) fn opensm() -> Tested {
    let split = Split::new(Fake::default());
    open(&split);
    split
}

pub(super) const AGENT: u32 = 2;
/// On its own file.
pub(super) const READ_AGENT: u32 = 0;

pub(super) fn open(split: &Tested) {
    split.prepare(0x0123_4567_89ab_cdef).unwrap();
    {
        let mut inside = split.kernel().inside.borrow_mut();
        for id in 0..=AGENT {
            inside.agents.insert(id, registration().without_reads());
        }
    }
    split.opened(FILE, UMAD, AGENT, &registration());
}

impl Split<Fake> {
    /// OpenSM has the reads: the agent is registered, and OpenSM reads what comes.
    pub(super) fn holds(&self) -> bool {
        let inside = self.kernel().inside.borrow();
        assert!(
            inside
                .reader
                .is_none_or(|it| it == registration().only_reads())
        );
        inside.reader.is_some() && inside.through == Some(READER)
    }

    /// Somebody is there for what comes: the agent is registered here or, `taken`, elsewhere.
    pub(super) fn is_registered(&self) -> bool {
        let inside = self.kernel().inside.borrow();
        inside.reader.is_some() || inside.taken
    }

    pub(super) fn set_taken(&self, taken: bool) {
        self.kernel().inside.borrow_mut().taken = taken;
    }

    pub(super) fn pass(&self, time: Duration) {
        self.kernel().inside.borrow_mut().now += time;
        self.work();
    }

    /// From the network, for an agent.
    pub(super) fn comes(&self, agent: u32, mut packet: Vec<u8>) {
        set_field(&mut packet, at::AGENT, &agent.to_ne_bytes());
        self.kernel().inside.borrow_mut().queue.push_back(packet);
    }

    /// A request that reads, from the network.
    pub(super) fn is_asked(&self, mut packet: Vec<u8>) {
        set_field(&mut packet, at::AGENT, &READ_AGENT.to_ne_bytes());
        self.kernel().inside.borrow_mut().reads.push_back(packet);
    }

    /// What OpenSM reads next, as it does it: poll, then read.
    pub(super) fn reads(&self) -> Option<Vec<u8>> {
        let kernel_has = !self.kernel().inside.borrow().queue.is_empty();
        let reader_has = {
            let inside = self.kernel().inside.borrow();
            inside.through.is_some() && !inside.reads.is_empty()
        };
        let arrived = self.has_arrived();
        assert_eq!(
            arrived,
            self.kernel().inside.borrow().rung[&self.arrivals()],
            "the bell rings exactly while something waits"
        );
        if !kernel_has && !arrived && !reader_has {
            return None;
        }
        self.polled(kernel_has, reader_has);
        let mut buffer = vec![0; PACKET_BYTES];
        match self.read(&mut buffer) {
            Source::Given(length) => buffer.truncate(length),
            Source::Kernel => {
                buffer = self.kernel().inside.borrow_mut().queue.pop_front()?;
            }
            Source::Reader(_) => {
                buffer = self.kernel().inside.borrow_mut().reads.pop_front()?;
                self.was_read(&mut buffer);
            }
            other => panic!("{other:?}"),
        }
        Some(buffer)
    }

    /// What OpenSM writes. Gives the file and the agent that it went out by, if it did.
    pub(super) fn writes(&self, mut packet: Vec<u8>) -> Option<(RawFd, u32)> {
        set_field(&mut packet, at::AGENT, &AGENT.to_ne_bytes());
        let (file, agent) = match self.write(&packet) {
            Target::Done => return None,
            Target::Kernel => OWN,
            Target::As(file, agent) => (file, agent),
        };
        set_field(&mut packet, at::AGENT, &agent.to_ne_bytes());
        let mut inside = self.kernel().inside.borrow_mut();
        assert!(file == FILE || inside.reader.is_some());
        inside.sent.push(packet);
        Some((file, agent))
    }

    /// Whether the daemon is still there.
    pub(super) fn is_listening(&self) -> bool {
        self.kernel().inside.borrow().said.is_empty()
    }

    /// All that the daemon hears now.
    pub(super) fn heard(&self) -> Vec<Frame> {
        core::iter::from_fn(|| self.next().unwrap()).collect()
    }
}

/// A MAD of the SA's from a LID.
pub(super) fn packet(method: u8, tid: u64, lid: u16) -> Vec<u8> {
    let mut packet = vec![0; PACKET_BYTES];
    set_field(&mut packet, at::LID, &lid.to_be_bytes());
    set_field(&mut packet, at::QPN, &1u32.to_be_bytes());
    let mad = &mut packet[HEADER_BYTES..];
    mad[..4].copy_from_slice(&[1, 3, 2, method]);
    mad[8..16].copy_from_slice(&tid.to_be_bytes());
    packet
}

pub(super) fn as_frame(packet: &[u8]) -> Packet {
    Packet {
        header: *packet.first_chunk::<HEADER_BYTES>().unwrap(),
        mad: *packet[HEADER_BYTES..].first_chunk::<MAD_BYTES>().unwrap(),
    }
}

/// OpenSM's response to what it has read, with more behind it.
pub(super) fn response(request: &[u8], records: &[u8]) -> Vec<u8> {
    let mut response = request[..HEADER_BYTES + 56].to_vec();
    response[HEADER_BYTES + 3] |= 0x80;
    response.extend(records);
    response
}

pub(super) fn agent(packet: &[u8]) -> u32 {
    number(packet, at::AGENT)
}

pub(super) fn tid(packet: &[u8]) -> u64 {
    u64::from_be_bytes(*packet[HEADER_BYTES + 8..].first_chunk().unwrap())
}
