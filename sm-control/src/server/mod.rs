//! The daemon: ports and workers that never stop for a reload, and one thread that compiles.
//!
//! Before the first successful load the workers take requests, drop and count them, as an SM in
//! standby does; clients try again.
//!
//! Three threads share the life of the process. The main thread only supervises: it takes signals,
//! looks every half second whether what serves still does, and ends everything within a second. The
//! thread that loads starts all others (`start`) and then follows changes (`reload`); it may hang
//! on a disk or an SA, and nobody waits for it. The rest (`services`) serve: a worker per port, the
//! slow lane, operators, the comparison with the SM. They meet in values that are swapped whole:
//! the publisher's snapshot, `state`, and the status for operators; no lock is held over a load.
//!
//! Not here: what a file means, how a snapshot is made, how a request is answered. The crates below
//! do that, and have no clock, thread or socket of their own unless it is their subject.
//!
//! ```text
//!  main ──spawns──> sa-load: start() ── Built(services) ──> main supervises: signals, looks every 500 ms
//!                      │                                        │ SIGHUP: one place in `reloads`
//!                      └── loader.run(reloads) <────────────────┘
//!  SIGTERM: services.stop(), `reloads` is dropped, 100 ms for the loader, end
//! ```

mod agreement;
mod fleet;
mod health;
mod local_service;
mod opensm;
mod operators;
mod ports;
mod reload;
mod services;
mod shadow;
mod signals;
mod slow_lane;
mod start;
mod state;
mod state_directory;
mod subnet_manager;
mod succession;
mod tries;

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select, tick};
use sa_service::sa_db::JournalError;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use thiserror::Error;

use crate::config::Config;

use self::reload::caught;
use self::services::Services;
use self::start::Started;

pub use self::fleet::FleetError;
pub use self::local_service::LocalServiceError;
pub use self::operators::AdminError;
pub use self::ports::attach::AttachError;
pub use self::ports::descriptors::DescriptorError;
pub use self::ports::device::DeviceProblem;
pub use self::state_directory::DirectoryTaken;
pub use self::tries::{Obstacle, Place, StartProblem};

/// Name of the snapshot file in the state directory.
const STATE_FILE: &str = "current.snap";

/// Name of the file there that has what clients have set.
const JOURNAL_FILE: &str = "sa.journal";

/// A daemon that cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A port cannot be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A thread or signal handler cannot be set up.
    #[error("cannot {what}: {source}")]
    Os {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// More ports than readers.
    #[error("more than {} ports", sa_fastpath::publish::MAX_READERS - 1)]
    TooManyPorts,
    /// What clients have set cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Operators cannot be served.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// This process may not have as many file descriptors as it may need.
    #[error(transparent)]
    Descriptors(#[from] DescriptorError),
    /// This host's kernel cannot be served.
    #[error(transparent)]
    LocalService(#[from] LocalServiceError),
    /// The thread that loads ended by a panic.
    #[error("the thread that loads is gone; see the messages above")]
    LoaderGone,
    /// This host cannot take part in its fleet.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// Another daemon has the state directory.
    #[error(transparent)]
    State(#[from] DirectoryTaken),
    /// Every worker lost its port.
    #[error("every port is gone; see the messages above")]
    PortsGone,
}

/// Whether this process may have as many file descriptors as it may need. Errors:
/// [`DescriptorError::TooFew`].
pub fn check_descriptors(config: &Config) -> Result<(), DescriptorError> {
    ports::descriptors::check(config)
}

/// Tries on this machine what would end a start: directories, sockets, addresses, devices. Gives
/// what an operator should know, one sentence each; what a running sapphired has is among it and no
/// error. Errors: [`StartProblem`].
pub fn check_start(config: &Config) -> Result<Vec<String>, StartProblem> {
    // As the start sees it.
    tries::all(&subnet_manager::with_its_port(config.clone()))
}

/// How often this looks after what serves. It bounds how late a dead worker shows in the status,
/// and how late an end of all ports ends the daemon.
const LOOK: Duration = Duration::from_millis(500);

/// How long the thread that loads may take to end when it is at nothing. One that is in the middle
/// of a load is left behind.
const FAREWELL: Duration = Duration::from_millis(100);

/// What the thread that loads tells, in this order.
enum Told {
    /// Everything serves.
    Built(Box<Services>),
    /// It ends.
    Ended(Result<(), ServerError>),
}

/// Runs until SIGTERM or SIGINT. Errors: [`ServerError`]; a failed load is none.
///
/// Loads have a thread of their own: they may wait for a disk or a server without end, and this
/// does not.
pub fn run(config: &Config) -> Result<(), ServerError> {
    caught::end_by_other_panics();
    let signals = signals::channel()?;
    // One that waits stands for every order to reload until it begins.
    let (reload, reloads) = bounded(1);
    let (tell, told) = bounded(2);
    // Where it hangs it is left behind, so what it uses stays for as long as the process.
    let config: &'static Config =
        Box::leak(Box::new(subnet_manager::with_its_port(config.clone())));
    let thread = std::thread::Builder::new().name(caught::LOADER.into());
    let thread = thread.spawn(move || {
        let result = work(config, &tell, &reloads);
        // Nobody listens any more where the end was an order.
        let _ = tell.send(Told::Ended(result));
    });
    thread.map_err(|source| ServerError::Os {
        what: "start the thread that loads",
        source,
    })?;
    let mut services = None;
    let result = supervise(&signals, &told, &reload, &mut services);
    if let Some(services) = services {
        services.stop();
    }
    drop(reload);
    let _ = told.recv_timeout(FAREWELL);
    result
}

/// Starts everything, loads, and goes on until nobody can order a reload any more.
/// The thread `sa-load`. Errors: the start failed; loads that fail are no end.
fn work(
    config: &'static Config,
    tell: &Sender<Told>,
    reloads: &Receiver<()>,
) -> Result<(), ServerError> {
    let Started {
        loader,
        services,
        earlier,
    } = start::start(config)?;
    if tell.send(Told::Built(Box::new(services))).is_ok() {
        loader.run(earlier, reloads);
    }
    Ok(())
}

/// Until SIGTERM or SIGINT. Errors: nothing serves any more. Never blocks on anything but its
/// channels, so signals are obeyed whatever a load waits for.
fn supervise(
    signals: &Receiver<i32>,
    told: &Receiver<Told>,
    reload: &Sender<()>,
    services: &mut Option<Box<Services>>,
) -> Result<(), ServerError> {
    let looks = tick(LOOK);
    loop {
        select! {
            recv(signals) -> signal => match signal {
                // One that waits already will read everything that this one would.
                Ok(SIGHUP) => drop(reload.try_send(())),
                Ok(SIGUSR1) => services.iter().for_each(|services| services.log_counters()),
                Ok(_) | Err(_) => return Ok(()),
            },
            recv(told) -> told => match told {
                Ok(Told::Built(built)) => *services = Some(built),
                Ok(Told::Ended(result)) => return result,
                // The sender went without a word: the thread panicked.
                Err(_) => return Err(ServerError::LoaderGone),
            },
            recv(looks) -> _ => if let Some(services) = services {
                services.look()?;
            },
        }
    }
}
