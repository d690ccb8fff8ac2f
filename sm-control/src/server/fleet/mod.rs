//! The part of a daemon in its fleet: what `[fleet]` says, put together.
//!
//! ```text
//!  leader     publisher ── Reader ──> InForce ──> fleet_node::leading ──> Desk ──> Serving
//!  follower   fleet_node::following ──> Follower: gate, load, swap ── Followed ──> the thread that loads ──> publisher
//!  relay      the same, and Desk, Serving
//! ```
//!
//! A leader reads what is in force as any operator does, so nothing of it is in the way of a load.
//! A follower has no other source: the thread that loads publishes what it is given, and workers
//! look at the gate by themselves.
//!
//! What is announced, believed and handed on is `sa-fleet`'s to say; what moves is `fleet-node`'s.

mod engine;
mod following;
mod leading;
mod view;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use fleet_engine::OpenError;
use fleet_keys::{KeyProblem, LeaderKeyFile};
use fleet_node::following::Following;
use fleet_node::leading::Leading;
use fleet_node::roots::{Held, RootError};
use fleet_node::seen::{Seen, SeenError};
use fleet_node::serving::Serving;
use fleet_tls::{Clients, Fault, Files, Tls};
use fleet_transfer::fetch::{Patience, Upstream};
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;
use sa_compiler::pipeline::unix_time;
use sa_fabric::outlet::WriteError;
use sa_fastpath::gate::Gate;
use sa_fastpath::publish::Reader;
use sa_fleet::announcement::LeaderKey;
use sa_fleet::follower::Settings;
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::leader::LeaderSettings;
use sa_fleet::time::Wall;
use sa_fleet::trust::{Trust, TrustedKey};
use sa_fleet::verdict::StaleRule;
use sa_snapshot::{FORMAT_VERSION, Snapshot};
use thiserror::Error;
use tracing::{info, warn};

use self::following::Follower;
use self::leading::InForce;
use crate::config::{Config, FleetRole, FleetSection, TlsClients, TlsSection};
use crate::server::agreement::Doubts;
use crate::server::operators::status::Status;
use crate::server::reload::reading::Readings;

pub(in crate::server) use view::FleetView;

/// Files of snapshots, in the directory of the fleet.
const BLOBS: &str = "blobs";
/// What the embedded engine remembers.
const ENGINE: &str = "engine";
/// Who has a key that ends within so long is told. Units: s.
const SOON: u64 = 30 * 86_400;
/// Nobody may say that a word is good for longer, whoever signs it.
const LONGEST_TTL: Duration = Duration::from_secs(300);

/// What runs. Fields are dropped in their order: who announces goes before who answers.
pub(in crate::server) struct Fleet {
    _running: Running,
    _serving: Option<Serving>,
}

/// Held for its thread, which ends with it.
enum Running {
    Leads { _it: fleet_node::leading::Running },
    Follows { _it: fleet_node::following::Running },
}

/// A snapshot that the fleet has announced, for the thread that loads.
pub(in crate::server) struct Followed {
    pub(in crate::server) snapshot: Box<Snapshot>,
    /// Which the gate is open for.
    pub(in crate::server) generation: u64,
}

/// What a fleet needs of a daemon.
pub(in crate::server) struct Inside<'a> {
    /// Of what is in force.
    pub(in crate::server) reader: Reader,
    /// Of a follower.
    pub(in crate::server) gate: Option<Arc<Gate>>,
    pub(in crate::server) doubts: &'a Doubts,
    pub(in crate::server) readings: Readings,
    pub(in crate::server) status: &'a Arc<Status>,
}

/// A host that cannot take part in its fleet. Each ends the start, and its words say what to
/// change.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The key of a leader.
    #[error("[fleet] key: {0}")]
    Key(#[from] KeyProblem),
    /// The root file does not have it.
    #[error(
        "[fleet] key: {} is not among the leaders of {}, so no host would believe what it signs; \
         `sapphire fleet root next` adds it",
        key.display(),
        root.display()
    )]
    Stranger {
        /// The key's file.
        key: PathBuf,
        /// The root file.
        root: PathBuf,
    },
    /// The root file.
    #[error("[fleet] root: {0}")]
    Root(#[from] RootError),
    /// What was seen.
    #[error("[fleet] directory: {0}")]
    Seen(#[from] SeenError),
    /// Where files are kept.
    #[error("[fleet] directory: {0}")]
    Directory(#[from] WriteError),
    /// What leads.
    #[error("[fleet] directory: {0}")]
    Engine(#[from] OpenError),
    /// The etcd that says who leads.
    #[error("[fleet.etcd]: {0}")]
    Etcd(String),
    /// Certificates.
    #[error("[fleet.tls]: {0}")]
    Tls(#[from] Fault),
    /// A certificate that nobody would ask.
    #[error(
        "[fleet.tls] cert: {} has the role of a node, and who asks here expects a leader or relay: have the authority write \
         `URI:sapphire:role/leader` or `relay` into it",
        cert.display()
    )]
    Role {
        /// Its file.
        cert: PathBuf,
    },
    /// Where others ask.
    #[error("[fleet] listen: {address}: {why}")]
    Listen {
        /// As configured.
        address: SocketAddr,
        /// Why not.
        why: io::Error,
    },
    /// A thread.
    #[error("[fleet]: {0}")]
    Io(#[from] io::Error),
}

/// Starts what the configuration has; none where it has no fleet, and for a follower what comes of
/// it. Errors: [`FleetError`].
pub(in crate::server) fn start(
    config: &Config,
    inside: Inside<'_>,
) -> Result<(Option<Fleet>, Receiver<Followed>), FleetError> {
    let (Some(section), Some(directory)) = (&config.fleet, config.fleet_directory()) else {
        return Ok((None, crossbeam_channel::never()));
    };
    let (root, odd) = Held::open(&section.root, &directory)?;
    if let Some(why) = odd {
        warn!("fleet: the root file that was kept does not follow the installed one: {why}");
    }
    let shelf = Arc::new(Shelf::open(&directory.join(BLOBS))?);
    let limits = Limits {
        connections: usize::try_from(section.connections.get()).unwrap_or(usize::MAX),
        ..Limits::default()
    };
    let desk = section
        .listen
        .map(|_| Arc::new(Desk::new(Arc::clone(&shelf), limits)));
    let tls = section
        .tls
        .as_ref()
        .map(|files| opened(section, files))
        .transpose()?;
    let serving = serving(section, desk.as_ref(), tls.clone())?;
    let place = Place {
        directory: &directory,
        root,
        shelf,
        tls,
    };
    let started = match (section.role, desk) {
        (FleetRole::Leader, Some(desk)) => {
            let running = lead(section, place, desk, inside)?;
            (Running::Leads { _it: running }, crossbeam_channel::never())
        }
        (_, desk) => {
            let (running, followed) = follow(config, section, place, desk, inside)?;
            (Running::Follows { _it: running }, followed)
        }
    };
    let (running, followed) = started;
    let fleet = Fleet {
        _running: running,
        _serving: serving,
    };
    Ok((Some(fleet), followed))
}

/// Where a fleet's files are on this host, and whom it believes.
struct Place<'a> {
    directory: &'a Path,
    root: Held,
    shelf: Arc<Shelf>,
    tls: Option<Tls>,
}

/// Certificate, key and authority. Errors: one of the files cannot be used; the certificate is of
/// another role.
fn opened(section: &FleetSection, files: &TlsSection) -> Result<Tls, FleetError> {
    let clients = match files.clients {
        Some(TlsClients::Required) | None => Clients::Required,
        Some(TlsClients::Optional) => Clients::Optional,
    };
    let TlsSection { ca, cert, key, .. } = files.clone();
    let tls = Tls::open(Files { ca, cert, key }, clients)?;
    if section.listen.is_some() && !tls.role().is_asked() {
        let cert = files.cert.clone();
        return Err(FleetError::Role { cert });
    }
    Ok(tls)
}

/// Opens the address of a leader or relay. Errors: [`FleetError::Listen`].
fn serving(
    section: &FleetSection,
    desk: Option<&Arc<Desk>>,
    tls: Option<Tls>,
) -> Result<Option<Serving>, FleetError> {
    let Some((address, desk)) = section.listen.zip(desk) else {
        return Ok(None);
    };
    let serving = Serving::start(address, Arc::clone(desk), tls);
    let serving = serving.map_err(|why| FleetError::Listen { address, why })?;
    info!(listen = %serving.address(), role = section.role.name(), "fleet: hosts are answered");
    Ok(Some(serving))
}

fn lead(
    section: &FleetSection,
    place: Place<'_>,
    desk: Arc<Desk>,
    inside: Inside<'_>,
) -> Result<fleet_node::leading::Running, FleetError> {
    let key = LeaderKeyFile::read(key_of(section))?;
    let trust = place.root.root.trust();
    is_known(&key, &trust, section)?;
    let engine = engine::open(section, &trust.fleet, &place.directory.join(ENGINE))?;
    let settings = LeaderSettings {
        judge: judge(section, &place.root),
        key,
        ttl: section.ttl(),
        beat: section.beat(),
        node: number(&name(section)),
    };
    let leading = Leading {
        settings,
        engine,
        peers: upstreams(section, place.tls.as_ref()),
        root: place.root,
        shelf: place.shelf,
        desk: Arc::clone(&desk),
    };
    let source = InForce {
        reader: inside.reader,
        muted: inside.doubts.muted(),
        status: Arc::clone(inside.status),
    };
    let running = fleet_node::leading::start(leading, source)?;
    let view = FleetView {
        role: section.role,
        prefix: section.subnet,
        said: running.said.clone(),
        tls: place.tls,
        desk: Some(desk),
        orders: Some(running.orders()),
    };
    inside.status.is_of_a_fleet(view);
    Ok(running)
}

fn follow(
    config: &Config,
    section: &FleetSection,
    place: Place<'_>,
    desk: Option<Arc<Desk>>,
    inside: Inside<'_>,
) -> Result<(fleet_node::following::Running, Receiver<Followed>), FleetError> {
    let name = name(section);
    let settings = Settings {
        judge: judge(section, &place.root),
        node: number(&name),
        upstreams: section.from.len(),
        at_once: usize::try_from(section.at_once.get()).unwrap_or(usize::MAX),
        formats: vec![FORMAT_VERSION],
        stale: match section.serve_stale {
            true => StaleRule::GoOn,
            false => StaleRule::Stop,
        },
    };
    if section.serve_stale {
        warn!("fleet: serve_stale: answers go on when nothing is heard, and may be wrong then");
    }
    let following = Following {
        settings,
        upstreams: upstreams(section, place.tls.as_ref()),
        name,
        root: (place.root, place.directory.to_owned()),
        seen: Seen::open(place.directory)?,
        shelf: place.shelf,
        desk: desk.clone(),
        look: section.look(),
    };
    let (host, followed) = Follower::new(
        config,
        section.subnet,
        inside.gate,
        (inside.reader, inside.readings),
    );
    let running = fleet_node::following::start(following, Arc::new(host))?;
    let view = FleetView {
        role: section.role,
        prefix: section.subnet,
        said: running.said.clone(),
        tls: place.tls,
        desk,
        orders: None,
    };
    inside.status.is_of_a_fleet(view);
    Ok((running, followed))
}

/// The file; the configuration has one for a leader.
fn key_of(section: &FleetSection) -> &Path {
    section.key.as_deref().unwrap_or_else(|| Path::new(""))
}

/// Errors: [`FleetError::Stranger`].
fn is_known(key: &LeaderKey, trust: &Trust, section: &FleetSection) -> Result<(), FleetError> {
    let is_it = |known: &TrustedKey| known.id == key.id && known.key.to_bytes() == key.public();
    if trust.keys.iter().any(is_it) {
        return Ok(());
    }
    let (key, root) = (key_of(section).to_owned(), section.root.clone());
    Err(FleetError::Stranger { key, root })
}

/// What of a section can be judged without starting anything. Gives what an operator should know.
/// Errors: as [`start`]'s.
pub(in crate::server) fn check(section: &FleetSection) -> Result<Vec<String>, FleetError> {
    let root = fleet_keys::read_root(&section.root).map_err(RootError::from)?;
    let trust = root.trust();
    if section.role == FleetRole::Leader {
        is_known(&LeaderKeyFile::read(key_of(section))?, &trust, section)?;
    }
    if let Some(files) = &section.tls {
        opened(section, files)?;
    }
    let soon = Wall(unix_time().saturating_add(SOON).saturating_mul(1000));
    let ends = trust.keys.iter().filter(|key| key.expires <= soon);
    let remarks = ends.map(|_| {
        let root = section.root.display();
        format!("[fleet] root: a leader's key in {root} ends within 30 days, or has ended; `sapphire fleet root check` says which")
    });
    Ok(remarks.collect())
}

fn judge(section: &FleetSection, root: &Held) -> Judge {
    Judge {
        trust: root.root.trust(),
        subnet: section.subnet,
        max_ttl: LONGEST_TTL,
        wall: match section.strict_clock {
            true => WallRule::Strict,
            false => WallRule::Counted,
        },
    }
}

fn upstreams(section: &FleetSection, tls: Option<&Tls>) -> Vec<Upstream> {
    let urls = section.from.iter();
    urls.map(|url| Upstream::new(url, Patience::default(), tls))
        .collect()
}

/// As configured, or the host's.
fn name(section: &FleetSection) -> String {
    let host = || {
        let uname = rustix::system::uname();
        let name = uname.nodename().to_string_lossy().into_owned();
        // What others could not show is left out.
        let is_plain = |it: &char| it.is_ascii_alphanumeric() || "-_.:".contains(*it);
        name.chars().filter(is_plain).take(64).collect()
    };
    section.node.clone().unwrap_or_else(host)
}

/// Another one on each host: spreads what would happen everywhere at once.
fn number(name: &str) -> u64 {
    let mut number = [0; 8];
    let hash = blake3::hash(name.as_bytes());
    number.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(number)
}
