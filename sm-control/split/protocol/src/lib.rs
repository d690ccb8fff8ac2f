//! What the preload library in OpenSM and sapphired say to each other, over a Unix stream socket of
//! one host.
//!
//! sapphired connects and says [`Frame::Hello`]; the library answers [`Frame::Welcome`], or
//! [`Frame::Busy`] and hangs up. From then on either side speaks whenever it has something to say.
//! Whoever hangs up has given up all it held: the library takes the read methods back at once.
//!
//! The read methods belong to an agent on a umad file of its own. The library lends the daemon that
//! file ([`Frame::Lent`]): both have it open then, but only who has the methods reads from it, so
//! that they belong to somebody at every moment and whoever dies leaves them to the other. While
//! they are lent the daemon says [`Frame::Beat`] all the time; when it does not for
//! [`BEAT_PATIENCE`], the library reads itself again and says so.
//!
//! Shape: a length (u32), a kind (u8), then the body; numbers in the host's byte order. The length
//! counts kind and body.
//!
//! ```text
//!  sapphired                        library
//!  Hello(3) ─────────────────────>
//!           <───────────────────── Welcome: version, pid, umad 0, Held
//!  Lend     ─────────────────────>
//!           <───────────────────── Lent(agent), with the file
//!  Beat(1)  ─────────────────────>
//!           <───────────────────── Beat(1)           ten times a second
//!  Request(9, Get MCMemberRecord) >
//!           <───────────────────── Reply(9, MAD and records)
//!  (killed)                         reads itself again, at once
//! ```

#![forbid(unsafe_code)]

mod body;
mod carrier;
mod strange;
mod word;

use std::io::{self, Read, Write};
use std::time::Duration;

use body::{Body, append_packet, append_reads, kind};

pub use carrier::Carrier;
pub use strange::{ReceiveError, Strange};
pub use word::{WORD_BYTES, Word};

/// Version of this protocol. Both must be of one.
pub const VERSION: u32 = 3;

/// How often a daemon that has the methods, and answers, says so.
pub const BEAT: Duration = Duration::from_millis(100);

/// After so long without a word the library takes the methods back. A daemon that could not say it
/// for [`BEAT_LAPSE`] must take them for gone.
pub const BEAT_PATIENCE: Duration = Duration::from_millis(600);

/// See [`BEAT_PATIENCE`]; less, as it counts from when the word was sent.
pub const BEAT_LAPSE: Duration = Duration::from_millis(400);

/// Where the library listens, where nothing else is said.
pub const DEFAULT_SOCKET: &str = "/run/sapphire/opensm.sock";

/// Environment variable of OpenSM that names another socket.
pub const SOCKET_VARIABLE: &str = "SAPPHIRE_SPLIT_SOCKET";

/// QP of subscribers that are reached over this socket: a Report that OpenSM sends there is handed
/// to sapphired as [`Frame::Report`] and never leaves the host. No QP has this number.
pub const SUBSCRIBER_QP: u32 = 0x00ff_ff5a;

/// Bytes of a umad header with a P_Key index.
pub const HEADER_BYTES: usize = 64;

/// Bytes of a MAD.
pub const MAD_BYTES: usize = 256;

/// Longest frame: a table of a very large fabric. Units: bytes.
pub const LONGEST: u32 = 256 << 20;

/// Methods of the SA that read: what is split off. Get, GetTable, GetTraceTable, GetMulti.
pub const READ_METHODS: [u8; 4] = [0x01, 0x12, 0x13, 0x14];

/// A request as OpenSM is to read it from its umad file: where it comes from, and the MAD. The agent
/// id in the header is OpenSM's business and is overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// As of the kernel: `struct ib_user_mad_hdr`.
    pub header: [u8; HEADER_BYTES],
    /// One MAD.
    pub mad: [u8; MAD_BYTES],
}

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// From sapphired, first of all: its [`VERSION`].
    Hello(u32),
    /// From the library, in reply.
    Welcome(Welcome),
    /// From the library, in reply: another daemon is connected. Then it hangs up.
    Busy,
    /// From sapphired: lend me the read methods. Answered by [`Frame::Lent`], or by
    /// [`Frame::Reads`].
    Lend,
    /// From the library, with the file: what comes on it is the daemon's from now on, under the agent
    /// with this number.
    Lent(u32),
    /// From sapphired, with the file: it was lent by the OpenSM before this one. Answered by
    /// [`Frame::Reads`].
    Return(u32),
    /// From sapphired: it lives, and so do those who answer. A number of its choice. Answered by the
    /// same as long as the methods are lent.
    Beat(u64),
    /// From sapphired: take them back. Answered by [`Frame::Reads`].
    TakeBack,
    /// From the library: who has the read methods now. Comes unasked too.
    Reads(Reads),
    /// From sapphired: something OpenSM is to answer. Its transaction id may be anything; the
    /// reply has it again.
    Request(u64, Packet),
    /// From the library: OpenSM's whole reply to the request with this number, with as many records
    /// as there are behind the headers of one MAD.
    Reply(u64, Vec<u8>),
    /// From sapphired: something OpenSM does not answer, as the reply to a Report.
    Tell(Packet),
    /// From the library: a Report to [`SUBSCRIBER_QP`].
    Report(Packet),
    /// From the library: OpenSM has written to switches or ports. How many Set(SMP)s it has sent
    /// since it started; some of them are one frame, the last of them soon after it.
    Programmed(u64),
    /// From the library: SMPs that came back to OpenSM. How many were lost before these since the
    /// Welcome, as the daemon did not read; then the others, in the order in which OpenSM read them.
    Overheard(u64, Vec<Word>),
}

/// Who is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// [`VERSION`] of the library.
    pub version: u32,
    /// Process id of OpenSM.
    pub pid: u32,
    /// Device number N of the `umadN` that OpenSM serves the SA on; `u32::MAX` before it does.
    pub umad: u32,
    /// Who has the read methods.
    pub reads: Reads,
}

/// Who has the read methods on OpenSM's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// OpenSM.
    Held,
    /// The daemon: it has been lent them.
    Lent,
    /// OpenSM wants them and the kernel refuses, with this error number: somebody else has them.
    Refused(i32),
}

impl Frame {
    /// What it is called in messages; never what it holds, which may be megabytes.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Hello",
            Self::Welcome(_) => "Welcome",
            Self::Busy => "Busy",
            Self::Lend => "Lend",
            Self::Lent(_) => "Lent",
            Self::Return(_) => "Return",
            Self::Beat(_) => "Beat",
            Self::TakeBack => "TakeBack",
            Self::Reads(_) => "Reads",
            Self::Request(..) => "Request",
            Self::Reply(..) => "Reply",
            Self::Tell(_) => "Tell",
            Self::Report(_) => "Report",
            Self::Programmed(_) => "Programmed",
            Self::Overheard(..) => "Overheard",
        }
    }

    /// Writes it whole. Errors: those of the connection; longer than [`LONGEST`].
    pub fn send(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.bytes()?)
    }

    /// As it is sent. Errors: longer than [`LONGEST`].
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        // One buffer and one write: two writers of one socket must not mix their frames.
        let mut bytes = vec![0; 4];
        self.append(&mut bytes);
        let length = u32::try_from(bytes.len() - 4).ok();
        // Refused here and not by the other side, which would hang up.
        let length = length.filter(|length| *length <= LONGEST);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(place) = bytes.first_chunk_mut() {
            *place = length.to_ne_bytes();
        }
        Ok(bytes)
    }

    /// Kind and body, behind the place of the length.
    fn append(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Hello(version) => {
                bytes.push(kind::HELLO);
                bytes.extend(version.to_ne_bytes());
            }
            Self::Welcome(welcome) => {
                bytes.push(kind::WELCOME);
                for number in [welcome.version, welcome.pid, welcome.umad] {
                    bytes.extend(number.to_ne_bytes());
                }
                append_reads(bytes, welcome.reads);
            }
            Self::Busy => bytes.push(kind::BUSY),
            Self::Lend => bytes.push(kind::LEND),
            Self::Lent(agent) => {
                bytes.push(kind::LENT);
                bytes.extend(agent.to_ne_bytes());
            }
            Self::Return(agent) => {
                bytes.push(kind::RETURN);
                bytes.extend(agent.to_ne_bytes());
            }
            Self::Beat(number) => {
                bytes.push(kind::BEAT);
                bytes.extend(number.to_ne_bytes());
            }
            Self::TakeBack => bytes.push(kind::TAKE_BACK),
            Self::Reads(reads) => {
                bytes.push(kind::READS);
                append_reads(bytes, *reads);
            }
            Self::Request(number, packet) => {
                bytes.push(kind::REQUEST);
                bytes.extend(number.to_ne_bytes());
                append_packet(bytes, packet);
            }
            Self::Reply(number, mad) => {
                bytes.push(kind::REPLY);
                bytes.extend(number.to_ne_bytes());
                bytes.extend(mad);
            }
            Self::Tell(packet) => {
                bytes.push(kind::TELL);
                append_packet(bytes, packet);
            }
            Self::Report(packet) => {
                bytes.push(kind::REPORT);
                append_packet(bytes, packet);
            }
            Self::Programmed(count) => {
                bytes.push(kind::PROGRAMMED);
                bytes.extend(count.to_ne_bytes());
            }
            Self::Overheard(lost, words) => {
                bytes.push(kind::OVERHEARD);
                bytes.extend(lost.to_ne_bytes());
                words.iter().for_each(|word| word.append(bytes));
            }
        }
    }

    /// Waits for a frame. Errors: [`ReceiveError`].
    pub fn receive(from: &mut impl Read) -> Result<Self, ReceiveError> {
        let mut length = [0; 4];
        match from.read(&mut length)? {
            0 => return Err(ReceiveError::Closed),
            // A length of which a part has come is no end between two frames.
            got => from.read_exact(length.get_mut(got..).unwrap_or_default())?,
        }
        let length = u32::from_ne_bytes(length);
        // Judged before anything is read: a wrong length would be waited for without end.
        if !(1..=LONGEST).contains(&length) {
            return Err(ReceiveError::Strange(Strange::Length(length)));
        }
        // Grows with what really comes: a length is quickly claimed.
        let mut bytes = Vec::new();
        from.take(length.into()).read_to_end(&mut bytes)?;
        if u32::try_from(bytes.len()) != Ok(length) {
            return Err(ReceiveError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        Self::parse(&bytes).ok_or_else(|| {
            let kind = bytes.first().copied().unwrap_or_default();
            ReceiveError::Strange(Strange::Kind { kind, length })
        })
    }

    /// Of kind and body.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, body) = bytes.split_first()?;
        let mut body = Body(body);
        let frame = match *kind {
            kind::HELLO => Self::Hello(body.number()?),
            kind::WELCOME => Self::Welcome(Welcome {
                version: body.number()?,
                pid: body.number()?,
                umad: body.number()?,
                reads: body.reads()?,
            }),
            kind::BUSY => Self::Busy,
            kind::LEND => Self::Lend,
            kind::LENT => Self::Lent(body.number()?),
            kind::RETURN => Self::Return(body.number()?),
            kind::BEAT => Self::Beat(body.long()?),
            kind::TAKE_BACK => Self::TakeBack,
            kind::READS => Self::Reads(body.reads()?),
            kind::REQUEST => Self::Request(body.long()?, body.packet()?),
            kind::REPLY => Self::Reply(body.long()?, core::mem::take(&mut body.0).to_vec()),
            kind::TELL => Self::Tell(body.packet()?),
            kind::REPORT => Self::Report(body.packet()?),
            kind::PROGRAMMED => Self::Programmed(body.long()?),
            kind::OVERHEARD => Self::Overheard(body.long()?, body.words()?),
            // A kind of another version, or no frame at all.
            _ => return None,
        };
        // Longer than its kind: the other side means something else by it.
        body.0.is_empty().then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seed: u8) -> Packet {
        Packet {
            header: [seed; HEADER_BYTES],
            mad: [seed ^ 0xff; MAD_BYTES],
        }
    }

    fn word(seed: u8) -> Word {
        let mut packet = [seed; HEADER_BYTES + MAD_BYTES];
        for (byte, nth) in packet.iter_mut().zip((0..=u8::MAX).cycle()) {
            *byte ^= nth;
        }
        Word::of(&packet).unwrap()
    }

    fn all() -> Vec<Frame> {
        vec![
            Frame::Hello(VERSION),
            Frame::Welcome(Welcome {
                version: VERSION,
                pid: 77,
                umad: 3,
                reads: Reads::Refused(22),
            }),
            Frame::Busy,
            Frame::Lend,
            Frame::Lent(7),
            Frame::Return(9),
            Frame::Beat(1 << 50),
            Frame::TakeBack,
            Frame::Reads(Reads::Held),
            Frame::Reads(Reads::Lent),
            Frame::Request(1 << 40, packet(1)),
            Frame::Reply(5, vec![9; 100_000]),
            Frame::Reply(6, Vec::new()),
            Frame::Tell(packet(2)),
            Frame::Report(packet(3)),
            Frame::Programmed(u64::MAX - 1),
            Frame::Overheard(0, Vec::new()),
            Frame::Overheard(7, vec![word(4), word(9)]),
        ]
    }

    #[test]
    fn what_is_sent_is_received() {
        let frames = all();
        let mut wire = Vec::new();
        for frame in &frames {
            frame.send(&mut wire).unwrap();
        }
        let mut wire = wire.as_slice();
        for frame in frames {
            assert_eq!(Frame::receive(&mut wire).unwrap(), frame);
        }
        assert!(matches!(
            Frame::receive(&mut wire),
            Err(ReceiveError::Closed)
        ));
    }

    #[test]
    fn every_cut_and_every_other_length_is_an_error() {
        for frame in all() {
            let whole = frame.bytes().unwrap();
            for cut in 1..whole.len().min(600) {
                assert!(Frame::receive(&mut &whole[..cut]).is_err());
            }
            if matches!(frame, Frame::Reply(..)) {
                continue;
            }
            let mut longer = whole.clone();
            longer.push(0);
            let length = u32::try_from(longer.len() - 4).unwrap();
            longer[..4].copy_from_slice(&length.to_ne_bytes());
            assert!(matches!(
                Frame::receive(&mut longer.as_slice()),
                Err(ReceiveError::Strange(_))
            ));
        }
    }

    #[test]
    fn impossible_frames_are_refused() {
        for bytes in [
            &[0u8, 0, 0, 0][..],
            &u32::MAX.to_ne_bytes(),
            &[1, 0, 0, 0, 99],
        ] {
            let mut bytes = bytes;
            assert!(matches!(
                Frame::receive(&mut bytes),
                Err(ReceiveError::Strange(_))
            ));
        }
    }
}
