//! Looking at this host's ports, and at what their SAs serve, again and again.

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

/// A port as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The port.
    pub port: HostPort,
    /// When it had another SM last: the SM came after that. None while it never had another.
    pub sm_since: Option<Instant>,
    /// What its SA serves; none where it does not say, or was not asked.
    pub served: Option<Served>,
}

/// What was last seen.
pub type View = Arc<ArcSwap<Vec<Seen>>>;

/// Gives a way to the SA of a port, by device and number.
pub type Ways = Arc<dyn Fn(&str, u8) -> Box<dyn Ask> + Send + Sync>;

/// The thread that looks; it ends when this goes.
pub struct Watch {
    view: View,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What SAs serve is asked for at most so often.
const ASK_PAUSE: Duration = Duration::from_secs(1);

impl Watch {
    /// Looks once, then goes on by itself. With `ways` it asks the SAs too. Errors: no thread.
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

struct Watcher {
    host: Box<dyn Host>,
    ways: Option<Ways>,
    sms: Sms,
    /// When SAs were last asked.
    asked: Option<Instant>,
    served: Vec<Sa>,
}

/// The SMs that ports have had, those of ports that went among them: they may come back.
#[derive(Default)]
struct Sms {
    looked: Option<Instant>,
    known: Vec<Sm>,
}

/// Where the SM of a port is.
struct Sm {
    device: String,
    port: u8,
    lid: Lid,
    since: Option<Instant>,
}

/// The SA of a port.
struct Sa {
    port: HostPort,
    way: Box<dyn Ask>,
    served: Option<Served>,
    has_complained: bool,
}

impl Watcher {
    fn run(mut self, view: &View, pause: Duration, stopped: &Receiver<()>) {
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let seen = self.look();
            if **view.load() != seen {
                view.store(Arc::new(seen));
            }
        }
    }

    fn look(&mut self) -> Vec<Seen> {
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
    /// `now` is from before the ports were read.
    fn look(&mut self, ports: &[HostPort], now: Instant) {
        // Of a port without an SM nobody gave it another LID.
        for port in ports {
            let Some(sm_lid) = port.sm_lid else { continue };
            match self.known.iter_mut().find(|sm| sm.is_of(port)) {
                Some(sm) if sm.lid == sm_lid => {}
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
