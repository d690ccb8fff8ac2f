//! The local service of a daemon: what its configuration says, put together.
//!
//! The kernel of this host asks its path queries here instead of on the wire
//! (`docs/local-service.md`). `sa-local` does the work; here it gets the kernel's socket, which a
//! service manager may have opened, the paths, from the snapshot in service or from the SA of each
//! port, and a place in the status.
//!
//! ```text
//!  [local_service] paths = "snapshot"   Reader, InService ──> Replica ─┐
//!  [local_service] paths = "sa"         Askers, Services  ──> Proxy  ──┼─> Service, thread sa-local
//!  sysfs ──> Watch, thread sa-ports ───────────────────────────────────┘
//!  LISTEN_FDS or a new socket ──> KernelSocket ─────────────────────────┘
//! ```
//!
//! Errors here end the start: a host whose kernel is believed to be served must be.
//!
//! Nothing is decided about answers here: that is `sa-local`'s.

use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sa_fastpath::gate::Gate;
use sa_fastpath::publish::Reader;
use sa_local::addresses::AddressesError;
use sa_local::agent::{Counted, Reason};
use sa_local::ports::Sysfs;
use sa_local::proxy::Proxy;
use sa_local::replica::Replica;
use sa_local::service::{Service, ServiceCounts, Setting};
use sa_local::socket::{Channel, KernelSocket, SocketError};
use sa_local::watch::{Watch, Ways};
use sa_local::{Askers, Paths, Services, Wake};
use sa_source::{Ask, Reopening, SaSource, SaTransport};
use thiserror::Error;
use tracing::{info, warn};

use crate::checks::local_service::addresses;
use crate::config::{Config, LocalServiceSection, PathsFrom};
use crate::server::operators::status::{Local, Status};
use crate::server::reload::reading::InService;

/// The service in service. Fields are dropped in their order: the thread goes before the eyes it
/// sees with.
pub(super) struct LocalService {
    /// The thread that answers.
    pub(super) service: Service,
    /// Who tells which ports there are; it ends after the thread that asks it.
    _watch: Watch,
}

impl LocalService {
    /// Whether the kernel is still answered.
    ///
    /// Relaxed: the answer may be a moment old.
    pub(super) fn is_served(&self) -> bool {
        self.service.counts().is_served.load(Ordering::Relaxed)
    }

    /// What its thread counts.
    pub(super) fn counts(&self) -> Arc<ServiceCounts> {
        Arc::clone(self.service.counts())
    }

    /// What was answered, one line.
    ///
    /// Of reasons only those that occurred.
    pub(super) fn log(&self) {
        let (counters, counts) = (self.service.counters(), self.service.counts());
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = Reason::ALL.into_iter().filter_map(|reason| {
            let number = counters.refused_for(reason);
            (number != 0).then(|| format!("{}={number}", reason.name()))
        });
        let refused: Vec<String> = refused.collect();
        info!(
            resolved = counters.of(Counted::Resolved),
            addresses = counters.of(Counted::ResolvedAddress),
            later = counters.of(Counted::Later),
            ignored = counters.of(Counted::Ignored) + counters.of(Counted::Foreign),
            overruns = read(&counts.overruns),
            unsent = read(&counts.unsent),
            kept = read(&counts.kept),
            "local service; refused: {}",
            if refused.is_empty() {
                "none".to_owned()
            } else {
                refused.join(" ")
            }
        );
    }
}

/// This host's kernel cannot be served. Each ends the start, and its words say what to change.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocalServiceError {
    /// The kernel's socket cannot be had.
    #[error("[local_service]: {0}")]
    Socket(#[from] SocketError),
    /// The addresses cannot be used.
    #[error("[local_service]: {0}")]
    Addresses(#[from] AddressesError),
    /// A thread or descriptor cannot be had.
    #[error("[local_service]: {0}")]
    Io(#[from] io::Error),
}

/// How many descriptors the service manager passed (LISTEN_FDS). Errors: what it said cannot be
/// read.
///
/// systemd passes the socket of a unit; by hand there are none, and one is opened.
fn passed_descriptors() -> Result<usize, SocketError> {
    let passed = sd_notify::listen_fds().map_err(|source| SocketError::Os {
        what: "read what the service manager passed",
        source,
    })?;
    Ok(passed.len())
}

/// Starts it where the configuration has it. `reader` is of the publisher that workers read, so its
/// answers and theirs are of one snapshot, and behind the same gate. Errors: [`LocalServiceError`].
///
/// None where there is no `[local_service]`.
pub(super) fn start(
    config: &Config,
    gated: (Reader, Option<Arc<Gate>>),
    origin: InService,
    status: &Status,
) -> Result<Option<LocalService>, LocalServiceError> {
    let Some(section) = &config.local_service else {
        return Ok(None);
    };
    // First: questions wait in it while the rest is made.
    let socket = KernelSocket::open(passed_descriptors()?)?;
    let setting = Setting {
        timeout_ms: section.timeout_ms,
        own_address: socket.port_id(),
        is_passed: socket.is_passed(),
        look: section.look(),
    };
    let started = put_together(config, section, gated, origin, (socket, setting))?;
    let from = match section.paths {
        PathsFrom::Snapshot => "the snapshot in service",
        PathsFrom::Sa => "the SA and what it said before",
    };
    // Said before the first answer, so that a log shows from when on the kernel is served.
    info!("local service: the kernel's path queries are answered from {from}");
    status.serves_the_kernel(Local {
        counters: Arc::clone(started.service.counters()),
        counts: Arc::clone(started.service.counts()),
    });
    Ok(Some(started))
}

/// Everything but the socket, which tests bring themselves.
///
/// Order: eyes, addresses, paths, thread. Each needs the one before.
fn put_together<C: Channel + Send + 'static>(
    config: &Config,
    section: &LocalServiceSection,
    (reader, gate): (Reader, Option<Arc<Gate>>),
    origin: InService,
    (socket, setting): (C, Setting),
) -> Result<LocalService, LocalServiceError> {
    let wake = Wake::new()?;
    let budget = Duration::from_millis(section.cache.budget_ms.get().into());
    let ways = ways(budget);
    // With `paths = "sa"` too: what the SA serves decides how long its answers hold.
    let asks = section.follow_sa || section.paths == PathsFrom::Sa;
    // A host that does not follow the SA asks it nothing.
    let watched = asks.then(|| Ways::clone(&ways));
    let watch = Watch::start(Box::new(Sysfs::at(&section.class)), watched, section.look())?;
    let addresses = addresses(config, section)?;
    let far = section.far_subnets.clone();
    let paths: Box<dyn Paths> = match section.paths {
        PathsFrom::Snapshot => {
            let origin = Box::new(origin);
            let replica = Replica::new(reader, origin, addresses, far, section.follow_sa);
            Box::new(replica.gated_by(gate))
        }
        PathsFrom::Sa => {
            let askers = Askers::start(section.cache.askers, &ways, &wake)?;
            let services = services(config);
            Box::new(Proxy::new(&section.cache, askers, services, addresses, far))
        }
    };
    let service = Service::start(socket, paths, watch.view(), wake, setting)?;
    Ok(LocalService {
        service,
        _watch: watch,
    })
}

/// To the SA of a port, which is not waited for beyond the budget: one try, no repeat. A lost reply
/// is the kernel's to make up for.
fn ways(budget: Duration) -> Ways {
    let timeout_ms = u32::try_from(budget.as_millis()).unwrap_or(u32::MAX);
    // A closure, as ports come and go while the daemon runs: one way for each that is asked.
    Arc::new(move |device: &str, port| -> Box<dyn Ask> {
        let transport = SaTransport::Umad {
            device: Some(device.to_owned()),
            port: Some(port),
        };
        Box::new(Reopening::new(SaSource {
            timeout_ms,
            // The kernel does not wait for a second try.
            retries: 0,
            ..SaSource::over(transport)
        }))
    })
}

/// What the policy tells apart, where the SA's policy is at hand. Without it each id is a question
/// of its own: more requests, and never a wrong answer.
fn services(config: &Config) -> Services {
    if config.policy.file.is_none() {
        return Services::Each;
    }
    match sa_compiler::pipeline::service_ranges(&config.inputs()) {
        Ok(ranges) => Services::of(ranges.into_iter()),
        Err(problem) => {
            // Told and gone on: asking more often is slower, and still right.
            warn!("{problem}; each service id is asked of the SA by itself");
            Services::Each
        }
    }
}
