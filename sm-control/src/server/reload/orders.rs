//! What operators order over the control socket, and on the page.
//!
//! Orders are obeyed by the thread that loads, between two loads, so an order and a load never
//! meet. The answer says what an operator needs next: after a reload whether it failed and why;
//! after a rollback what ends it, and what a restart would do.
//!
//! ```text
//!  rollback: {"ok":true,"epoch":9,"content_of_epoch":7,"held":"automatic reloads wait ..","restart":".."}
//!  reload:   {"ok":true,"epoch":10}   or   {"ok":false,"code":"failed","error":"..; the snapshot in service stays"}
//! ```

use sa_snapshot::EpochId;
use tracing::info;

use super::Loader;
use super::due::Cause;
use super::published::RolledBack;
use crate::config::Source;
use crate::server::operators::control::{Answer, By, Command, Order, Refusal, Work};

impl Loader<'_> {
    /// Does what was ordered, and answers.
    pub(super) fn obey(&mut self, command: Command) {
        let Command { work, by, reply } = command;
        match by {
            By::Process(peer) => info!(uid = peer.uid, pid = peer.pid, "{work}"),
            By::Browser(address) => info!(%address, "{work}, ordered on the page"),
        }
        // The log has who ordered it before it is done: a load may take minutes.
        let answer = match work {
            Work::Order(Order::Rollback { to }) => self.roll_back(to),
            Work::Order(order) => self.reload_for(order),
            Work::Maintenance(task) => self.maintain(task),
        };
        // Who asked may have left.
        let _ = reply.send(answer);
    }

    /// Goes back by one snapshot. Errors: there is none.
    fn roll_back(&mut self, to: Option<EpochId>) -> Result<Answer, Refusal> {
        let RolledBack { of, epoch } = self
            .publication
            .roll_back(to)
            .map_err(|why| Refusal::failed(why.to_string()))?;
        Ok(Answer::RolledBack {
            epoch: epoch.get(),
            content_of_epoch: of.get(),
            held: "automatic reloads wait until `sapphire reload` or SIGHUP",
            restart: self.after_a_restart(epoch),
        })
    }

    /// What is left of a rollback then, in words. It depends on whether the state directory has it
    /// by now.
    fn after_a_restart(&self, epoch: EpochId) -> String {
        let lost = "a restart reads the sources: repair them before";
        if self.config.fabric.source == Source::OpenSm {
            return format!("{lost}, as LIDs may have changed in OpenSM meanwhile");
        }
        if self.config.state.directory.is_none() {
            return format!("{lost}, or have a [state] directory");
        }
        let kept = self.status.kept();
        match (&kept.problem, kept.stored == Some(epoch)) {
            (None, true) => "a restart goes on with this snapshot, held as now".to_owned(),
            (None, false) => format!("{lost}; this one is still being stored"),
            (Some(why), _) => format!("{lost}; this one could not be stored: {why}"),
        }
    }

    /// Loads now, held or not. Errors: the load failed, in its own words.
    fn reload_for(&mut self, order: Order) -> Result<Answer, Refusal> {
        self.reload(Cause::Order(order));
        let epoch = self.publication.epoch();
        if let Some(failure) = self.status.failure() {
            let what = &failure.what;
            let stays = match epoch {
                Some(_) => "; the snapshot in service stays",
                None => "",
            };
            return Err(Refusal::failed(format!("{what}{stays}")));
        }
        Ok(Answer::Reloaded {
            epoch: epoch.map(EpochId::get),
        })
    }
}
