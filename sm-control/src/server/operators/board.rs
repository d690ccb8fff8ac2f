//! What is written up for operators: the one place that the control socket and the metrics read.
//!
//! The main thread writes, the admin thread reads, and nobody waits for anybody: while the main
//! thread compiles, everything here can still be asked for.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::{ArcSwap, ArcSwapOption};
use sa_compiler::pipeline;
use sa_fastpath::stats::WorkerStats;
use sa_local::agent::Counters;
use sa_local::service::ServiceCounts;
use sa_snapshot::Snapshot;

use super::ledger::{Entry, Ledger};
use crate::config::{Config, PortSection, Role};

/// The board.
#[derive(Debug)]
pub(in crate::server) struct Board {
    pub(in crate::server) role: String,
    pub(in crate::server) is_shadow: bool,
    pub(in crate::server) source: String,
    /// None without one.
    pub(in crate::server) state_directory: Option<String>,
    pub(in crate::server) ports: Vec<PortRow>,
    pub(in crate::server) counts: Counts,
    started: Instant,
    service: ArcSwapOption<InService>,
    failure: ArcSwapOption<LastFailure>,
    standing: ArcSwap<Standing>,
    doubt: ArcSwapOption<String>,
    history: ArcSwap<History>,
    kept: ArcSwap<Kept>,
    reconfigured: ArcSwapOption<String>,
    has_read_sources: AtomicBool,
    local: OnceLock<Local>,
}

/// The local service's.
#[derive(Debug)]
pub(in crate::server) struct Local {
    pub(in crate::server) counters: Arc<Counters>,
    pub(in crate::server) counts: Arc<ServiceCounts>,
}

/// A `[[port]]`.
#[derive(Debug)]
pub(in crate::server) struct PortRow {
    pub(in crate::server) transport: &'static str,
    /// Such as a device, or the path of a socket.
    pub(in crate::server) place: String,
    pub(in crate::server) stats: Arc<WorkerStats>,
    ledger: Arc<Ledger>,
    is_served: AtomicBool,
    /// Why some of those who ask there get no answer; none: all do.
    muted: ArcSwapOption<String>,
}

/// What happened since the start.
#[derive(Debug, Default)]
pub(in crate::server) struct Counts {
    pub(in crate::server) loads: AtomicU64,
    pub(in crate::server) failed_loads: AtomicU64,
    pub(in crate::server) rollbacks: AtomicU64,
    pub(in crate::server) control: AtomicU64,
    pub(in crate::server) control_refused: AtomicU64,
    pub(in crate::server) connections_cut: AtomicU64,
    pub(in crate::server) shadow_asked: AtomicU64,
    pub(in crate::server) shadow_answered: AtomicU64,
    pub(in crate::server) shadow_different: AtomicU64,
}

/// The snapshot in service.
#[derive(Debug, Clone)]
pub(in crate::server) struct InService {
    pub(in crate::server) epoch: u64,
    /// When it was compiled. Units: seconds since 1970.
    pub(in crate::server) built_unix: u64,
    pub(in crate::server) bytes: usize,
    pub(in crate::server) digest: u64,
    pub(in crate::server) engine: String,
    pub(in crate::server) switches: usize,
    pub(in crate::server) hosts: usize,
    pub(in crate::server) rules: Option<u32>,
}

/// The last load that failed.
#[derive(Debug, Clone)]
pub(in crate::server) struct LastFailure {
    pub(in crate::server) what: String,
    /// What asked for the load.
    pub(in crate::server) cause: String,
    /// Units: seconds since 1970.
    pub(in crate::server) unix: u64,
}

/// What a rollback has to do with what is in service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct History {
    /// Epoch that a rollback would return to.
    pub(in crate::server) previous: Option<u64>,
    /// Epoch that a rollback has returned to; automatic reloads wait.
    pub(in crate::server) held: Option<u64>,
}

/// What the state directory has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct Kept {
    /// Epoch of the snapshot in it.
    pub(in crate::server) stored: Option<u64>,
    /// Why it does not have what is in service.
    pub(in crate::server) problem: Option<String>,
    /// Writes that failed.
    pub(in crate::server) failures: u64,
}

/// How this daemon stands to the SM: what only the main thread knows of others.
///
/// The point where more can be told to operators: whoever knows it calls [`Board::stand`], and
/// `status`, `/ready` and the metrics show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct Standing {
    /// Why requests are not answered though there is a snapshot; none: they are.
    pub(in crate::server) passive: Option<String>,
    /// Name and value, such as `("opensm", "MASTER")`.
    pub(in crate::server) facts: Vec<(&'static str, String)>,
}

impl Board {
    /// For the ports of a configuration. Shape: `counts` in the order of the ports.
    pub(in crate::server) fn new(
        config: &Config,
        counts: Vec<(Arc<WorkerStats>, Arc<Ledger>)>,
    ) -> Arc<Self> {
        let ports = config.ports.iter().zip(counts);
        Arc::new(Self {
            role: format!("{:?}", config.sa.role).to_lowercase(),
            is_shadow: config.sa.role == Role::Shadow,
            source: source(config),
            state_directory: config
                .state
                .directory
                .as_ref()
                .map(|directory| directory.display().to_string()),
            ports: ports
                .map(|(section, counts)| row(section, counts))
                .collect(),
            counts: Counts::default(),
            started: Instant::now(),
            service: ArcSwapOption::empty(),
            failure: ArcSwapOption::empty(),
            standing: ArcSwap::default(),
            doubt: ArcSwapOption::empty(),
            history: ArcSwap::default(),
            kept: ArcSwap::default(),
            reconfigured: ArcSwapOption::empty(),
            has_read_sources: AtomicBool::new(false),
            local: OnceLock::new(),
        })
    }

    /// A snapshot is in service under this epoch.
    pub(in crate::server) fn published(&self, epoch: u64, snapshot: &Snapshot) {
        let info = snapshot.info();
        let engine = info.provenance.lines().next().unwrap_or_default();
        let engine = engine.strip_prefix("engine ").unwrap_or(engine);
        self.service.store(Some(Arc::new(InService {
            epoch,
            built_unix: info.built_unix,
            bytes: info.bytes,
            digest: info.digest,
            engine: engine.to_owned(),
            switches: info.switches,
            hosts: info.hosts,
            rules: info.rules,
        })));
    }

    /// The sources were read, and what they say is in service.
    pub(in crate::server) fn loaded(&self) {
        self.counts.loads.fetch_add(1, Ordering::Relaxed);
        self.failure.store(None);
        self.has_read_sources.store(true, Ordering::Relaxed);
    }

    /// A load failed. `is_new`: not as the one before, without any change since.
    pub(in crate::server) fn failed(&self, what: &str, cause: &str, is_new: bool) {
        self.counts
            .failed_loads
            .fetch_add(u64::from(is_new), Ordering::Relaxed);
        self.failure.store(Some(Arc::new(LastFailure {
            what: what.to_owned(),
            cause: cause.to_owned(),
            unix: pipeline::unix_time(),
        })));
    }

    /// Which ports are served. Shape: in their order.
    pub(in crate::server) fn served(&self, are_served: impl Iterator<Item = bool>) {
        for (port, is_served) in self.ports.iter().zip(are_served) {
            port.is_served.store(is_served, Ordering::Relaxed);
        }
    }

    /// Why some who ask at a port get no answer from the snapshot in service; none: all do.
    pub(in crate::server) fn mute(&self, port: usize, why: Option<String>) {
        if let Some(port) = self.ports.get(port) {
            port.muted.store(why.map(Arc::new));
        }
    }

    /// Why some requests get no answer, though there is a snapshot.
    pub(in crate::server) fn muted(&self) -> Option<Arc<String>> {
        self.ports.iter().find_map(|port| port.muted.load_full())
    }

    /// This host's kernel is answered from now on.
    pub(in crate::server) fn serves_the_kernel(&self, local: Local) {
        let _ = self.local.set(local);
    }

    /// What its kernel was answered; none without a local service.
    pub(in crate::server) fn local(&self) -> Option<&Local> {
        self.local.get()
    }

    /// What may be rolled back.
    pub(in crate::server) fn remember(&self, history: History) {
        self.history.store(Arc::new(history));
    }

    /// What outlives a restart.
    pub(in crate::server) fn keep(&self, kept: Kept) {
        self.kept.store(Arc::new(kept));
    }

    pub(in crate::server) fn kept(&self) -> Arc<Kept> {
        self.kept.load_full()
    }

    /// What differs between the configuration file and what is in force; none: nothing.
    pub(in crate::server) fn reconfigure(&self, difference: Option<String>) {
        self.reconfigured.store(difference.map(Arc::new));
    }

    pub(in crate::server) fn reconfigured(&self) -> Option<Arc<String>> {
        self.reconfigured.load_full()
    }

    /// How the daemon stands to the SM from now on.
    pub(in crate::server) fn stand(&self, standing: Standing) {
        self.standing.store(Arc::new(standing));
    }

    /// Why what is in service is in doubt from now on; none where it is not.
    pub(in crate::server) fn doubt(&self, why: Option<Arc<String>>) {
        self.doubt.store(why);
    }

    pub(in crate::server) fn service(&self) -> Option<Arc<InService>> {
        self.service.load_full()
    }

    pub(in crate::server) fn failure(&self) -> Option<Arc<LastFailure>> {
        self.failure.load_full()
    }

    pub(in crate::server) fn standing(&self) -> Arc<Standing> {
        self.standing.load_full()
    }

    pub(in crate::server) fn history(&self) -> Arc<History> {
        self.history.load_full()
    }

    /// Why nobody is answered; none where somebody is.
    pub(in crate::server) fn passive(&self) -> Option<String> {
        let shadow = "role = \"shadow\": it compares, and answers nobody";
        match self.is_shadow {
            true => Some(shadow.to_owned()),
            false => self.out_of_service(),
        }
    }

    /// Units: seconds.
    pub(in crate::server) fn uptime(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Errors: why this daemon should be asked nothing now.
    pub(in crate::server) fn readiness(&self) -> Result<(), String> {
        if let Some(port) = self.ports.iter().position(|port| !port.is_served()) {
            return Err(format!("port {port} is not served any more; see the log"));
        }
        if let Some((port, why)) = self.away().next() {
            return Err(format!("port {port} is not attached: {why}"));
        }
        if self.local().is_some_and(|local| !local.is_served()) {
            return Err("this host's kernel is not served any more; see the log".to_owned());
        }
        if !self.has_read_sources.load(Ordering::Relaxed) {
            let what = match self.service() {
                Some(_) if self.history().held.is_some() => {
                    "a rollback of before the restart is in service, the sources wait for \
                     `sapphire reload`"
                }
                Some(_) => {
                    "the snapshot of an earlier run is in service, the sources were not read yet"
                }
                None => "no snapshot yet, requests are dropped",
            };
            let why = self.failure();
            let why = why.map_or_else(String::new, |failure| format!(": {}", failure.what));
            return Err(format!("{what}{why}"));
        }
        if let Some(why) = self.muted() {
            return Err((*why).clone());
        }
        self.out_of_service().map_or(Ok(()), Err)
    }

    /// Why requests are not answered though there is a snapshot.
    fn out_of_service(&self) -> Option<String> {
        let doubt = self.doubt.load_full().map(|why| why.to_string());
        doubt.or_else(|| self.standing().passive.clone())
    }

    /// Ports that wait for what they are attached to, and why.
    fn away(&self) -> impl Iterator<Item = (usize, String)> {
        let ports = self.ports.iter().enumerate();
        ports.filter_map(|(nth, port)| Some((nth, port.entry().away?)))
    }

    /// Errors: what is dead of this process.
    pub(in crate::server) fn health(&self) -> Result<(), String> {
        let dead = self.ports.iter().enumerate();
        let dead: Vec<String> = dead
            .filter(|(_, port)| !port.is_served())
            .map(|(nth, port)| format!("port {nth} ({} {})", port.transport, port.place))
            .collect();
        let mut dead = dead;
        if self.local().is_some_and(|local| !local.is_served()) {
            dead.push("this host's kernel (local service)".to_owned());
        }
        match dead.is_empty() {
            true => Ok(()),
            false => Err(format!("not served any more: {}", dead.join(", "))),
        }
    }
}

impl Local {
    pub(in crate::server) fn is_served(&self) -> bool {
        self.counts.is_served.load(Ordering::Relaxed)
    }
}

impl PortRow {
    /// What its handles have counted, and whether it is attached.
    pub(in crate::server) fn entry(&self) -> Entry {
        self.ledger.entry()
    }

    pub(in crate::server) fn is_served(&self) -> bool {
        self.is_served.load(Ordering::Relaxed)
    }
}

impl InService {
    /// Since it was compiled. Units: seconds.
    pub(in crate::server) fn age(&self) -> u64 {
        pipeline::unix_time().saturating_sub(self.built_unix)
    }
}

fn source(config: &Config) -> String {
    let kind = format!("{:?}", config.fabric.source).to_lowercase();
    format!("{kind} {}", config.fabric.path.display())
        .trim_end()
        .to_owned()
}

fn row(section: &PortSection, (stats, ledger): (Arc<WorkerStats>, Arc<Ledger>)) -> PortRow {
    let (transport, place) = match section {
        PortSection::Ibsim { node, .. } => ("ibsim", node.clone()),
        PortSection::Umad { device, port, .. } => {
            let device = device.as_deref().unwrap_or("first device");
            ("umad", format!("{device} port {port}"))
        }
        PortSection::Ring(ring) => ("ring", ring.path.display().to_string()),
    };
    PortRow {
        transport,
        place,
        stats,
        ledger,
        is_served: AtomicBool::new(true),
        muted: ArcSwapOption::empty(),
    }
}
