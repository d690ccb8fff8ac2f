//! `reload` with `dry_run`: what a reload would put into service, and how that differs from what is
//! there.
//!
//! ```text
//!  > {"verb":"reload","dry_run":true}
//!  < {"ok":true,"schema":"sapphired.reload-dry-run/1","epoch":7,"same":false,"digest":"..","warnings":[],"comparison":{..},..}
//!  < {"ok":false,"code":"failed","error":"policy.conf:4:7: ..; the snapshot in service stays"}       in the words of a reload
//! ```
//!
//! The work is that of the thread that loads, done by another one; nothing is put into service. It
//! takes the time and the memory of a load, so it is for those who may order one, and there is one
//! at a time. It is for who asked: when the connection is gone, the work ends.

use std::time::Duration;

use sa_compiler::snapshot_change::Comparison;
use serde::Serialize;
use tokio::io::Interest;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Answer, Context, Peer, Refusal};

/// From look to look whether who asked is still there.
const LOOK: Duration = Duration::from_millis(100);

/// Whoever can try a load.
pub(in crate::server) trait DryRun: Send + Sync {
    /// Errors: another runs; there is nothing to try.
    fn begin(&self, by: Peer) -> Result<Running, Refusal>;
}

/// A trial under way. When this goes nobody waits for it any more, and it ends.
pub(in crate::server) struct Running {
    /// What comes of it.
    pub(in crate::server) result: oneshot::Receiver<Result<DryRunReport, Refusal>>,
    /// Ends it.
    pub(in crate::server) leave: Box<dyn Fn() + Send>,
}

impl Drop for Running {
    fn drop(&mut self) {
        (self.leave)();
    }
}

/// What a reload would do.
#[derive(Debug, Serialize)]
pub(in crate::server) struct DryRunReport {
    /// In service, and compared with; none where there is none.
    pub(in crate::server) epoch: Option<u64>,
    /// Of what is in service.
    pub(in crate::server) digest_in_service: Option<String>,
    /// Of what was compiled, under the number and the time of what is in service: the same digest
    /// means the same bytes.
    pub(in crate::server) digest: String,
    /// They are the same.
    pub(in crate::server) same: bool,
    /// One line, as the log has it of a load.
    pub(in crate::server) summary: String,
    /// All of them, of which `warnings` has the first.
    pub(in crate::server) warnings_count: usize,
    /// As a reload would log them.
    pub(in crate::server) warnings: Vec<String>,
    /// What changed in the fabric since the load before, in sentences.
    pub(in crate::server) changes: Vec<String>,
    /// Forwarding entries that are others than those of the load before; none where there was none.
    pub(in crate::server) entries_changed: Option<u64>,
    /// What changes for requests of all kinds by the policy; none where it is the same, and where
    /// there is none.
    pub(in crate::server) policy: Option<PolicyReport>,
    /// What could not be compared, and why, in sentences.
    pub(in crate::server) not_compared: Vec<String>,
    /// Of the two snapshots; none where none is in service.
    pub(in crate::server) comparison: Option<Comparison>,
    /// Units: ms, with waiting for files to lie still.
    pub(in crate::server) took_ms: u64,
    /// Of the steps.
    pub(in crate::server) steps_ms: Steps,
}

/// How long each step took. Units: ms.
#[derive(Debug, Default, Serialize)]
pub(in crate::server) struct Steps {
    /// Reading and parsing.
    pub(in crate::server) read: u64,
    /// Making the forwarding tables.
    pub(in crate::server) route: u64,
    /// Proving them.
    pub(in crate::server) check: u64,
    /// Building the snapshot.
    pub(in crate::server) build: u64,
    /// Asking the reference.
    pub(in crate::server) compare: u64,
}

/// A policy in place of another one.
#[derive(Debug, Serialize)]
pub(in crate::server) struct PolicyReport {
    /// Rules of what is in force; none without a policy.
    pub(in crate::server) rules_before: Option<usize>,
    /// Rules of what was read; none without a policy.
    pub(in crate::server) rules: Option<usize>,
    /// Levels and groups that differ, in sentences.
    pub(in crate::server) changes: Vec<String>,
    /// Ordered pairs of ports for which some request gets another level; none where they were not
    /// counted.
    pub(in crate::server) pairs_changed: Option<u64>,
    /// All kinds of requests were looked at; else the numbers of pairs are lower bounds.
    pub(in crate::server) complete: Option<bool>,
    /// From level to level, those of most pairs first.
    pub(in crate::server) transitions: Vec<LevelTransition>,
}

/// Pairs of ports that get one level instead of another for some request.
#[derive(Debug, Serialize)]
pub(in crate::server) struct LevelTransition {
    /// Ordered.
    pub(in crate::server) pairs: u64,
    /// With what it gives.
    pub(in crate::server) old: String,
    /// Likewise.
    pub(in crate::server) new: String,
    /// Of a request that shows it.
    pub(in crate::server) source: String,
    /// Of the same.
    pub(in crate::server) destination: String,
    /// What that names besides.
    pub(in crate::server) asked: String,
}

/// Waits as long as it takes, and no longer than who asked. Errors: it may not begin; a reload
/// would fail, in its words; it gave up.
pub(super) async fn answer(
    peer: Peer,
    context: &Context,
    output: &OwnedWriteHalf,
) -> Result<Answer, Refusal> {
    let none = || Refusal::failed("this daemon loads nothing");
    let tries = context.dry_run.as_ref().ok_or_else(none)?;
    let mut running = tries.begin(peer)?;
    loop {
        match timeout(LOOK, &mut running.result).await {
            Ok(Ok(report)) => return report.map(|report| Answer::DryRun(Box::new(report))),
            // A panic that it did not catch, or the end of the daemon.
            Ok(Err(_)) => return Err(Refusal::failed("the dry run was cut short")),
            Err(_) if has_left(output).await => {
                return Err(Refusal::failed("who asked has left"));
            }
            Err(_) => {}
        }
    }
}

/// Whether nobody is there any more to read a reply. A client that has only ended its requests
/// still waits.
async fn has_left(output: &OwnedWriteHalf) -> bool {
    // Never waits for long: what can be written to is ready, and so is what is gone; one that takes nothing is there.
    let ready = timeout(LOOK, output.ready(Interest::WRITABLE)).await;
    match ready {
        Ok(Ok(ready)) => ready.is_write_closed(),
        Ok(Err(_)) => true,
        Err(_) => false,
    }
}
