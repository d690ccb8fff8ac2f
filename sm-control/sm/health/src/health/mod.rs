//! All of it together: what is seen, asked, counted and judged.
//!
//! | call | when | what it costs |
//! |---|---|---|
//! | [`Health::follow`] | after a sweep that found something else | a look at each link: 0.5 s for 263,424 ends |
//! | [`Health::send`], [`Health::received`] | as [`Health::wakes_at`] says, and as answers come | some microseconds each |
//! | [`Health::wake`] | at each turn | what has run out of time; once a minute a look at all ports |
//! | [`Health::take_news`] | at each turn | what has begun and what is over |
//! | [`Health::report`] | when somebody asks | a look at each port for the oldest reading |
//!
//! Two things tell of a link: sweeps whether it is there and how it runs, readings what it counts. Either alone is enough for its own
//! findings, so a subnet whose devices answer no counters is still judged by its widths and speeds.
//!
//! Findings of a link that is gone end with it, but for how often it went: that is what is of interest then.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sa_wire::Guid;

pub use self::report::{PortReport, Report};
use crate::asking::{Ask, Asking, Options, Visited};
use crate::counters::{COUNTERS, Reading};
use crate::finding::{Finding, Findings, News, Place};
use crate::kind::Kind;
use crate::rules::{self, Case};
use crate::seen::{Device, Port, Seen};
use crate::watch::{Added, Watch};

/// How the links of a subnet are.
#[derive(Debug)]
pub struct Health {
    /// Who is asked what, and when.
    asking: Asking,
    /// The links that the last sweep found.
    seen: Arc<Seen>,
    /// Places in [`Seen::devices`].
    places: BTreeMap<Guid, usize>,
    /// What ports have counted, by node GUID and port.
    watches: BTreeMap<(Guid, u8), Watch>,
    /// What stands.
    findings: Findings,
    /// What all ports have counted since the beginning.
    totals: [u64; COUNTERS],
    /// How often counters were found cleared.
    resets: u64,
    /// When what need not be kept was let go last.
    tidied_at: Duration,
}

impl Health {
    /// Nothing is seen yet. `transaction` is that before the first request.
    pub fn new(options: Options, transaction: u32) -> Self {
        Self {
            asking: Asking::new(options, transaction),
            seen: Arc::default(),
            places: BTreeMap::new(),
            watches: BTreeMap::new(),
            findings: Findings::default(),
            totals: [0; COUNTERS],
            resets: 0,
            tidied_at: Duration::ZERO,
        }
    }

    /// A sweep has found this.
    pub fn follow(&mut self, seen: Arc<Seen>, now: Duration) {
        self.asking.follow(&seen, now);
        let devices = seen.devices.iter().enumerate();
        self.places = devices
            .map(|(place, device)| (device.guid, place))
            .collect();
        self.seen = seen;
        let lost = self.note_links(now);
        let seen = Arc::clone(&self.seen);
        // What both ends can is told by the sweep, not by readings.
        for (device, port) in ends(&seen) {
            rules::link(&seen, device, port, now, &mut self.findings);
        }
        for (guid, port) in lost {
            self.judge(guid, port, None, now);
        }
        self.tidy(now);
    }

    /// Ends what time has ended: findings of links that are not read any more, and ports of which nothing need be kept.
    fn tidy(&mut self, now: Duration) {
        self.tidied_at = now;
        for (_, guid, port) in self.findings.of(Kind::Flapping) {
            if let Some(port) = port {
                self.judge(guid, port, None, now);
            }
        }
        self.watches.retain(|_, watch| !watch.is_idle(now));
        let (watches, places) = (&self.watches, &self.places);
        self.findings
            .retain(|(kind, guid, port)| match (kind, port) {
                (_, None) => places.contains_key(guid),
                // A link that is down is no slow one; how often it went down stays.
                (Kind::Flapping, Some(port)) => watches.contains_key(&(*guid, *port)),
                (_, Some(port)) => watches
                    .get(&(*guid, *port))
                    .is_some_and(|watch| watch.is_up),
            });
    }

    /// Forgets everything but what was counted: somebody else manages the subnet.
    pub fn rest(&mut self, now: Duration) {
        // No link is lost by that.
        self.watches.clear();
        // So nothing stands any more, which is told.
        self.follow(Arc::default(), now);
    }

    /// Notes which links are there. Gives those that went down.
    fn note_links(&mut self, now: Duration) -> Vec<(Guid, u8)> {
        let before = self.watches.iter_mut();
        let mut were: Vec<(Guid, u8)> = Vec::new();
        for (key, watch) in before {
            if core::mem::take(&mut watch.is_up) {
                were.push(*key);
            }
        }
        // It was down for less than a sweep takes to come round.
        let mut came_back = BTreeSet::new();
        for (device, port) in ends(&self.seen) {
            let key = (device.guid, port.number);
            let watch = self.watches.entry(key).or_default();
            watch.is_up = true;
            let was_active = core::mem::replace(&mut watch.is_active, port.is_active);
            if port.came_up && was_active {
                came_back.insert(key);
            }
        }
        were.retain(|key| match self.watches.get_mut(key) {
            Some(watch) if !watch.is_up || came_back.contains(key) => {
                watch.lose(now);
                true
            }
            _ => false,
        });
        were
    }

    /// The next request, if it is time for one.
    pub fn send(&mut self, now: Duration) -> Option<Ask> {
        self.asking.send(now)
    }

    /// Takes a MAD that came from a LID. What is no answer to a request under way is dropped.
    pub fn received(&mut self, lid: u16, mad: &[u8], now: Duration) {
        let visited = self.asking.received(lid, mad, now);
        self.visited(visited, now);
    }

    /// A request could not be sent, or came back.
    pub fn failed(&mut self, transaction: u32, now: Duration) {
        let visited = self.asking.failed(transaction, now);
        self.visited(visited, now);
    }

    /// Gives up what has waited long enough; to be called when [`Self::wakes_at`] is reached.
    pub fn wake(&mut self, now: Duration) {
        while let Some(visited) = self.asking.expired(now) {
            self.visited(visited, now);
        }
        if now >= self.tidied_at + TIDIED_EVERY {
            self.tidy(now);
        }
    }

    /// When [`Self::wake`] and then [`Self::send`] have something to do without an answer.
    pub fn wakes_at(&self) -> Option<Duration> {
        self.asking.wakes_at()
    }

    /// What has begun and what is over since the last call.
    pub fn take_news(&mut self) -> Vec<News> {
        self.findings.take_news()
    }

    /// A visit is over.
    fn visited(&mut self, visited: Visited, now: Duration) {
        match visited {
            Visited::Nothing => {}
            Visited::Read(guid, port, reading) => {
                // It tells again what it counts.
                self.findings.clear((Kind::Mute, guid, None));
                self.read(guid, port, reading, now);
            }
            Visited::Mute(guid, failures) => self.mute(guid, failures, now),
        }
    }

    /// A port has told its counters.
    fn read(&mut self, guid: Guid, port: u8, reading: Reading, now: Duration) {
        // A port whose link went while it was asked is nobody's.
        let Some(watch) = self.watches.get_mut(&(guid, port)) else {
            return;
        };
        let added = watch.read(reading, now);
        // Sums over all ports are for graphs: what happened when is to be seen there, not where.
        if let Some(added) = &added {
            self.resets += u64::from(added.is_reset);
            for (total, by) in self.totals.iter_mut().zip(added.by) {
                *total = total.saturating_add(by.unwrap_or_default());
            }
        }
        self.judge(guid, port, added.as_ref(), now);
    }

    /// Judges a port by what it has counted.
    fn judge(&mut self, guid: Guid, number: u8, added: Option<&Added>, now: Duration) {
        let Some(watch) = self.watches.get(&(guid, number)) else {
            return;
        };
        let device = self.device(guid);
        let port = device.and_then(|device| device.port(number));
        let peer = port.and_then(|port| self.seen.peer(port));
        let case = Case {
            place: device.map_or_else(|| unnamed(guid, number), |it| it.place(Some(number))),
            end: port.map(|port| port.end).unwrap_or_default(),
            watch,
            peer: peer.map(|(far, other)| {
                let watch = self.watches.get(&(far.guid, other.number));
                (far.place(Some(other.number)), watch)
            }),
            now,
        };
        // Without a link there is nothing to divide by, and nothing new was read.
        match port {
            Some(_) => rules::counted(&case, added, &mut self.findings),
            None => rules::flapping(&case, &mut self.findings),
        }
    }

    /// A device has not told them, so often in a row.
    fn mute(&mut self, guid: Guid, failures: u32, now: Duration) {
        let Some(device) = self.device(guid) else {
            return;
        };
        self.findings.set(Finding {
            kind: Kind::Mute,
            place: device.place(None),
            peer: None,
            what: format!("{failures} visits in a row did not tell what its ports count"),
            count: None,
            peer_count: None,
            bit_error_rate: None,
            since: now,
        });
    }

    /// None for one that no sweep has found.
    fn device(&self, guid: Guid) -> Option<&Device> {
        self.seen.devices.get(*self.places.get(&guid)?)
    }
}

/// What ends by itself ends within this time.
const TIDIED_EVERY: Duration = Duration::from_secs(60);

/// All ends of links.
fn ends(seen: &Seen) -> impl Iterator<Item = (&Device, &Port)> {
    let devices = seen.devices.iter();
    devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)))
}

/// A port of a device that is away.
fn unnamed(guid: Guid, port: u8) -> Place {
    Place {
        guid,
        port: Some(port),
        name: "".into(),
    }
}
