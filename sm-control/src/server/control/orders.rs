//! What the main thread does for operators.

use std::fmt;

use serde_json::{Value, json};
use tracing::info;

use super::{Command, Order, Refusal};
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
                })
            }),
        };
        // Who asked may have left.
        let _ = reply.send(answer);
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
