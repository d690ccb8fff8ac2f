//! A daemon for tests of the client that loses what it is told to lose.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sa_ring::Memory;
use sa_ring::layout::{LATE_HEADER, LatePart, VERSION, Welcome, state};
use sa_ring::packets;
use std::os::fd::{AsFd, OwnedFd};

use crate::connect::tests::{described, listen};
use crate::{Client, Options};

/// Slots of its rings.
const SLOTS: u32 = 8;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Answers,
    AnswersLater,
    SaysLaterAndDrops,
    SaysLaterAndNever,
    Drops,
    Refuses,
    IsBusy,
    /// Cuts the client off; the next connection is taken.
    Ends,
    /// Nobody listens afterwards.
    EndsForGood,
}

/// It runs until it is dropped.
pub(super) struct Fake {
    directory: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Of each request `does` is told the DLID.
    pub(super) fn start(does: impl FnMut(u16) -> Does + Send + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ring");
        let listener = listen(&path).unwrap();
        let (stop, most) = (Arc::default(), Arc::default());
        let (is_over, counted) = (Arc::clone(&stop), Arc::clone(&most));
        let thread = thread::spawn(move || serve(&path, &listener, does, &is_over, &counted));
        Self {
            directory,
            stop,
            most,
            thread: Some(thread),
        }
    }

    pub(super) fn client(&self) -> Client {
        let path: PathBuf = self.directory.path().join("ring");
        let options = Options {
            timeout: Duration::from_secs(10),
            ..Options::default()
        };
        Client::connect_with(&path, options).unwrap()
    }

    /// Requests that were sent and not answered, late ones too.
    pub(super) fn most_in_flight(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

/// One client after another.
fn serve(
    path: &Path,
    listener: &OwnedFd,
    mut does: impl FnMut(u16) -> Does,
    stop: &AtomicBool,
    most: &AtomicU64,
) {
    while !stop.load(Ordering::Relaxed) {
        if !packets::wait(listener.as_fd(), Duration::from_millis(5)).unwrap() {
            continue;
        }
        let socket = rustix::net::accept(listener).unwrap();
        packets::wait(socket.as_fd(), Duration::from_secs(10)).unwrap();
        packets::receive(socket.as_fd(), &mut [0; 64]).unwrap();
        let file = described(SLOTS);
        let refusal = String::new();
        let welcome = Welcome {
            version: VERSION,
            refusal,
        }
        .bytes();
        packets::send(socket.as_fd(), &welcome, Some(file.as_fd())).unwrap();
        let ring = Ring {
            memory: Memory::map(file.as_fd(), SLOTS).unwrap(),
            written: 0,
            late: Vec::new(),
        };
        if ring.answer(&mut does, stop, most) {
            std::fs::remove_file(path).unwrap();
            return;
        }
    }
}

/// The ring of a client, from the daemon's side.
struct Ring {
    memory: Memory,
    /// Bytes of late replies.
    written: u64,
    /// To be answered late, once nothing else is to be done.
    late: Vec<(u64, u16)>,
}

impl Ring {
    /// Until the client is cut off. True: nobody is to follow.
    fn answer(
        mut self,
        does: &mut impl FnMut(u16) -> Does,
        stop: &AtomicBool,
        most: &AtomicU64,
    ) -> bool {
        let mut served = 0;
        while !stop.load(Ordering::Relaxed) {
            let produced = self.memory.header().produced.0.load(Ordering::Acquire);
            let late = self.late.len() as u64;
            most.fetch_max(produced - served + late, Ordering::Relaxed);
            if produced == served {
                for (position, dlid) in std::mem::take(&mut self.late) {
                    self.write_late(position, &reply(dlid, 0));
                }
                thread::yield_now();
                continue;
            }
            let dlid = self.dlid(served);
            match does(dlid) {
                Does::Answers => self.put(served, state::REPLY, &reply(dlid, 0)),
                Does::Refuses => self.put(served, state::REPLY, &reply(dlid, 0x0300)),
                Does::IsBusy => self.put(served, state::REPLY, &reply(dlid, 1)),
                Does::Drops => self.put(served, state::NONE, &[]),
                Does::AnswersLater => {
                    self.put(served, state::LATER, &[]);
                    self.late.push((served, dlid));
                }
                Does::SaysLaterAndDrops => {
                    self.put(served, state::LATER, &[]);
                    self.write_late(served, &[]);
                }
                Does::SaysLaterAndNever => self.put(served, state::LATER, &[]),
                Does::Ends => return false,
                Does::EndsForGood => return true,
            }
            served += 1;
            self.memory
                .header()
                .served
                .0
                .store(served, Ordering::Release);
        }
        true
    }

    /// Of the request in a slot: bytes 40 and 41 of its record.
    fn dlid(&self, position: u64) -> u16 {
        let word = self.memory.slot(position)[1 + (56 + 40) / 8].load(Ordering::Relaxed);
        let [high, low, ..] = word.to_ne_bytes();
        u16::from_be_bytes([high, low])
    }

    fn put(&self, position: u64, state: u8, mad: &[u8]) {
        let slot = self.memory.slot(position);
        let [low, high] = u16::try_from(mad.len()).unwrap().to_ne_bytes();
        let about = u64::from_ne_bytes([low, high, 0, 0, state, 0, 0, 0]);
        slot[0].store(about, Ordering::Relaxed);
        for (word, bytes) in slot[1..].iter().zip(mad.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    fn write_late(&mut self, position: u64, mad: &[u8]) {
        let length = u32::try_from(mad.len()).unwrap();
        let part = LatePart {
            position,
            total: length,
            offset: 0,
            length,
        };
        let words = part.words().into_iter();
        let words = words.chain(
            mad.as_chunks()
                .0
                .iter()
                .map(|bytes| u64::from_ne_bytes(*bytes)),
        );
        for (at, word) in (self.written..).step_by(8).zip(words) {
            self.memory.late_word(at).store(word, Ordering::Relaxed);
        }
        assert!(part.room() >= LATE_HEADER);
        self.written += part.room() as u64;
        let written = &self.memory.header().late_written.0;
        written.store(self.written, Ordering::Release);
    }
}

/// A reply with this status; of the path to this DLID.
fn reply(dlid: u16, status: u16) -> [u8; 120] {
    let mut mad = [0; 120];
    mad[4..6].copy_from_slice(&status.to_be_bytes());
    mad[96..98].copy_from_slice(&dlid.to_be_bytes());
    mad
}
