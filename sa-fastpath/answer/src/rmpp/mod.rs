//! The reliable multi-packet protocol (RMPP) for transports that have none of their own.
//!
//! On umad the kernel does it. Over ibsim and the shared-memory ring a reply of more than one MAD
//! goes out through [`Senders`], and a request of more than one comes in through [`Receivers`].
//! Both are state machines without input, output or clock: packets and the time are passed in,
//! packets are handed out. Time is counted from any fixed start and never goes back.
//!
//! A double-sided exchange (GetMulti) is a receiver, whose message is answered by a sender; the
//! requester opens the sender's window by an acknowledgement of segment 0.
//!
//! Source: IBA vol. 1, 13.6; behaviour where the text leaves a choice as Linux `mad_rmpp.c`.
//!
//! One transfer, a table of 100 PathRecords (32 segments of 200 bytes, 6,400 in all), without loss:
//!
//! ```text
//!  sender                                receiver
//!  segment 1 (First, PayloadLength of all) ──>      window is 1 until something is acknowledged
//!                                        <── ACK 1, window up to 65
//!  segments 2 to 32 (32: Last, its own length) ──>
//!                                        <── ACK 32: delivered
//! ```
//!
//! A segment that is lost leaves the receiver silent; after two seconds the sender begins again
//! behind the last acknowledged one, three times without progress, and then aborts. Neither side
//! ever waits without an end: a transfer has a time in all, and places in [`Senders`] and
//! [`Receivers`] are bounded.
//!
//! It does not verify what it carries: records are bytes.

#![forbid(unsafe_code)]

mod packet;
mod receiver;
mod receivers;
mod sender;
mod senders;
mod source;

pub use packet::{
    Class, TransferId, acknowledgement, classify, is_part, is_single, turn_acknowledgement,
};
pub use receiver::{Allowance, Receiver, Step};
pub use receivers::{Arrival, Receivers};
pub use sender::{End, Poll, Sender, Timing};
pub use senders::{Refused, SenderLimits, Senders, Tally};
pub use source::{Bytes, Generated, Lost, Source};

/// Record bytes of one segment. Units: bytes.
pub const SEGMENT_DATA: usize = sa_wire::sa::DATA_SIZE;

/// MAD, RMPP and SA header together, repeated in every segment. Units: bytes.
pub const HEADERS: usize = sa_wire::sa::DATA_OFFSET;
