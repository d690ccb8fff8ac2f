//! A tap between the simulator and its clients: it repeats SMPs that get no answer, as a kernel does, and
//! tells when something was last written to the fabric.
//!
//! The simulator's preload library repeats nothing, so one datagram that is lost (which happens where
//! thousands are under way) leaves OpenSM waiting for ever. The tap has the simulator's socket names; the
//! simulator has others, and takes the tap for its clients.
//!
//! ```text
//!  client ── NAME:ctl ──> tap ── SIM:ctl ──> ibsim       connect, leave, .. as they are
//!  client ── NAME:outN ─> tap ── SIM:outN ─> ibsim       packets: requests are noted
//!         <──────────────     <─────────────             answers; the second answer to one request is dropped
//! ```
//!
//! A request that nobody answers is sent again after `PATIENCE`, `TRIES` times in all, and then handed
//! back with status 110, as the kernel does. Nothing here waits for a client: what it does not read is
//! queued, because the simulator spins on a client whose socket is full, and then nobody gets anything.
//!
//! Source of the protocol: ibsim `include/ibsim.h`; what is in a packet: `packet`.

mod packet;
mod passing;

use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use self::packet::Packet;
use self::passing::Passing;

/// From a request to its repetition. The kernel's is of that size with OpenSM's options.
const PATIENCE: Duration = Duration::from_millis(200);
/// Of a request, the first included.
const TRIES: u32 = 4;
/// Threads look so often whether the tap has ended.
const TICK: Duration = Duration::from_millis(50);
/// For the simulator to answer on its control socket; it may be busy with SMPs.
const CONTROL: Duration = Duration::from_secs(10);

/// A running tap; it ends when dropped.
#[derive(Debug)]
pub struct Tap {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What was written to the fabric so far: Sets of SMPs that were answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writes {
    /// How many.
    pub count: u64,
    /// Of these, those of PortInfo.
    pub ports: u64,
    /// Of these, those that ask a port to register again.
    pub registrations: u64,
    /// Sets of multicast forwarding tables.
    pub multicast: u64,
    /// When the last of them was answered.
    pub last: Option<Instant>,
}

/// What the threads have in common.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    writes: Mutex<Writes>,
    /// Requests that were sent again.
    repeated: AtomicU64,
    /// Every such request is lost once; 0: none.
    lose: AtomicU64,
    /// All ports say that they can register again, which those of the simulator do not.
    are_able: AtomicBool,
    /// Requests so far.
    requests: AtomicU64,
}

impl Tap {
    /// Listens under `name` for clients of the simulator that listens under `sim`. Errors: the names are
    /// taken.
    pub fn start(name: &str, sim: &str) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let control = bound(&format!("{name}:ctl"))?;
        control.set_read_timeout(Some(TICK))?;
        let desk = Desk {
            name: name.to_owned(),
            sim: sim.to_owned(),
            control,
            shared: Arc::clone(&shared),
            clients: BTreeMap::new(),
        };
        let threads = vec![thread::spawn(move || desk.run())];
        Ok(Self { shared, threads })
    }

    /// What was written so far, by whichever client.
    pub fn writes(&self) -> Writes {
        *lock(&self.shared.writes)
    }

    /// Requests so far, of whichever client; none more means that no SM is at work.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Requests that got no answer and were sent again.
    pub fn repeated(&self) -> u64 {
        self.shared.repeated.load(Ordering::Relaxed)
    }

    /// From now on all ports say that they can be asked to register again. The simulator's cannot, and take no notice when they are.
    pub fn ports_can_register_again(&self) {
        self.shared.are_able.store(true, Ordering::Relaxed);
    }

    /// From now on each such request is lost once on its way, as on a bad cable; 0: none.
    pub fn lose_every(&self, nth: u64) {
        self.shared.lose.store(nth, Ordering::Relaxed);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn wrote(&self, set: &Packet) {
        let mut writes = lock(&self.writes);
        writes.count += 1;
        writes.ports += u64::from(set.is_port_info());
        writes.registrations += u64::from(set.registers_again());
        writes.multicast += u64::from(set.is_multicast_table());
        writes.last = Some(Instant::now());
    }

    /// Whether this request is one to lose.
    fn loses(&self) -> bool {
        let nth = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let every = self.lose.load(Ordering::Relaxed);
        every != 0 && nth.is_multiple_of(every)
    }
}

/// Takes clients' control messages and passes them on.
struct Desk {
    name: String,
    sim: String,
    control: UnixDatagram,
    shared: Arc<Shared>,
    /// By what their sockets' names end in.
    clients: BTreeMap<String, Client>,
}

/// A client: its control socket at the simulator, and what passes its packets once it is connected.
struct Client {
    upstream: UnixDatagram,
    passing: Option<Passing>,
}

/// What a control message begins with.
const MAGIC: u32 = 0xdead_beef;
/// Types of control messages.
const CONNECT: u32 = 1;
const DISCONNECT: u32 = 2;
/// Bytes of a control message, and where its data begin.
const MESSAGE: usize = 80;
const DATA: usize = 16;

impl Desk {
    fn run(mut self) {
        let mut message = [0; MESSAGE];
        while !self.shared.is_over() {
            let Ok((length, from)) = self.control.recv_from(&mut message) else {
                continue;
            };
            let suffix = from
                .as_abstract_name()
                .and_then(|name| suffix(name, ":ctl"));
            let (Some(ident), Some(message)) = (suffix, message.get(..length)) else {
                continue;
            };
            // A client that gets no answer says so itself.
            if let Ok(reply) = self.pass(&ident, message) {
                let _ = self.control.send_to_addr(&reply, &from);
            }
        }
    }

    /// One message and its answer. Errors: the simulator is gone or silent.
    fn pass(&mut self, ident: &str, message: &[u8]) -> io::Result<Vec<u8>> {
        let kind = word(message, 8);
        if kind == CONNECT {
            self.clients.remove(ident);
            self.forget_the_dead();
            return self.connect(ident, message);
        }
        let client = self.clients.get(ident);
        let client = client.ok_or_else(|| io::Error::other("not connected"))?;
        let reply = exchange(&client.upstream, message)?;
        if kind == DISCONNECT {
            self.clients.remove(ident);
        }
        Ok(reply)
    }

    /// Clients that were killed have said nothing, and the simulator, whose client is this tap, would keep their node for them.
    fn forget_the_dead(&mut self) {
        let name = &self.name;
        self.clients.retain(|ident, client| {
            let lives = client.passing.is_none() || is_bound(&format!("{name}:in{ident}"));
            if !lives {
                client.leave();
            }
            lives
        });
    }

    fn connect(&mut self, ident: &str, message: &[u8]) -> io::Result<Vec<u8>> {
        let (name, sim) = (&self.name, &self.sim);
        let upstream = bound(&format!("{sim}:ctl{ident}"))?;
        upstream.connect_addr(&address(&format!("{sim}:ctl"))?)?;
        upstream.set_read_timeout(Some(CONTROL))?;
        let far = bound(&format!("{sim}:in{ident}"))?;
        let reply = exchange(&upstream, message)?;
        if word(&reply, 8) == 0 {
            return Ok(reply);
        }
        let number = word(&reply, DATA);
        // A client that vanished, whose number is free again.
        self.clients.retain(|_, it| {
            let is_same = |passing: &Passing| passing.number() == number;
            !it.passing.as_ref().is_some_and(is_same)
        });
        far.connect_addr(&address(&format!("{sim}:out{number}"))?)?;
        let near = bound(&format!("{name}:out{number}"))?;
        near.connect_addr(&address(&format!("{name}:in{ident}"))?)?;
        let passing = Passing::start(number, near, far, Arc::clone(&self.shared))?;
        let client = Client {
            upstream,
            passing: Some(passing),
        };
        self.clients.insert(ident.to_owned(), client);
        Ok(reply)
    }
}

impl Client {
    /// For one that cannot do it any more. What it has asked is answered to nobody.
    fn leave(&mut self) {
        let Some(passing) = self.passing.take() else {
            return;
        };
        let mut message = [0; MESSAGE];
        let words = [MAGIC, passing.number(), DISCONNECT, 0];
        for (to, word) in message.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        // A simulator that is gone keeps nothing either.
        let _ = exchange(&self.upstream, &message);
    }
}

fn exchange(upstream: &UnixDatagram, message: &[u8]) -> io::Result<Vec<u8>> {
    upstream.send(message)?;
    let mut reply = vec![0; MESSAGE];
    let length = loop {
        match upstream.recv(&mut reply) {
            // A signal ends the wait of a socket with a time limit.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            length => break length?,
        }
    };
    reply.truncate(length);
    Ok(reply)
}

/// An integer of a control message; both ends are on one machine.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_ne_bytes(*word))
}

/// What follows `mark` in a client's socket name.
fn suffix(name: &[u8], mark: &str) -> Option<String> {
    let name = String::from_utf8_lossy(name);
    let (_, ident) = name.trim_end_matches('\0').rsplit_once(mark)?;
    Some(ident.to_owned())
}

/// The simulator counts a NUL in.
fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name([name.as_bytes(), b"\0"].concat())
}

/// Whether some process has a socket of this name: one that has another peer refuses in its own way.
fn is_bound(name: &str) -> bool {
    let probe = UnixDatagram::unbound().and_then(|probe| probe.connect_addr(&address(name)?));
    !probe.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn bound(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&address(name)?)
}

/// A thread that panics with it locked has failed the test already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
