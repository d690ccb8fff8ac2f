//! A database and its fabric, and what it is asked.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_compiler::pipeline::Compiled;
use sa_service::sa_db::{Now, SaDatabase};
use sa_tests::site::Site;
use sa_wire::mad::{Status, method};
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix, request};
use zerocopy::{FromBytes, IntoBytes};

pub(crate) const NOW: Now = Now {
    steady: Duration::ZERO,
    unix: 0,
};
pub(crate) const SA_KEY: u64 = 1;

/// One switch, three hosts, one of them slow.
pub(crate) const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"H3\"[1] w=1\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n";

pub(crate) const SLOW: &str = "caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[3] w=1\n\n";

pub(crate) const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=full ;\n\
blue=0x0001, ipoib : 0x100001=full, 0x100021=limited ;\n";

pub(crate) const BROADCAST: u128 = 0xff12_401b_ffff_0000_0000_0000_ffff_ffff;
pub(crate) const BLUE: u128 = 0xff12_401b_8001_0000_0000_0000_ffff_ffff;
pub(crate) const OWN: u128 = 0xff12_0000_0000_0000_0000_0000_0000_0077;

pub(crate) const H1: u64 = 0x10_0001;
pub(crate) const H2: u64 = 0x10_0011;
pub(crate) const H3: u64 = 0x10_0021;

pub(crate) fn compile(net: &str, partitions: &str) -> Result<Compiled> {
    Ok(Site::new(net).partitions(partitions).try_compile()?)
}

pub(crate) fn usual() -> Result<Compiled> {
    compile(&format!("{NET}{SLOW}"), PARTITIONS)
}

/// A database, and the fabric that it is of.
pub(crate) struct Sa {
    pub(crate) compiled: Compiled,
    pub(crate) database: SaDatabase,
}

impl Sa {
    pub(crate) fn new(compiled: Compiled) -> Result<Self> {
        let mut database = SaDatabase::open(None, NOW)?;
        database.fabric_changed(None, &compiled.parts);
        Ok(Self { compiled, database })
    }

    pub(crate) fn lid(&self, guid: u64) -> u16 {
        let subnet = &self.compiled.parts.subnet;
        let index = Guid::new(guid).ok().and_then(|guid| subnet.by_guid(guid));
        index.map_or(0, |index| subnet.end_ports()[index].lid.get())
    }

    pub(crate) fn ask(
        &mut self,
        from: u64,
        asked: u8,
        mask: Mask,
        record: &McMemberRecord,
    ) -> Reply {
        self.ask_with(from, asked, mask, record, 0)
    }

    pub(crate) fn ask_with(
        &mut self,
        from: u64,
        asked: u8,
        mask: Mask,
        record: &McMemberRecord,
        key: u64,
    ) -> Reply {
        let slot = request(self.lid(from), asked, mask, record, key);
        let parts = &self.compiled.parts;
        Reply(
            self.database
                .respond(parts, &slot, 0, NOW)
                .reply
                .unwrap_or_default(),
        )
    }

    /// The status of a join by the port itself.
    pub(crate) fn join(&mut self, guid: u64, mgid: u128, states: u8) -> u16 {
        self.ask(guid, method::SET, Mask::CREATE, &member(guid, mgid, states))
            .status()
    }

    pub(crate) fn leave(&mut self, guid: u64, mgid: u128, states: u8) -> u16 {
        self.ask(
            guid,
            method::DELETE,
            Mask::JOIN,
            &member(guid, mgid, states),
        )
        .status()
    }

    /// Every member of every group that the requester may see.
    pub(crate) fn members(&mut self, from: u64) -> Vec<McMemberRecord> {
        let all = McMemberRecord::default();
        self.ask_with(from, method::GET_TABLE, Mask(0), &all, SA_KEY)
            .records()
    }

    pub(crate) fn groups(&mut self, from: u64) -> Vec<McMemberRecord> {
        let all = McMemberRecord::default();
        self.ask(from, method::GET_TABLE, Mask(0), &all).records()
    }
}

pub(crate) struct Reply(pub(crate) Vec<u8>);

impl Reply {
    /// 0xffff for silence.
    pub(crate) fn status(&self) -> u16 {
        self.0
            .get(4..6)
            .map_or(0xffff, |raw| u16::from_be_bytes([raw[0], raw[1]]))
    }

    pub(crate) fn records(&self) -> Vec<McMemberRecord> {
        let data = self.0.get(DATA_OFFSET..).unwrap_or_default();
        let records = data.chunks_exact(McMemberRecord::SIZE);
        records
            .filter_map(|bytes| McMemberRecord::read_from_bytes(bytes).ok())
            .collect()
    }

    pub(crate) fn record(&self) -> Result<McMemberRecord> {
        ensure!(self.status() == 0, "status {:#06x}", self.status());
        self.records().first().copied().context("a record")
    }
}

pub(crate) fn request(lid: u16, asked: u8, mask: Mask, record: &McMemberRecord, key: u64) -> Slot {
    let attribute = AttributeId::MC_MEMBER_RECORD;
    let data = &record.as_bytes()[..McMemberRecord::SIZE];
    let mut slot = request::request(lid, asked, attribute, mask.0, data);
    SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = key.into();
    slot
}

pub(crate) fn gid(guid: u64) -> [u8; 16] {
    Guid::new(guid).map_or([0; 16], |guid| {
        Gid::unicast(SubnetPrefix::LINK_LOCAL, guid).0
    })
}

/// What makes a group, or joins one of these.
pub(crate) fn member(guid: u64, mgid: u128, states: u8) -> McMemberRecord {
    let mgid = mgid.to_be_bytes();
    McMemberRecord {
        mgid,
        port_gid: gid(guid),
        q_key: if mgid[2..4] == [0x40, 0x1b] {
            0x0b1b
        } else {
            0
        }
        .into(),
        pkey: if mgid[4..6] == [0x80, 1] {
            0x8001
        } else {
            0xffff
        }
        .into(),
        scope_and_state: 0x20 | states,
        ..McMemberRecord::default()
    }
}

pub(crate) const OK: u16 = Status::OK.get();
pub(crate) const INVALID: u16 = Status::REQ_INVALID.get();
pub(crate) const FEW: u16 = Status::REQ_INSUFFICIENT_COMPONENTS.get();
