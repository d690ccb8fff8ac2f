//! What C asks for many paths with, and what it gets: structs that may grow.
//!
//! Nothing here touches a pointer. A program says how large its structs are, which is how the library knows
//! what it was compiled against: fields are only ever added at the end, and zero means "not wished".
//! The layouts are part of the library's contract (`include/sapphire_sa.h`).

use std::time::Duration;

use sa_wire::{Gid, Guid, Lid, Mtu, PacketLifeTime, Pkey, Rate, Selector, ServiceId, Sl};

use sa_client::query::{End, PathQuery};
use sa_client::resolve::{Bulk, Summary};

use super::values::SaPath;

/// `struct sa_end` of the header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct SaEnd {
    guid: u64,
    gid: [u8; 16],
    lid: u16,
    /// 1: LID, 2: GID, 3: GUID.
    kind: u8,
    reserved: [u8; 5],
}

/// `struct sa_path_query` of the header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct SaPathQuery {
    source: SaEnd,
    destination: SaEnd,
    service_id: u64,
    /// Which of the fields count; one of [`wish`] each.
    wishes: u32,
    flow_label: u32,
    pkey: u16,
    qos_class: u16,
    sl: u8,
    traffic_class: u8,
    hop_limit: u8,
    mtu_selector: u8,
    mtu: u8,
    rate_selector: u8,
    rate: u8,
    packet_life_selector: u8,
    packet_life: u8,
    reserved: [u8; 3],
}

/// `struct sa_bulk` of the header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct SaBulk {
    pub(crate) size: u32,
    pub(crate) query_size: u32,
    pub(crate) answer_size: u32,
    window: u32,
    deadline: u32,
    patience: u32,
    requester: u16,
    once: u8,
    reserved: [u8; 5],
    found: u64,
    refused: u64,
    unanswered: u64,
    sent_again: u64,
}

/// `struct sa_answer` of the header.
#[repr(C)]
pub(crate) struct SaAnswer {
    pub(crate) status: i32,
    pub(crate) reserved: u32,
    pub(crate) path: SaPath,
}

const _: () = assert!(size_of::<SaEnd>() == 32 && size_of::<SaPathQuery>() == 96);
const _: () = assert!(size_of::<SaBulk>() == 64 && size_of::<SaAnswer>() == 128);

/// `SA_WISH_*`.
mod wish {
    pub(super) const SERVICE_ID: u32 = 1;
    pub(super) const PKEY: u32 = 1 << 1;
    pub(super) const QOS_CLASS: u32 = 1 << 2;
    pub(super) const SL: u32 = 1 << 3;
    pub(super) const TRAFFIC_CLASS: u32 = 1 << 4;
    pub(super) const FLOW_LABEL: u32 = 1 << 5;
    pub(super) const HOP_LIMIT: u32 = 1 << 6;
    pub(super) const MTU: u32 = 1 << 7;
    pub(super) const RATE: u32 = 1 << 8;
    pub(super) const PACKET_LIFE: u32 = 1 << 9;
    pub(super) const ONE_WAY: u32 = 1 << 10;
    /// Those that this version knows.
    pub(super) const ALL: u32 = (1 << 11) - 1;
}

impl SaEnd {
    /// For C.
    pub(crate) fn of(end: End) -> Self {
        match end {
            End::Lid(lid) => Self {
                lid: lid.get(),
                kind: 1,
                ..Self::default()
            },
            End::Gid(gid) => Self {
                gid: gid.0,
                kind: 2,
                ..Self::default()
            },
            End::Guid(guid) => Self {
                guid: guid.get(),
                kind: 3,
                ..Self::default()
            },
        }
    }

    /// Errors: in words.
    fn end(&self) -> Result<End, String> {
        match self.kind {
            1 => Ok(End::Lid(Lid::new(self.lid).map_err(words)?)),
            2 => Ok(End::Gid(Gid(self.gid))),
            3 => Ok(End::Guid(Guid::new(self.guid).map_err(words)?)),
            other => Err(format!(
                "an end of kind {other}; it is a LID (1), a GID (2) or a GUID (3)"
            )),
        }
    }
}

impl SaPathQuery {
    /// Errors: in words.
    pub(crate) fn query(&self) -> Result<PathQuery, String> {
        let has = |bit| self.wishes & bit != 0;
        if self.wishes & !wish::ALL != 0 || self.reserved != [0; 3] {
            return Err("a wish that this version of the library does not know".to_owned());
        }
        let mut query = PathQuery::between(self.source.end()?, self.destination.end()?);
        if has(wish::ONE_WAY) {
            query = query.one_way();
        }
        if has(wish::SERVICE_ID) {
            query = query.service_id(ServiceId(self.service_id));
        }
        if has(wish::PKEY) {
            query = query.pkey(Pkey::new(self.pkey).map_err(words)?);
        }
        if has(wish::QOS_CLASS) {
            query = query.qos_class(self.qos_class).map_err(words)?;
        }
        if has(wish::SL) {
            query = query.sl(Sl::new(self.sl).map_err(words)?);
        }
        if has(wish::TRAFFIC_CLASS) {
            query = query.traffic_class(self.traffic_class);
        }
        if has(wish::FLOW_LABEL) {
            query = query.flow_label(self.flow_label).map_err(words)?;
        }
        if has(wish::HOP_LIMIT) {
            query = query.hop_limit(self.hop_limit);
        }
        if has(wish::MTU) {
            let mtu = Mtu::from_code(self.mtu).map_err(words)?;
            query = query.mtu(selector(self.mtu_selector)?, mtu);
        }
        if has(wish::RATE) {
            let rate = Rate::from_code(self.rate).map_err(words)?;
            query = query.rate(selector(self.rate_selector)?, rate);
        }
        if has(wish::PACKET_LIFE) {
            let time = PacketLifeTime::new(self.packet_life).map_err(words)?;
            query = query.packet_life(selector(self.packet_life_selector)?, time);
        }
        Ok(query)
    }
}

impl SaBulk {
    /// With the library's own values for what is 0. Errors: in words.
    pub(crate) fn bulk(&self) -> Result<Bulk, String> {
        if self.reserved != [0; 5] {
            return Err("an option that this version of the library does not know".to_owned());
        }
        let usual = Bulk::default();
        let time = |milliseconds: u32, usual| match milliseconds {
            0 => usual,
            some => Duration::from_millis(some.into()),
        };
        Ok(Bulk {
            window: match self.window {
                0 => usual.window,
                some => usize::try_from(some).unwrap_or(usize::MAX),
            },
            deadline: time(self.deadline, usual.deadline),
            patience: time(self.patience, usual.patience),
            reconnect: self.once == 0,
            requester: self.requester,
        })
    }

    /// Writes down what was done.
    pub(crate) const fn tell(&mut self, summary: &Summary) {
        self.found = summary.found as u64;
        self.refused = summary.refused as u64;
        self.unanswered = summary.unanswered as u64;
        self.sent_again = summary.sent_again;
    }
}

/// Errors: in words.
fn selector(raw: u8) -> Result<Selector, String> {
    match raw {
        0..=3 => Ok(Selector::from_byte(raw << 6)),
        other => Err(format!(
            "selector {other}; it is one of SA_GREATER, SA_LESS, SA_EXACTLY, SA_BEST"
        )),
    }
}

fn words(error: impl ToString) -> String {
    error.to_string()
}
