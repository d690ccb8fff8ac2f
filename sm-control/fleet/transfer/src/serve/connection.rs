//! A connection, from its beginning to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fleet_tls::Tls;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::blobs::Sending;
use super::head::{self, NoHead};
use super::reply::{BAD_REQUEST, Refusal, Reply};
use super::wire::{self, Wire};
use super::{Desk, handshake};

/// Takes a connection on, or closes it where there are enough.
pub(super) fn admit(stream: TcpStream, from: SocketAddr, desk: &Arc<Desk>, tls: Option<&Tls>) {
    let open = desk.counts.connections.fetch_add(1, Ordering::Relaxed);
    let place = Place(Arc::clone(desk));
    if open >= desk.limits.connections {
        desk.counts.turned_away.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // Short answers to who waits: none is held back to fill a packet.
    let _ = stream.set_nodelay(true);
    // Two kinds of tasks: what waits without TLS is not as large as what waits with it.
    match tls.cloned() {
        None => drop(tokio::spawn(async move {
            until_closed(stream, None, &place.0).await;
        })),
        Some(tls) => drop(tokio::spawn(async move {
            // Gone when it is over: it is larger than what comes then.
            let accepting = Box::pin(handshake::accept(stream, from, &place.0, &tls));
            if let Some(stream) = accepting.await {
                let until = Instant::now() + place.0.limits.shown;
                until_closed(stream, Some(until), &place.0).await;
            }
        })),
    }
}

/// A connection that counts as open.
struct Place(Arc<Desk>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Until it is closed from there, breaks the protocol, takes something too slowly, or has had its
/// time.
async fn until_closed(mut stream: impl Wire, until: Option<Instant>, desk: &Desk) {
    let mut rest = Vec::new();
    loop {
        let head = match head::next(&mut stream, &mut rest, desk.limits.head).await {
            Ok(head) => head,
            Err(NoHead::Over) => return,
            Err(NoHead::Odd) => {
                desk.counts.refused.fetch_add(1, Ordering::Relaxed);
                let words = "this is no request that is taken here\n";
                let refusal = Refusal {
                    status: BAD_REQUEST,
                    words,
                };
                let _ = send(&mut stream, refusal.into_reply(), None, desk).await;
                return;
            }
        };
        let answer = tokio::select! {
            // Looked at first: an answer for nobody would take a place.
            biased;
            () = stream.gone(&mut rest) => return,
            answer = desk.answer(&head) => answer,
        };
        let (mut reply, sending) = answer;
        let is_last = until.is_some_and(|until| Instant::now() >= until);
        if is_last {
            reply = reply.closing();
        }
        let sent = send(&mut stream, reply, sending, desk).await;
        if sent.is_err() || !head.stays || is_last {
            return;
        }
    }
}

/// Errors: the connection is to be closed.
async fn send(
    stream: &mut impl Wire,
    reply: Reply,
    mut sending: Option<Sending>,
    desk: &Desk,
) -> io::Result<()> {
    let mut bytes = reply.into_bytes();
    let few = sending.as_mut().map(Sending::with_head).transpose()?;
    let few = few.unwrap_or_default();
    bytes.extend_from_slice(&few);
    let written = tokio::time::timeout(desk.limits.grace, wire::write(stream, &bytes));
    written
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    let count = few.len() as u64;
    desk.counts.bytes.fetch_add(count, Ordering::Relaxed);
    match sending {
        Some(sending) => sending.send(stream, desk).await,
        None => Ok(()),
    }
}
