//! The simulator's data protocol: one 288-byte datagram per MAD, no answer to it.
//!
//! The packet, as both sides have it in memory (offsets in bytes):
//!
//! ```text
//!   0  DLID 2, zeros 2    4  SLID 2, zeros 2     8  destination QP 4   12  source QP 4
//!  16  status 4, zeros 4  24  length of the MAD 8                      32  MAD 256
//! ```
//!
//! Numbers are big-endian. There is no acknowledgement: what the simulator cannot deliver it sends
//! back with status 110 (ETIMEDOUT).

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_wire::smp::{MGMT_CLASS_DIRECTED, PERMISSIVE_LID};
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::control::{AttachError, Control};
use crate::umad::sys;
use crate::{PortError, PortStats};

/// A MAD with its addresses. LIDs sit in the low two bytes of a little-endian host's words.
///
/// 288 bytes, in the simulator's own order of fields; what it calls padding is the upper half of
/// words that hold 16-bit LIDs.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Packet {
    /// Where the packet goes; of one that came, our own LID.
    dlid: U16,
    pad_dlid: [u8; 2],
    /// 0: the simulator fills in the client's LID. The permissive LID for a directed route.
    slid: U16,
    pad_slid: [u8; 2],
    /// The queue pair that it goes to: 1 for an SA.
    dqp: U32,
    /// The queue pair that it comes from; of what we send, 1 or the private one.
    sqp: U32,
    /// 110 on a packet of ours that could not be delivered.
    status: U32,
    pad_status: [u8; 4],
    /// What the receiver takes for the length of the MAD: 56 and the records for a table.
    length: U64,
    mad: [u8; MAD_SIZE],
}

/// A packet before its first use, all zero.
const BLANK: Packet = Packet {
    dlid: U16::ZERO,
    pad_dlid: [0; 2],
    slid: U16::ZERO,
    pad_slid: [0; 2],
    dqp: U32::ZERO,
    sqp: U32::ZERO,
    status: U32::ZERO,
    pad_status: [0; 4],
    length: U64::ZERO,
    mad: [0; MAD_SIZE],
};

/// A non-blocking data socket with room for what arrives while it sends.
///
/// The simulator is one thread and spins on a client whose socket is full. A client that waited
/// for it in turn would stop the fabric; so sending drains first whenever there is no room.
///
/// Each handle has a packet and a backlog of its own; the socket may be shared, and the slot of the
/// simulator is (`control`).
#[derive(Debug)]
pub(super) struct Data {
    /// Non-blocking, and connected to the simulator's socket for this client.
    socket: UnixDatagram,
    /// Keeps the simulator's place for this client taken.
    control: Arc<Control>,
    our_qp: u32,
    /// What was read last.
    packet: Box<Packet>,
    /// Arrivals that were taken in to make room, oldest first; at most [`BACKLOG`].
    backlog: VecDeque<Packet>,
    /// Of this handle; it counts what it has to drop itself.
    stats: Arc<PortStats>,
    /// Reads in a row that found nothing.
    quiet: u32,
    /// When the simulator was last seen alive, or looked at.
    looked: Instant,
}

/// How a send went; a lost simulator is an error instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    /// The simulator takes nothing at the moment.
    NoRoom,
}

impl Data {
    /// Over a socket that the simulator is connected to.
    pub(super) fn new(socket: UnixDatagram, control: Arc<Control>, private_qp: u32) -> Self {
        Self {
            socket,
            control,
            our_qp: if private_qp == 0 { QP1 } else { private_qp },
            packet: Box::new(BLANK),
            backlog: VecDeque::with_capacity(BACKLOG),
            stats: Arc::default(),
            quiet: 0,
            looked: Instant::now(),
        }
    }

    /// A second handle on the same socket.
    pub(super) fn share(&self) -> Result<Self, AttachError> {
        let what = "duplicating the data socket";
        let socket = self
            .socket
            .try_clone()
            .map_err(|cause| AttachError::Io { what, cause })?;
        Ok(Self::new(socket, Arc::clone(&self.control), self.our_qp))
    }

    /// What this handle had to drop, counted.
    pub(super) fn stats(&self) -> &Arc<PortStats> {
        &self.stats
    }

    /// The next packet, into `slot`. False when none waits.
    pub(super) fn receive(&mut self, slot: &mut Slot) -> Result<bool, PortError> {
        if let Some(packet) = self.backlog.pop_front() {
            packet.unpack(slot);
            return Ok(true);
        }
        if self.read()? {
            self.quiet = 0;
            self.packet.unpack(slot);
            return Ok(true);
        }
        self.quiet = self.quiet.wrapping_add(1);
        // The clock is looked at only now and then: a read that finds nothing is all that an idle
        // worker does.
        if self.quiet.is_multiple_of(QUIET) {
            self.look()?;
        }
        Ok(false)
    }

    /// A datagram socket does not say that its far end is gone until something is sent: now and
    /// then an empty datagram, which the simulator skips. Errors: [`PortError::Gone`].
    #[cold]
    #[inline(never)]
    fn look(&mut self) -> Result<(), PortError> {
        // At most twice a second, however often it is asked.
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        match self.socket.send(&[]) {
            // A full queue: it is there, if slow.
            Err(cause) if cause.kind() != ErrorKind::WouldBlock => {
                Err(lost("looking for the simulator", &cause))
            }
            _ => Ok(()),
        }
    }

    /// Sends the MAD of `slot` to the port in its header. Without room it waits for some, at most
    /// `patience`, and takes in what arrives meanwhile. Errors: [`PortError::Gone`].
    pub(super) fn send(
        &mut self,
        slot: &Slot,
        mad_len: usize,
        patience: Duration,
    ) -> Result<Sent, PortError> {
        let packet = Packet::pack(slot, mad_len, self.our_qp);
        match self.write(&packet)? {
            Sent::Yes => Ok(Sent::Yes),
            Sent::NoRoom => self.send_later(&packet, patience),
        }
    }

    /// The simulator may share a core with this thread: spinning would keep it from making room.
    #[cold]
    #[inline(never)]
    fn send_later(&mut self, packet: &Packet, patience: Duration) -> Result<Sent, PortError> {
        let deadline = Instant::now() + patience;
        loop {
            // First what has arrived: the simulator may be waiting for room in this socket.
            self.drain()?;
            if self.write(packet)? == Sent::Yes {
                return Ok(Sent::Yes);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Sent::NoRoom);
            }
            // Short: what arrives meanwhile is what the simulator may be waiting to get rid of.
            sys::poll_writable(self.socket.as_raw_fd(), left.min(GLANCE)).map_err(waiting)?;
        }
    }

    /// As [`Data::send`], but leaves arrivals to those who serve, and sleeps meanwhile.
    ///
    /// For the slow lane, which shares the socket with workers: what arrives is theirs.
    pub(super) fn send_waiting(
        &mut self,
        slot: &Slot,
        mad_len: usize,
        patience: Duration,
    ) -> Result<Sent, PortError> {
        let packet = Packet::pack(slot, mad_len, self.our_qp);
        let deadline = Instant::now() + patience;
        while self.write(&packet)? == Sent::NoRoom {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Sent::NoRoom);
            }
            sys::poll_writable(self.socket.as_raw_fd(), left).map_err(waiting)?;
        }
        Ok(Sent::Yes)
    }

    /// Waits until something can be received, at most `timeout`. True when something can.
    pub(super) fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        if !self.backlog.is_empty() {
            return Ok(true);
        }
        sys::poll_readable(self.socket.as_raw_fd(), timeout).map_err(waiting)
    }

    /// The same, and notices an end of the simulator meanwhile.
    pub(super) fn wait_watchfully(&mut self, timeout: Duration) -> Result<bool, PortError> {
        let some = self.wait_readable(timeout)?;
        if !some {
            self.look()?;
        }
        Ok(some)
    }

    /// Takes what has arrived into memory, so that the simulator can go on; what does not fit there
    /// is dropped and counted.
    fn drain(&mut self) -> Result<(), PortError> {
        while self.read()? {
            if self.backlog.len() < BACKLOG {
                self.backlog.push_back(*self.packet);
            } else {
                self.stats.overflow();
            }
        }
        Ok(())
    }

    /// Reads one datagram into `self.packet`; datagrams of another size are skipped. False when
    /// none waits.
    fn read(&mut self) -> Result<bool, PortError> {
        loop {
            match self.socket.recv(self.packet.as_mut_bytes()) {
                Ok(got) if got == size_of::<Packet>() => return Ok(true),
                // Not the simulator's; there is nothing to do with it.
                Ok(_) => {}
                Err(cause) => match cause.kind() {
                    ErrorKind::WouldBlock => return Ok(false),
                    ErrorKind::Interrupted => {}
                    _ => return Err(lost("receiving from the simulator", &cause)),
                },
            }
        }
    }

    /// Hands a packet over, without waiting. An interrupted call counts as no room, so that the
    /// caller tries again.
    fn write(&self, packet: &Packet) -> Result<Sent, PortError> {
        match self.socket.send(packet.as_bytes()) {
            Ok(_) => Ok(Sent::Yes),
            Err(cause) => match cause.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(Sent::NoRoom),
                // ENOBUFS: as good as a full queue.
                _ if cause.raw_os_error() == Some(libc::ENOBUFS) => Ok(Sent::NoRoom),
                _ => Err(lost("sending to the simulator", &cause)),
            },
        }
    }
}

impl Packet {
    /// To the port that `slot` names, from our queue pair.
    fn pack(slot: &Slot, mad_len: usize, our_qp: u32) -> Self {
        let [_, class, ..] = slot.mad;
        Self {
            dlid: slot.header.lid,
            // The simulator looks for the way back by this LID, unless it is the permissive one: then by the route.
            slid: match class {
                MGMT_CLASS_DIRECTED => PERMISSIVE_LID.into(),
                _ => U16::ZERO,
            },
            dqp: slot.header.qpn,
            sqp: U32::new(our_qp),
            length: U64::new(u64::try_from(mad_len.min(MAD_SIZE)).unwrap_or(0)),
            mad: slot.mad,
            ..BLANK
        }
    }

    /// The packet as a slot: the sender's address in the header, the MAD behind it.
    fn unpack(&self, slot: &mut Slot) {
        slot.header = UmadHeader {
            status: self.status.get(),
            length: HEADER + self.mad_len(),
            qpn: self.sqp,
            lid: self.slid,
            ..Slot::EMPTY.header
        };
        slot.mad = self.mad;
    }

    /// The length of the MAD as the sender said it, if it is one between a header and a whole MAD;
    /// else a whole one. Units: bytes.
    fn mad_len(&self) -> u32 {
        let said = u32::try_from(self.length.get()).ok();
        said.filter(|length| (24..=WHOLE).contains(length))
            .unwrap_or(WHOLE)
    }
}

/// The error of a socket call, which tells whether the simulator is gone.
fn lost(what: &'static str, cause: &std::io::Error) -> PortError {
    PortError::of(what, cause.raw_os_error().unwrap_or(0))
}

/// The error of waiting.
fn waiting(errno: i32) -> PortError {
    PortError::of("waiting for the simulator", errno)
}

/// The queue pair of an SA, and of all general services.
const QP1: u32 = 1;
/// Units: bytes of the umad header that a slot's length counts.
const HEADER: u32 = 64;
/// Units: bytes of a MAD.
const WHOLE: u32 = 256;
/// Far above what can be in flight: the simulator's sockets hold about ten packets each.
const BACKLOG: usize = 256;
/// Reads that find nothing between two looks at the clock; a power of two.
const QUIET: u32 = 1024;
/// Between two looks for the simulator.
const LOOK: Duration = Duration::from_millis(500);
/// Between looks at what has arrived while there is no room to send.
const GLANCE: Duration = Duration::from_millis(1);

const _: () = assert!(size_of::<Packet>() == 288);
