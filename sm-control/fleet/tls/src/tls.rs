//! What is held now, and how a renewed certificate is taken up.
//!
//! Files are put in place one after the other, so for a moment a new certificate stands beside an
//! old key: that is a fault like any other, for as long as it lasts, and what is held meanwhile is
//! what was good before.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::{ClientConfig, ServerConfig};
use tracing::{debug, info, warn};

use crate::files::{Fault, Files, Problem, fault};
use crate::loaded::Loaded;
use crate::refusal::{Refusal, Refusals, Refused};
use crate::role::Role;
use crate::verify::Clients;

/// How often the files are looked at, at most.
const LOOK: Duration = Duration::from_secs(1);

/// How often the same is said of one that is asked.
const SAY: Duration = Duration::from_secs(600);

/// TLS of this host, for both sides; a copy is the same.
///
/// Each connection begins with what the files say then: at most once a second their times are
/// looked at, and what has changed is read. Where that is not good, what was held before goes on,
/// and a warning says so once. Nothing looks at the files while nobody connects.
#[derive(Debug, Clone)]
pub struct Tls(Arc<Shared>);

/// What all copies have.
#[derive(Debug)]
struct Shared {
    files: Files,
    clients: Clients,
    now: Mutex<Now>,
    counts: Counts,
    /// What was said last of who is asked, and when.
    said: Mutex<HashMap<String, (Refusal, Instant)>>,
}

/// Since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Those who ask here and are refused, by reason.
    pub clients: Refusals,
    /// Those who were asked and are refused, or refuse, by reason.
    pub servers: Refusals,
    /// Renewed certificates that were taken up.
    pub renewed: AtomicU64,
    /// Changed files that were not good.
    pub not_renewed: AtomicU64,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It asks here.
    Client,
    /// It is asked.
    Server,
}

/// What changes.
#[derive(Debug)]
struct Now {
    looked: Instant,
    stamps: [Option<Stamp>; 3],
    held: Held,
    /// What was wrong with the files when they were read last.
    wrong: Option<String>,
}

/// What the files said when they were good last.
#[derive(Debug, Clone)]
struct Held {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    role: Role,
    good_until: Option<SystemTime>,
}

/// By what a file is known to be another: time of change, size, and the file itself, which a rename
/// puts another in place of.
type Stamp = (i64, i64, u64, u64);

impl Tls {
    /// Reads the files. `clients`: of those who ask here. Errors: [`Fault`].
    pub fn open(files: Files, clients: Clients) -> Result<Self, Fault> {
        let stamps = stamps(&files);
        let held = Held::read(&files, clients)?;
        let now = Now {
            looked: Instant::now(),
            stamps,
            held,
            wrong: None,
        };
        Ok(Self(Arc::new(Shared {
            files,
            clients,
            now: Mutex::new(now),
            counts: Counts::default(),
            said: Mutex::default(),
        })))
    }

    /// For a connection that somebody else has made.
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.looked().held.server)
    }

    /// For a connection that is made.
    pub fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.looked().held.client)
    }

    /// What this host is, by its certificate.
    pub fn role(&self) -> Role {
        self.looked().held.role
    }

    /// When the certificate of this host ends. None: it does not say.
    pub fn good_until(&self) -> Option<SystemTime> {
        self.looked().held.good_until
    }

    /// What is wrong with the files now, while what was held before goes on.
    pub fn wrong(&self) -> Option<String> {
        self.looked().wrong.clone()
    }

    /// What was refused and renewed.
    pub fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// Counts what a handshake, or a connection after it, has failed by. None: the network, and
    /// nobody was refused.
    pub fn failed(
        &self,
        side: Side,
        who: &dyn std::fmt::Display,
        error: &io::Error,
    ) -> Option<Refused> {
        let refused = Refused::of(error)?;
        self.refused(side, who, refused.refusal);
        Some(refused)
    }

    /// Counts a refusal. `who`: one of those that are asked is said to people, now and then;
    /// strangers cannot fill a log.
    pub fn refused(&self, side: Side, who: &dyn std::fmt::Display, refusal: Refusal) {
        match side {
            Side::Client => {
                debug!("fleet: {who}: {refusal}");
                self.0.counts.clients.count(refusal);
            }
            Side::Server => {
                if self.is_new(who.to_string(), refusal) {
                    warn!("fleet: {who}: {refusal}");
                }
                self.0.counts.servers.count(refusal);
            }
        }
    }

    /// Whether it was not said a short time ago. Those who are asked are those of the
    /// configuration, so there are few.
    fn is_new(&self, who: String, refusal: Refusal) -> bool {
        let mut said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
        let before = said.get(&who);
        let is_new = before.is_none_or(|(what, at)| *what != refusal || at.elapsed() > SAY);
        if is_new {
            said.insert(who, (refusal, Instant::now()));
        }
        is_new
    }

    /// With what the files say now. Three looks at a directory, and some kB where something has
    /// changed: an event loop can wait for that.
    fn looked(&self) -> MutexGuard<'_, Now> {
        let mut now = self.0.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.looked.elapsed() < LOOK {
            return now;
        }
        now.looked = Instant::now();
        // Before the files are read: what changes meanwhile is another change.
        let stamps = stamps(&self.0.files);
        // What was wrong may be good without a change: a certificate of tomorrow, a mended mode of a directory.
        if stamps != now.stamps || now.wrong.is_some() {
            now.stamps = stamps;
            self.renew(&mut now);
        }
        now
    }

    /// Reads the files. What is held is replaced as a whole or not at all.
    fn renew(&self, now: &mut Now) {
        let counts = &self.0.counts;
        match Held::read(&self.0.files, self.0.clients) {
            Ok(held) => {
                let role = held.role.name();
                info!(role, "fleet: the files of TLS have changed and are taken");
                counts.renewed.fetch_add(1, Ordering::Relaxed);
                now.held = held;
                now.wrong = None;
            }
            Err(why) => {
                let why = why.to_string();
                if now.wrong.as_ref() != Some(&why) {
                    warn!("fleet: {why} (the certificate from before goes on)");
                    counts.not_renewed.fetch_add(1, Ordering::Relaxed);
                    now.wrong = Some(why);
                }
            }
        }
    }
}

impl Held {
    /// Errors: [`Fault`].
    fn read(files: &Files, clients: Clients) -> Result<Self, Fault> {
        let loaded = Loaded::read(files)?;
        let problem = |why| fault(&files.cert, Problem::Certificate(why));
        Ok(Self {
            server: loaded.server(clients).map_err(problem)?,
            client: loaded.client().map_err(problem)?,
            role: loaded.role(),
            good_until: loaded.good_until(),
        })
    }
}

/// None where a file is not there, which is another than any that is.
fn stamps(files: &Files) -> [Option<Stamp>; 3] {
    let stamp = |path: &Path| {
        let about = path.metadata().ok()?;
        Some((about.ctime(), about.ctime_nsec(), about.size(), about.ino()))
    };
    [&files.ca, &files.cert, &files.key].map(|path| stamp(path))
}
