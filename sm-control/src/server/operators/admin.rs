//! The thread where operators are served: control socket and HTTP.
//!
//! One thread with an event loop does for both: who asks is a person or a scraper, never a client
//! of the SA. Connections are bounded: when all places are taken the oldest goes, so that one who
//! connects and says nothing keeps out neither another nor the daemon's own descriptors.
//!
//! ```text
//!  Connections::new(2):  a, b connected     c comes: a is cut, counted in admin_connections_cut
//!                        b done             d comes: nobody is cut
//! ```
//!
//! Nothing here touches the SA: status is read, commands go to the thread that loads.

use std::collections::VecDeque;
use std::future::Future;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tracing::info;

use super::AdminError;
use super::control::{self, Command, Context, DryRun, Explainer};
use super::counts::{Counts, Event};
use super::http;
use super::in_force::{self, InForce};
use super::page::{self, Page};
use super::status::Status;
use crate::config::Config;
use crate::server::ServerError;

/// Commands that may wait for the thread that loads. More are refused: an operator who gives five
/// orders during a load does not mean them all.
const WAITING: usize = 4;

/// How long a listener rests when the system has no more connections to give. Without it the loop
/// would spin on the error.
const REST: Duration = Duration::from_millis(100);

/// The thread `sa-admin`; it ends when this goes, and with it all connections. Without sections for
/// it there is none.
#[derive(Default)]
pub(in crate::server) struct Admin {
    thread: Option<JoinHandle<()>>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    /// Whoever waits for commands must not find that none can come.
    _commands: Option<Sender<Command>>,
    /// Kept for as long as the socket is served.
    _socket: Option<control::Socket>,
}

/// Listens where the configuration says, and gives where commands come in: nowhere without a
/// section for them. Sockets are bound before the thread exists, so that what is wrong with them
/// ends the start. Errors: [`ServerError::Admin`].
pub(in crate::server) fn start(
    config: &Config,
    status: &Arc<Status>,
    page: Option<Arc<Page>>,
    (in_force, dry_run): (Option<Arc<InForce>>, Option<Box<dyn DryRun>>),
) -> Result<(Admin, Receiver<Command>), ServerError> {
    let (commands, orders) = crossbeam_channel::bounded(WAITING);
    // Without the thread a channel that is never ready stands in, so that the loader need not know.
    if config.control.is_none() && config.http.is_none() {
        return Ok((Admin::default(), crossbeam_channel::never()));
    }
    // Bound in this thread: an error of it ends the start with its reason.
    let control = config.control.as_ref().map(control::Socket::bind);
    let (listener, socket) = control.transpose().map_err(AdminError::from)?.unzip();
    if let Some(section) = &config.control {
        info!(path = %section.path.display(), "listening for sapphire status, reload, rollback");
    }
    let http = config.http.as_ref().map(http::listen);
    let http = http.transpose()?;
    let os = |source| ServerError::Os {
        what: "start the admin thread",
        source,
    };
    // One thread: answers are built from memory, and nobody here may take a core from a worker.
    // Pages and explanations take longer; they are made on a thread or two beside it, which are there only while one is asked for.
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(page::MAKERS)
        .thread_name("sa-page")
        .build()
        .map_err(os)?;
    let context = {
        // The credentials of this process are asked through a socket of tokio's.
        let _inside = runtime.enter();
        let explainer = in_force.clone().map(|it| Explainer::new(it, config));
        let makers = (explainer, dry_run);
        Context::new(Arc::clone(status), commands.clone(), makers).map_err(os)?
    };
    if let Some(page) = &page {
        page.orders_go_to(commands.clone());
    }
    // One stays with the daemon, else the channel would be closed where only HTTP is served.
    let kept = commands;
    let (stop, stopped) = oneshot::channel();
    let status = Arc::clone(status);
    let thread = std::thread::Builder::new().name("sa-admin".into());
    let work = move || {
        run(
            &runtime,
            listener.map(|it| (it, context)),
            http.map(|it| (it, page)),
            (status, in_force),
            stopped,
        )
    };
    let thread = thread.spawn(work).map_err(os)?;
    let admin = Admin {
        thread: Some(thread),
        stop: Some(stop),
        _commands: Some(kept),
        _socket: socket,
    };
    Ok((admin, orders))
}

/// Serves both until it is told to stop.
///
/// Tasks are spawned and not awaited: the end of the runtime ends them.
fn run(
    runtime: &Runtime,
    control: Option<(UnixListener, Context)>,
    http: Option<(TcpListener, Option<Arc<Page>>)>,
    (status, in_force): (Arc<Status>, Option<Arc<InForce>>),
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async move {
        drop(in_force.map(in_force::follow).map(tokio::spawn));
        if let Some((listener, context)) = control {
            drop(control::serve(listener, context).map(tokio::spawn));
        }
        if let Some((listener, page)) = http {
            if let Some(page) = &page {
                tokio::spawn(page::readings(Arc::clone(page)));
            }
            drop(http::serve(listener, status, page).map(tokio::spawn));
        }
        // Told to, or the other end is gone.
        // Whatever still runs is dropped with the runtime.
        let _ = stopped.await;
    });
}

impl Drop for Admin {
    fn drop(&mut self) {
        // First the word, then the wait.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A moment's pause.
///
/// For a listener that has just failed.
pub(in crate::server) async fn rest() {
    tokio::time::sleep(REST).await;
}

/// Connections at a time. When there is no room the oldest has to go: whoever is quick is gone
/// anyway, so those that only sit there can keep nobody out.
pub(in crate::server) struct Connections {
    /// From the oldest on.
    taken: VecDeque<tokio::task::JoinHandle<()>>,
    /// Shape: at least 1.
    most: usize,
}

impl Connections {
    /// None yet; so many at a time.
    pub(in crate::server) const fn new(most: usize) -> Self {
        let taken = VecDeque::new();
        Self { taken, most }
    }

    /// Serves a connection. Who has to go is counted.
    pub(in crate::server) fn admit(
        &mut self,
        connection: impl Future<Output = ()> + Send + 'static,
        counts: &Counts,
    ) {
        // Those that have ended take no place.
        self.taken.retain(|task| !task.is_finished());
        while self.taken.len() >= self.most
            && let Some(oldest) = self.taken.pop_front()
        {
            // A cut peer sees its connection end, as it would when the daemon goes.
            oldest.abort();
            counts.add(Event::ConnectionCut);
        }
        self.taken.push_back(tokio::spawn(connection));
    }
}
