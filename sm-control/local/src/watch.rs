//! Looking at this host's ports, and at what their SAs serve, again and again.
//!
//! What a path is true of can change without a word to this host: a new LID, another SM, another
//! snapshot in the SA. The thread `sa-ports` looks for it, so that the thread that answers never
//! reads sysfs and never waits for an SA.
//!
//! ```text
//!  every look_ms:  sysfs ──> ports ─┬─> Sms: when did another SM come?
//!                                   └─> Sa, at most once a second: which snapshot do you serve?
//!                  anything new? ──> View, one pointer ──> Server::look ──> Paths::look
//! ```
//!
//! When another SM came is dated by the look *before* the one that saw it. The SM may have come
//! right after that look, and may have given other LIDs since; sources read later than that are
//! true of it. Sources that were read between that look and the change pass as true of the new SM:
//! a window of one `look_ms`. Dated by the later look, sources read right after the SM came would
//! be refused until they are read again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use sa_source::Ask;
use sa_wire::Lid;
use tracing::{info, warn};

use super::LOG;

use super::ports::{Host, HostPort};
use super::served::{self, Served};

/// A port as it was last seen. Equal values mean that every answer kept for the port still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The port.
    pub port: HostPort,
    /// The last moment at which the port was seen with another SM: the present one came after that.
    /// None while it never had another, since the daemon started.
    pub sm_since: Option<Instant>,
    /// What its SA serves; none where it does not say, has not answered yet, or is not asked. An SA
    /// that falls silent keeps its last word here: it may serve on.
    pub served: Option<Served>,
}

/// What was last seen. The watcher stores a new list only where something differs, so readers can
/// compare pointers.
pub type View = Arc<ArcSwap<Vec<Seen>>>;

/// Gives a way to the SA of a port, by device and number. Nothing is opened before the first
/// question, which fails where there is no such device.
pub type Ways = Arc<dyn Fn(&str, u8) -> Box<dyn Ask> + Send + Sync>;

/// Handle of the thread `sa-ports`. Dropping it ends the thread, after the look that it has in
/// hand, which may wait for SAs.
pub struct Watch {
    view: View,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What SAs serve is asked for at most so often: one MAD a second for each port of each host. With
/// 1,000 hosts that is 1,000 requests a second, little for an SA of ours.
const ASK_PAUSE: Duration = Duration::from_secs(1);

impl Watch {
    /// Looks once, then goes on by itself. The first look is done when this returns, so the service
    /// never starts without ports. With `ways` it asks the SAs too. Errors: no thread.
    pub fn start(
        host: Box<dyn Host>,
        ways: Option<Ways>,
        pause: Duration,
    ) -> std::io::Result<Self> {
        let mut watcher = Watcher {
            host,
            ways,
            sms: Sms::default(),
            asked: None,
            served: Vec::new(),
        };
        let view = Arc::new(ArcSwap::from_pointee(watcher.look()));
        // Nothing is ever sent: the end of the channel is the signal, and it ends the pause at
        // once.
        let (stop, stopped) = crossbeam_channel::bounded(0);
        let shared = Arc::clone(&view);
        let thread = std::thread::Builder::new().name("sa-ports".into());
        let thread = thread.spawn(move || watcher.run(&shared, pause, &stopped))?;
        Ok(Self {
            view,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where what was last seen can be read.
    pub fn view(&self) -> View {
        Arc::clone(&self.view)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct Watcher {
    host: Box<dyn Host>,
    ways: Option<Ways>,
    sms: Sms,
    /// When SAs were last asked. None: ask at the next look, because a port came or changed.
    asked: Option<Instant>,
    /// One for each active port, made anew when anything of the port changes.
    served: Vec<Sa>,
}

/// The SMs that ports have had, those of ports that went among them: they may come back. It only
/// grows, by one entry for each port that this host ever had.
#[derive(Default)]
struct Sms {
    /// When ports were looked at last. None before the first look.
    looked: Option<Instant>,
    known: Vec<Sm>,
}

/// Where the SM of a port is, and since when at the earliest.
struct Sm {
    device: String,
    port: u8,
    lid: Lid,
    since: Option<Instant>,
}

/// The SA of a port, with an open way to it.
struct Sa {
    port: HostPort,
    way: Box<dyn Ask>,
    served: Option<Served>,
    /// It was said already that it does not answer. Set back by an answer, so each trouble is one
    /// line in the log.
    has_complained: bool,
}

impl Watcher {
    /// Looks until the handle goes.
    fn run(mut self, view: &View, pause: Duration, stopped: &Receiver<()>) {
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let seen = self.look();
            if **view.load() != seen {
                view.store(Arc::new(seen));
            }
        }
    }

    /// One look at everything. Waits for SAs, one after another, so with silent ones it takes
    /// longer than the pause.
    fn look(&mut self) -> Vec<Seen> {
        // Before the ports are read: a change between reading and dating must count as later than
        // this look.
        let now = Instant::now();
        let ports = self.host.ports();
        self.ask(&ports);
        self.sms.look(&ports, now);
        let seen = |port: HostPort| Seen {
            sm_since: self.sms.since(&port),
            served: self
                .served
                .iter()
                .find(|sa| sa.port == port)
                .and_then(|sa| sa.served),
            port,
        };
        ports.into_iter().map(seen).collect()
    }

    /// Brings `served` in line with the ports, and asks each SA where a second has passed.
    fn ask(&mut self, ports: &[HostPort]) {
        let Some(ways) = &self.ways else {
            return;
        };
        // Whatever changed of a port, its SA may be another.
        self.served.retain(|sa| ports.contains(&sa.port));
        for port in ports.iter().filter(|port| port.is_active) {
            if !self.served.iter().any(|sa| sa.port == *port) {
                self.served.push(Sa {
                    way: ways(&port.device, port.port),
                    port: port.clone(),
                    served: None,
                    has_complained: false,
                });
                self.asked = None;
            }
        }
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK_PAUSE) {
            self.served.iter_mut().for_each(Sa::ask);
            self.asked = Some(Instant::now());
        }
    }
}

impl Sms {
    /// Notes which SM each port has. `now` is from before the ports were read.
    fn look(&mut self, ports: &[HostPort], now: Instant) {
        // Of a port without an SM nobody gave it another LID.
        for port in ports {
            let Some(sm_lid) = port.sm_lid else { continue };
            match self.known.iter_mut().find(|sm| sm.is_of(port)) {
                Some(sm) if sm.lid == sm_lid => {}
                // The date of the look before: the new SM was not there then, and may have come
                // right after.
                Some(sm) => (sm.lid, sm.since) = (sm_lid, self.looked),
                None => self.known.push(Sm {
                    device: port.device.clone(),
                    port: port.port,
                    lid: sm_lid,
                    since: None,
                }),
            }
        }
        self.looked = Some(now);
    }

    /// When the port had another SM last.
    fn since(&self, port: &HostPort) -> Option<Instant> {
        let sm = self.known.iter().find(|sm| sm.is_of(port));
        sm.and_then(|sm| sm.since)
    }
}

impl Sm {
    fn is_of(&self, port: &HostPort) -> bool {
        (&self.device, self.port) == (&port.device, port.port)
    }
}

impl Sa {
    fn ask(&mut self) {
        let port = &self.port;
        match served::ask(&mut *self.way) {
            Ok(Some(served)) => {
                if self.served != Some(served) {
                    info!(target: LOG, %port, digest = format!("{:016x}", served.digest), "snapshot of the SA");
                }
                (self.served, self.has_complained) = (Some(served), false);
            }
            Ok(None) => {
                self.complain("the SA does not say which snapshot it serves; it is not ours");
                self.served = None;
            }
            // It may serve on; what it serves next, it will say.
            Err(error) => self.complain(&error.to_string()),
        }
    }

    /// Warns once until the SA answers again.
    fn complain(&mut self, what: &str) {
        if !core::mem::replace(&mut self.has_complained, true) {
            warn!(target: LOG, port = %self.port, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::with_sm;

    #[test]
    fn another_sm_is_dated_even_where_the_port_was_away_meanwhile() {
        let mut sms = Sms::default();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let port = with_sm(3);
        sms.look(core::slice::from_ref(&port), at(0));
        assert_eq!(sms.since(&port), None);
        sms.look(&[with_sm(0)], at(1));
        sms.look(core::slice::from_ref(&port), at(2));
        assert_eq!(sms.since(&port), None, "the same one as before");
        sms.look(&[], at(3));
        sms.look(&[with_sm(4)], at(4));
        assert_eq!(sms.since(&port), Some(at(3)), "it may have come since then");
        sms.look(core::slice::from_ref(&port), at(5));
        assert_eq!(sms.since(&port), Some(at(4)), "back, after another");
    }
}
