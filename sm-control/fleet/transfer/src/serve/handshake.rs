//! Handshakes of TLS, which strangers can begin: each within a time, so many at once, and of one
//! address a part of them.
//!
//! Who has connected and said nothing has no place among them, and who says something else than TLS
//! never gets one. Who waits for a place takes it in its order, so ten thousand hosts that all come
//! back at once come in one after another.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fleet_tls::{Refusal, Side, Tls};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Desk;

/// The first byte of TLS: a record of the handshake.
const HANDSHAKE: u8 = 22;

/// How long who is refused may take to read why.
const LINGER: Duration = Duration::from_millis(200);

/// Places.
#[derive(Debug)]
pub(super) struct Handshakes {
    all: Semaphore,
    of_one: usize,
    /// Those that have or want a place, and no others.
    addresses: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// A place.
struct Turn<'a> {
    handshakes: &'a Handshakes,
    address: IpAddr,
    /// Before it is looked whether it was the last one.
    own: Option<OwnedSemaphorePermit>,
    _place: Option<SemaphorePermit<'a>>,
}

impl Handshakes {
    /// So many at once, and so many of one address.
    pub(super) fn new(all: usize, of_one: usize) -> Self {
        Self {
            all: Semaphore::new(all),
            of_one,
            addresses: Mutex::default(),
        }
    }

    /// Waits for a place.
    async fn turn(&self, address: IpAddr) -> Turn<'_> {
        let of_address = {
            let mut addresses = self.lock();
            let place = addresses.entry(address);
            Arc::clone(place.or_insert_with(|| Arc::new(Semaphore::new(self.of_one))))
        };
        let mut turn = Turn {
            handshakes: self,
            address,
            own: None,
            _place: None,
        };
        // Neither is ever closed. Those of the address come first: who waits for them keeps no place of others.
        turn.own = of_address.acquire_owned().await.ok();
        turn._place = self.all.acquire().await.ok();
        turn
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Arc<Semaphore>>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.own = None;
        let mut addresses = self.handshakes.lock();
        // Whoever else has or wants one has the semaphore, too.
        let is_last = addresses
            .get(&self.address)
            .is_some_and(|it| Arc::strong_count(it) == 1);
        if is_last {
            addresses.remove(&self.address);
        }
    }
}

/// None: it is refused, which is counted, or it is gone.
pub(super) async fn accept(
    stream: TcpStream,
    from: SocketAddr,
    desk: &Desk,
    tls: &Tls,
) -> Option<Box<TlsStream<TcpStream>>> {
    let refused = |refusal| {
        tls.refused(Side::Client, &from, refusal);
        None
    };
    let limit = desk.limits.handshake;
    match timeout(limit, first_byte(&stream)).await {
        Ok(Ok(Some(HANDSHAKE))) => {}
        Ok(Ok(Some(_))) => return refused(Refusal::NoTls),
        Ok(Ok(None) | Err(_)) => return None,
        Err(_) => return refused(Refusal::Slow),
    }
    let turn = desk.handshakes.turn(from.ip()).await;
    // Who has given up meanwhile costs no more.
    if has_closed(&stream).await {
        return None;
    }
    let accepting = TlsAcceptor::from(tls.server()).accept(stream);
    let accepted = timeout(limit, accepting.into_fallible()).await;
    drop(turn);
    match accepted {
        Ok(Ok(stream)) => Some(Box::new(stream)),
        Ok(Err((why, stream))) => {
            if tls.failed(Side::Client, &from, &why).is_some() {
                let _ = timeout(LINGER, until_read(stream)).await;
            }
            None
        }
        Err(_) => refused(Refusal::Slow),
    }
}

/// Waits for it and leaves it there. None: it has closed.
async fn first_byte(stream: &TcpStream) -> io::Result<Option<u8>> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    Ok(first.first().copied().filter(|_| read > 0))
}

async fn has_closed(stream: &TcpStream) -> bool {
    let ready = stream.ready(Interest::READABLE).await;
    ready.is_ok_and(|ready| ready.is_read_closed())
}

/// Until the other side closes. A connection that is closed while something in it is unread is
/// broken off, and why it was refused, which has just been sent, is lost on the way.
async fn until_read(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut [0; 512]) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return,
        }
    }
}
