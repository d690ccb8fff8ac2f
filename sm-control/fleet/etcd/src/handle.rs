//! The blocking side: one order at a time, for a thread that drives the connection.
//!
//! The thread is there for the time between two calls as well: a connection of HTTP/2 that nobody
//! drives answers no ping, and etcd would cut it off.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use fleet_engine::{Answer, Engine};
use sa_fleet::leader::Call;
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::session::Session;
use crate::settings::{EtcdSettings, SettingsError};

/// So much longer than a call is waited for the thread, which keeps the time itself: a host that is
/// busy may not let it run.
const GRACE: Duration = Duration::from_millis(500);

/// An engine with leases. Asks nobody before the first call; when it is dropped its lease is left
/// to run out.
#[derive(Debug)]
pub struct Etcd {
    orders: mpsc::Sender<Order>,
    patience: Duration,
    trouble: Option<String>,
}

/// Why there is no engine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The operator says what cannot be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The system gives no thread, or no way to wait in it.
    #[error("no thread for etcd: {0}")]
    Thread(#[from] io::Error),
}

type Ended = Result<Answer, String>;

#[derive(Debug)]
struct Order {
    what: Call,
    /// Of this call alone: what comes too late comes to nobody.
    ended: SyncSender<Ended>,
}

impl Etcd {
    /// Begins the thread.
    ///
    /// # Errors
    ///
    /// [`StartError`]: whether etcd is there shows in the first call, not here.
    pub fn start(settings: EtcdSettings) -> Result<Self, StartError> {
        settings.check()?;
        let patience = settings.timeout + GRACE;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        let session = Session::new(settings, host);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        // One waits while one is under way, which is given up by its time.
        let (orders, taken) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("fleet-etcd".to_owned())
            .spawn(move || serve(runtime, session, taken))?;
        Ok(Self {
            orders,
            patience,
            trouble: None,
        })
    }

    fn ended(&self, ended: &Receiver<Ended>) -> Ended {
        ended.recv_timeout(self.patience).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => "the thread for etcd does not run".to_owned(),
                RecvTimeoutError::Disconnected => "the thread for etcd takes nothing".to_owned(),
            })
        })
    }
}

impl Engine for Etcd {
    fn call(&mut self, what: &Call) -> Answer {
        let (sender, ended) = sync_channel(1);
        let what = what.clone();
        // What cannot be ordered is dropped with its sender, and that is what is seen.
        let _ = self.orders.try_send(Order {
            what,
            ended: sender,
        });
        match self.ended(&ended) {
            Ok(answer) => {
                self.trouble = None;
                answer
            }
            Err(trouble) => {
                self.trouble = Some(trouble);
                Answer::Unknown
            }
        }
    }

    fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}

/// Until the handle is gone.
fn serve(runtime: Runtime, mut session: Session, mut orders: mpsc::Receiver<Order>) {
    runtime.block_on(async {
        while let Some(Order { what, ended }) = orders.recv().await {
            let answer = session.call(&what).await;
            let _ = ended.send(answer);
        }
    });
    // Not waiting for a name that is being looked up.
    runtime.shutdown_background();
}
