//! A leader's state machine on a real engine, driven by hand.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use fleet_engine::{Answer, Engine};
use fleet_etcd::Etcd;
use sa_fleet::announcement::{Blob, Content, LeaderKey};
use sa_fleet::identity::{Digest, FleetId, Generation, KeyId};
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::leader::{Call, Leader, LeaderAction, LeaderAlert, LeaderEvent, LeaderSettings};
use sa_fleet::time::{Boot, Now, Wall};
use sa_fleet::trust::{Trust, TrustedKey};
use sa_rig::wait_for;
use sa_wire::SubnetPrefix;

use super::rig::PATIENCE;

pub(crate) struct Host {
    pub(crate) leader: Leader,
    pub(crate) alerts: Vec<LeaderAlert>,
    /// What was asked, and how it ended.
    pub(crate) calls: Vec<(Call, Answer)>,
    engine: Etcd,
    open: VecDeque<LeaderAction>,
    begun: Instant,
}

fn key() -> LeaderKey {
    LeaderKey::new(KeyId(*b"leader 1"), &[3; 32])
}

fn judge(era: u32) -> Judge {
    let trusted = TrustedKey::new(key().id, &key().public(), Wall(u64::MAX)).unwrap();
    Judge {
        trust: Trust {
            fleet: FleetId([7; 16]),
            era,
            root_version: era,
            keys: vec![trusted],
        },
        subnet: SubnetPrefix::LINK_LOCAL,
        max_ttl: Duration::from_secs(300),
        wall: WallRule::Counted,
    }
}

/// Generation and file by one number.
pub(crate) fn content(number: u8) -> Content {
    let digest = Digest([number; 32]);
    let generation = Generation {
        paths: digest,
        policy: digest,
    };
    let blob = Blob {
        format: 7,
        digest,
        size: 1_000_000,
    };
    Content::new(generation, vec![blob], Vec::new()).unwrap()
}

impl Host {
    pub(crate) fn new(engine: Etcd, era: u32) -> Self {
        let ttl = Duration::from_secs(30);
        let settings = LeaderSettings {
            judge: judge(era),
            key: key(),
            ttl,
            beat: ttl / 3,
            node: 1,
        };
        Self {
            leader: Leader::new(settings),
            alerts: Vec::new(),
            calls: Vec::new(),
            engine,
            open: VecDeque::new(),
            begun: Instant::now(),
        }
    }

    fn now(&self) -> Now {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        Now {
            boot: Boot::NEVER.after(Duration::from_secs(1000) + self.begun.elapsed()),
            wall: Wall(since.as_millis() as u64),
        }
    }

    /// Tells the leader.
    pub(crate) fn tell(&mut self, event: LeaderEvent<'_>) {
        let mut actions = Vec::new();
        self.leader.on(self.now(), event, &mut actions);
        self.open.extend(actions);
    }

    /// Does one thing that it wants, which may lead to others at once for as long as nobody answers.
    pub(crate) fn does_one(&mut self) {
        self.tell(LeaderEvent::Timer);
        let (call, what) = match self.open.pop_front() {
            Some(LeaderAction::Call { call, what }) => (call, what),
            Some(LeaderAction::Alert(alert)) => return self.alerts.push(alert),
            None => return,
        };
        let answer = self.engine.call(&what);
        let returned = answer.returned();
        self.tell(LeaderEvent::Returned { call, returned });
        self.calls.push((what, answer));
    }

    /// Goes on until then.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        wait_for(what, PATIENCE, || {
            self.does_one();
            Ok(is_so(self))
        })
        .unwrap();
    }
}
