//! A leader that keeps its term and publishes through faults.

use std::time::{Duration, Instant};

use fleet_engine::{Answer, Engine};
use fleet_etcd::{Etcd, EtcdSettings};
use sa_fleet::leader::{Call, Revision};
use sa_rig::wait_for;

use super::rig::{Cluster, PATIENCE, TIMEOUT, bounded, led};

/// A leader that asks a certain member first.
pub(crate) struct Lead {
    pub(crate) engine: Etcd,
    pub(crate) term: u64,
    last: Revision,
}

impl Lead {
    pub(crate) fn by(etcd: &Cluster, number: usize, lease: Duration) -> Self {
        let mut settings = EtcdSettings {
            lease,
            ..etcd.settings()
        };
        settings.endpoints.rotate_left(number);
        let mut engine = Etcd::start(settings).unwrap();
        let (term, found) = led(&mut engine);
        let last = found.revision;
        let mut lead = Self { engine, term, last };
        assert!(lead.publishes(), "{:?}", lead.engine.trouble());
        lead
    }

    pub(crate) fn call(&mut self, what: &Call) -> Answer {
        bounded(&mut self.engine, what, TIMEOUT).0
    }

    pub(crate) fn alive(&self) -> Call {
        Call::KeepAlive { term: self.term }
    }

    pub(crate) fn publication(&self) -> Call {
        Call::Publish {
            term: self.term,
            expected: self.last,
            announcement: b"once more"[..].into(),
        }
    }

    /// Whether it is known to be done. If not, what is there is read, as a leader does.
    pub(crate) fn publishes(&mut self) -> bool {
        let what = self.publication();
        if let Answer::Published(revision) = self.call(&what) {
            self.last = revision;
            return true;
        }
        if let Answer::Read { leader, published } = self.call(&Call::Read) {
            assert_eq!(leader, Some(self.term), "it leads through all of this");
            self.last = published.revision;
        }
        false
    }

    /// Until it publishes again; and it goes on then.
    pub(crate) fn recovers(&mut self, what: &str) {
        let (begun, mut failed) = (Instant::now(), 0);
        wait_for(what, PATIENCE, || {
            let is_done = self.publishes();
            failed += usize::from(!is_done);
            Ok(is_done)
        })
        .unwrap();
        eprintln!(
            "{what}: published {:?} later, {failed} not",
            begun.elapsed()
        );
        for _ in 0..20 {
            let alive = self.alive();
            assert_eq!(
                self.call(&alive),
                Answer::Alive,
                "{:?}",
                self.engine.trouble()
            );
            assert!(self.publishes(), "{:?}", self.engine.trouble());
        }
    }

    pub(crate) fn resigns(mut self) {
        let term = self.term;
        assert_eq!(self.call(&Call::Resign { term }), Answer::Lost);
    }
}
