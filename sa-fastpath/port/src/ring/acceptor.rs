//! The acceptor's thread: greets clients, gives each a ring, takes it away from the worker when
//! they are gone, and writes their late replies.
//!
//! A client goes through four states. A stranger is connected and has not greeted; a served one has
//! a ring, which the worker reads; a leaving one has hung up or was cut off, and its ring is still
//! with the worker; a gone one is forgotten at the end of the turn. Nothing a client does may hold
//! this thread up: all sockets are non-blocking, strangers are few and have a second, and whoever
//! breaks the protocol is cut off.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_ring::Memory;
use sa_ring::layout::{SLOTS_OFFSET, closed};
use sa_ring::packets;

use super::client::{Client, State, close, judge};
use super::event::{Event, Parting, Peer};
use super::exchange::Exchange;
use super::late::LateQueue;
use super::shares::{Owner, RingShares, may_keep, who_goes};
use super::socket::{Credentials, Listener, own_user, wait};

/// How often it looks whether it shall stop, and whether the worker has cut somebody off.
const IDLE: Duration = Duration::from_millis(200);
/// How often while somebody is leaving.
const LEAVING: Duration = Duration::from_millis(2);
/// How often while a late reply waits for room.
const WRITING: Duration = Duration::from_millis(1);
/// A client that has not greeted by then is none: its library does at once.
const GREETING: Duration = Duration::from_secs(1);
/// Strangers at a time; for another one the oldest of the user that has the most goes.
const STRANGERS: usize = 64;
/// The same of root and the daemon's user, whose places others cannot take.
const TRUSTED_STRANGERS: usize = 16;
/// Descriptors of its own: the socket and its directory, two pairs that wake threads, and what is
/// just being handed over.
const OWN_DESCRIPTORS: usize = 12;

/// File descriptors that a socket with so many clients has open at most.
pub const fn descriptors(clients: usize) -> usize {
    clients + STRANGERS + TRUSTED_STRANGERS + OWN_DESCRIPTORS
}

/// Connections that are taken before all else has its turn.
const ROUND: usize = 64;
/// How long who was cut off may read why, and how many of them.
const FAREWELL: Duration = Duration::from_secs(1);
/// Rings of clients that were cut off, whose first page may still be read.
const FAREWELLS: usize = 64;
/// After an accept that failed, such as for want of descriptors: the next one would fail at once.
const PAUSE: Duration = Duration::from_millis(200);

/// Keeps the clients of one socket. Runs in a thread of its own, see [`Self::run`].
pub struct Acceptor {
    /// Where new clients come.
    listener: Listener,
    /// A byte in here ends a wait.
    woken: UnixStream,
    /// What goes to the worker and comes back from it: rings.
    exchange: Arc<Exchange>,
    /// Late replies that wait to be handed to their clients.
    late: Arc<LateQueue>,
    limits: Limits,
    /// Number of the client before; 0 is never one.
    last: u32,
    /// In all four states; gone ones until the end of a turn.
    clients: Vec<Client>,
    /// Rings of those that were cut off, and since when.
    farewells: VecDeque<(Instant, Arc<Memory>)>,
    /// No accepting before this time: the last attempt failed, and would fail again at once.
    paused: Option<Instant>,
}

/// How much there is of everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most slots of a ring, a power of two.
    pub(super) slots: u32,
    /// How rings are shared out among users.
    pub(super) rings: RingShares,
    /// Late replies that all users leave unread. Units: bytes.
    pub(super) late: usize,
}

impl Acceptor {
    /// One that nobody is connected to yet.
    pub(super) const fn new(
        listener: Listener,
        woken: UnixStream,
        exchange: Arc<Exchange>,
        late: Arc<LateQueue>,
        limits: Limits,
    ) -> Self {
        Self {
            listener,
            woken,
            exchange,
            late,
            limits,
            last: 0,
            clients: Vec::new(),
            farewells: VecDeque::new(),
            paused: None,
        }
    }

    /// Serves until `stop` is set; wake it then. `tell` is told what happens.
    ///
    /// What fails does not end it: it is told, and tried again after a pause.
    pub fn run(mut self, stop: &AtomicBool, tell: &mut dyn FnMut(Event)) {
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = self.turn(tell) {
                tell(Event::Failed(error));
                std::thread::sleep(PAUSE);
            }
        }
        // So that clients see why at once, and need not wait for a timeout.
        for client in &self.clients {
            if let State::Served { memory, .. } = &client.state {
                close(memory, closed::ENDED);
            }
        }
        for (_, memory) in &self.farewells {
            give_back(memory, 0);
        }
    }

    /// Waits for something and deals with all there is. Errors: the system's, when it cannot wait.
    fn turn(&mut self, tell: &mut dyn FnMut(Event)) -> io::Result<()> {
        self.turn_within(self.patience(), tell)
    }

    /// Waits at most `patience`, then does all there is to do.
    fn turn_within(&mut self, patience: Duration, tell: &mut dyn FnMut(Event)) -> io::Result<()> {
        let (is_woken, is_called, has_said) = self.wait(patience)?;
        if is_woken {
            let mut bytes = [0; 256];
            while matches!(self.woken.read(&mut bytes), Ok(1..)) {}
        }
        // Before new connections: a greeting must not wait for them.
        for (at, has_said) in has_said.into_iter().enumerate() {
            if has_said {
                self.listen(at, tell);
            }
        }
        if is_called {
            self.accept(tell);
        }
        self.write_late();
        self.take_back(tell);
        self.forget();
        Ok(())
    }

    /// Lets go of those that are gone, have not greeted, or have read long enough why they were cut
    /// off.
    fn forget(&mut self) {
        for client in &mut self.clients {
            if let State::Stranger { since } = client.state
                && since.elapsed() >= GREETING
            {
                client.refuse(format!("no greeting came within {GREETING:?}"));
            }
        }
        let is_gone = |client: &Client| matches!(client.state, State::Gone);
        self.clients.retain(|client| !is_gone(client));
        // By age: the front is always the oldest.
        while let Some((since, memory)) = self.farewells.front()
            && (self.farewells.len() > FAREWELLS || since.elapsed() >= FAREWELL)
        {
            give_back(memory, 0);
            self.farewells.pop_front();
        }
    }

    /// Waits, at most `patience`. Gives whether this thread was woken, whether somebody connects,
    /// and which clients said something, by their places. Errors: the system's.
    fn wait(&self, patience: Duration) -> io::Result<(bool, bool, Vec<bool>)> {
        let listener = (!self.is_paused()).then(|| self.listener.as_fd());
        let mut sockets: Vec<Option<BorrowedFd<'_>>> = vec![Some(self.woken.as_fd()), listener];
        // Who is leaving has hung up, and would be heard all the time.
        sockets.extend(self.clients.iter().map(|client| match client.state {
            State::Stranger { .. } | State::Served { .. } => Some(client.socket.as_fd()),
            State::Leaving { .. } | State::Gone => None,
        }));
        let found = wait(&sockets, patience)?;
        let mut found = found.into_iter();
        let is_woken = found.next().unwrap_or(false);
        let is_called = found.next().unwrap_or(false);
        Ok((is_woken, is_called, found.collect()))
    }

    /// True while no connection is accepted because the last attempt failed.
    fn is_paused(&self) -> bool {
        self.paused.is_some_and(|until| Instant::now() < until)
    }

    /// How long it may wait before something is due: the shortest that any client asks for.
    fn patience(&self) -> Duration {
        let of = |client: &Client| match &client.state {
            State::Served { late, .. } if !late.is_empty() => WRITING,
            State::Leaving { .. } => LEAVING,
            _ => IDLE,
        };
        self.clients.iter().map(of).min().unwrap_or(IDLE)
    }

    /// Takes connections, and the greetings that have come with them. After a failure none is taken
    /// for a while, since the next would fail for the same reason, such as too few descriptors.
    fn accept(&mut self, tell: &mut dyn FnMut(Event)) {
        for _ in 0..ROUND {
            let (socket, Credentials { pid, uid }) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    tell(Event::Failed(error));
                    self.paused = Some(Instant::now() + PAUSE);
                    return;
                }
            };
            let is_trusted = uid == 0 || uid == own_user();
            let owner = Owner { uid, is_trusted };
            // Before it is one of them: the stranger that goes must not be this one.
            self.make_room(is_trusted);
            self.last = self.last.wrapping_add(1).max(1);
            let client = self.last;
            let state = State::Stranger {
                since: Instant::now(),
            };
            self.clients.push(Client {
                peer: Peer { client, pid, uid },
                owner,
                socket,
                state,
            });
            // Most have greeted by now.
            self.listen(self.clients.len() - 1, tell);
        }
    }

    /// Makes room for another stranger, among those that are trusted or among the others: of the
    /// user that has the most strangers the oldest goes.
    fn make_room(&mut self, is_trusted: bool) {
        let most = match is_trusted {
            true => TRUSTED_STRANGERS,
            false => STRANGERS,
        };
        let strangers = self.clients.iter().enumerate().filter(|(_, client)| {
            matches!(client.state, State::Stranger { .. }) && client.owner.is_trusted == is_trusted
        });
        let (places, owners): (Vec<usize>, Vec<Owner>) =
            strangers.map(|(at, client)| (at, client.owner)).unzip();
        if owners.len() < most {
            return;
        }
        if let Some(at) = who_goes(&owners).and_then(|nth| places.get(nth)) {
            let mut client = self.clients.remove(*at);
            client.refuse("no greeting came before others needed the place".to_owned());
        }
    }

    /// The owners of the rings that are taken, one for each ring, leaving clients' included.
    fn having(&self) -> impl Iterator<Item = Owner> + Clone {
        let has_ring =
            |state: &State| matches!(state, State::Served { .. } | State::Leaving { .. });
        let having = self.clients.iter();
        having
            .filter(move |client| has_ring(&client.state))
            .map(|client| client.owner)
    }

    /// Takes what a client says, if it says something.
    ///
    /// A stranger greets; whoever has a ring has nothing more to say and is cut off.
    fn listen(&mut self, at: usize, tell: &mut dyn FnMut(Event)) {
        let Some(client) = self.clients.get(at) else {
            return;
        };
        // Before the client is borrowed: shares are counted over all of them.
        let admitted = match client.state {
            State::Stranger { .. } => self.limits.rings.admit(client.owner, self.having()),
            State::Served { .. } | State::Leaving { .. } | State::Gone => Ok(()),
        };
        let Some(client) = self.clients.get_mut(at) else {
            return;
        };
        let mut buffer = [0; 64];
        let said = match packets::receive(client.socket.as_fd(), &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(Some((length, _))) => Some(buffer.get(..length).unwrap_or_default()),
            Ok(None) | Err(_) => None,
        };
        match (&client.state, said) {
            (State::Stranger { .. }, Some(said)) => {
                let greeted = judge(said, admitted, self.limits.slots)
                    .and_then(|slots| client.welcome(slots, &self.exchange));
                match greeted {
                    Ok(event) => tell(event),
                    Err(words) => tell(client.refuse(words)),
                }
            }
            (State::Stranger { .. }, None) => client.state = State::Gone,
            (State::Served { .. }, Some(_)) => {
                client.send_away(&self.exchange, Parting::BadMessage);
            }
            (State::Served { .. }, None) => client.send_away(&self.exchange, Parting::Left),
            (State::Leaving { .. } | State::Gone, _) => {}
        }
    }

    /// Hands late replies to their clients, and writes what there is room for. One for a client
    /// that is gone is dropped.
    fn write_late(&mut self) {
        while let Some(late) = self.late.pop() {
            let its = |client: &Client| client.peer.client == late.client;
            // The client may have gone while its reply was made.
            let Some(at) = self.clients.iter().position(its) else {
                continue;
            };
            let (all, own, owner) = self.kept(at);
            let most = self.limits.late;
            let may_keep = |more| may_keep(more, most, all, own, owner.is_trusted);
            if let Some(client) = self.clients.get_mut(at)
                && let State::Served {
                    memory,
                    late: writer,
                    ..
                } = &mut client.state
                && writer.push(&late, memory, may_keep).is_none()
            {
                client.send_away(&self.exchange, Parting::BadLatePosition);
            }
        }
        for client in &mut self.clients {
            if let State::Served { memory, late, .. } = &mut client.state
                && late.pump(memory).is_none()
            {
                client.send_away(&self.exchange, Parting::BadLatePosition);
            }
        }
    }

    /// What is kept of late replies that were not read: for all that count together with a client,
    /// and for its user; and who that is. Units: bytes.
    ///
    /// Trusted users count apart from the others, so that these cannot fill what those may keep.
    fn kept(&self, at: usize) -> (usize, usize, Owner) {
        let nobody = Owner {
            uid: 0,
            is_trusted: true,
        };
        let owner = self.clients.get(at).map_or(nobody, |client| client.owner);
        let kept = self
            .clients
            .iter()
            .filter_map(|client| match &client.state {
                State::Served { late, .. } => Some((client.owner, late.kept())),
                _ => None,
            });
        let alike = kept.filter(|(one, _)| one.is_trusted == owner.is_trusted);
        let (mut all, mut own) = (0, 0);
        for (one, bytes) in alike {
            all += bytes;
            own += if one.uid == owner.uid { bytes } else { 0 };
        }
        (all, own, owner)
    }

    /// Takes rings back that the worker does not serve any more, and tells why the client has gone.
    fn take_back(&mut self, tell: &mut dyn FnMut(Event)) {
        while let Some(returned) = self.exchange.returned() {
            // By its number, since places move when clients are forgotten.
            let its = |client: &&mut Client| client.peer.client == returned.ring.id;
            let Some(client) = self.clients.iter_mut().find(its) else {
                continue;
            };
            let why = match client.state {
                _ if returned.is_cut_off => Parting::BadPosition,
                State::Leaving { why } => why,
                _ => Parting::Left,
            };
            if let State::Served { place, .. } = client.state {
                self.exchange.set_place(place, 0);
            }
            client.state = State::Gone;
            tell(Event::Parted {
                peer: client.peer,
                why,
            });
            self.part_with(returned.ring.memory, why);
        }
    }

    /// Gives the memory of a ring back to the system, whoever still has it mapped. Who was cut off
    /// may read why for a moment; who has left wants nothing more.
    fn part_with(&mut self, memory: Arc<Memory>, why: Parting) {
        if why == Parting::Left {
            give_back(&memory, 0);
            return;
        }
        close(&memory, why.code());
        give_back(&memory, SLOTS_OFFSET);
        self.farewells.push_back((Instant::now(), memory));
    }
}

/// Gives a ring's memory back from `offset` on. Where the system refuses, the memory goes when the
/// client unmaps it.
fn give_back(memory: &Memory, offset: usize) {
    let _ = memory.give_back(offset);
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use std::os::fd::OwnedFd;

    use sa_ring::layout::{HELLO_SIZE, Hello, VERSION, Welcome};

    use super::super::{ClientRings, Opened, RingOptions, open};
    use super::*;
    use crate::{MadPort, ReplyPort, Verdict};

    /// Everything in one thread, turn by turn.
    struct Bed {
        acceptor: Acceptor,
        port: ClientRings,
        replies: super::super::LateReplies,
        events: Vec<String>,
        path: PathBuf,
    }

    /// A path that nobody has, in a directory of its own.
    fn fresh(name: &str) -> PathBuf {
        use std::os::unix::fs::DirBuilderExt;
        let directory = std::env::temp_dir();
        let directory = directory.join(format!("sa-acceptor-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&directory).unwrap();
        directory.join("ring")
    }

    impl Bed {
        fn new(name: &str, clients: usize) -> Self {
            let path = fresh(name);
            let mut options = RingOptions::at(path.clone());
            (options.slots, options.clients) = (8, clients);
            let Opened {
                port,
                replies,
                acceptor,
                own_lid,
                wake: _,
            } = open(&options).unwrap();
            own_lid.set(sa_wire::Lid::new(1).ok());
            Self {
                acceptor,
                port,
                replies,
                events: Vec::new(),
                path,
            }
        }

        /// Turns of both until nothing more can happen.
        fn settle(&mut self) {
            let events = &mut self.events;
            let mut tell = |event: Event| {
                events.push(match event {
                    Event::Arrived { peer, slots, .. } => format!("{} has {slots}", peer.client),
                    Event::Refused { words, .. } => words,
                    Event::Parted { peer, why } => format!("{}: {why}", peer.client),
                    Event::Failed(error) => error.to_string(),
                });
            };
            for _ in 0..8 {
                self.acceptor
                    .turn_within(Duration::ZERO, &mut tell)
                    .unwrap();
                let count = self.port.recv().unwrap().len();
                self.port.send(&vec![Verdict::Punted; count]).unwrap();
            }
        }

        fn said(&mut self) -> Vec<String> {
            self.settle();
            core::mem::take(&mut self.events)
        }
    }

    fn caller(path: &Path, packet: &[u8]) -> OwnedFd {
        let socket = packets::socket().unwrap();
        packets::connect(socket.as_fd(), path).unwrap();
        packets::send(socket.as_fd(), packet, None).unwrap();
        socket
    }

    fn hello(version: u32, slots: u32) -> [u8; HELLO_SIZE] {
        Hello { version, slots }.bytes()
    }

    fn heard(socket: &OwnedFd) -> (Welcome, Option<OwnedFd>) {
        let mut buffer = [0; 512];
        let (length, file) = packets::receive(socket.as_fd(), &mut buffer)
            .unwrap()
            .unwrap();
        (Welcome::parse(&buffer[..length]).unwrap(), file)
    }

    #[test]
    fn a_client_gets_a_ring_of_the_slots_it_wants_or_there_are() {
        let mut bed = Bed::new("slots", 9);
        for (nth, (wanted, given)) in [(0, 8), (3, 4), (8, 8), (1000, 8), (1, 2)]
            .iter()
            .enumerate()
        {
            let socket = caller(&bed.path, &hello(VERSION, *wanted));
            assert_eq!(bed.said(), [format!("{} has {given}", nth + 1)]);
            let (welcome, file) = heard(&socket);
            assert_eq!(welcome.refusal, "");
            let memory = Memory::map(file.unwrap().as_fd(), *given).unwrap();
            assert!(memory.header().describes(*given));
            drop(socket);
            assert_eq!(bed.said(), [format!("{}: it has left", nth + 1)]);
            assert_eq!((bed.port.clients(), bed.acceptor.clients.len()), (0, 0));
        }
    }

    #[test]
    fn strangers_are_told_why_they_are_refused() {
        let mut bed = Bed::new("refused", 1);
        for (packet, words) in [
            (
                hello(VERSION + 6, 0).to_vec(),
                "version 1 of the ring, the client 7",
            ),
            (hello(0, 0).to_vec(), "version 1 of the ring, the client 0"),
            (vec![0; 16], "no greeting"),
            (vec![1], "no greeting"),
            (vec![0xff; 5000], "no greeting"),
        ] {
            let socket = caller(&bed.path, &packet);
            let said = bed.said();
            assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
            let (welcome, file) = heard(&socket);
            assert!(welcome.refusal.contains(words) && file.is_none());
            assert_eq!(welcome.version, VERSION);
        }
        let first = caller(&bed.path, &hello(VERSION, 0));
        let second = caller(&bed.path, &hello(VERSION, 0));
        assert_eq!(bed.said().len(), 2);
        assert_eq!(heard(&first).0.refusal, "");
        assert_eq!(
            heard(&second).0.refusal,
            "all 1 rings of this socket are taken"
        );
        // The place is free again when the first has left.
        drop((first, second));
        assert_eq!(bed.said(), ["6: it has left"]);
        let third = caller(&bed.path, &hello(VERSION, 0));
        bed.settle();
        assert_eq!(heard(&third).0.refusal, "");
    }

    #[test]
    fn whoever_says_more_than_a_greeting_is_cut_off() {
        let mut bed = Bed::new("more", 2);
        let socket = caller(&bed.path, &hello(VERSION, 0));
        bed.settle();
        let memory = Memory::map(heard(&socket).1.unwrap().as_fd(), 8).unwrap();
        packets::send(socket.as_fd(), b"more", None).unwrap();
        let said = bed.said();
        assert_eq!(
            said.last().unwrap(),
            "1: it said something after its greeting"
        );
        let closed = memory.header().closed.0.load(Ordering::Acquire);
        assert_eq!(closed, closed::BAD_MESSAGE);
        assert_eq!((bed.port.clients(), bed.acceptor.clients.len()), (0, 0));
    }

    #[test]
    fn the_oldest_of_the_silent_goes_when_another_comes() {
        let mut bed = Bed::new("silent", 2);
        let most = match own_user() {
            0 => TRUSTED_STRANGERS,
            _ => STRANGERS,
        };
        let silent: Vec<_> = (0..most + 3)
            .map(|_| {
                let socket = packets::socket().unwrap();
                packets::connect(socket.as_fd(), &bed.path).unwrap();
                // Or the backlog were full.
                bed.settle();
                socket
            })
            .collect();
        assert_eq!(bed.acceptor.clients.len(), most);
        for (nth, socket) in silent.iter().enumerate() {
            let mut buffer = [0; 512];
            let told = packets::receive(socket.as_fd(), &mut buffer);
            assert_eq!(told.is_ok(), nth < 3, "silent client {nth}: {told:?}");
        }
        // All of them are still there, and whoever greets is served.
        let socket = caller(&bed.path, &hello(VERSION, 0));
        bed.settle();
        assert_eq!(heard(&socket).0.refusal, "");
        drop(silent);
        bed.settle();
        assert_eq!(bed.acceptor.clients.len(), 1);
    }

    #[test]
    fn who_does_not_greet_in_time_is_told_so() {
        let mut bed = Bed::new("late-greeting", 2);
        let socket = packets::socket().unwrap();
        packets::connect(socket.as_fd(), &bed.path).unwrap();
        bed.settle();
        for client in &mut bed.acceptor.clients {
            let since = Instant::now().checked_sub(GREETING).unwrap();
            client.state = State::Stranger { since };
        }
        bed.settle();
        assert!(bed.acceptor.clients.is_empty());
        let said = heard(&socket).0.refusal;
        assert!(said.contains("no greeting came within 1s"), "{said}");
    }

    /// Bytes that a file takes. Source: stat(2), blocks of 512.
    fn charged(file: &OwnedFd) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let file = std::fs::File::from(file.try_clone().unwrap());
        512 * file.metadata().unwrap().blocks()
    }

    #[test]
    fn the_memory_of_who_left_or_was_cut_off_is_given_back_though_it_is_mapped_still() {
        let mut bed = Bed::new("charged", 4);
        let arrive = |bed: &mut Bed| {
            let socket = caller(&bed.path, &hello(VERSION, 8));
            bed.settle();
            let file = heard(&socket).1.unwrap();
            let memory = Memory::map(file.as_fd(), 8).unwrap();
            assert!(charged(&file) > 4096, "a ring has pages");
            (socket, file, memory)
        };
        let (socket, file, memory) = arrive(&mut bed);
        drop(socket);
        bed.settle();
        assert_eq!(charged(&file), 0, "it has left");
        // What is there is zeros, on the account of who touches it.
        assert_eq!(memory.header().produced.0.load(Ordering::Relaxed), 0);
        memory.slot(5)[0].store(7, Ordering::Relaxed);
        assert!(charged(&file) > 0);

        let (socket, file, memory) = arrive(&mut bed);
        memory.header().produced.0.store(99, Ordering::Release);
        bed.settle();
        let closed = memory.header().closed.0.load(Ordering::Acquire);
        assert_eq!(closed, closed::BAD_POSITION, "it may read why");
        assert!(charged(&file) <= 4096);
        bed.acceptor.farewells[0].0 -= FAREWELL;
        bed.settle();
        assert_eq!((charged(&file), bed.acceptor.farewells.len()), (0, 0));
        drop(socket);

        // However many are cut off, they keep no more than some pages.
        for _ in 0..2 * FAREWELLS {
            let (_socket, _file, memory) = arrive(&mut bed);
            memory.header().produced.0.store(99, Ordering::Release);
            bed.settle();
        }
        assert!(bed.acceptor.farewells.len() <= FAREWELLS);
    }

    #[test]
    fn bad_positions_are_noticed_by_worker_and_acceptor() {
        let mut bed = Bed::new("positions", 4);
        let (one, two) = (
            caller(&bed.path, &hello(VERSION, 8)),
            caller(&bed.path, &hello(VERSION, 8)),
        );
        bed.settle();
        let map = |socket| Memory::map(heard(socket).1.unwrap().as_fd(), 8).unwrap();
        let (one_memory, two_memory) = (map(&one), map(&two));
        one_memory.header().produced.0.store(9, Ordering::Release);
        two_memory.header().late_read.0.store(64, Ordering::Release);
        let mut request = sa_wire::umad::Slot::EMPTY;
        request.header.agent = 2;
        bed.replies.reply(&request, &[1; 5000]).unwrap();
        let mut said = bed.said();
        said.sort();
        assert_eq!(
            said,
            [
                "1 has 8",
                "1: it wrote request positions that are out of range",
                "2 has 8",
                "2: it wrote a position of late replies that is out of range",
            ]
        );
        let why = |memory: &Memory| memory.header().closed.0.load(Ordering::Acquire);
        assert_eq!(why(&one_memory), closed::BAD_POSITION);
        assert_eq!(why(&two_memory), closed::BAD_LATE_POSITION);
        assert_eq!((bed.port.clients(), bed.acceptor.clients.len()), (0, 0));
        // Of nobody any more.
        bed.replies.reply(&request, &[1; 5000]).unwrap();
        assert!(bed.said().is_empty());
    }

    #[test]
    fn a_socket_is_made_only_where_nobody_can_put_another_in_its_place() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let path = fresh("place");
        let directory = path.parent().unwrap();
        let refusal = |path: &Path| {
            let check = super::super::check_place(path).err().unwrap().to_string();
            let options = RingOptions::at(path.into());
            assert_eq!(open(&options).err().unwrap().to_string(), check);
            check
        };
        let set_mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(directory, mode).unwrap();
        };
        for mode in [0o777, 0o1777, 0o770, 0o702] {
            set_mode(mode);
            let said = refusal(&path);
            assert!(said.contains("others may write to it"), "{mode:o}: {said}");
        }
        set_mode(0o755);
        let linked = directory.join("linked");
        symlink(directory, &linked).unwrap();
        let said = refusal(&linked.join("ring"));
        assert!(said.contains("is a symbolic link"), "{said}");
        if own_user() == 0 {
            std::os::unix::fs::chown(directory, Some(65534), None).unwrap();
            let said = refusal(&path);
            assert!(said.contains("belongs to user 65534"), "{said}");
            std::os::unix::fs::chown(directory, Some(0), None).unwrap();
        }
        // A link in its place is not followed, and what it leads to keeps its mode.
        let victim = directory.join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&victim, &path).unwrap();
        let mut options = RingOptions::at(path.clone());
        options.mode = 0o666;
        let said = open(&options).err().unwrap().to_string();
        assert!(said.contains("exists and is no socket"), "{said}");
        std::fs::remove_file(&path).unwrap();
        // Whatever comes in place of the socket between its making and its mode is left alone.
        let place = super::super::place::Place::open(&path).unwrap();
        symlink(&victim, &path).unwrap();
        assert!(place.hand_over(0o666, None).is_err());
        std::fs::rename(&victim, &path).unwrap();
        let swapped = place.hand_over(0o666, None).unwrap_err().to_string();
        assert!(swapped.contains("something else in its place"), "{swapped}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_socket_is_taken_from_the_dead_alone() {
        use std::os::unix::fs::PermissionsExt;
        let bed = Bed::new("socket", 1);
        let directory = bed.path.parent().unwrap().to_path_buf();
        let mode = std::fs::metadata(&bed.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = open(&RingOptions::at(bed.path.clone()))
            .err()
            .unwrap()
            .to_string();
        assert!(
            again.contains("another process serves this socket"),
            "{again}"
        );
        let path = bed.path.clone();
        drop(bed);
        assert!(!path.exists(), "the name goes with the daemon");

        // One that died leaves its name.
        let dead = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(dead);
        assert!(path.exists());
        let mut options = RingOptions::at(path.clone());
        options.mode = 0o666;
        let opened = open(&options).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        drop(opened);

        std::fs::write(&path, "precious").unwrap();
        let taken = open(&options).err().unwrap().to_string();
        assert!(taken.contains("exists and is no socket"), "{taken}");
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_file(&path).unwrap();

        options.path = path.join("x".repeat(120));
        let long = open(&options).err().unwrap().to_string();
        assert!(
            long.contains("1 to 107 bytes") || long.contains("No such file"),
            "{long}"
        );
        options.path = PathBuf::from("/nonexistent-directory/ring");
        let nowhere = open(&options).err().unwrap().to_string();
        assert!(nowhere.contains("No such file"), "{nowhere}");
        std::fs::remove_dir(directory).unwrap();
        assert!(super::super::group_id("no such group").is_err());
        assert_eq!(super::super::group_id("root"), Ok(0));
    }
}
