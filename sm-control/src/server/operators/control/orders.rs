//! What the main thread does for operators.

use std::fmt;

use serde_json::{Value, json};
use tracing::info;

use super::{Command, Order, Refusal};
use crate::config::Source;
use crate::server::Server;

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reload => "sapphire reload",
            Self::Rollback => "sapphire rollback",
        })
    }
}

impl Server<'_> {
    /// Does what was ordered, and answers.
    pub(in crate::server) fn obey(&mut self, command: Command) {
        let Command { order, by, reply } = command;
        info!(uid = by.uid, pid = by.pid, "{order}");
        let answer = match order {
            Order::Reload => self.reload_for(order),
            Order::Rollback => self.roll_back().map(|(of, epoch)| {
                json!({
                    "epoch": epoch,
                    "content_of_epoch": of,
                    "held": "automatic reloads wait until `sapphire reload` or SIGHUP",
                    "restart": self.after_a_restart(epoch),
                })
            }),
        };
        // Who asked may have left.
        let _ = reply.send(answer);
    }

    /// What is left of a rollback then.
    fn after_a_restart(&self, epoch: u64) -> String {
        let lost = "a restart reads the sources: repair them before";
        if self.config.fabric.source == Source::OpenSm {
            return format!("{lost}, as LIDs may have changed in OpenSM meanwhile");
        }
        if self.config.state.directory.is_none() {
            return format!("{lost}, or have a [state] directory");
        }
        let kept = self.board.kept();
        match (&kept.problem, kept.stored == Some(epoch)) {
            (None, true) => "a restart goes on with this snapshot, held as now".to_owned(),
            (None, false) => format!("{lost}; this one is still being stored"),
            (Some(why), _) => format!("{lost}; this one could not be stored: {why}"),
        }
    }

    fn reload_for(&mut self, order: Order) -> Result<Value, Refusal> {
        self.reload(&order.to_string());
        if let Some(failure) = self.board.failure() {
            let what = &failure.what;
            let stays = match self.publisher.current() {
                Some(_) => "; the snapshot in service stays",
                None => "",
            };
            return Err(Refusal::failed(format!("{what}{stays}")));
        }
        let epoch = self.publisher.current().map(|current| current.epoch.get());
        Ok(json!({"epoch": epoch}))
    }
}
