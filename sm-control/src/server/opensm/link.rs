//! The connection to the preload library in OpenSM.
//!
//! A thread connects, reads frames and, when the connection ends, connects again after a pause; it
//! says each reason once. Everybody else only writes, under one lock. A write that fails in the
//! middle of a frame ends the connection, as nothing that follows could be understood.
//!
//! The file that was lent outlives the connection: when OpenSM dies its clients still come here,
//! and the OpenSM that is started next is handed the methods that it finds taken
//! ([`Link::hand_on`]).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_source::written::{Counts, Standing, Word, Written};
use sa_wire::umad::Slot;
use split_protocol::{
    Carrier, Frame, HEADER_BYTES, MAD_BYTES, Packet, Reads, ReceiveError, Strange, VERSION, Welcome,
};
use tracing::{info, warn};
use zerocopy::IntoBytes;

/// Pause before the next try to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// How long OpenSM may leave what is sent to it unread.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests that may wait for OpenSM; the oldest is given up for the next.
const MOST_PENDING: usize = 4096;

/// A reply of OpenSM: the number of its request, and the MAD with all records.
pub(in crate::server) type Answer = (u64, Vec<u8>);

/// The connection, while there is one, and what was learnt from it. Every method may be called by
/// any thread.
pub(in crate::server) struct Link {
    path: PathBuf,
    state: Mutex<State>,
    /// Number of the next request; never given twice.
    next: AtomicU64,
    /// The number of the last beat that the library answered.
    beat: AtomicU64,
    /// The daemon ends.
    stopping: AtomicBool,
    /// Where the thread that judges listens.
    heard: Sender<Heard>,
    /// The fabric as OpenSM's SMPs show it.
    written: Arc<Mutex<Written>>,
}

/// What OpenSM's library says unasked. Bounded on its way: whoever is late looks at everything
/// anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// A Report of OpenSM.
    Report(Box<Packet>),
    /// OpenSM has written to switches or ports.
    Programmed,
    /// Others have the read methods now.
    Reads,
}

/// Under one lock, which is held for a write at most.
#[derive(Default)]
struct State {
    session: Option<Session>,
    /// Connections so far; the number of the next.
    sessions: u64,
    /// What was lent; it outlives the OpenSM that did.
    lent: Option<Lent>,
    /// Who waits for which reply. By number, so the first is the oldest.
    pending: BTreeMap<u64, Sender<Answer>>,
}

/// A umad file, and the agent on it that has the read methods. Closing the last copy of it gives
/// the methods up.
struct Lent {
    file: OwnedFd,
    agent: u32,
}

/// One connection, as writers have it. The reader has its own handle of the stream.
struct Session {
    stream: UnixStream,
    standing: Connected,
}

/// What is known of the OpenSM that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Connected {
    /// Counts connections: another number is another OpenSM, or the same after a break.
    pub(super) session: u64,
    /// Process id.
    pub(super) pid: u32,
    /// N of its `umadN`.
    pub(super) umad: u32,
    /// Who has the read methods.
    pub(super) reads: Reads,
}

impl Link {
    /// What is heard comes out of the receiver; more than it holds is dropped.
    pub(super) fn new(path: &Path) -> (Self, Receiver<Heard>) {
        let (heard, receiver) = bounded(256);
        let link = Self {
            path: path.to_owned(),
            state: Mutex::default(),
            next: AtomicU64::new(1),
            beat: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            heard,
            written: Arc::default(),
        };
        (link, receiver)
    }

    /// Everything that is shared, under its lock.
    fn state(&self) -> MutexGuard<'_, State> {
        // No thread panics while it holds the lock; if one did, the state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None while OpenSM is away, or runs without the library.
    pub(super) fn connected(&self) -> Option<Connected> {
        let state = self.state();
        state
            .session
            .as_ref()
            .map(|session| session.standing.clone())
    }

    /// Tells OpenSM's library something. False when it is away. Waits at most a second for room in
    /// the socket.
    pub(super) fn tell(&self, frame: &Frame) -> bool {
        let mut state = self.state();
        let Some(session) = &mut state.session else {
            return false;
        };
        if frame.send(&mut session.stream).is_ok() {
            return true;
        }
        // Half a frame may be on its way: nothing more can be said.
        let _ = session.stream.shutdown(Shutdown::Both);
        false
    }

    /// A copy of the file that was lent, and its agent. None: none is. Errors: the system's.
    pub(in crate::server) fn lent(&self) -> io::Result<Option<(OwnedFd, u32)>> {
        let state = self.state();
        let lent = state.lent.as_ref();
        lent.map(|lent| Ok((lent.file.try_clone()?, lent.agent)))
            .transpose()
    }

    /// Whether a file with the methods is here, of this OpenSM or of one before.
    pub(super) fn has_lent(&self) -> bool {
        self.state().lent.is_some()
    }

    /// It is not used any more: closes this daemon's copy. Where OpenSM is away the methods are
    /// nobody's then.
    pub(super) fn forget_lent(&self) {
        self.state().lent = None;
    }

    /// Gives what another OpenSM has lent to the one that is connected. The file stays open here
    /// too, and in use.
    pub(super) fn hand_on(&self) {
        let state = self.state();
        let (Some(session), Some(lent)) = (&state.session, &state.lent) else {
            return;
        };
        let Ok(frame) = Frame::Return(lent.agent).bytes() else {
            return;
        };
        let carrier = session.stream.try_clone().map(Carrier::new);
        let sent = carrier.and_then(|carrier| carrier.send_with(&frame, lent.file.as_fd()));
        if !sent.is_ok_and(|sent| sent == frame.len()) {
            // As for `tell`.
            let _ = session.stream.shutdown(Shutdown::Both);
        }
    }

    /// The number of the last [`Frame::Beat`] that was answered.
    pub(super) fn answered_beat(&self) -> u64 {
        self.beat.load(Ordering::SeqCst)
    }

    /// Has OpenSM answer a request, and the whole reply sent to `to` with the number that is given
    /// here. None when OpenSM is away. OpenSM does not answer while it is not the master.
    pub(in crate::server) fn ask(&self, request: &Slot, to: &Sender<Answer>) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = self.state();
            state.session.as_ref()?;
            if state.pending.len() >= MOST_PENDING {
                // Whoever waits for it sees its sender go, and asks again.
                state.pending.pop_first();
            }
            // Noted before it is sent: the answer may come before this returns.
            state.pending.insert(number, to.clone());
        }
        self.tell(&Frame::Request(number, packet(request)))
            .then_some(number)
    }

    /// The reply to a request, waited for. None when there is none in this time, or when OpenSM
    /// goes meanwhile.
    pub(in crate::server) fn ask_and_wait(
        &self,
        request: &Slot,
        timeout: Duration,
    ) -> Option<Vec<u8>> {
        let (to, answers) = bounded(1);
        let number = self.ask(request, &to)?;
        // The link has the only sender now: when it hangs up, the wait ends.
        drop(to);
        let answer = answers.recv_timeout(timeout).ok();
        self.forget(number);
        answer.map(|(_, reply)| reply)
    }

    /// Nobody waits for this reply any more.
    pub(in crate::server) fn forget(&self, number: u64) {
        self.state().pending.remove(&number);
    }

    /// Connects, and connects again, until [`Self::stop`]. The thread `sa-opensm`.
    pub(in crate::server) fn run(&self) {
        let mut complaint = None;
        while !self.stopping.load(Ordering::SeqCst) {
            let ended = self.session();
            self.hang_up();
            // By its words: the same reason again is no news.
            let said = ended.to_string();
            if complaint.as_ref() != Some(&said) && !self.stopping.load(Ordering::SeqCst) {
                warn!(socket = %self.path.display(), "no OpenSM with the preload library: {said}");
                complaint = Some(said);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Makes [`Self::run`] return.
    pub(in crate::server) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(session) = &self.state().session {
            let _ = session.stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends the session here. The file that was lent stays.
    fn hang_up(&self) {
        let mut state = self.state();
        state.session = None;
        // Whoever waits learns it: the senders go.
        state.pending.clear();
    }

    /// One connection, from its beginning to its end. Returns why it ended, which is never nothing.
    fn session(&self) -> ReceiveError {
        let (mut stream, welcome) = match self.connect() {
            Ok(connected) => connected,
            Err(error) => return error,
        };
        info!(
            opensm = welcome.pid,
            umad = welcome.umad,
            "connected to OpenSM"
        );
        loop {
            match Frame::receive(&mut stream) {
                Ok(frame) => {
                    if let Err(error) = self.take(frame, &mut stream) {
                        return error;
                    }
                }
                Err(error) => return error,
            }
        }
    }

    /// Connects and greets. Errors: nobody listens, another daemon is connected, or another
    /// version.
    fn connect(&self) -> Result<(Carrier, Welcome), ReceiveError> {
        let stream = UnixStream::connect(&self.path)?;
        // Writers hold the lock: an OpenSM that stands still must not stop them for ever.
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        let writer = stream.try_clone()?;
        let mut stream = Carrier::new(stream);
        Frame::Hello(VERSION).send(&mut stream)?;
        let welcome = match Frame::receive(&mut stream)? {
            Frame::Welcome(welcome) if welcome.version == VERSION => welcome,
            Frame::Welcome(welcome) => return Err(strange(Strange::Version(welcome.version))),
            Frame::Busy => return Err(io::Error::other("another sapphired is connected").into()),
            other => return Err(strange(Strange::NoWelcome(other.name()))),
        };
        // Before any of its words.
        self.overheard().begin();
        let mut state = self.state();
        state.sessions += 1;
        state.session = Some(Session {
            stream: writer,
            standing: Connected {
                session: state.sessions,
                pid: welcome.pid,
                umad: welcome.umad,
                reads: welcome.reads,
            },
        });
        drop(state);
        // Stopped in between: nobody else would end this connection.
        if self.stopping.load(Ordering::SeqCst) {
            return Err(ReceiveError::Closed);
        }
        Ok((stream, welcome))
    }

    /// Does what a frame says. Errors: one that only a daemon may send.
    fn take(&self, frame: Frame, stream: &mut Carrier) -> Result<(), ReceiveError> {
        match frame {
            Frame::Reads(reads) => self.note_reads(reads),
            Frame::Lent(agent) => {
                let file = stream.take_file();
                let file = file.ok_or_else(|| strange(Strange::NoFile))?;
                self.state().lent = Some(Lent { file, agent });
                self.note_reads(Reads::Lent);
            }
            Frame::Beat(number) => self.beat.store(number, Ordering::SeqCst),
            Frame::Reply(number, reply) => {
                let waiting = self.state().pending.remove(&number);
                if let Some(waiting) = waiting {
                    // Who does not wait any more does not mind.
                    let _ = waiting.try_send((number, reply));
                }
            }
            // Whoever is to hear of changes has enough to do: it will look at everything.
            Frame::Report(packet) => drop(self.heard.try_send(Heard::Report(Box::new(packet)))),
            Frame::Programmed(_) => drop(self.heard.try_send(Heard::Programmed)),
            Frame::Overheard(lost, words) => {
                let words: Vec<Word> = words.iter().map(word).collect();
                // What is new to us is a change, whether OpenSM wrote it or found it.
                if self.overheard().hear(&words, lost) {
                    drop(self.heard.try_send(Heard::Programmed));
                }
            }
            other => return Err(strange(Strange::Unasked(other.name()))),
        }
        Ok(())
    }
}

/// What is overheard.
impl Link {
    /// To be read from, in place of OpenSM's SA.
    pub(super) fn written(&self) -> Arc<Mutex<Written>> {
        Arc::clone(&self.written)
    }

    /// What was heard before does not count any more.
    pub(super) fn doubt(&self, why: &'static str) {
        self.overheard().doubt(why);
    }

    /// How far it can stand for a reading, and what was heard so far.
    pub(super) fn heard_so_far(&self) -> (Standing, Counts) {
        let written = self.overheard();
        (written.standing().clone(), written.counts())
    }

    fn overheard(&self) -> MutexGuard<'_, Written> {
        // As for the state.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// Who has the methods now, for the next look.
    fn note_reads(&self, reads: Reads) {
        if let Some(session) = &mut self.state().session {
            session.standing.reads = reads;
        }
        // Who judges must not sleep over it.
        drop(self.heard.try_send(Heard::Reads));
    }
}

/// As the fabric is put together from.
const fn word(word: &split_protocol::Word) -> Word {
    let split_protocol::Word {
        status,
        head,
        data,
        path,
    } = *word;
    Word {
        status,
        head,
        data,
        path,
    }
}

const fn strange(what: Strange) -> ReceiveError {
    ReceiveError::Strange(what)
}

/// As the library takes it.
pub(super) fn packet(request: &Slot) -> Packet {
    let bytes = request.as_bytes();
    let mut header = [0; HEADER_BYTES];
    let mut mad = [0; MAD_BYTES];
    for (place, byte) in header.iter_mut().chain(&mut mad).zip(bytes) {
        *place = *byte;
    }
    Packet { header, mad }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    const WELCOME: Welcome = Welcome {
        version: VERSION,
        pid: 7,
        umad: 0,
        reads: Reads::Held,
    };

    fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn accept(listener: &UnixListener) -> UnixStream {
        let (mut stream, _) = listener.accept().unwrap();
        assert_eq!(Frame::receive(&mut stream).unwrap(), Frame::Hello(VERSION));
        stream
    }

    #[test]
    fn replies_find_their_requests_and_a_lost_connection_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let (link, reports) = Link::new(&path);
        let link = Arc::new(link);
        let running = Arc::clone(&link);
        let thread = std::thread::spawn(move || running.run());

        let mut peer = accept(&listener);
        Frame::Welcome(WELCOME).send(&mut peer).unwrap();
        wait_for("connected", || link.connected().is_some());
        let (to, answers) = bounded(8);
        let numbers = [1u8, 2].map(|seed| {
            let mut request = Slot::EMPTY;
            request.mad[9] = seed;
            link.ask(&request, &to).unwrap()
        });
        let mut asked: Vec<(u64, u8)> = Vec::new();
        for _ in numbers {
            match Frame::receive(&mut peer).unwrap() {
                Frame::Request(number, packet) => asked.push((number, packet.mad[9])),
                other => panic!("{other:?}"),
            }
        }
        for (number, seed) in asked.iter().rev() {
            Frame::Reply(*number, vec![*seed; 300])
                .send(&mut peer)
                .unwrap();
        }
        Frame::Reply(99, vec![9]).send(&mut peer).unwrap();
        Frame::Report(packet(&Slot::EMPTY)).send(&mut peer).unwrap();
        Frame::Reads(Reads::Lent).send(&mut peer).unwrap();
        let got = [answers.recv().unwrap(), answers.recv().unwrap()];
        assert_eq!(
            got,
            [(numbers[1], vec![2; 300]), (numbers[0], vec![1; 300])]
        );
        assert!(reports.recv_timeout(Duration::from_secs(20)).is_ok());
        wait_for("free", || {
            link.connected().is_some_and(|it| it.reads == Reads::Lent)
        });

        link.ask(&Slot::EMPTY, &to).unwrap();
        drop(to);
        drop(peer);
        assert!(answers.recv_timeout(Duration::from_secs(20)).is_err());
        let mut peer = accept(&listener);
        Frame::Welcome(WELCOME).send(&mut peer).unwrap();
        wait_for("again", || {
            link.connected().is_some_and(|it| it.session == 2)
        });
        link.stop();
        thread.join().unwrap();
    }

    #[test]
    fn strangers_are_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let (link, _) = Link::new(&path);
        let link = Arc::new(link);
        let running = Arc::clone(&link);
        let thread = std::thread::spawn(move || running.run());
        for strange in [
            Frame::Busy,
            Frame::Reads(Reads::Lent),
            Frame::Welcome(Welcome {
                version: VERSION + 1,
                ..WELCOME
            }),
        ] {
            let mut peer = accept(&listener);
            strange.send(&mut peer).unwrap();
            assert!(matches!(
                Frame::receive(&mut peer),
                Err(ReceiveError::Closed)
            ));
            assert!(link.connected().is_none());
        }
        link.stop();
        drop(listener);
        thread.join().unwrap();
    }
}
