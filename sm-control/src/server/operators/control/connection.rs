//! One connection of the control socket.
//!
//! Requests of one connection are answered one after the other. A status is answered here, from
//! what is written up; an order waits for the thread that loads, which may be in the middle of a
//! load, and its client waits as long. What is read is bounded in bytes and in time before it is
//! parsed.
//!
//! ```text
//!  read a line: 4,096 bytes, 5 s ──> parse ──> status: at once
//!                                         ├──> explain: a place? ──> thread sa-page
//!                                         ├──> reload, dry_run: may this user? ──> thread sa-dry-run
//!                                         └──> all others: may this user? ──> queue ──> wait
//!  write the reply, 5 s ──> the next line; after a line that was none: the end
//! ```

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::TrySendError;
use sa_compiler::account::Question;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::fleet::Fleet;
use super::health_report::HealthReport;
use super::maintenance::{Forgotten, Report, Task, Wish};
use super::status_report::StatusReport;
use super::{Answer, By, Command, Context, Order, Peer, Refusal, Work, in_json};
use crate::server::operators::counts::Event;

/// Bytes of the longest request; a path of a file is the longest that one has.
const LONGEST: usize = 4096;

/// How long a client may take for a request, or to take its reply.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request. Unknown fields are refused: a client that means something by one must not believe
/// that it was done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    // In braces: without them unknown fields would be taken.
    Status {},
    /// The sources are read again.
    Reload {
        /// And nothing is put into service.
        #[serde(default)]
        dry_run: bool,
    },
    /// The snapshot before is served.
    Rollback {},
    /// How links are.
    Health {
        /// Whose ports are told.
        #[serde(default)]
        node: Option<String>,
    },
    /// What is drained.
    Drained {},
    /// Why a pair gets its answer.
    Explain(Question),
    /// Routes leave a part.
    Drain {
        /// SWITCH or SWITCH:PORT.
        part: String,
        /// Whatever it costs.
        #[serde(default)]
        force: bool,
    },
    /// They may take it again.
    Undrain {
        /// As it was drained, or by its GUID.
        part: String,
    },
    /// What a change would write.
    Plan(Wish),
    /// Does what was planned.
    Apply {
        /// Its number.
        plan: String,
    },
    /// Who has which LIDs.
    LidList {},
    /// Gives some back.
    LidForget(Forgotten),
    /// Who is of the fleet, and what is in force there.
    FleetStatus {},
    /// This daemon leads.
    FleetPromote {
        /// The term is greater than this.
        #[serde(default)]
        above: Option<u64>,
    },
    /// Nobody answers any more.
    FleetWithdraw {},
}

/// What is done for it.
enum Asked {
    /// It is written up.
    Status,
    /// Of all links, or those of a node.
    Health(Option<String>),
    /// As of the last sweep.
    Drained,
    /// From what is in force.
    Explain(Question),
    /// By a thread of its own.
    DryRun,
    /// Of the fleet.
    Fleet(Fleet),
    /// The thread that loads does it.
    Work(Work),
}

impl Request {
    /// What can be told at once, and what waits for its turn.
    fn asked(self) -> Asked {
        Asked::Work(match self {
            Self::Status {} => return Asked::Status,
            Self::Health { node } => return Asked::Health(node),
            Self::Drained {} => return Asked::Drained,
            Self::Explain(question) => return Asked::Explain(question),
            Self::Reload { dry_run: true } => return Asked::DryRun,
            Self::FleetStatus {} => return Asked::Fleet(Fleet::Status),
            Self::FleetPromote { above } => return Asked::Fleet(Fleet::Promote { above }),
            Self::FleetWithdraw {} => return Asked::Fleet(Fleet::Withdraw),
            Self::Reload { dry_run: false } => Work::Order(Order::Reload),
            Self::Rollback {} => Work::Order(Order::Rollback { to: None }),
            Self::Drain { part, force } => Work::Maintenance(Task::Drain { part, force }),
            Self::Undrain { part } => Work::Maintenance(Task::Undrain { part }),
            Self::Plan(wish) => Work::Maintenance(Task::Plan(Box::new(wish))),
            Self::Apply { plan } => Work::Maintenance(Task::Apply { plan }),
            Self::LidList {} => Work::Maintenance(Task::Lids),
            Self::LidForget(ports) => Work::Maintenance(Task::Forget(ports)),
        })
    }
}

/// Answers requests until the client leaves, is silent for too long, or says what is no request.
/// Waits for an order as long as the order takes.
pub(super) async fn serve(stream: UnixStream, peer: Peer, context: Arc<Context>) {
    let (input, mut output) = stream.into_split();
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One more than is allowed: who uses it has said too much.
        let most = u64::try_from(LONGEST + 1).unwrap_or(u64::MAX);
        let mut limited = (&mut input).take(most);
        let read = timeout(PATIENCE, limited.read_until(b'\n', &mut line)).await;
        if !matches!(read, Ok(Ok(length)) if length > 0) {
            return;
        }
        let request = parse(&line);
        let is_sane = request.is_ok();
        let answer = match request {
            Ok(request) => answer(request, peer, &context, &output).await,
            Err(refusal) => Err(refusal),
        };
        // Before the reply: who has read it finds it counted.
        context.count(answer.is_ok());
        let mut reply = in_json(answer);
        reply.push('\n');
        let sent = timeout(PATIENCE, output.write_all(reply.as_bytes())).await;
        // After what is no request, nobody knows where the next one begins.
        if !matches!(sent, Ok(Ok(()))) || !is_sane {
            return;
        }
    }
}

/// Reads a line with its end. Errors: it is no request, and what one would be.
fn parse(line: &[u8]) -> Result<Request, Refusal> {
    let Some(line) = line.strip_suffix(b"\n") else {
        let words = match line.len() > LONGEST {
            true => format!("the request has more than {LONGEST} bytes"),
            false => "the request has no end of line".to_owned(),
        };
        return Err(Refusal::new("bad-request", words));
    };
    serde_json::from_slice(line).map_err(|error| {
        let expected = r#"expected an object such as {"verb": "status"}"#;
        Refusal::new("bad-request", format!("{error}; {expected}"))
    })
}

/// Does what was asked. Errors: a refusal, for this user or at this moment.
async fn answer(
    request: Request,
    peer: Peer,
    context: &Context,
    output: &OwnedWriteHalf,
) -> Result<Answer, Refusal> {
    let work = match request.asked() {
        Asked::Status => {
            return Ok(Answer::Status(Box::new(StatusReport::new(&context.status))));
        }
        Asked::Health(node) => return health(node.as_deref(), context),
        Asked::Drained => return drained(context),
        Asked::Explain(question) => {
            return super::explain::answer(question, peer, context).await;
        }
        Asked::DryRun => {
            context.admit(peer)?;
            return super::dry_run::answer(peer, context, output).await;
        }
        Asked::Fleet(asked) => return super::fleet::answer(asked, peer, context),
        Asked::Work(work) => work,
    };
    context.admit(peer)?;
    let (reply, answer) = oneshot::channel();
    let by = By::Process(peer);
    let command = Command { work, by, reply };
    context
        .commands
        // Never waited for: this thread has others to serve.
        .try_send(command)
        .map_err(|error| match error {
            TrySendError::Full(_) => {
                Refusal::new("busy", "other commands wait already; try again later")
            }
            TrySendError::Disconnected(_) => Refusal::new("busy", "the daemon is ending"),
        })?;
    let ended = || Err(Refusal::new("busy", "the daemon is ending"));
    answer.await.unwrap_or_else(|_| ended())
}

/// What is known already. Errors: this daemon does not know it.
fn health(node: Option<&str>, context: &Context) -> Result<Answer, Refusal> {
    let observed = context.status.observed().ok_or_else(|| {
        Refusal::failed("this sapphired is not the Subnet Manager (source = \"sweep\"), so it knows nothing of links")
    })?;
    let report = HealthReport::new(observed, node);
    Ok(Answer::Health(Box::new(report)))
}

/// Without waiting for the thread that loads. Errors: this daemon is no Subnet Manager.
fn drained(context: &Context) -> Result<Answer, Refusal> {
    let sweeps = context.status.sweeps().ok_or_else(Refusal::no_manager)?;
    let report = Report::Drained(sweeps.drained().iter().map(Into::into).collect());
    Ok(Answer::Maintained(Box::new(report)))
}

impl Context {
    /// By the user that the kernel told at the beginning: a request cannot say who it is from.
    /// Errors: it may only ask.
    pub(super) fn admit(&self, peer: Peer) -> Result<(), Refusal> {
        if peer.may_command {
            return Ok(());
        }
        let words = format!(
            "only root and the daemon's user (uid {}) may do this, not uid {}",
            self.own_uid, peer.uid
        );
        Err(Refusal::new("denied", words))
    }

    /// Counts a request as done or refused.
    fn count(&self, is_done: bool) {
        self.status.counts.add(match is_done {
            true => Event::Commanded,
            false => Event::CommandRefused,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_verbs_are_requests() {
        let verb = |text: &str| parse(text.as_bytes()).map_err(|refusal| refusal.words);
        assert_eq!(verb("{\"verb\":\"status\"}\n"), Ok(Request::Status {}));
        assert_eq!(
            verb("{\"verb\":\"rollback\"}\r\n"),
            Ok(Request::Rollback {})
        );
        let drain = Request::Drain {
            part: "S0:3".to_owned(),
            force: false,
        };
        assert_eq!(verb("{\"verb\":\"drain\",\"part\":\"S0:3\"}\n"), Ok(drain));
        for (text, above) in [("", None), (",\"above\":7", Some(7))] {
            let text = format!("{{\"verb\":\"fleet-promote\"{text}}}\n");
            assert_eq!(verb(&text), Ok(Request::FleetPromote { above }));
        }
        for (text, said) in [
            ("\n", "EOF"),
            ("{\"verb\":\"stop\"}\n", "unknown variant `stop`"),
            ("{\"verb\":\"status\",\"x\":1}\n", "unknown field `x`"),
            (
                "{\"verb\":\"status\",\"node\":\"x\"}\n",
                "unknown field `node`",
            ),
            ("{\"verb\":\"plan\",\"x\":1}\n", "unknown field `x`"),
            (
                "{\"verb\":\"fleet-status\",\"above\":1}\n",
                "unknown field `above`",
            ),
            (
                "{\"verb\":\"fleet-promote\",\"above\":-1}\n",
                "expected u64",
            ),
            ("{\"verb\":\"drain\"}\n", "missing field `part`"),
            (
                "{\"verb\":\"explain\",\"source\":\"a\"}\n",
                "missing field `destination`",
            ),
            (
                "{\"verb\":\"explain\",\"source\":\"a\",\"destination\":\"b\",\"sl\":1}\n",
                "unknown field `sl`",
            ),
            (
                "{\"verb\":\"explain\",\"source\":\"a\",\"destination\":\"b\",\"pkey\":65536}\n",
                "expected u16",
            ),
            ("[]\n", "missing field `verb`"),
            ("{\"verb\":\"status\"}", "no end of line"),
            (&"x".repeat(LONGEST + 1), "more than 4096 bytes"),
            (&format!("{}\n", "[".repeat(4000)), "expected"),
        ] {
            let words = verb(text).unwrap_err();
            assert!(words.contains(said), "{text}: {words}");
        }
    }
}
