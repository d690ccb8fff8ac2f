//! What is told of links, when somebody asks.
//!
//! ```text
//!  Report       all of the subnet: sums and findings          for metrics, and for people who look what is wrong
//!  PortReport   one port: how it runs, what it has counted    for people who look at one device
//! ```
//!
//! Nothing is kept ready: a question costs a look at each port, some milliseconds at hundreds of thousands, and who asks waits for it.

use std::time::Duration;

use super::Health;
use crate::asking::Asked;
use crate::counters::{COUNTERS, Counter, Reading};
use crate::finding::{Finding, Place};
use crate::kind::Severity;
use crate::link::End;
use crate::seen::{Device, Port};
use crate::watch::Watch;

/// What is known now.
#[derive(Debug, Clone)]
pub struct Report {
    /// With a link.
    pub devices: usize,
    /// Ends of links.
    pub ports: usize,
    /// Of these, those that were read at least once.
    pub read: usize,
    /// How long ago the port was read that waits for the longest. `None` before the first reading.
    pub oldest: Option<Duration>,
    /// Requests and what came of them.
    pub asked: Asked,
    /// What all ports have counted since the beginning.
    pub totals: [u64; COUNTERS],
    /// Readings that showed that somebody has cleared a counter.
    pub resets: u64,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// One port, with all that is known.
#[derive(Debug, Clone)]
pub struct PortReport {
    /// Which.
    pub place: Place,
    /// The far end.
    pub peer: Option<Place>,
    /// How it runs.
    pub end: End,
    /// How long ago it was read, and what it told.
    pub read: Option<(Duration, Reading)>,
    /// What was counted in the last hour.
    pub hour: Vec<(Counter, u64)>,
}

impl Report {
    /// Findings that somebody has to mend.
    pub fn faults(&self) -> usize {
        let severities = self.findings.iter().map(|finding| finding.kind.severity());
        severities.filter(|it| *it == Severity::Fault).count()
    }
}

impl Health {
    /// All that is known, but what single ports tell.
    pub fn report(&self, now: Duration) -> Report {
        let read = self.watches.values().filter_map(Watch::last);
        let times = read.map(|(at, _)| now.saturating_sub(*at));
        let (read, oldest) = times.fold((0, None), |(read, oldest), age| {
            (read + 1, oldest.max(Some(age)))
        });
        Report {
            devices: self.seen.devices.len(),
            ports: self.asking.ports(),
            read,
            oldest,
            asked: self.asking.counts(),
            totals: self.totals,
            resets: self.resets,
            findings: self.findings.sorted(),
        }
    }

    /// The ports of the devices with this NodeDescription, or this node GUID in hexadecimal digits.
    pub fn ports_of(&self, name: &str, now: Duration) -> Vec<PortReport> {
        // A name may look like a GUID, so both are tried.
        let guid = name
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let is_it = |device: &&Device| &*device.name == name || guid == Some(device.guid.get());
        let devices = self.seen.devices.iter().filter(is_it);
        let ports = devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)));
        ports
            .map(|(device, port)| self.port(device, port, now))
            .collect()
    }

    fn port(&self, device: &Device, port: &Port, now: Duration) -> PortReport {
        let watch = self.watches.get(&(device.guid, port.number));
        let read = watch.and_then(Watch::last);
        let errors = Counter::ALL
            .into_iter()
            .filter(|counter| *counter < Counter::XmitData);
        let sum = |counter| (counter, watch.map_or(0, |watch| watch.sum(counter, now)));
        PortReport {
            place: device.place(Some(port.number)),
            peer: self
                .seen
                .peer(port)
                .map(|(far, other)| far.place(Some(other.number))),
            end: port.end,
            read: read.map(|(at, reading)| (now.saturating_sub(*at), *reading)),
            hour: errors.map(sum).filter(|(_, sum)| *sum > 0).collect(),
        }
    }
}
