//! The control socket: one JSON object per line in, one per line out.
//!
//! Whoever may connect may ask for the status, and why a pair gets its answer. What changes
//! something is for root and the daemon's user, as the kernel says who it is that asks.
//!
//! ```text
//!  > {"verb": "status"}
//!  < {"ok":true,"schema":"sapphired.status/1","ready":true,...}
//!  > {"verb": "rollback"}
//!  < {"ok":false,"code":"denied","error":"only root and the daemon's user (uid 0) may do this, ..."}
//! ```
//!
//! `code` is for programs and belongs to the interface: `bad-request`, `denied`, `busy`, `failed`,
//! `refused` (of maintenance: the subnet does not allow it, and nothing has changed). `error` is
//! for people and may change.
//!
//! A line is bounded, and so is the number of connections: whoever may connect may be anybody on
//! this machine.

mod connection;
mod dry_run;
mod explain;
mod fleet;
mod fleet_report;
mod health_report;
pub(in crate::server) mod maintenance;
mod socket;
mod status_report;

use core::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;

use crossbeam_channel::Sender;
use sa_snapshot::EpochId;
use serde::Serialize;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tracing::warn;

use super::admin::{Connections, rest};
use super::status::Status;
pub(in crate::server) use dry_run::{
    DryRun, DryRunReport, LevelTransition, PolicyReport, Running, Steps,
};
use explain::Explained;
pub(in crate::server) use explain::Explainer;
use fleet_report::FleetReport;
use health_report::HealthReport;
use maintenance::{Report, Task};
pub(in crate::server) use socket::Socket;
use status_report::StatusReport;

/// Connections at a time of those who may only ask; the oldest go for newer ones.
///
/// More than an operator has terminals, and few enough for the daemon's own descriptors.
const ASKERS: usize = 64;

/// The same of those who may command; they have their own, so that nobody can keep them out.
const COMMANDERS: usize = 16;

/// All of them.
pub(in crate::server) const CONNECTIONS: usize = ASKERS + COMMANDERS;

/// What the thread that loads is to do, and where the answer goes. Who asked may have left by then.
///
/// The thread that serves sockets orders nothing itself: loads are one at a time, in one thread.
pub(in crate::server) struct Command {
    /// Nothing else is passed: whether the asker may order it was judged before.
    pub(in crate::server) work: Work,
    /// Who asks, for the log.
    pub(in crate::server) by: By,
    /// A reply that nobody takes is dropped.
    pub(in crate::server) reply: oneshot::Sender<Result<Answer, Refusal>>,
}

/// Who ordered.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) enum By {
    /// Over the control socket.
    Process(Peer),
    /// On the page, with the token, from this address.
    Browser(SocketAddr),
}

/// What can be ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Work {
    /// Of every daemon.
    Order(Order),
    /// Of the Subnet Manager.
    Maintenance(Task),
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(order) => order.fmt(f),
            Self::Maintenance(task) => task.fmt(f),
        }
    }
}

/// What makes the daemon load.
///
/// Its words stand in the status as the reason of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Order {
    /// Read the sources again.
    Reload,
    /// Return to the snapshot before.
    Rollback {
        /// Its epoch, where who orders it has seen that; anything else is refused then.
        to: Option<EpochId>,
    },
    /// A verb of maintenance, which sweeps.
    Maintain(&'static str),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reload => "sapphire reload",
            Self::Rollback { .. } => "sapphire rollback",
            Self::Maintain(verb) => verb,
        })
    }
}

/// What is answered to a request that was done. Shape: an object; its fields are an interface.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::server) enum Answer {
    /// To `status`.
    Status(Box<StatusReport>),
    /// To `health`.
    Health(Box<HealthReport>),
    /// To `explain`.
    Explained(Box<Explained>),
    /// To `rollback`.
    RolledBack {
        /// In service now.
        epoch: u64,
        /// Under which this was in service before.
        content_of_epoch: u64,
        /// What ends it, for people.
        held: &'static str,
        /// What is left of it after a restart, for people.
        restart: String,
    },
    /// To `reload`.
    Reloaded {
        /// In service now; none where there never is a snapshot.
        epoch: Option<u64>,
    },
    /// To `reload` with `dry_run`.
    DryRun(Box<DryRunReport>),
    /// To what is asked of the Subnet Manager.
    Maintained(Box<Report>),
    /// To `fleet-status`.
    Fleet(Box<FleetReport>),
    /// To `fleet-promote` and `fleet-withdraw`.
    FleetOrdered {
        /// Of the verb.
        #[serde(skip)]
        schema: &'static str,
    },
}

impl Answer {
    /// Name and version of what it is, for `docs/schemas`; none for a status, which names itself.
    fn schema(&self) -> Option<&'static str> {
        match self {
            Self::Status(_) => None,
            Self::Health(_) => Some(health_report::SCHEMA),
            Self::Explained(_) => Some("sapphired.explain/1"),
            Self::RolledBack { .. } => Some("sapphired.rollback/1"),
            Self::Reloaded { .. } => Some("sapphired.reload/1"),
            Self::DryRun(_) => Some("sapphired.reload-dry-run/1"),
            Self::Maintained(report) => Some(report.schema()),
            Self::Fleet(_) => Some("sapphired.fleet-status/1"),
            Self::FleetOrdered { schema } => Some(schema),
        }
    }
}

/// Who is at the other end, as the kernel says it (SO_PEERCRED). Of the moment of connecting; a
/// process that gives its socket on gives its rights with it.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Peer {
    /// 0 where it cannot be known.
    pub(in crate::server) pid: i32,
    /// As the kernel has it, in the daemon's user namespace.
    pub(in crate::server) uid: u32,
    /// It is root or the daemon's own user.
    may_command: bool,
}

/// Why a request is not done. Neither field tells what the asker may not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Refusal {
    /// For programs.
    code: &'static str,
    /// For people.
    words: String,
}

impl Refusal {
    /// The subnet or its engine does not allow it; nothing has changed.
    pub(in crate::server) fn refused(words: impl Into<String>) -> Self {
        Self::new("refused", words)
    }

    /// Not now.
    pub(in crate::server) fn busy(words: impl Into<String>) -> Self {
        Self::new("busy", words)
    }

    /// The code is one of five; see above.
    fn new(code: &'static str, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { code, words }
    }

    /// For people.
    pub(in crate::server) fn words(&self) -> &str {
        &self.words
    }

    /// It was tried, and failed.
    pub(in crate::server) fn failed(words: impl Into<String>) -> Self {
        Self::new("failed", words)
    }
}

/// A reply. Shape: one object, `ok` first, so that a reader may decide by its first bytes.
#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Done {
        ok: bool,
        /// None where the answer has its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'static str>,
        #[serde(flatten)]
        answer: Answer,
    },
    Refused {
        ok: bool,
        code: &'static str,
        error: String,
    },
}

/// What a reply says, in one line without its end.
fn in_json(answer: Result<Answer, Refusal>) -> String {
    let reply = match answer {
        Ok(answer) => Reply::Done {
            ok: true,
            schema: answer.schema(),
            answer,
        },
        Err(Refusal { code, words }) => Reply::Refused {
            ok: false,
            code,
            error: words,
        },
    };
    // Maps have strings for keys, and nothing else can fail.
    serde_json::to_string(&reply).unwrap_or_default()
}

/// What connections share. Read only, but for the channel.
pub(in crate::server) struct Context {
    /// For verbs that only ask.
    status: Arc<Status>,
    /// To the thread that loads; bounded, so an asker may be told that it is busy.
    commands: Sender<Command>,
    /// Of what is in force.
    explainer: Option<Explainer>,
    /// Tries loads.
    dry_run: Option<Box<dyn DryRun>>,
    /// The daemon's user, whose orders are taken besides root's.
    own_uid: u32,
}

impl Context {
    /// Commands go to `commands`. The own user is asked of the kernel by a socket pair, in the same
    /// way as that of a client. Errors: the system's, when it does not say who we are.
    pub(in crate::server) fn new(
        status: Arc<Status>,
        commands: Sender<Command>,
        (explainer, dry_run): (Option<Explainer>, Option<Box<dyn DryRun>>),
    ) -> std::io::Result<Self> {
        let (ours, _other) = UnixStream::pair()?;
        let own_uid = ours.peer_cred()?.uid();
        Ok(Self {
            status,
            commands,
            explainer,
            dry_run,
            own_uid,
        })
    }

    /// Who has connected. Errors: the system's; without it nobody is served.
    fn peer(&self, stream: &UnixStream) -> std::io::Result<Peer> {
        let credentials = stream.peer_cred()?;
        let uid = credentials.uid();
        Ok(Peer {
            pid: credentials.pid().unwrap_or(0),
            uid,
            may_command: uid == 0 || uid == self.own_uid,
        })
    }
}

/// Takes connections for ever. Errors: the listener cannot be used.
///
/// A connection that cannot be judged (no credentials) is not served.
pub(in crate::server) fn serve(
    listener: StdListener,
    context: Context,
) -> std::io::Result<impl Future<Output = ()>> {
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let context = Arc::new(context);
    Ok(async move {
        let mut askers = Connections::new(ASKERS);
        let mut commanders = Connections::new(COMMANDERS);
        loop {
            let accepted = listener.accept().await;
            match accepted.and_then(|(stream, _)| Ok((context.peer(&stream)?, stream))) {
                Ok((peer, stream)) => {
                    // Each group cuts its own oldest: users cannot push root out.
                    let connections = match peer.may_command {
                        true => &mut commanders,
                        false => &mut askers,
                    };
                    let task = connection::serve(stream, peer, Arc::clone(&context));
                    connections.admit(task, &context.status.counts);
                }
                Err(error) => {
                    warn!("control socket: cannot take a connection: {error}");
                    rest().await;
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_say_whether_it_was_done() {
        let done = in_json(Ok(Answer::Reloaded { epoch: Some(3) }));
        assert_eq!(
            done,
            r#"{"ok":true,"schema":"sapphired.reload/1","epoch":3}"#
        );
        let not = in_json(Err(Refusal::failed("no")));
        assert_eq!(not, r#"{"ok":false,"code":"failed","error":"no"}"#);
        let rolled_back = Answer::RolledBack {
            epoch: 4,
            content_of_epoch: 2,
            held: "h",
            restart: "r".to_owned(),
        };
        assert_eq!(
            in_json(Ok(rolled_back)),
            concat!(
                r#"{"ok":true,"schema":"sapphired.rollback/1","#,
                r#""epoch":4,"content_of_epoch":2,"held":"h","restart":"r"}"#
            )
        );
    }
}
