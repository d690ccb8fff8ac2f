//! The simulator's control protocol: one 80-byte message, one reply.
//!
//! A connection gets one of ten slots of the simulator, with a number that names the client's data
//! socket. It stays for as long as the control socket; whoever ends without saying so keeps the
//! slot until the simulator writes to it.

use core::fmt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Options, Role};

/// Types of control messages. Source: ibsim `include/ibsim.h`.
pub(super) mod kind {
    /// The simulator refuses.
    pub(in super::super) const ERROR: u32 = 0;
    /// A client wants a node, a queue pair and a role.
    pub(in super::super) const CONNECT: u32 = 1;
    /// A client leaves; its slot is free again.
    pub(in super::super) const DISCONNECT: u32 = 2;
    /// PortInfo of the client's port, as the SM set it.
    pub(in super::super) const GET_PORT_INFO: u32 = 8;
    /// The client becomes the node's manager, or stops being it.
    pub(in super::super) const SET_ISSM: u32 = 9;
}

/// Units: bytes of data in a message.
pub(super) const DATA: usize = 64;

/// A message; integers are the host's, since both ends are on one machine. Source: ibsim
/// `include/ibsim.h`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Message {
    magic: u32,
    client: u32,
    kind: u32,
    length: u32,
    data: [u8; DATA],
}

/// The data of [`kind::CONNECT`], both ways.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Connect {
    /// Our id, then the client's number.
    id: u32,
    qp: u32,
    is_manager: u32,
    node: [u8; NODE],
    unused: [u8; DATA - 12 - NODE],
}

/// A control connection, and with it the client's slot.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixDatagram,
    base: String,
    node: String,
    number: u32,
    /// The port has IsSM by this client.
    is_announced: AtomicBool,
}

impl Control {
    /// Connects; the data socket is bound, because the simulator connects to it, and connected.
    ///
    /// Errors: no simulator of that name; one that does not answer in time; no free slot, or no
    /// such node.
    ///
    /// Cost: one exchange, at most two seconds. The order of binding and connecting is the
    /// simulator's: it connects to the client's data socket when it answers.
    pub(super) fn connect(options: &Options) -> Result<(Self, UnixDatagram), AttachError> {
        let base = &options.base;
        let (id, socket, data) = bind_pair(base)?;
        let server = format!("{base}:ctl");
        socket
            .connect_addr(&address(&server)?)
            .map_err(|cause| match cause.kind() {
                io::ErrorKind::ConnectionRefused => AttachError::NoServer { base: base.clone() },
                _ => AttachError::Io {
                    what: "connecting to the simulator",
                    cause,
                },
            })?;
        socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(io_error("setting a time-out"))?;
        let mut control = Self {
            socket,
            base: base.clone(),
            node: String::new(),
            number: id,
            is_announced: AtomicBool::new(false),
        };
        let answer = control.exchange(kind::CONNECT, &connect_data(id, options)?);
        let answer = answer.map_err(|error| match error {
            AttachError::Refused { .. } => AttachError::NoSlot {
                base: base.clone(),
                node: options.node.clone(),
                role: options.role,
            },
            other => other,
        })?;
        let answer = Connect::read_from_bytes(&answer).map_err(|_| control.refused())?;
        control.number = answer.id;
        control.node = text(&answer.node);
        let server = address(&format!("{base}:out{}", answer.id))?;
        data.connect_addr(&server)
            .map_err(io_error("connecting the data socket"))?;
        data.set_nonblocking(true)
            .map_err(io_error("making the data socket non-blocking"))?;
        Ok((control, data))
    }

    /// The node's id, as the simulator spells it.
    pub(super) fn node(&self) -> &str {
        &self.node
    }

    /// Sets or clears IsSM of the node's port. Errors: as [`Self::exchange`].
    pub(super) fn announce(&self, is_manager: bool) -> Result<(), AttachError> {
        let mut data = [0; DATA];
        if let Some(place) = data.first_chunk_mut::<4>() {
            *place = u32::from(is_manager).to_ne_bytes();
        }
        self.exchange(kind::SET_ISSM, &data)?;
        // Relaxed: nothing else is read through the flag.
        self.is_announced.store(is_manager, Ordering::Relaxed);
        Ok(())
    }

    /// The number that the simulator gave the client, 0 to 9.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// One question, one reply; waits for it at most as long as the socket's time-out. Errors: the
    /// simulator is gone, silent, or refuses.
    pub(super) fn exchange(&self, kind: u32, data: &[u8; DATA]) -> Result<[u8; DATA], AttachError> {
        let length = u32::try_from(DATA).unwrap_or(0);
        let question = Message {
            magic: MAGIC,
            client: self.number,
            kind,
            length,
            data: *data,
        };
        self.socket
            .send(question.as_bytes())
            .map_err(|cause| self.lost(cause))?;
        let mut answer = Message {
            magic: 0,
            client: 0,
            kind: kind::ERROR,
            length: 0,
            data: *data,
        };
        let got = loop {
            match self.socket.recv(answer.as_mut_bytes()) {
                // A signal ends the wait of a socket with a time limit.
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                got => break got.map_err(|cause| self.lost(cause))?,
            }
        };
        if got == size_of::<Message>() && answer.magic == MAGIC && answer.kind != kind::ERROR {
            Ok(answer.data)
        } else {
            Err(self.refused())
        }
    }

    /// The simulator said no.
    fn refused(&self) -> AttachError {
        AttachError::Refused {
            base: self.base.clone(),
        }
    }

    /// The simulator is not there, or does not answer.
    fn lost(&self, cause: io::Error) -> AttachError {
        let base = self.base.clone();
        match cause.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::Silent { base },
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::NotConnected => AttachError::NoServer { base },
            _ => AttachError::Io {
                what: "asking the simulator",
                cause,
            },
        }
    }
}

impl Drop for Control {
    /// A slot that is not given back stays taken until the simulator next writes to it; there are
    /// ten. Nothing can be done about a failure.
    fn drop(&mut self) {
        let _ = self.socket.set_read_timeout(Some(FAREWELL));
        // A port that says it has an SM would be asked for it, again and again.
        if self.is_announced.load(Ordering::Relaxed) {
            let _ = self.announce(false);
        }
        let _ = self.exchange(kind::DISCONNECT, &[0; DATA]);
    }
}

/// Why a node cannot be attached to.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttachError {
    /// No simulator of that name runs.
    NoServer {
        /// What was looked for.
        base: String,
    },
    /// The simulator does not answer.
    Silent {
        /// The simulator's name, the first part of its sockets.
        base: String,
    },
    /// The simulator refused to attach the client.
    NoSlot {
        /// The simulator's name, the first part of its sockets.
        base: String,
        /// The node asked for.
        node: String,
        /// The role asked for.
        role: Role,
    },
    /// The simulator refused a question.
    Refused {
        /// The simulator's name, the first part of its sockets.
        base: String,
    },
    /// A name does not fit.
    TooLong {
        /// The name that is too long.
        name: String,
        /// The longest there is. Units: bytes.
        limit: usize,
    },
    /// The operating system refused.
    Io {
        /// What was attempted, in words for a log.
        what: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer { base } => write!(
                f,
                "no ibsim listens as \"{base}\": start `ibsim -n -s NET` with \
                 IBSIM_SOCKNAME={base}, in the same network namespace"
            ),
            Self::Silent { base } => write!(
                f,
                "ibsim \"{base}\" does not answer: was its network started (option -s, or its \
                 console command `start`)?"
            ),
            Self::NoSlot { base, node, role } => {
                write!(f, "ibsim \"{base}\" refuses a client on node \"{node}\": ")?;
                if *role == Role::Manager {
                    f.write_str("another manager (SM) sits on that node, ")?;
                }
                f.write_str("its net file has no node of that id, or its 10 client slots are taken")
            }
            Self::Refused { base } => write!(f, "ibsim \"{base}\" refused the question"),
            Self::TooLong { name, limit } => {
                write!(
                    f,
                    "\"{name}\" is over {limit} bytes, which is all that ibsim takes"
                )
            }
            Self::Io { what, cause } => write!(f, "{what}: {cause}"),
        }
    }
}

impl core::error::Error for AttachError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// Control and data socket under an id that nobody else uses. Libraries use their process id;
/// more clients of one process count up in the bits above.
fn bind_pair(base: &str) -> Result<(u32, UnixDatagram, UnixDatagram), AttachError> {
    for round in 0..ROUNDS {
        let id = std::process::id() & PID_MASK | round << PID_BITS;
        let control = UnixDatagram::bind_addr(&address(&format!("{base}:ctl{id}"))?);
        let data = UnixDatagram::bind_addr(&address(&format!("{base}:in{id}"))?);
        match (control, data) {
            (Ok(control), Ok(data)) => return Ok((id, control, data)),
            (Err(cause), _) | (_, Err(cause)) if cause.kind() != io::ErrorKind::AddrInUse => {
                return Err(AttachError::Io {
                    what: "binding a socket",
                    cause,
                });
            }
            _ => {}
        }
    }
    let cause = io::Error::from(io::ErrorKind::AddrInUse);
    Err(AttachError::Io {
        what: "binding a socket",
        cause,
    })
}

/// The simulator counts the NUL behind the text into the address.
fn address(name: &str) -> Result<SocketAddr, AttachError> {
    let with_nul = [name.as_bytes(), b"\0"].concat();
    SocketAddr::from_abstract_name(with_nul).map_err(|_| AttachError::TooLong {
        name: name.to_owned(),
        limit: ADDRESS,
    })
}

/// The data of a message that connects. Errors: the node's id is too long.
fn connect_data(id: u32, options: &Options) -> Result<[u8; DATA], AttachError> {
    let mut connect = Connect {
        id,
        qp: options.qp,
        is_manager: u32::from(options.role == Role::Manager),
        node: [0; NODE],
        unused: [0; DATA - 12 - NODE],
    };
    let name = options.node.as_bytes();
    // The last byte stays NUL.
    let place = connect
        .node
        .get_mut(..name.len())
        .filter(|place| place.len() < NODE);
    place
        .ok_or_else(|| AttachError::TooLong {
            name: options.node.clone(),
            limit: NODE - 1,
        })?
        .copy_from_slice(name);
    Ok(zerocopy::transmute!(connect))
}

/// Text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// An I/O error, with what was attempted.
fn io_error(what: &'static str) -> impl Fn(io::Error) -> AttachError {
    move |cause| AttachError::Io { what, cause }
}

/// The first word of every message.
const MAGIC: u32 = 0xdead_beef;
/// Room for a node's id. Units: bytes.
const NODE: usize = 32;
/// `sun_path` less the leading NUL and ours.
const ADDRESS: usize = 106;
/// Linux process ids have at most 22 bits.
const PID_BITS: u32 = 22;
/// The process number's part of a client's id.
const PID_MASK: u32 = (1 << PID_BITS) - 1;
/// The simulator prints ids as signed integers.
const ROUNDS: u32 = 1 << (31 - PID_BITS);
/// How long the simulator may take for an answer: it is one thread, and may have much to do.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long leaving may take: whoever leaves wants nothing any more.
const FAREWELL: Duration = Duration::from_millis(200);

const _: () = assert!(size_of::<Message>() == 80);
const _: () = assert!(size_of::<Connect>() == DATA);
