//! A leader's process, and one to order it about.

use std::io::{BufRead, stdin};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use fleet_engine::{Answer, Embedded, Engine};
use fleet_node::leading::{self, Leading};
use fleet_node::serving::Serving;
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;
use sa_fleet::leader::{Call, LeaderSettings};

use crate::made::{Keys, snapshot};
use crate::process::say;
use crate::rig::{InForce, judge};

/// Of announcements here. What is good for less than a second is not handed out.
pub(crate) const TTL: Duration = Duration::from_millis(1500);
const BEAT: Duration = Duration::from_millis(250);

/// The real leader, with its listener. Fields go in their order.
pub(crate) struct Leader {
    _running: leading::Running,
    serving: Serving,
    pub(crate) in_force: InForce,
}

impl Leader {
    /// Opens its files and begins. `engine` is put around the real one. Errors: for people.
    pub(crate) fn open(
        keys: &Keys,
        directory: &Path,
        listen: SocketAddr,
        engine: impl FnOnce(Embedded) -> Box<dyn Engine>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let root = keys.held();
        let shelf = Arc::new(Shelf::open(&directory.join("blobs"))?);
        let embedded = Embedded::open(&directory.join("engine"))?;
        let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
        let serving = Serving::start(listen, Arc::clone(&desk), None)?;
        let in_force = InForce::default();
        let leading = Leading {
            settings: LeaderSettings {
                judge: judge(&root),
                key: keys.leader(),
                ttl: TTL,
                beat: BEAT,
                node: 1,
            },
            engine: engine(embedded),
            peers: Vec::new(),
            root,
            shelf,
            desk,
        };
        let running = leading::start(leading, in_force.clone())?;
        Ok(Self {
            _running: running,
            serving,
            in_force,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.serving.address()
    }
}

/// The part of a leader: `open`, `lead`, `publish HOSTS`.
pub(crate) fn play(directory: &Path, listen: &str) {
    let keys = Keys::load(directory).unwrap();
    let listen = listen.parse().unwrap();
    let directory = directory.join("leader");
    tracing::subscriber::set_global_default(warnings::Said).unwrap();
    ends_by_panics();
    // A thread with a name that can be found.
    let thread = std::thread::Builder::new().name("steps-main".to_owned());
    let played = thread.spawn(move || {
        let (lead, may_lead) = bounded(1);
        let mut leader = None;
        say("ready");
        for order in stdin().lock().lines().map_while(Result::ok) {
            match order.split_once(' ').unwrap_or((&order, "")) {
                ("open", _) => {
                    let may_lead = Some(may_lead.clone());
                    let engine = |engine| Box::new(Held { engine, may_lead }) as Box<_>;
                    match Leader::open(&keys, &directory, listen, engine) {
                        Ok(opened) => leader = Some(opened),
                        Err(why) => {
                            say(&format!("warns {why}"));
                            std::process::exit(1)
                        }
                    }
                    say("opened");
                }
                ("lead", _) => lead.send(()).unwrap(),
                ("publish", hosts) => {
                    let hosts: u16 = hosts.parse().unwrap();
                    let leader: &Leader = leader.as_ref().unwrap();
                    leader.in_force.set(snapshot(hosts, 1));
                }
                other => panic!("no such order: {other:?}"),
            }
        }
    });
    played.unwrap().join().unwrap();
}

/// As the daemon does: a thread that panics ends the process, and whoever watches over that starts it again.
pub(crate) fn ends_by_panics() {
    std::panic::set_hook(Box::new(|panic| {
        say(&format!("warns {panic}"));
        std::process::abort();
    }));
}

/// An engine that takes its first call when it is told to: until then a tracer can be put on its thread.
struct Held {
    engine: Embedded,
    may_lead: Option<Receiver<()>>,
}

impl Engine for Held {
    fn call(&mut self, what: &Call) -> Answer {
        if let Some(may_lead) = self.may_lead.take() {
            // An error: whoever orders is gone, and with it this process.
            let _ = may_lead.recv();
        }
        self.engine.call(what)
    }

    fn trouble(&self) -> Option<&str> {
        self.engine.trouble()
    }
}

/// What the real code warns of, for who started this process.
mod warnings {
    use std::fmt::{Debug, Write};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    use super::say;

    pub(super) struct Said;

    impl Subscriber for Said {
        fn enabled(&self, about: &Metadata<'_>) -> bool {
            *about.level() <= Level::WARN && about.target().starts_with("fleet")
        }

        fn event(&self, event: &Event<'_>) {
            let mut words = Words(String::new());
            event.record(&mut words);
            say(&format!("warns {}", words.0));
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    struct Words(String);

    impl Visit for Words {
        fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
            let _ = write!(self.0, "{value:?} ");
        }
    }
}
