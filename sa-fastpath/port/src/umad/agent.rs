//! One open umad file with one agent: packets in, packets out.

use core::sync::atomic::{AtomicBool, Ordering};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use sa_wire::mad::{MGMT_CLASS_SA, SA_CLASS_VERSION};
use sa_wire::rmpp::RMPP_VERSION;
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::IntoBytes;

use super::error::UmadError;
use super::find::{self, PortName};
use super::sys::{self, RawFile, Read, RegisterAgent};
use crate::PortError;

/// An agent of class Subnet Administration on a file of its own.
///
/// Shared by the workers that read its file; each call is one system call, and none waits. Dropping
/// the last reference gives the methods back.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Never blocks; its reads and writes are whole packets.
    file: RawFile,
    id: u32,
    layout: Layout,
    /// What stands behind the file.
    peer: Peer,
    /// The methods were given back.
    released: AtomicBool,
}

/// What stands behind an agent's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    /// An agent of this process.
    Kernel,
    /// The same; the agent is another program's to give up.
    Lender,
    /// A preload library that plays the kernel's part.
    Simulator,
    /// Who holds the other end of a packet socket.
    Packets,
}

/// Where the MAD starts in a packet.
///
/// Decided once, when the file is opened; the rest of this crate has 64 bytes in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// 64 bytes of header.
    WithPkey,
    /// 56 bytes: a kernel that refused ENABLE_PKEY, or the simulator, which grants it and goes on
    /// without (it asks libibumad, and nobody opened a port through that).
    WithoutPkey,
}

impl Agent {
    /// Opens the port's umad file and registers for `methods`; without any, the agent only sends,
    /// and receives the answers to its own requests. Errors: [`UmadError`].
    pub(super) fn open(port: &PortName, methods: &[u8]) -> Result<Self, UmadError> {
        Self::open_with(port, methods, RMPP_VERSION)
    }

    /// As [`Agent::open`], without the kernel's RMPP: segments come and go as they are.
    pub(super) fn open_raw(port: &PortName, methods: &[u8]) -> Result<Self, UmadError> {
        Self::open_with(port, methods, 0)
    }

    /// For another class than the SA's, to ask only. Errors: [`UmadError`].
    pub(super) fn open_class(port: &PortName, class: u8, version: u8) -> Result<Self, UmadError> {
        Self::open_as(port, &[], registration(class, version, &[]))
    }

    /// For SMPs by directed route, with their requests; and the number of a second agent on the same
    /// file, for those by LID. Errors: [`UmadError`].
    pub(super) fn open_smp(port: &PortName, methods: &[u8]) -> Result<(Self, u32), UmadError> {
        let [by_lid, directed] = SMP_CLASSES;
        let agent = Self::open_as(port, methods, registration(directed, 1, methods))?;
        let mut second = registration(by_lid, 1, methods);
        let outcome = agent.file.register(&mut second);
        outcome.map_err(|errno| UmadError::Register {
            port: port.to_string(),
            class: by_lid,
            methods: methods.to_vec(),
            errno,
        })?;
        if agent.is_simulated() {
            // As in `shelter`: an SM's port gets what is for the SA, too.
            let mut other = registration(MGMT_CLASS_SA, SA_CLASS_VERSION, &[]);
            let _ = agent.file.register(&mut other);
        }
        Ok((agent, second.id))
    }

    /// As [`Agent::open`], with or without the kernel's RMPP.
    fn open_with(port: &PortName, methods: &[u8], rmpp_version: u8) -> Result<Self, UmadError> {
        let mut request = registration(MGMT_CLASS_SA, SA_CLASS_VERSION, methods);
        request.rmpp_version = rmpp_version;
        Self::open_as(port, methods, request)
    }

    /// Opens the file and registers with what `request` says. Errors: [`UmadError`].
    fn open_as(
        port: &PortName,
        methods: &[u8],
        mut request: RegisterAgent,
    ) -> Result<Self, UmadError> {
        let file = find::open_device(port.path())?;
        let simulated = file.is_simulated();
        let layout = match file.enable_pkey() {
            Ok(()) if !simulated => Layout::WithPkey,
            Ok(()) | Err(_) => Layout::WithoutPkey,
        };
        file.register(&mut request)
            .map_err(|errno| UmadError::Register {
                port: port.to_string(),
                class: request.mgmt_class,
                methods: methods.to_vec(),
                errno,
            })?;
        let agent = Self {
            file,
            id: request.id,
            layout,
            peer: if simulated {
                Peer::Simulator
            } else {
                Peer::Kernel
            },
            released: AtomicBool::new(false),
        };
        agent.shelter();
        Ok(agent)
    }

    /// One that another program has registered, with headers of 64 bytes, on a file that does not
    /// block.
    pub(super) fn lent(file: OwnedFd, id: u32) -> Self {
        Self {
            file: RawFile::from(file),
            id,
            layout: Layout::WithPkey,
            peer: Peer::Lender,
            released: AtomicBool::new(false),
        }
    }

    /// An agent without a kernel behind it. Errors: the errno.
    pub(super) fn over_packets(packets: OwnedFd) -> Result<Self, i32> {
        let file = RawFile::from(packets);
        file.set_nonblocking()?;
        Ok(Self {
            file,
            id: 0,
            layout: Layout::WithPkey,
            peer: Peer::Packets,
            released: AtomicBool::new(false),
        })
    }

    /// The simulator's receiver crashes on a MAD of a class that nobody registered, such as a
    /// trap: give it the subnet management classes as well. They are dropped on arrival.
    fn shelter(&self) {
        if self.is_simulated() {
            for class in SMP_CLASSES {
                // A refusal leaves things as they were.
                let _ = self.file.register(&mut registration(class, 1, &[]));
            }
        }
    }

    /// The agent's number, which packets to send carry.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// True under a preload library.
    pub(super) fn is_simulated(&self) -> bool {
        self.peer == Peer::Simulator
    }

    /// Gives the methods back, once: from now on others can register for them, and reads say that
    /// the port is gone as soon as nothing waits any more.
    pub(super) fn release(&self) {
        // Relaxed: nothing else is read through the flag.
        let is_own = matches!(self.peer, Peer::Kernel | Peer::Simulator);
        if !self.released.swap(true, Ordering::Relaxed) && is_own {
            // A device that is gone has taken its agents along.
            let _ = self.file.unregister(self.id);
        }
    }

    /// The file, for who drives it otherwise than by read and write.
    #[cfg(feature = "uring")]
    pub(crate) fn file(&self) -> &RawFile {
        &self.file
    }

    /// Reads one packet; bytes of the slot behind it are zero. `Read::Bytes` counts MAD bytes.
    /// On `Read::TooSmall` the header's length tells what [`Agent::read_long`] needs.
    pub(super) fn read(&self, slot: &mut Slot) -> Read {
        let shift = self.layout.shift();
        let Some(buffer) = slot.as_mut_bytes().get_mut(shift..) else {
            return Read::Nothing;
        };
        let outcome = self.file.read(buffer);
        let got = match outcome {
            // No device reads so; a socket whose far end was closed does.
            Read::Bytes(0) => return Read::Failed(libc::EPIPE),
            Read::Bytes(got) => got,
            Read::TooSmall => buffer.len(),
            Read::Nothing if self.is_released() => return Read::Failed(libc::ENODEV),
            Read::Nothing | Read::Failed(_) => return outcome,
        };
        if let Some(rest) = buffer.get_mut(got..) {
            rest.fill(0);
        }
        self.layout.spread(slot.as_mut_bytes());
        match outcome {
            Read::Bytes(got) => got
                .checked_sub(self.layout.header())
                .map_or(Read::Bytes(0), Read::Bytes),
            other => other,
        }
    }

    /// Reads one packet of any length into `message`, header and all, in the 64-byte layout.
    /// `need` is a hint. `Read::Bytes` counts MAD bytes.
    ///
    /// This is the one place on the receive side that may allocate: a packet that is left in the
    /// queue would block every other one behind it.
    pub(super) fn read_long(&self, message: &mut Vec<u8>, need: usize) -> Read {
        let shift = self.layout.shift();
        message.clear();
        if message.try_reserve(need.max(MAD_SIZE) + HEADER).is_err() {
            return Read::Failed(libc::ENOMEM);
        }
        message.resize(need.max(MAD_SIZE) + HEADER, 0);
        let outcome = message
            .get_mut(shift..)
            .map_or(Read::Nothing, |buffer| self.file.read(buffer));
        let Read::Bytes(got) = outcome else {
            message.clear();
            return outcome;
        };
        self.layout.spread(message);
        message.truncate(got + shift);
        Read::Bytes(message.len().saturating_sub(HEADER))
    }

    /// Sends the slot's header and the first `mad_len` bytes of its MAD. The slot's header is
    /// spent. Errors: the errno.
    pub(super) fn write(&self, slot: &mut Slot, mad_len: usize) -> Result<(), i32> {
        slot.header.agent = self.id;
        self.write_packet(slot.as_mut_bytes(), mad_len)
    }

    /// As [`Agent::write`], for a packet of any length in the 64-byte layout.
    pub(super) fn write_packet(&self, packet: &mut [u8], mad_len: usize) -> Result<(), i32> {
        self.layout.gather(packet);
        let end = (HEADER + mad_len).min(packet.len());
        let sendable = packet.get(self.layout.shift()..end).unwrap_or_default();
        self.file.write(sendable)
    }

    /// Waits until a packet can be read, at most `timeout`.
    pub(super) fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        sys::poll_readable(self.file.as_raw_fd(), timeout)
            .map_err(|errno| PortError::of("waiting for umad", errno))
    }

    /// True once the methods were given back.
    pub(crate) fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }
}

impl Drop for Agent {
    /// Before the file is closed: a ring of the kernel's may hold on to it for a while.
    fn drop(&mut self) {
        self.release();
    }
}

impl Layout {
    /// Length of the header before the MAD. Units: bytes.
    const fn header(self) -> usize {
        match self {
            Self::WithPkey => HEADER,
            Self::WithoutPkey => SHORT_HEADER,
        }
    }

    /// Where in a 64-byte layout the packet starts, so that the MAD is in its place.
    const fn shift(self) -> usize {
        HEADER - self.header()
    }

    /// After a read: moves a short header to the front.
    fn spread(self, packet: &mut [u8]) {
        if self == Self::WithoutPkey
            && let Some(header) = packet.first_chunk_mut::<HEADER>()
        {
            header.copy_within(HEADER - SHORT_HEADER.., 0);
            if let Some(tail) = header.get_mut(SHORT_HEADER..) {
                tail.fill(0);
            }
        }
    }

    /// Before a write: the reverse.
    fn gather(self, packet: &mut [u8]) {
        if self == Self::WithoutPkey
            && let Some(header) = packet.first_chunk_mut::<HEADER>()
        {
            header.copy_within(..SHORT_HEADER, HEADER - SHORT_HEADER);
        }
    }
}

/// What the kernel is asked for: class, version, and the methods that are to come here.
fn registration(class: u8, version: u8, methods: &[u8]) -> RegisterAgent {
    RegisterAgent {
        id: 0,
        method_mask: method_mask(methods),
        qpn: u8::from(!SMP_CLASSES.contains(&class)),
        mgmt_class: class,
        class_version: version,
        oui: [0; 3],
        rmpp_version: if class == MGMT_CLASS_SA {
            RMPP_VERSION
        } else {
            0
        },
    }
}

/// A bitmap of the kernel's `unsigned long`s, bit n for method n.
fn method_mask(methods: &[u8]) -> [u8; 16] {
    /// The kernel's `unsigned long`.
    const LONG: usize = size_of::<libc::c_ulong>();
    let mut mask = [0u8; 16];
    for method in methods.iter().filter(|method| **method < 128) {
        let byte = usize::from(*method) / 8;
        let byte = if cfg!(target_endian = "little") {
            byte
        } else {
            byte / LONG * LONG + (LONG - 1 - byte % LONG)
        };
        if let Some(place) = mask.get_mut(byte) {
            *place |= 1 << (method % 8);
        }
    }
    mask
}

/// The header that slots have, with P_Key index. Units: bytes.
const HEADER: usize = size_of::<UmadHeader>();
/// The header of old interfaces, without P_Key index. Units: bytes.
const SHORT_HEADER: usize = 56;
/// Subnet management by LID, and by directed route.
const SMP_CLASSES: [u8; 2] = [0x01, 0x81];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_header_survives_both_moves() {
        let mut packet: Vec<u8> = (0..96).collect();
        let mad = packet[64..].to_vec();
        Layout::WithoutPkey.gather(&mut packet);
        assert_eq!(packet[8..64], (0..56).collect::<Vec<u8>>()[..]);
        Layout::WithoutPkey.spread(&mut packet);
        assert_eq!(packet[..56], (0..56).collect::<Vec<u8>>()[..]);
        assert_eq!(packet[56..64], [0; 8]);
        assert_eq!(packet[64..], mad);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn methods_become_bits() {
        let mask = u128::from_le_bytes(method_mask(&[0x01, 0x12, 0x14]));
        assert_eq!(mask, 1 << 1 | 1 << 0x12 | 1 << 0x14);
    }
}
