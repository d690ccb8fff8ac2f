//! Devices that answer requests of the performance class with given counters, and a clock that is turned by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sa_wire::Guid;
use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::mad::method;
use sa_wire::performance::{
    PerformanceMad, PortCounters, PortCountersExtended, attribute, capability,
};
use sa_wire::records::PortInfoRecord;
use sm_health::link::End;
use sm_health::{Ask, Clear, Device, Health, News, Options, Port, Report, Seen};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Each port once a minute.
pub(crate) const OPTIONS: Options = Options {
    period: Some(MINUTE),
    per_second: 1000,
    clear: Clear::Never,
};

/// A switch with a host at each of its ports: LID 1, and LIDs 2 and up.
pub(crate) fn star(hosts: u8) -> Seen {
    let end = end(2, 4, 0);
    let switch = (1..=hosts).map(|number| Port {
        number,
        lid: 1,
        end,
        came_up: false,
        is_active: true,
        peer: Some((usize::from(number), 1)),
    });
    let switch = device(1, "S", switch.collect());
    let hosts = (1..=hosts).map(|number| {
        let port = Port {
            number: 1,
            lid: 1 + u16::from(number),
            end,
            came_up: false,
            is_active: true,
            peer: Some((0, number)),
        };
        device(0x10 + u64::from(number), &format!("H{number}"), vec![port])
    });
    Seen {
        own_lid: 2,
        devices: core::iter::once(switch).chain(hosts).collect(),
    }
}

pub(crate) fn device(guid: u64, name: &str, ports: Vec<Port>) -> Device {
    Device {
        guid: Guid::new(guid).unwrap(),
        name: name.into(),
        ports,
    }
}

/// A port that runs at these codes of PortInfo, and can and may 4x and up to QDR.
pub(crate) fn end(width: u8, speed: u8, extended: u8) -> End {
    End::of(&PortInfoRecord {
        link_width_active: width,
        link_width_supported: 3,
        link_width_enabled: 3,
        speed_active_and_enabled: speed << 4 | 7,
        speed_supported_and_state: 7 << 4 | 4,
        ext_speed_active_and_supported: extended << 4 | extended,
        ext_speed_enabled: extended,
        ..PortInfoRecord::default()
    })
}

/// What a port has counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) narrow: PortCounters,
    pub(crate) wide: PortCountersExtended,
}

/// Devices by LID, and what happens to them.
pub(crate) struct Bed {
    pub(crate) health: Health,
    pub(crate) now: Duration,
    pub(crate) ports: BTreeMap<(u16, u8), Counted>,
    /// ClassPortInfo of all: CapabilityMask and CapabilityMask2.
    pub(crate) class: (u16, u32),
    pub(crate) mute: BTreeSet<u16>,
    /// Attributes that are refused.
    pub(crate) refused: BTreeSet<u16>,
    /// All requests: when, where to, method and attribute.
    pub(crate) log: Vec<(Duration, u16, u8, u16)>,
    pub(crate) sets: Vec<PortCounters>,
    pub(crate) news: Vec<News>,
    /// How long an answer takes.
    pub(crate) takes: Duration,
}

impl Bed {
    pub(crate) fn new(seen: Seen, options: Options) -> Self {
        let mut bed = Self {
            health: Health::new(options, 7),
            now: Duration::from_secs(5),
            ports: BTreeMap::new(),
            class: (capability::XMIT_WAIT, 0),
            mute: BTreeSet::new(),
            refused: BTreeSet::new(),
            log: Vec::new(),
            sets: Vec::new(),
            news: Vec::new(),
            takes: Duration::from_micros(10),
        };
        bed.follow(seen);
        bed
    }

    pub(crate) fn follow(&mut self, seen: Seen) {
        self.health.follow(Arc::new(seen), self.now);
        self.news.extend(self.health.take_news());
    }

    pub(crate) fn port(&mut self, lid: u16, port: u8) -> &mut Counted {
        self.ports.entry((lid, port)).or_insert_with(|| Counted {
            narrow: PortCounters::new_zeroed(),
            wide: PortCountersExtended::new_zeroed(),
        })
    }

    /// Lets so much time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        // Answers under way, by when they arrive.
        let mut coming: BTreeMap<(Duration, u32), (u16, [u8; 256])> = BTreeMap::new();
        while self.now < end {
            while let Some(ask) = self.health.send(self.now) {
                if let Some(answer) = self.answer(&ask) {
                    coming.insert((self.now + self.takes, ask.transaction), (ask.lid, answer));
                }
            }
            let arrives = coming.keys().next().map(|(at, _)| *at);
            let next = [arrives, self.health.wakes_at(), Some(end)];
            let next = next.into_iter().flatten().min().unwrap();
            // Time does not stand still, whatever is asked for.
            self.now = next.max(self.now + Duration::from_nanos(1)).min(end);
            while let Some(entry) = coming.first_entry().filter(|it| it.key().0 <= self.now) {
                let (lid, answer) = entry.remove();
                self.health.received(lid, &answer, self.now);
            }
            self.health.wake(self.now);
            self.news.extend(self.health.take_news());
        }
    }

    pub(crate) fn report(&self) -> Report {
        self.health.report(self.now)
    }

    /// Names of the kinds that stand.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let findings = self.report().findings;
        findings.iter().map(|finding| finding.kind.name()).collect()
    }

    fn answer(&mut self, ask: &Ask) -> Option<[u8; 256]> {
        let mut mad = PerformanceMad::read_from_bytes(&ask.mad).unwrap();
        let (kind, number) = (mad.mad.attribute_id.get(), mad.data[1]);
        self.log.push((self.now, ask.lid, mad.mad.method, kind));
        if self.mute.contains(&ask.lid) {
            return None;
        }
        let is_set = mad.mad.method == method::SET;
        mad.mad.method = method::GET_RESP;
        if self.refused.contains(&kind) {
            mad.mad.status = 0x0c.into();
            return Some(zerocopy::transmute!(mad));
        }
        if is_set {
            let set = PortCounters::read_from_prefix(&mad.data).unwrap().0;
            self.sets.push(set);
            let counted = self.port(ask.lid, number);
            if set.counter_select.get() & 1 != 0 {
                counted.narrow.symbol_errors = 0.into();
            }
        }
        let (mask, mask2) = self.class;
        let counted = *self.port(ask.lid, number);
        let bytes = match kind {
            attribute::CLASS_PORT_INFO => ClassPortInfo {
                capability_mask: mask.into(),
                capability_mask2_response_time: (mask2 << 5).into(),
                ..ClassPortInfo::default()
            }
            .as_bytes()
            .to_vec(),
            attribute::PORT_COUNTERS => counted.narrow.as_bytes().to_vec(),
            _ => counted.wide.as_bytes().to_vec(),
        };
        mad.data = [0; 192];
        mad.data[..bytes.len()].copy_from_slice(&bytes);
        if kind != attribute::CLASS_PORT_INFO {
            mad.data[1] = number;
        }
        Some(zerocopy::transmute!(mad))
    }
}
