//! How a ring is got from the daemon.
//!
//! Steps, each with an error of its own, so that an operator sees which one failed:
//!
//! 1. connect to the socket ([`Error::Connect`]); a daemon that is busy accepting is tried again;
//! 2. hello and welcome ([`Error::NoDaemon`], [`Error::Version`], [`Error::Refused`]);
//! 3. the memory that came: sealed, of a size that rings have, its first page describing the same
//!    ([`Error::Memory`]);
//! 4. a mark for forks, and the ring kept out of children.
//!
//! The daemon is trusted with answers, but not to be a daemon: whoever listens at a path may be
//! anything, and memory that somebody can cut off would end this process by SIGBUS. So it is
//! checked before it is mapped.

use core::mem::{self, ManuallyDrop};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::home::Home;
use super::late::LateReader;
use super::{Client, Error};
use sa_ring::Memory;
use sa_ring::layout::size_of_ring;
use sa_ring::layout::{HELLO_SIZE, Hello, MAX_SLOTS, MIN_SLOTS, VERSION, WELCOME_MOST, Welcome};
use sa_ring::packets;

/// How to connect and ask.
///
/// The same for every call; kept for [`Client::reconnect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Slots wanted; 0: as many as the daemon has to give, which is also the most.
    pub slots: u32,
    /// How long to wait for the daemon's greeting, and for each answer of the calls that wait.
    pub timeout: Duration,
}

impl Default for Options {
    /// The daemon's slots; a second.
    fn default() -> Self {
        Self {
            slots: 0,
            timeout: Duration::from_secs(1),
        }
    }
}

impl Client {
    /// Connects to the daemon that listens at `path`. Errors: [`Error`].
    pub fn connect(path: &Path) -> Result<Self, Error> {
        Self::connect_with(path, Options::default())
    }

    /// The same with options. Errors: [`Error`].
    pub fn connect_with(path: &Path, options: Options) -> Result<Self, Error> {
        let socket = connected(path, options.timeout).map_err(|source| Error::Connect {
            path: path.into(),
            source,
        })?;
        let file = greet(&socket, path, options)?;
        let unusable = |problem| Error::Memory {
            path: path.into(),
            problem,
        };
        let memory = accepted(&file).map_err(unusable)?;
        // From here on a failure unmaps it again, in this process.
        let home = Home::new().and_then(|home| memory.keep_from_children().map(|()| home));
        let home = home.map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            path: path.into(),
            options,
            home,
            socket,
            memory: ManuallyDrop::new(memory),
            produced: 0,
            consumed: 0,
            seen: 0,
            abandoned: 0,
            late: LateReader::default(),
            transaction: 0,
        })
    }

    /// Leaves, and connects again to whoever listens there now: after the daemon was started again.
    /// What was in flight is lost. In a child that was forked this gets a ring of the child's own,
    /// and the parent's stays the parent's. Errors: [`Error`]; the client is as before then.
    pub fn reconnect(&mut self) -> Result<(), Error> {
        // First the new one: if that fails, the client is as it was.
        let fresh = Self::connect_with(&self.path, self.options)?;
        let transaction = self.transaction;
        let left = mem::replace(self, fresh);
        drop(left);
        // Transactions go on, so that no reply of the old ring could pass for one of the new.
        self.transaction = transaction;
        Ok(())
    }

    /// The same, in no more than this time; none: in that of its options.
    pub(crate) fn reconnect_within(&mut self, left: Option<Duration>) -> Result<(), Error> {
        let timeout = self.options.timeout;
        self.options.timeout = left.map_or(timeout, |left| left.min(timeout));
        let done = self.reconnect();
        self.options.timeout = timeout;
        done
    }

    /// How long the calls that wait do.
    pub const fn set_timeout(&mut self, timeout: Duration) {
        self.options.timeout = timeout;
    }
}

/// A daemon with a full backlog is asked again until the time is over.
fn connected(path: &Path, timeout: Duration) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + timeout;
    let socket = packets::socket()?;
    loop {
        match packets::connect(socket.as_fd(), path) {
            Ok(()) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() >= deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                // A millisecond: a full backlog is emptied by the daemon within a turn.
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The greetings. Gives the memory.
fn greet(socket: &OwnedFd, path: &Path, options: Options) -> Result<OwnedFd, Error> {
    let no_daemon = || Error::NoDaemon { path: path.into() };
    let hello = Hello {
        version: VERSION,
        slots: options.slots,
    };
    let bytes: [u8; HELLO_SIZE] = hello.bytes();
    packets::send(socket.as_fd(), &bytes, None).map_err(|_| no_daemon())?;
    let mut buffer = [0; WELCOME_MOST];
    let (length, file) = answer(socket, &mut buffer, options.timeout).ok_or_else(no_daemon)?;
    let welcome = buffer.get(..length).and_then(Welcome::parse);
    let welcome = welcome.ok_or_else(no_daemon)?;
    // The version first: whatever else a daemon of another version says may mean something else.
    if welcome.version != VERSION {
        return Err(Error::Version {
            path: path.into(),
            daemon: welcome.version,
        });
    }
    if !welcome.refusal.is_empty() {
        return Err(Error::Refused {
            path: path.into(),
            words: welcome.refusal,
        });
    }
    file.ok_or_else(no_daemon)
}

/// The daemon's greeting, with the file of the ring; none when it closes or says nothing in time.
fn answer(
    socket: &OwnedFd,
    buffer: &mut [u8],
    timeout: Duration,
) -> Option<(usize, Option<OwnedFd>)> {
    let deadline = Instant::now() + timeout;
    loop {
        match packets::receive(socket.as_fd(), buffer) {
            Ok(got) => return got,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        // At least a millisecond, so that the end of the time is no spin.
        packets::wait(socket.as_fd(), left.max(Duration::from_millis(1))).ok()?;
    }
}

/// Maps memory that is sealed, and as large and described as it must be. Errors: in words.
fn accepted(file: &OwnedFd) -> Result<Memory, String> {
    let (size, seals) = packets::size_and_seals(file).map_err(|error| error.to_string())?;
    // Sealed first: until then the size may change at any time.
    if seals & packets::SEALS != packets::SEALS {
        return Err("it is not sealed against a change of its size".to_owned());
    }
    let counts = core::iter::successors(Some(MIN_SLOTS), |slots| slots.checked_mul(2));
    let is_right = |slots: &u32| size == size_of_ring(usize::try_from(*slots).unwrap_or(0)) as u64;
    let mut fitting = counts
        .take_while(|slots| *slots <= MAX_SLOTS)
        .filter(is_right)
        .peekable();
    if fitting.peek().is_none() {
        return Err(format!("{size} bytes are no ring"));
    }
    // The smallest ones have the same size.
    for slots in fitting {
        let memory = Memory::map(file.as_fd(), slots).map_err(|error| error.to_string())?;
        if memory.header().describes(slots) {
            return Ok(memory);
        }
    }
    Err("its first page describes another layout".to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use core::sync::atomic::Ordering;
    use std::path::PathBuf;
    use std::thread;

    use super::super::{WhyClosed, request, state};
    use super::*;
    use rustix::fs::{MemfdFlags, SealFlags};
    use sa_ring::layout::{MAGIC, closed};
    use sa_ring::packets::SEALS;

    /// A daemon that does as it is told.
    pub(crate) fn listen(path: &Path) -> io::Result<OwnedFd> {
        let socket = packets::socket()?;
        rustix::net::bind(&socket, &packets::address(path)?)?;
        rustix::net::listen(&socket, 4)?;
        Ok(socket)
    }

    /// Its next client.
    fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
        packets::wait(listener.as_fd(), Duration::from_secs(10))?;
        Ok(rustix::net::accept(listener)?)
    }

    /// A file without a name, of this size, with these seals.
    fn memory(size: u64, seals: SealFlags) -> io::Result<OwnedFd> {
        let file = rustix::fs::memfd_create("fake-ring", MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, size)?;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok(file)
    }

    /// A directory with a daemon that greets as it is told and sends this file.
    fn against(welcome: &[u8], file: Option<OwnedFd>) -> (Result<Client, Error>, OwnedFd) {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("ring");
        let listener = listen(&path).unwrap();
        let welcome = welcome.to_vec();
        let daemon = thread::spawn(move || {
            let socket = accept(&listener).unwrap();
            let mut hello = [0; 64];
            packets::wait(socket.as_fd(), Duration::from_secs(10)).unwrap();
            let (length, _) = packets::receive(socket.as_fd(), &mut hello)
                .unwrap()
                .unwrap();
            let said = Hello::parse(&hello[..length]).unwrap();
            assert_eq!((length, said.version, said.slots), (HELLO_SIZE, VERSION, 4));
            let file = file.as_ref().map(AsFd::as_fd);
            packets::send(socket.as_fd(), &welcome, file).unwrap();
            socket
        });
        let options = Options {
            slots: 4,
            timeout: Duration::from_millis(500),
        };
        let client = Client::connect_with(&path, options);
        (client, daemon.join().unwrap())
    }

    fn welcome(version: u32, refusal: &str) -> Vec<u8> {
        let refusal = refusal.to_owned();
        Welcome { version, refusal }.bytes()
    }

    fn said(welcome: &[u8], file: Option<OwnedFd>) -> String {
        against(welcome, file).0.err().unwrap().to_string()
    }

    /// The memory of a ring, as a daemon sends it.
    pub(crate) fn described(slots: u32) -> OwnedFd {
        let size = size_of_ring(usize::try_from(slots).unwrap()) as u64;
        let file = memory(size, SEALS).unwrap();
        Memory::map(file.as_fd(), slots)
            .unwrap()
            .header()
            .describe(slots);
        file
    }

    #[test]
    fn only_memory_that_is_sealed_and_described_is_used() {
        let ok = welcome(VERSION, "");
        let size = size_of_ring(4) as u64;
        assert!(against(&ok, Some(described(4))).0.is_ok());
        for (file, words) in [
            (memory(size, SealFlags::empty()), "not sealed"),
            (memory(size, SealFlags::GROW), "not sealed"),
            (memory(size, SEALS), "describes another layout"),
            (memory(size - 1, SEALS), "bytes are no ring"),
            (memory(size_of_ring(48) as u64, SEALS), "bytes are no ring"),
            (memory(0, SEALS), "0 bytes are no ring"),
            (memory(1 << 40, SEALS), "bytes are no ring"),
        ] {
            let said = said(&ok, Some(file.unwrap()));
            assert!(said.contains(words), "{words}: {said}");
        }
        // A file that can have no seals at all.
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(size).unwrap();
        let said = said(&ok, Some(plain.into()));
        assert!(said.contains("cannot be used"), "{said}");
    }

    #[test]
    fn strange_greetings_are_refused_in_words() {
        let version = said(&welcome(VERSION + 1, ""), Some(described(4)));
        assert!(
            version.contains("version 2 of the ring, this client 1"),
            "{version}"
        );
        let full = said(&welcome(VERSION, "all rings are taken"), None);
        assert!(full.ends_with("refuses: all rings are taken"), "{full}");
        let mut broken = welcome(VERSION, "x");
        broken.pop();
        let mut strange = MAGIC.to_ne_bytes().to_vec();
        strange[0] ^= 1;
        strange.resize(16, 0);
        for bytes in [&b"hello"[..], &broken, &strange, &welcome(VERSION, "")] {
            let said = said(bytes, None);
            assert!(said.contains("does not greet as the daemon does"), "{said}");
        }
        let nowhere = Client::connect(Path::new("/nonexistent/ring"))
            .err()
            .unwrap();
        assert!(nowhere.to_string().contains("cannot connect"), "{nowhere}");
        let long = "x".repeat(200);
        let long = Client::connect(Path::new(&long)).err().unwrap().to_string();
        assert!(long.contains("1 to 107 bytes"), "{long}");
    }

    #[test]
    fn batches_go_round_and_positions_count_on() {
        let file = described(4);
        let daemon = Memory::map(file.as_fd(), 4).unwrap();
        let (client, _socket) = against(&welcome(VERSION, ""), Some(file));
        let mut client = client.unwrap();
        let mut position = 0;
        for round in 0..10_u16 {
            let claimed = client.claim(3);
            let count = claimed.len();
            assert!((1..=3).contains(&count));
            for slot in claimed {
                assert!(slot.put(round, &[1; 120]));
                assert!(!slot.put(0, &[0; 23]) && !slot.put(0, &[0; 257]));
            }
            assert_eq!(client.publish(count), position);
            assert!(client.replies().is_empty());
            assert_eq!(
                daemon.header().produced.0.load(Ordering::Acquire),
                position + count as u64
            );
            for nth in 0..count as u64 {
                let about = daemon.slot(position + nth);
                let [length, _, low, high, ..] = about[0].load(Ordering::Relaxed).to_ne_bytes();
                assert_eq!((length, u16::from_ne_bytes([low, high])), (120, round));
                let reply = [24, 0, 0, 0, state::REPLY, 0, 0, 0];
                about[0].store(u64::from_ne_bytes(reply), Ordering::Relaxed);
            }
            position += count as u64;
            daemon.header().served.0.store(position, Ordering::Release);
            let mut received = 0;
            while received < count {
                let replies = client.replies();
                assert!(replies.iter().all(|slot| slot.reply() == Some(&[1; 24])));
                let some = replies.len();
                assert!(some > 0);
                client.release(some);
                received += some;
            }
            assert_eq!((client.in_flight(), client.first_reply()), (0, position));
        }
        // All of them at once, and no more.
        let mut all = 0;
        loop {
            let count = client.claim(9).len();
            if count == 0 {
                break;
            }
            client.publish(count);
            all += count;
        }
        assert_eq!(all, 4);
        assert!(matches!(client.ask(0, &[0; 24]), Err(Error::InFlight)));
    }

    #[test]
    fn calls_that_wait_end_when_their_time_or_the_daemon_does() {
        let (client, socket) = against(&welcome(VERSION, ""), Some(described(4)));
        let mut client = client.unwrap();
        client.set_timeout(Duration::from_millis(20));
        let lengths = [0, 23, 257].map(|length| client.ask(0, &vec![0; length]));
        assert!(
            lengths
                .iter()
                .all(|done| matches!(done, Err(Error::Length(_))))
        );
        // More often than there are slots: those that nobody waits for stay taken.
        for _ in 0..6 {
            let done = client.path_record_by_lid(1, 2);
            assert!(matches!(done, Err(Error::TimedOut)), "{done:?}");
        }
        client.check().unwrap();
        let closed = &client.memory.header().closed.0;
        closed.store(closed::BAD_POSITION, Ordering::Release);
        let cut_off = client.path_record_by_lid(1, 2);
        assert!(matches!(
            cut_off,
            Err(Error::Closed(WhyClosed::BadPosition))
        ));
        let closed = &client.memory.header().closed.0;
        closed.store(closed::OPEN, Ordering::Release);
        drop(socket);
        let gone = client.path_record_by_lid(1, 2);
        assert!(
            matches!(gone, Err(Error::Closed(WhyClosed::Gone))),
            "{gone:?}"
        );
        let request = request::path_by_lids(1, 2);
        assert_eq!(request.len(), 120);
    }
}
