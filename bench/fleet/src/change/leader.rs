//! The process of the leader, told by lines on standard input: `cable 0`, `switch 1`, `rule 2`
//! change the fabric, and `back` makes it whole. Each is answered by a [`Published`] once it is
//! announced. `spent` answers what was used so far.
//!
//! ```text
//!    0 ms  word_ns: the change is in the files; nothing of it is known yet
//!  150 ms  compile_ms: the snapshot is there, verified and compared
//!  155 ms  the thread that leads has seen it (it looks every 10 ms)
//!  165 ms  packed: a public copy, its generation, the whole and two patches
//!  170 ms  publish_ms: in the engine, signed, and on the desk from which polls are answered
//! ```
//!
//! Times are an example. What follows, hosts do: it is measured in the other process.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use fleet_engine::Embedded;
use fleet_node::leading::{self, Leading, Running};
use fleet_node::serving::Serving;
use fleet_tls::Tls;
use fleet_transfer::clocks;
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;
use sa_compiler::pipeline::Timings;
use sa_fleet::announcement::Announcement;
use sa_fleet::identity::Digest;
use sa_fleet::judge::Judge;
use sa_fleet::leader::LeaderSettings;
use sa_fleet::rules::Sound;
use serde::{Deserialize, Serialize};

use super::compiling::Compiling;
use super::fabric::{Fabric, Kind};
use super::in_force::InForce;
use super::{Wanted, installed};
use crate::follower::PREFIX;
use crate::progress::{DEADLINE, milliseconds};
use crate::spent::Spent;
use crate::{ANY_PORT, Failure};

/// Of announcements, as the daemon has it by default.
const TTL: Duration = Duration::from_secs(30);
/// How finely the moment of an announcement is seen.
const LOOK: Duration = Duration::from_micros(200);

/// A generation that is announced. Units: in the names; moments by CLOCK_BOOTTIME.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Published {
    /// Of the root file.
    pub(super) era: u32,
    /// Of the leader, which is the first.
    pub(super) term: u64,
    /// One more each time: what is in between would be a withdrawal, which nobody orders.
    pub(super) seq: u64,
    /// The generation in one word.
    pub(super) token: u64,
    /// When the changed fabric was given to the compiler.
    pub(super) word_ns: u64,
    /// Files of fabric and policy, parsed; what failed is taken away.
    pub(super) read_ms: f64,
    /// Forwarding tables, gone on from those before.
    pub(super) route_ms: f64,
    /// The proof: no credit loop, and who reaches whom.
    pub(super) check_ms: f64,
    /// Policy and path classes, the snapshot, its verification.
    pub(super) build_ms: f64,
    /// Sampled pairs asked of the reference; entries that changed counted.
    pub(super) compare_ms: f64,
    /// All of these, and what lies between: facts of ports, remarks, what is freed.
    pub(super) compile_ms: f64,
    /// From then on until the announcement.
    pub(super) publish_ms: f64,
    /// As it lies on a disk and in memory.
    pub(super) snapshot_bytes: u64,
    /// From the snapshot before; none of the first.
    pub(super) patch_bytes: Option<u32>,
}

/// Until standard input ends. Errors: the fabric, the disk, no port, no /proc.
pub(crate) fn run(folder: &Path, wanted: &Wanted, tls: Option<Tls>) -> Result<(), Failure> {
    let mut leader = Leader::start(folder, wanted, tls)?;
    let first = leader.publish()?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&first)?)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.as_str() {
            "spent" => {
                let sent = leader.desk.counts.bytes.load(Ordering::Relaxed);
                serde_json::to_string(&Spent::now(sent)?)?
            }
            change => {
                leader.change(change)?;
                serde_json::to_string(&leader.publish()?)?
            }
        };
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// Compiler, what is in force, and who leads: in the daemon three threads, here this one and those
/// of `fleet-node`.
struct Leader {
    compiling: Compiling,
    in_force: InForce,
    /// From which polls are answered, in a thread of its own.
    desk: Arc<Desk>,
    /// To read what was announced as a host does.
    judge: Judge,
    /// What was announced last.
    last: Option<(u64, Digest)>,
    _running: Running,
    _serving: Serving,
}

impl Leader {
    /// Its address goes to standard output.
    fn start(folder: &Path, wanted: &Wanted, tls: Option<Tls>) -> Result<Self, Failure> {
        let key = installed::make(folder)?;
        let root = installed::read(folder)?;
        let directory = folder.join("leader");
        let shelf = Arc::new(Shelf::open(&directory.join("blobs"))?);
        let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
        let serving = Serving::start(ANY_PORT, Arc::clone(&desk), tls)?;
        writeln!(std::io::stdout(), "{}", serving.address())?;
        let judge = installed::judge(&root);
        let settings = LeaderSettings {
            judge: judge.clone(),
            key,
            ttl: TTL,
            beat: TTL / 3,
            node: 1,
        };
        let leading = Leading {
            settings,
            engine: Box::new(Embedded::open(&directory.join("engine"))?),
            peers: Vec::new(),
            root,
            shelf,
            desk: Arc::clone(&desk),
        };
        let in_force = InForce::default();
        Ok(Self {
            compiling: Compiling::new(Fabric::write(wanted, folder)?),
            _running: leading::start(leading, in_force.clone())?,
            _serving: serving,
            in_force,
            desk,
            judge,
            last: None,
        })
    }

    /// Changes the fabric; nobody knows of it yet. Errors: no such change.
    fn change(&mut self, words: &str) -> Result<(), Failure> {
        let fabric = &mut self.compiling.fabric;
        match words.split_once(' ') {
            Some((kind, time)) => fabric.change(Kind::from_str(kind, false)?, time.parse()?),
            None => fabric.change_back(),
        }
    }

    /// From the fabric to an announcement. Errors: of the compiler; nothing is announced in time.
    fn publish(&mut self) -> Result<Published, Failure> {
        let word = clocks::now().0;
        let (snapshot, parts, timings) = self.compiling.compile()?.apart();
        let built = clocks::now().0;
        self.in_force.set(snapshot);
        self.compiling.accept(parts);
        let (announcement, announced) = self.announced()?;
        let published = published(&announcement, self.last, timings);
        let blob = announcement.content.blobs().first().map(|blob| blob.digest);
        self.last = blob.map(|blob| (published.seq, blob));
        Ok(Published {
            word_ns: word,
            compile_ms: milliseconds(word, built),
            publish_ms: milliseconds(built, announced),
            ..published
        })
    }

    /// What is announced after the last one, and when that was.
    fn announced(&self) -> Result<(Announcement, u64), Failure> {
        let begun = Instant::now();
        let last = self.last.map_or(0, |(seq, _)| seq);
        loop {
            let offer = self.desk.announced(PREFIX);
            if let Some(offer) = offer.filter(|it| it.position.issue.seq > last) {
                let now = clocks::both();
                let opened = self.judge.open(&offer.announcement, now.wall, &Sound);
                return Ok((opened.map_err(|why| format!("{why:?}"))?, now.boot.0));
            }
            if begun.elapsed() > DEADLINE {
                return Err("nothing is announced".into());
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// But for the moments.
fn published(of: &Announcement, last: Option<(u64, Digest)>, took: Timings) -> Published {
    let (content, issue) = (&of.content, of.position.issue);
    let blob = content.blobs().first();
    let patch = last.zip(blob);
    let patch = patch.and_then(|((_, from), blob)| content.delta(from, blob.digest));
    let [read, route, check, build, compare] =
        [took.read, took.route, took.check, took.build, took.compare]
            .map(|step| step.as_secs_f64() * 1e3);
    Published {
        era: issue.era,
        term: issue.term,
        seq: issue.seq,
        token: content.generation().token().0,
        word_ns: 0,
        read_ms: read,
        route_ms: route,
        check_ms: check,
        build_ms: build,
        compare_ms: compare,
        compile_ms: 0.0,
        publish_ms: 0.0,
        snapshot_bytes: blob.map_or(0, |blob| blob.size),
        patch_bytes: patch.map(|patch| patch.size),
    }
}
