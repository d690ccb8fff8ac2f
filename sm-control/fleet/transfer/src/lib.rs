//! How a generation travels: names of bytes, patches, the directory that keeps them, and HTTP
//! between hosts.
//!
//! ```text
//!  leader, relay                                                     relay, follower
//!  Shelf ── blobs, packed, patches                                   Shelf
//!    │                                                                 ^ unpacked, digest compared, synced, renamed
//!  serve ── GET announcement  (waits for news: a long poll) ─────────> fetch::Upstream::news
//!        ── GET blob | patch  (Range, 64 at once, not too slow) ─────> fetch::Upstream::download
//!        ── GET root          (who may sign, with its signatures) ───> fetch::Upstream::root
//! ```
//!
//! Nothing here judges an announcement: its bytes are opaque, and a blob is what its digest says.
//! So a relay, a plain web server or a directory that somebody else fills can hand out blobs, and
//! nobody has to trust it. What may be answered from a blob, and for how long, is `sa-fleet`'s to
//! say.
//!
//! Limits are everywhere where others decide how much comes: bytes of a packed blob, of what it
//! unpacks to, of transfers at once, of connections, of time.

#![forbid(unsafe_code)]

pub mod clocks;
pub mod fetch;
pub mod packed;
pub mod roots;
pub mod serve;
pub mod shelf;
