//! OpenSM with the library of `sapphire-split` in it, and the daemon's end of its socket.
//!
//! On the simulator the library splits nothing off; it overhears, and takes requests, all the same. Requests
//! go by its socket because replies of more than one MAD do not get through the simulator's own library; a
//! packet from the network wakes OpenSM for them.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use sa_rig::{Fabric, Process, wait_for};
use sa_source::written::{Word, Written};
use sa_source::{Ask, AskError};
use sa_tests::cli::program;
use sa_tests::client::{Client, Question};
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};
use split_protocol::{Frame, HEADER_BYTES, Packet, VERSION};
use zerocopy::IntoBytes;

/// Questions to the SA, by attribute.
pub(crate) type Asked = Arc<Mutex<BTreeMap<AttributeId, usize>>>;

/// Starts OpenSM with the library on a node and waits for SUBNET UP. It is listened to before its first SMP,
/// so that nothing is missed.
pub(crate) fn start(
    fabric: &Fabric,
    node: &str,
    options: &[&str],
) -> Result<(Process, Arc<Shared>)> {
    let path = fabric.dir().join("split.sock");
    let socket = path.clone();
    let listener = thread::spawn(move || {
        let mut stream = None;
        wait_for("the library's socket", APPEARS, || {
            stream = UnixStream::connect(&socket).ok();
            Ok(stream.is_some())
        })?;
        listen(stream.context("a socket")?)
    });
    let variables = [("SAPPHIRE_SPLIT_SOCKET", path.as_path())];
    let library = program("libsapphire_split.so")?;
    let opensm = fabric.opensm_behind(&library, node, options, &variables)?;
    let shared = listener
        .join()
        .map_err(|_| anyhow!("the listener panicked"))??;
    Ok((opensm, shared))
}

/// OpenSM, asked over the library's socket and overheard.
pub(crate) struct Socket {
    state: Arc<Shared>,
    /// Wakes OpenSM, by questions from this port.
    waker: Client,
    asked: Asked,
    /// Whether [`Ask::overheard`] tells what was overheard.
    is_overhearing: bool,
}

/// What the thread that listens shares with whoever asks.
pub(crate) struct Shared {
    stream: UnixStream,
    pub(crate) written: Arc<Mutex<Written>>,
    replies: Mutex<BTreeMap<u64, Vec<u8>>>,
    next: AtomicU64,
}

impl Socket {
    /// `node`: from where OpenSM is woken.
    pub(crate) fn open(
        state: &Arc<Shared>,
        fabric: &Fabric,
        node: &str,
        asked: &Asked,
    ) -> Result<Self> {
        Ok(Self {
            state: Arc::clone(state),
            waker: Client::attach(fabric, node)?,
            asked: Arc::clone(asked),
            is_overhearing: true,
        })
    }

    /// The same without what is overheard, as from another host.
    pub(crate) fn only_asking(self) -> Self {
        Self {
            is_overhearing: false,
            ..self
        }
    }

    /// The port that the SA takes for the requester: its own.
    pub(crate) fn requester(&self) -> u16 {
        self.waker.sa.get()
    }

    /// The replies to requests, all of which get one. Errors: one does not.
    pub(crate) fn ask_all(&mut self, requests: &[Slot]) -> Result<Vec<Vec<u8>>, AskError> {
        let mut replies = Vec::with_capacity(requests.len());
        for some in requests.chunks(AT_ONCE) {
            // As any client does: OpenSM may be sweeping, or the simulator have lost a packet.
            let mut answered = self.ask_some(some);
            for _ in 0..AGAIN {
                if matches!(answered, Err(AskError::Unanswered(_))) {
                    answered = self.ask_some(some);
                }
            }
            replies.extend(answered?);
        }
        Ok(replies)
    }

    /// The replies to a few requests at once.
    fn ask_some(&mut self, some: &[Slot]) -> Result<Vec<Vec<u8>>, AskError> {
        let numbers = some.iter().map(|slot| self.send(&slot.mad));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        self.receive(&numbers)
    }

    /// The replies to these requests. Errors: one does not come.
    fn receive(&mut self, numbers: &[u64]) -> Result<Vec<Vec<u8>>, AskError> {
        for nth in 0..TRIES {
            // Mostly the first waking is enough.
            if nth > 2 {
                thread::sleep(PAUSE);
            }
            let missing = {
                let mut arrived = lock(&self.state.replies);
                let is_missing = |number: &&u64| !arrived.contains_key(number);
                let missing = numbers.iter().filter(is_missing).count();
                if missing == 0 {
                    let taken = numbers.iter().filter_map(|number| arrived.remove(number));
                    return Ok(taken.collect());
                }
                missing
            };
            self.wake(missing)
                .map_err(|error| AskError::Gone(error.to_string()))?;
        }
        let many = numbers.len();
        Err(AskError::Unanswered(format!(
            "no reply to one of {many} requests"
        )))
    }

    /// OpenSM reads one packet from the network and one from the library in turn.
    fn wake(&mut self, times: usize) -> Result<()> {
        let lid = self.waker.lid;
        let attribute = AttributeId::CLASS_PORT_INFO;
        let ping = || Question {
            slot: request::request(lid, method::GET, attribute, 0, &[]),
            is_answered: true,
        };
        let pings: Vec<Question> = (0..times).map(|_| ping()).collect();
        let replies = self.waker.ask_all(&pings)?;
        ensure!(replies.iter().all(Option::is_some), "OpenSM is silent");
        Ok(())
    }

    /// Sends a request and gives its number.
    fn send(&self, request: &[u8; MAD_SIZE]) -> Result<u64, AskError> {
        let attribute = SaMad::from_bytes(request).attribute_id();
        *lock(&self.asked).entry(attribute).or_default() += 1;
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        slot.header.lid = self.requester().into();
        slot.header.qpn = 1.into();
        let number = self.state.next.fetch_add(1, Ordering::Relaxed);
        let gone = |error: io::Error| AskError::Gone(error.to_string());
        let frame = Frame::Request(number, packet(&slot));
        frame.send(&mut &self.state.stream).map_err(gone)?;
        Ok(number)
    }
}

impl Ask for Socket {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        let mut replies = self.ask_all(&[slot])?;
        replies
            .pop()
            .ok_or_else(|| AskError::Unanswered("no reply".to_owned()))
    }

    fn lid(&self) -> Option<Lid> {
        Lid::new(self.requester()).ok()
    }

    fn whom(&self) -> String {
        "OpenSM".to_owned()
    }

    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        self.is_overhearing.then(|| Arc::clone(&self.state.written))
    }
}

fn packet(slot: &Slot) -> Packet {
    let (mut header, mut mad) = ([0; HEADER_BYTES], [0; MAD_SIZE]);
    let (front, back) = slot.as_bytes().split_at(HEADER_BYTES);
    header.copy_from_slice(front);
    mad.copy_from_slice(back);
    Packet { header, mad }
}

/// A test that panics with it locked has failed already.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears the library, as the daemon does.
fn listen(stream: UnixStream) -> Result<Arc<Shared>> {
    Frame::Hello(VERSION).send(&mut &stream)?;
    let welcome = Frame::receive(&mut &stream)?;
    ensure!(matches!(welcome, Frame::Welcome(_)), "{welcome:?}");
    let shared = Arc::new(Shared {
        stream,
        written: Arc::new(Mutex::new(Written::new())),
        replies: Mutex::default(),
        next: AtomicU64::new(1),
    });
    let heard = Arc::clone(&shared);
    thread::spawn(move || {
        while let Ok(frame) = Frame::receive(&mut &heard.stream) {
            match frame {
                Frame::Overheard(lost, words) => {
                    let words: Vec<Word> = words.iter().map(word).collect();
                    lock(&heard.written).hear(&words, lost);
                }
                Frame::Reply(number, reply) => {
                    lock(&heard.replies).insert(number, reply);
                }
                _ => {}
            }
        }
    });
    Ok(shared)
}

fn word(word: &split_protocol::Word) -> Word {
    Word {
        status: word.status,
        head: word.head,
        data: word.data,
        path: word.path,
    }
}

/// Requests under way at a time.
const AT_ONCE: usize = 64;
/// How often OpenSM is woken before a reply is given up.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(1);
/// How often requests are sent again.
const AGAIN: u32 = 2;
/// OpenSM registers within this time of its start.
const APPEARS: Duration = Duration::from_secs(60);
