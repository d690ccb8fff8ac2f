//! A leader, relays and followers of one process, each with a directory of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fleet_engine::Embedded;
use fleet_node::following::{self, Following};
use fleet_node::host::{Host, Unusable};
use fleet_node::leading::{self, Leading, Newest, Source};
use fleet_node::roots::Held;
use fleet_node::seen::Seen;
use fleet_node::serving::Serving;
use fleet_tls::Tls;
use fleet_transfer::clocks;
use fleet_transfer::fetch::{Patience, Upstream};
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;
use sa_fleet::announcement::Blob;
use sa_fleet::follower::Settings;
use sa_fleet::identity::Token;
use sa_fleet::judge::{Judge, WallRule};
use sa_fleet::leader::LeaderSettings;
use sa_fleet::verdict::{Gate, Ports, StaleRule};
use sa_snapshot::{FORMAT_VERSION, Snapshot};
use sa_wire::SubnetPrefix;

use crate::made::Keys;

/// For what has to happen; nothing waits for as long where it does.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Of announcements here.
pub(crate) const TTL: Duration = Duration::from_secs(6);
const BEAT: Duration = Duration::from_secs(2);

/// Waits for it. Panics with `what` where it does not come.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What is in force on the leader's host: set by tests.
#[derive(Clone, Default)]
pub(crate) struct InForce(Arc<Mutex<Now>>);

/// Number, snapshot, and whether it is in doubt.
#[derive(Default)]
struct Now(u64, Option<Arc<Holder>>, bool);

pub(crate) struct Holder(Snapshot);

impl AsRef<Snapshot> for Holder {
    fn as_ref(&self) -> &Snapshot {
        &self.0
    }
}

impl InForce {
    pub(crate) fn set(&self, snapshot: Snapshot) {
        let mut it = self.0.lock().unwrap();
        it.0 += 1;
        it.1 = Some(Arc::new(Holder(snapshot)));
    }

    pub(crate) fn doubt(&self, is_doubted: bool) {
        self.0.lock().unwrap().2 = is_doubted;
    }
}

impl Source for InForce {
    fn newest(&mut self) -> Newest {
        let it = self.0.lock().unwrap();
        match &it.1 {
            None => Newest::Nothing,
            Some(_) if it.2 => Newest::Doubted,
            Some(snapshot) => {
                let snapshot = Arc::clone(snapshot);
                Newest::InForce {
                    number: it.0,
                    snapshot,
                }
            }
        }
    }
}

/// A leader with its listener. Fields go in their order.
pub(crate) struct Leader {
    pub(crate) running: leading::Running,
    pub(crate) serving: Serving,
    pub(crate) desk: Arc<Desk>,
    pub(crate) in_force: InForce,
    pub(crate) shelf: PathBuf,
}

impl Leader {
    pub(crate) fn start(keys: &Keys, directory: &Path, root: Held, peers: &[String]) -> Self {
        Self::start_with(keys, directory, root, peers, None)
    }

    pub(crate) fn start_with(
        keys: &Keys,
        directory: &Path,
        root: Held,
        peers: &[String],
        tls: Option<&Tls>,
    ) -> Self {
        let shelf_path = directory.join("blobs");
        let shelf = Arc::new(Shelf::open(&shelf_path).unwrap());
        let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
        let serving = serving(&desk, tls);
        let in_force = InForce::default();
        let settings = LeaderSettings {
            judge: judge(&root),
            key: keys.leader(),
            ttl: TTL,
            beat: BEAT,
            node: 1,
        };
        let leading = Leading {
            settings,
            engine: Box::new(Embedded::open(&directory.join("engine")).unwrap()),
            peers: peers.iter().map(|url| upstream(url, tls)).collect(),
            root,
            shelf,
            desk: Arc::clone(&desk),
        };
        let running = leading::start(leading, in_force.clone()).unwrap();
        Self {
            running,
            serving,
            desk,
            in_force,
            shelf: shelf_path,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.serving.address())
    }

    pub(crate) fn secure_url(&self) -> String {
        format!("https://{}", self.serving.address())
    }
}

pub(crate) fn serving(desk: &Arc<Desk>, tls: Option<&Tls>) -> Serving {
    let listen = "127.0.0.1:0".parse().unwrap();
    Serving::start(listen, Arc::clone(desk), tls.cloned()).unwrap()
}

pub(crate) fn upstream(url: &str, tls: Option<&Tls>) -> Upstream {
    Upstream::new(url, Patience::default(), tls)
}

pub(crate) fn judge(root: &Held) -> Judge {
    Judge {
        trust: root.root.trust(),
        subnet: SubnetPrefix::LINK_LOCAL,
        max_ttl: Duration::from_secs(300),
        wall: WallRule::Counted,
    }
}

/// What a host was told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) gate: Option<Gate>,
    /// In service: hosts of the snapshot, and its generation.
    pub(crate) slot: Option<(usize, Token)>,
    pub(crate) swaps: usize,
    /// It is of another fabric than the next snapshot.
    pub(crate) refuses: bool,
    pub(crate) has_other_ports: bool,
}

#[derive(Default)]
pub(crate) struct Stand(pub(crate) Mutex<Told>);

impl Stand {
    /// Of how many hosts it answers now, as a worker would: by its own look at the clock.
    pub(crate) fn answers(&self) -> Option<usize> {
        let told = self.0.lock().unwrap();
        let (hosts, generation) = told.slot?;
        let gate = told.gate?;
        gate.may_answer(clocks::now(), generation).then_some(hosts)
    }
}

impl Host for Stand {
    type Loaded = usize;

    fn load(&self, mut file: File, blob: Blob) -> Result<usize, Unusable> {
        let snapshot = Snapshot::read(&mut file, blob.size);
        let snapshot = snapshot.map_err(|why| Unusable::Ever(why.to_string()))?;
        if self.0.lock().unwrap().refuses {
            return Err(Unusable::Ever("of another fabric".to_owned()));
        }
        Ok(snapshot.info().hosts)
    }

    fn swap(&self, loaded: usize, generation: Token) {
        let mut told = self.0.lock().unwrap();
        told.slot = Some((loaded, generation));
        told.swaps += 1;
    }

    fn gate(&self, gate: Gate) {
        self.0.lock().unwrap().gate = Some(gate);
    }

    fn ports(&self, _: bool) -> Ports {
        match self.0.lock().unwrap().has_other_ports {
            true => Ports::Changed,
            false => Ports::Confirmed,
        }
    }
}

/// A follower, or a relay with its listener.
pub(crate) struct Node {
    pub(crate) running: following::Running,
    pub(crate) stand: Arc<Stand>,
    pub(crate) relay: Option<(Serving, Arc<Desk>)>,
}

impl Node {
    pub(crate) fn follower(root: Held, directory: &Path, from: &[String]) -> Self {
        Self::start_with(root, directory, from, false, None)
    }

    pub(crate) fn relay(root: Held, directory: &Path, from: &[String]) -> Self {
        Self::start_with(root, directory, from, true, None)
    }

    pub(crate) fn start_with(
        root: Held,
        directory: &Path,
        from: &[String],
        hands_on: bool,
        tls: Option<&Tls>,
    ) -> Self {
        let shelf = Arc::new(Shelf::open(&directory.join("blobs")).unwrap());
        let relay = hands_on.then(|| {
            let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
            (serving(&desk, tls), desk)
        });
        let settings = Settings {
            judge: judge(&root),
            node: 7,
            upstreams: from.len(),
            at_once: 1,
            formats: vec![FORMAT_VERSION],
            stale: StaleRule::Stop,
        };
        let following = Following {
            settings,
            upstreams: from.iter().map(|url| upstream(url, tls)).collect(),
            name: "n1".to_owned(),
            root: (root, directory.to_owned()),
            seen: Seen::open(directory).unwrap(),
            shelf,
            desk: relay.as_ref().map(|(_, desk)| Arc::clone(desk)),
            look: Duration::from_millis(50),
        };
        let stand = Arc::new(Stand::default());
        let running = following::start(following, Arc::clone(&stand)).unwrap();
        Self {
            running,
            stand,
            relay,
        }
    }

    pub(crate) fn url(&self) -> String {
        let (serving, _) = self.relay.as_ref().expect("a relay");
        format!("http://{}", serving.address())
    }

    pub(crate) fn comes_to(&self, hosts: usize) {
        until(&format!("answers of {hosts} hosts"), || {
            self.stand.answers() == Some(hosts)
        });
    }
}
