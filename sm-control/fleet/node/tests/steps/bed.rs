//! A leader in a process of its own, that can be started again, with followers, at the beginning of a part of its life.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::made::Keys;
use crate::oracle::Oracle;
use crate::process::Process;
use crate::rig::{Node, until};
use crate::witness::Witness;

/// What is in force before, in its order: so many that files are removed with the next one.
const BEFORE: [u16; 5] = [9, 10, 11, 12, 13];
/// What is published then.
const NEXT: u16 = 14;

/// Which part of a leader's life is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its files are opened.
    Opens,
    /// It takes a term and publishes for the first time.
    First,
    /// It publishes another generation.
    Next,
}

impl Stage {
    /// Threads that use the disk in it.
    pub(crate) const fn threads(self) -> &'static [&'static str] {
        match self {
            Self::Opens => &["steps-main"],
            Self::First | Self::Next => &["sa-fleet-engine", "sa-fleet-pack"],
        }
    }

    /// What is to be in force in the end.
    pub(crate) const fn hosts(self) -> u16 {
        match self {
            Self::Opens | Self::First => BEFORE[0],
            Self::Next => NEXT,
        }
    }
}

/// A leader that can be started again, two followers, and who watches them. Fields go in their order.
pub(crate) struct Bed {
    pub(crate) leader: Process,
    _witness: Witness,
    pub(crate) followers: Arc<Vec<Node>>,
    pub(crate) oracle: Arc<Oracle>,
    listen: SocketAddr,
    /// What the process before this one has warned of.
    pub(crate) said_before: Vec<String>,
    folder: TempDir,
}

impl Bed {
    /// Up to the moment before a stage.
    pub(crate) fn before(stage: Stage) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::new();
        keys.save(folder.path()).unwrap();
        let oracle = Oracle::new(&keys);
        let listen = address();
        let url = format!("http://{listen}");
        let follower = |name: &str| {
            let path = folder.path().join(name);
            Node::relay(keys.held(), &path, std::slice::from_ref(&url))
        };
        let followers = Arc::new(vec![follower("one"), follower("two")]);
        let leader = started(&folder, listen);
        let mut bed = Self {
            leader,
            _witness: Witness::start(&oracle, &url, &followers),
            followers,
            oracle,
            listen,
            said_before: Vec::new(),
            folder,
        };
        if stage != Stage::Opens {
            bed.open();
        }
        if stage == Stage::Next {
            bed.leader.order("lead");
            for hosts in BEFORE {
                bed.publish(hosts);
                until("it is announced", || bed.oracle.heard_of(hosts));
            }
            bed.follow(BEFORE[4]);
        }
        bed
    }

    fn open(&mut self) {
        self.leader.order("open");
        self.leader.hears("opened");
    }

    fn publish(&mut self, hosts: u16) {
        self.oracle.orders(hosts);
        self.leader.order(&format!("publish {hosts}"));
    }

    /// Orders what the stage is.
    pub(crate) fn go(&mut self, stage: Stage) {
        match stage {
            Stage::Opens => {
                self.leader.order("open");
                self.leader.order("lead");
            }
            Stage::First => self.leader.order("lead"),
            Stage::Next => {}
        }
        self.publish(stage.hosts());
    }

    /// Waits until all answer of so many hosts.
    pub(crate) fn follow(&self, hosts: u16) {
        until(&format!("answers of {hosts} hosts"), || self.are_at(hosts));
    }

    pub(crate) fn are_at(&self, hosts: u16) -> bool {
        let mut all = 0..self.followers.len();
        all.all(|follower| self.oracle.last_answer(follower) == Some(hosts.into()))
    }

    pub(crate) fn are_silent(&self) -> bool {
        let mut all = self.followers.iter();
        all.all(|follower| follower.stand.answers().is_none())
    }

    /// Another process on the same directory, with what is in force.
    pub(crate) fn starts_again(&mut self, hosts: u16) {
        self.leader.kill();
        self.said_before = self.leader.said("warns");
        self.oracle.another_life();
        self.leader = started(&self.folder, self.listen);
        self.open();
        self.leader.order("lead");
        self.publish(hosts);
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("leader")
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn started(folder: &TempDir, listen: SocketAddr) -> Process {
    Process::start("leader", folder.path(), &listen.to_string(), |_| {})
}

/// One of loopback that nobody else has, so that a process that is started again finds it free.
fn address() -> SocketAddr {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::SeqCst);
    let [.., high, low] = std::process::id().to_be_bytes();
    let last = u8::try_from(number % 250 + 1).unwrap();
    let second = 64 + u8::try_from(number / 250 % 128).unwrap();
    // Two runs at once differ in the middle.
    SocketAddr::from((Ipv4Addr::new(127, second, high ^ low, last), 8042))
}
