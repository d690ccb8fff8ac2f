//! What is in force on a leader's host, as whoever answers there has it.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use fleet_node::leading::{Newest, Source};
use sa_fastpath::publish::Reader;

use crate::server::operators::status::Status;

/// The publisher's slot, seen by the thread that leads.
pub(super) struct InForce {
    pub(super) reader: Reader,
    /// What is in service is in doubt.
    pub(super) muted: Arc<AtomicBool>,
    pub(super) status: Arc<Status>,
}

impl Source for InForce {
    fn newest(&mut self) -> Newest {
        // Before it is looked at whether that counts: a reader that never looks keeps old snapshots alive.
        let published = self.reader.refresh_shared();
        // What an earlier run left may be wrong by now. Until the sources were read nobody is told anything, and hosts go by what
        // they were told last.
        if !self.status.has_read_sources() {
            return Newest::Nothing;
        }
        match published {
            None => Newest::Nothing,
            Some(_) if self.muted.load(Ordering::SeqCst) => Newest::Doubted,
            Some(published) => Newest::InForce {
                number: published.epoch.get(),
                snapshot: Arc::clone(published) as Arc<_>,
            },
        }
    }
}
