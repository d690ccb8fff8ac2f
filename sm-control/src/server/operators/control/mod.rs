//! The control socket: one JSON object per line in, one per line out.
//!
//! Whoever may connect may ask for the status. What changes something is for root and the daemon's
//! user, as the kernel says who it is that asks.

mod connection;
mod orders;
mod socket;
mod status;

use std::future::Future;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;

use crossbeam_channel::Sender;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tracing::warn;

use super::admin::{Seats, rest};
use super::board::Board;
pub(in crate::server) use socket::Socket;

/// Connections at a time of those who may only ask; the oldest go for newer ones.
const ASKERS: usize = 64;

/// The same of those who may command; they have their own, so that nobody can keep them out.
const COMMANDERS: usize = 16;

/// All of them.
pub(in crate::server) const CONNECTIONS: usize = ASKERS + COMMANDERS;

/// What the main thread is to do, and where the answer goes.
pub(in crate::server) struct Command {
    pub(in crate::server) order: Order,
    /// Process and user that ask.
    pub(in crate::server) by: Peer,
    pub(in crate::server) reply: oneshot::Sender<Result<Value, Refusal>>,
}

/// What can be ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Order {
    /// Read the sources again.
    Reload,
    /// Return to the snapshot before.
    Rollback,
}

/// Who is at the other end, as the kernel says it.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Peer {
    /// 0 where it cannot be known.
    pub(in crate::server) pid: i32,
    pub(in crate::server) uid: u32,
    /// It is root or the daemon's own user.
    may_command: bool,
}

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Refusal {
    /// For programs.
    code: &'static str,
    /// For people.
    words: String,
}

impl Refusal {
    fn new(code: &'static str, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { code, words }
    }

    /// It was tried, and failed.
    pub(in crate::server) fn failed(words: impl Into<String>) -> Self {
        Self::new("failed", words)
    }
}

/// What a reply says. Shape: an object.
fn in_json(answer: Result<Value, Refusal>) -> Value {
    match answer {
        Ok(Value::Object(fields)) => {
            let mut all = serde_json::Map::new();
            all.insert("ok".to_owned(), Value::Bool(true));
            all.extend(fields);
            Value::Object(all)
        }
        Ok(other) => json!({"ok": true, "value": other}),
        Err(Refusal { code, words }) => json!({"ok": false, "code": code, "error": words}),
    }
}

/// What connections share.
pub(in crate::server) struct Desk {
    board: Arc<Board>,
    commands: Sender<Command>,
    /// The daemon's user.
    own_uid: u32,
}

impl Desk {
    /// Commands go to `commands`. Errors: the system's, when it does not say who we are.
    pub(in crate::server) fn new(
        board: Arc<Board>,
        commands: Sender<Command>,
    ) -> std::io::Result<Self> {
        let (ours, _other) = UnixStream::pair()?;
        let own_uid = ours.peer_cred()?.uid();
        Ok(Self {
            board,
            commands,
            own_uid,
        })
    }

    /// Who has connected. Errors: the system's.
    fn peer(&self, stream: &UnixStream) -> std::io::Result<Peer> {
        let credentials = stream.peer_cred()?;
        let uid = credentials.uid();
        Ok(Peer {
            pid: credentials.pid().unwrap_or(0),
            uid,
            may_command: uid == 0 || uid == self.own_uid,
        })
    }
}

/// Takes connections for ever. Errors: the listener cannot be used.
pub(in crate::server) fn serve(
    listener: StdListener,
    desk: Desk,
) -> std::io::Result<impl Future<Output = ()>> {
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let desk = Arc::new(desk);
    Ok(async move {
        let mut askers = Seats::new(ASKERS);
        let mut commanders = Seats::new(COMMANDERS);
        loop {
            let accepted = listener.accept().await;
            match accepted.and_then(|(stream, _)| Ok((desk.peer(&stream)?, stream))) {
                Ok((peer, stream)) => {
                    let seats = match peer.may_command {
                        true => &mut commanders,
                        false => &mut askers,
                    };
                    let task = connection::serve(stream, peer, Arc::clone(&desk));
                    seats.admit(task, &desk.board.counts.connections_cut);
                }
                Err(error) => {
                    warn!("control socket: cannot take a connection: {error}");
                    rest().await;
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_say_whether_it_was_done() {
        let done = in_json(Ok(json!({"epoch": 3})));
        assert_eq!(done.to_string(), r#"{"ok":true,"epoch":3}"#);
        let not = in_json(Err(Refusal::failed("no")));
        assert_eq!(
            not.to_string(),
            r#"{"ok":false,"code":"failed","error":"no"}"#
        );
    }
}
