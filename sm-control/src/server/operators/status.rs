//! What is written up for operators: the one place that the control socket and the metrics read.
//!
//! Whoever knows something writes it here: the thread that loads what is in service and why the
//! last load failed, the supervising thread which ports are served, the comparison with the SM its
//! doubts, the state directory what it could store. The admin thread reads. Each fact is an atomic
//! or a value that is swapped whole, so nobody waits for anybody: while a load takes minutes,
//! everything here can be asked for, and two facts that are read one after the other may be of two
//! moments.
//!
//! [`Status::readiness`] is the one judgement: `/ready`, `sapphire status` and the metrics show the
//! same.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use sa_compiler::pipeline;
use sa_fastpath::stats::WorkerStats;
use sa_local::agent::Counters;
use sa_local::service::ServiceCounts;
use sa_page::events::Level;
use sa_snapshot::{EpochId, Snapshot};
use sa_source::written::Counts as Overheard;
use thiserror::Error;

use super::counts::{Counts, Event};
use super::happening::Happening;
use super::port_history::{PortHistory, PortSummary};
use super::sweeps::Sweeps;
use crate::config::{Config, PortSection, Role};
use crate::server::fleet::FleetView;
use crate::server::health::Observed;
use crate::server::slow_lane::LaneTally;

/// What operators see of the daemon.
#[derive(Debug)]
pub(in crate::server) struct Status {
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
    sm_facts: ArcSwap<SmFacts>,
    doubt: ArcSwapOption<String>,
    rollback: ArcSwap<Rollback>,
    kept: ArcSwap<StateOnDisk>,
    reconfigured: ArcSwapOption<String>,
    has_read_sources: AtomicBool,
    /// When the load under way began, in ms of this process, plus 1; 0 without one.
    load_since: AtomicU64,
    local: OnceLock<Local>,
    sweeps: OnceLock<Arc<Sweeps>>,
    observed: OnceLock<Arc<Observed>>,
    lane: OnceLock<Arc<LaneTally>>,
    /// What happened, for the page.
    pub(in crate::server) happening: Arc<Happening>,
    /// This host's part in a fleet.
    fleet: OnceLock<FleetView>,
    /// What was in service, the newest last.
    published: ArcSwap<Vec<InService>>,
}

/// Snapshots that are remembered by their numbers; their contents are not kept.
const REMEMBERED: usize = 16;

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
    history: Arc<PortHistory>,
    is_served: AtomicBool,
    /// Why some of those who ask there get no answer; none: all do.
    muted: ArcSwapOption<String>,
}

/// The snapshot in service.
#[derive(Debug, Clone)]
pub(in crate::server) struct InService {
    pub(in crate::server) epoch: EpochId,
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
pub(in crate::server) struct Rollback {
    /// Epoch that a rollback would return to.
    pub(in crate::server) previous: Option<EpochId>,
    /// Epoch that a rollback has returned to; automatic reloads wait.
    pub(in crate::server) held: Option<EpochId>,
}

/// What the state directory has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct StateOnDisk {
    /// Epoch of the snapshot in it.
    pub(in crate::server) stored: Option<EpochId>,
    /// Why it does not have what is in service.
    pub(in crate::server) problem: Option<String>,
    /// Writes that failed.
    pub(in crate::server) failures: u64,
}

/// How this daemon stands to the SM: what only the main thread knows of others.
///
/// The point where more can be told to operators: whoever knows it calls [`Status::stand`], and
/// `status`, `/ready` and the metrics show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct SmFacts {
    /// Why requests are not answered though there is a snapshot; none: they are.
    pub(in crate::server) passive: Option<String>,
    /// Name and value, such as `("opensm", "MASTER")`.
    pub(in crate::server) facts: Vec<(&'static str, String)>,
    /// What was overheard of an OpenSM beside this daemon.
    pub(in crate::server) overheard: Option<Overheard>,
}

/// Why this daemon should be asked nothing now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(in crate::server) enum NotReady {
    /// A worker has ended.
    #[error("port {port} is not served any more; see the log")]
    PortGone {
        /// From 0.
        port: usize,
    },
    /// What a port is attached to is gone.
    #[error("port {port} is not attached: {why}")]
    PortAway {
        /// From 0.
        port: usize,
        /// As the port says it.
        why: String,
    },
    /// The thread of the local service has ended.
    #[error("this host's kernel is not served any more; see the log")]
    LocalServiceGone,
    /// The sources were not read yet.
    #[error("{instead}{}", failure.as_ref().map_or_else(String::new, |what| format!(": {what}")))]
    NotLoaded {
        /// What is in service.
        instead: Instead,
        /// What the last load said.
        failure: Option<String>,
    },
    /// Some or all requests get no answer, though there is a snapshot.
    #[error("{why}")]
    Silent {
        /// As who keeps silent says it.
        why: String,
    },
}

/// What is in service until the sources were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(in crate::server) enum Instead {
    #[error(
        "a rollback from before the restart is in service; the sources are read after `sapphire reload`"
    )]
    Rollback,
    #[error("the snapshot of an earlier run is in service; the sources were not read yet")]
    EarlierRun,
    #[error("no snapshot yet, requests are dropped")]
    Nothing,
}

/// What has ended of a process that should serve it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not served any more: {}", parts.join(", "))]
pub(in crate::server) struct Dead {
    parts: Vec<String>,
}

impl Status {
    /// For the ports of a configuration. Shape: `counts` in the order of the ports.
    pub(in crate::server) fn new(
        config: &Config,
        counts: Vec<(Arc<WorkerStats>, Arc<PortHistory>)>,
    ) -> Arc<Self> {
        let ports = config.ports.iter().zip(counts);
        Arc::new(Self {
            role: format!("{:?}", config.role()).to_lowercase(),
            is_shadow: config.role() == Role::Shadow,
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
            sm_facts: ArcSwap::default(),
            doubt: ArcSwapOption::empty(),
            rollback: ArcSwap::default(),
            kept: ArcSwap::default(),
            reconfigured: ArcSwapOption::empty(),
            has_read_sources: AtomicBool::new(false),
            load_since: AtomicU64::new(0),
            local: OnceLock::new(),
            sweeps: OnceLock::new(),
            observed: OnceLock::new(),
            lane: OnceLock::new(),
            fleet: OnceLock::new(),
            happening: Arc::default(),
            published: ArcSwap::default(),
        })
    }

    /// A snapshot is in service under this epoch.
    pub(in crate::server) fn published(&self, epoch: EpochId, snapshot: &Snapshot) {
        let info = snapshot.info();
        let engine = info.provenance.lines().next().unwrap_or_default();
        let engine = engine.strip_prefix("engine ").unwrap_or(engine);
        let now = InService {
            epoch,
            built_unix: info.built_unix,
            bytes: info.bytes,
            digest: info.digest,
            engine: engine.to_owned(),
            switches: info.switches,
            hosts: info.hosts,
            rules: info.rules,
        };
        // One writer: the thread that loads.
        let mut published = self.published.load().to_vec();
        published.push(now.clone());
        let forgotten = published.len().saturating_sub(REMEMBERED);
        published.drain(..forgotten);
        self.published.store(Arc::new(published));
        self.happening.tell(Level::Info, now.words());
        self.service.store(Some(Arc::new(now)));
    }

    /// What was in service lately, the newest last.
    pub(in crate::server) fn published_lately(&self) -> Arc<Vec<InService>> {
        self.published.load_full()
    }

    /// A load is under way from now on.
    pub(in crate::server) fn load_begins(&self) {
        let ms = self.started.elapsed().as_millis();
        let since = u64::try_from(ms).unwrap_or(u64::MAX).saturating_add(1);
        self.load_since.store(since, Ordering::Relaxed);
    }

    /// It is over, whatever came of it.
    pub(in crate::server) fn load_ends(&self) {
        self.load_since.store(0, Ordering::Relaxed);
    }

    /// How long the load under way has taken; none without one.
    pub(in crate::server) fn loading(&self) -> Option<Duration> {
        let since = self.load_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(
            self.started
                .elapsed()
                .saturating_sub(Duration::from_millis(since)),
        )
    }

    /// The sources were read, and what they say is in service.
    pub(in crate::server) fn loaded(&self) {
        self.counts.add(Event::Loaded);
        self.failure.store(None);
        self.has_read_sources.store(true, Ordering::Relaxed);
    }

    /// A load failed. `is_new`: not as the one before, without any change since; only such ones
    /// count.
    pub(in crate::server) fn failed(&self, what: &str, cause: &str, is_new: bool) {
        if is_new {
            self.counts.add(Event::LoadFailed);
            let words = format!("a load failed ({cause}): {what}; what is in force stays");
            self.happening.tell(Level::Error, words);
        }
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

    /// This process is the Subnet Manager: what it writes up.
    pub(in crate::server) fn manages(&self, sweeps: Arc<Sweeps>) {
        sweeps.told_to(Arc::clone(&self.happening));
        let _ = self.sweeps.set(sweeps);
    }

    /// What its sweeps are at; none where another SM has the subnet.
    pub(in crate::server) fn sweeps(&self) -> Option<&Sweeps> {
        self.sweeps.get().map(Arc::as_ref)
    }

    /// The links of the subnet are looked after here.
    pub(in crate::server) fn observes(&self, observed: Arc<Observed>) {
        observed.told_to(Arc::clone(&self.happening));
        let _ = self.observed.set(observed);
    }

    /// How they are; none where another SM has the subnet.
    pub(in crate::server) fn observed(&self) -> Option<&Observed> {
        self.observed.get().map(Arc::as_ref)
    }

    /// What workers do not answer themselves goes to a slow lane, which counts here.
    pub(in crate::server) fn has_lane(&self, tally: Arc<LaneTally>) {
        let _ = self.lane.set(tally);
    }

    /// What it has done; none before it runs.
    pub(in crate::server) fn lane(&self) -> Option<&LaneTally> {
        self.lane.get().map(Arc::as_ref)
    }

    /// What may be rolled back.
    pub(in crate::server) fn remember(&self, rollback: Rollback) {
        self.rollback.store(Arc::new(rollback));
    }

    /// What outlives a restart.
    pub(in crate::server) fn keep(&self, kept: StateOnDisk) {
        self.kept.store(Arc::new(kept));
    }

    pub(in crate::server) fn kept(&self) -> Arc<StateOnDisk> {
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
    pub(in crate::server) fn stand(&self, facts: SmFacts) {
        self.sm_facts.store(Arc::new(facts));
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

    pub(in crate::server) fn sm_facts(&self) -> Arc<SmFacts> {
        self.sm_facts.load_full()
    }

    pub(in crate::server) fn rollback(&self) -> Arc<Rollback> {
        self.rollback.load_full()
    }

    /// Why nobody is answered; none where somebody is.
    pub(in crate::server) fn passive(&self) -> Option<String> {
        if self.is_shadow {
            return Some("role = \"shadow\": it compares, and answers nobody".to_owned());
        }
        self.out_of_service()
    }

    /// Units: seconds.
    pub(in crate::server) fn uptime(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Errors: why this daemon should be asked nothing now.
    pub(in crate::server) fn readiness(&self) -> Result<(), NotReady> {
        if let Some(port) = self.ports.iter().position(|port| !port.is_served()) {
            return Err(NotReady::PortGone { port });
        }
        if let Some((port, why)) = self.away().next() {
            return Err(NotReady::PortAway { port, why });
        }
        if self.local().is_some_and(|local| !local.is_served()) {
            return Err(NotReady::LocalServiceGone);
        }
        if !self.has_read_sources.load(Ordering::Relaxed) {
            return Err(self.not_loaded());
        }
        let muted = self.muted().map(|why| why.to_string());
        match muted.or_else(|| self.out_of_service()) {
            Some(why) => Err(NotReady::Silent { why }),
            None => Ok(()),
        }
    }

    /// What is there instead of the sources, and why.
    fn not_loaded(&self) -> NotReady {
        let instead = match self.service() {
            Some(_) if self.rollback().held.is_some() => Instead::Rollback,
            Some(_) => Instead::EarlierRun,
            None => Instead::Nothing,
        };
        let failure = self.failure().map(|failure| failure.what.clone());
        NotReady::NotLoaded { instead, failure }
    }

    /// Why requests are not answered though there is a snapshot: a doubt before the SM's standing,
    /// as it is the rarer.
    fn out_of_service(&self) -> Option<String> {
        let doubt = self.doubt.load_full().map(|why| why.to_string());
        let doubt = doubt.or_else(|| self.fleet()?.silent());
        doubt.or_else(|| self.sm_facts().passive.clone())
    }

    /// This host is of a fleet. Once.
    pub(in crate::server) fn is_of_a_fleet(&self, view: FleetView) {
        let _ = self.fleet.set(view);
    }

    /// None without `[fleet]`.
    pub(in crate::server) fn fleet(&self) -> Option<&FleetView> {
        self.fleet.get()
    }

    /// Whether what is in service comes from the sources.
    pub(in crate::server) fn has_read_sources(&self) -> bool {
        self.has_read_sources.load(Ordering::Relaxed)
    }

    /// Ports that wait for what they are attached to, and why.
    fn away(&self) -> impl Iterator<Item = (usize, String)> {
        let ports = self.ports.iter().enumerate();
        ports.filter_map(|(nth, port)| Some((nth, port.summary().away?)))
    }

    /// Errors: what is dead of this process.
    pub(in crate::server) fn health(&self) -> Result<(), Dead> {
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter(|(_, port)| !port.is_served());
        let mut parts: Vec<String> = ports
            .map(|(nth, port)| format!("port {nth} ({} {})", port.transport, port.place))
            .collect();
        if self.local().is_some_and(|local| !local.is_served()) {
            parts.push("this host's kernel (local service)".to_owned());
        }
        if parts.is_empty() {
            Ok(())
        } else {
            Err(Dead { parts })
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
    pub(in crate::server) fn summary(&self) -> PortSummary {
        self.history.summary()
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

    /// That it is in service from now on.
    fn words(&self) -> String {
        let Self {
            epoch,
            engine,
            switches,
            hosts,
            ..
        } = self;
        format!("epoch {epoch} is in force: {switches} switches, {hosts} hosts, routes by {engine}")
    }
}

/// Kind and path, for people.
fn source(config: &Config) -> String {
    let kind = format!("{:?}", config.fabric.source).to_lowercase();
    format!("{kind} {}", config.fabric.path.display())
        .trim_end()
        .to_owned()
}

fn row(section: &PortSection, (stats, history): (Arc<WorkerStats>, Arc<PortHistory>)) -> PortRow {
    PortRow {
        transport: section.transport(),
        place: section.place(),
        stats,
        history,
        is_served: AtomicBool::new(true),
        muted: ArcSwapOption::empty(),
    }
}
