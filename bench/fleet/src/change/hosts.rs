//! Real followers: each with the threads, the directory and the connections of a daemon.
//!
//! ```text
//!  n0/highest      the record of what was seen: other file, fsync, rename, fsync of the directory
//!  n0/blobs        snapshots: the one in service and two before it
//!  threads         follow, ask, disk; one more for each file that is fetched or loaded
//!  connections     one that polls, one for files
//! ```
//!
//! They are what `server::fleet` of the daemon starts, with its defaults. A thousand of them are
//! three thousand threads, and four while a file is on its way; stacks are pages that were touched,
//! some 20 kB each.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fleet_node::following::{self, Following, Running};
use fleet_node::roots::Held;
use fleet_node::seen::Seen;
use fleet_tls::Tls;
use fleet_transfer::fetch::{Patience, Upstream};
use fleet_transfer::shelf::Shelf;
use sa_fleet::follower::Settings;
use sa_fleet::verdict::StaleRule;
use sa_snapshot::FORMAT_VERSION;

use super::host::Stand;
use super::installed;
use super::oracle::Oracle;
use crate::Failure;
use crate::progress::Progress;

/// How often own ports are looked at, as the daemon has it by default.
const LOOK: Duration = Duration::from_millis(200);
/// How often the oracle looks at all of them.
const ORACLE: Duration = Duration::from_millis(20);
/// Ended at once: each waits for a fifth of a second at most.
const AT_ONCE: usize = 100;

/// Where they are, and whom they follow.
pub(super) struct Place<'a> {
    /// Of the run: each has a directory in it.
    pub(super) folder: &'a Path,
    /// Of the leader, or of relays, each of whom as many ask.
    pub(super) addresses: &'a [SocketAddr],
    /// Where they speak TLS.
    pub(super) tls: Option<&'a Tls>,
    /// Which they have installed.
    pub(super) root: &'a Held,
    /// Their workers look at no gate.
    pub(super) is_planted: bool,
}

/// All of them, and the oracle that looks at them.
pub(super) struct Daemons {
    /// By place.
    running: Vec<Running>,
    /// The oracle is to end.
    over: Arc<AtomicBool>,
    looking: JoinHandle<()>,
}

impl Daemons {
    /// Starts so many, one after the other, and the oracle when all are there. Errors: no thread;
    /// the disk.
    pub(super) fn start(
        count: usize,
        place: &Place<'_>,
        progress: &Arc<Progress>,
        oracle: &Arc<Oracle>,
    ) -> Result<Self, Failure> {
        let (mut running, mut stands) = (Vec::new(), Vec::new());
        for nth in 0..count {
            let stand = Stand::new(nth, Arc::clone(progress), place.is_planted);
            let stand = Arc::new(stand.ok_or("no place for a reader")?);
            let following = place.following(&format!("n{nth}"), nth)?;
            let follows = following::start(following, Arc::clone(&stand))?;
            stand.says(follows.said.clone());
            running.push(follows);
            stands.push(stand);
        }
        let over = Arc::new(AtomicBool::new(false));
        let (oracle, ends) = (Arc::clone(oracle), Arc::clone(&over));
        let thread = thread::Builder::new().name("oracle".to_owned());
        let looking = thread.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                for look in stands.iter().filter_map(|stand| stand.look()) {
                    oracle.saw(look);
                }
                thread::sleep(ORACLE);
            }
        })?;
        Ok(Self {
            running,
            over,
            looking,
        })
    }

    /// Ends them, many at a time.
    pub(super) fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Of a thread that has panicked there is nothing to be had.
        let _ = self.looking.join();
        while !self.running.is_empty() {
            let left = self.running.len().saturating_sub(AT_ONCE);
            let some = self.running.split_off(left);
            thread::scope(|scope| {
                for one in some {
                    scope.spawn(move || drop(one));
                }
            });
        }
    }
}

impl Place<'_> {
    /// What one of them is started with. Errors: the disk; nobody to ask.
    pub(super) fn following(&self, name: &str, nth: usize) -> Result<Following, Failure> {
        let directory = self.folder.join(name);
        let asked = self.addresses.iter().cycle().nth(nth);
        let asked = asked.ok_or("nobody to ask")?;
        let shelf = Arc::new(Shelf::open(&directory.join("blobs"))?);
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{asked}");
        let settings = Settings {
            judge: installed::judge(self.root),
            node: nth as u64,
            upstreams: 1,
            at_once: 1,
            formats: vec![FORMAT_VERSION],
            stale: StaleRule::Stop,
        };
        Ok(Following {
            settings,
            upstreams: vec![Upstream::new(&url, Patience::default(), self.tls)],
            name: name.to_owned(),
            root: (self.root.clone(), directory.clone()),
            seen: Seen::open(&directory)?,
            shelf,
            desk: None,
            look: LOOK,
        })
    }
}
