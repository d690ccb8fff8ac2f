//! A database on a small fabric.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use sa_compiler::state::FabricState;
use sa_service::sa_db::{Now, Report, SaDatabase};
use sa_tests::rng::Rng;
use sa_tests::site::Site;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix, request};

/// H1 with the SM, H2, H3 and H4 on a switch.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\" # \"S1\" base port 0 lid 5 lmc 0\n\
[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"H3\"[1]\n[4] \"H4\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1] # lid 1 lmc 0\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2] # lid 2 lmc 0\n\n\
caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[3] # lid 3 lmc 0\n\n\
caguid=0x100030\nHca 1 \"H4\"\n[1] \"S1\"[4] # lid 4 lmc 0\n\n";

/// H1, H2 and H3 share one; H4 and H3 another.
const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full, ALL_SWITCHES=full ;\n\
blue=0x0001 : 0x100011=full, 0x100021=full ;\n\
red=0x0002 : 0x100031=full, 0x100021=full ;\n";

pub(crate) const SERVICE_KEY: [u8; 16] = [3; 16];

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    pub(crate) parts: FabricState,
    pub(crate) database: SaDatabase,
    pub(crate) now: Now,
    /// Of the requester.
    pub(crate) lid: u16,
    pub(crate) key: u64,
}

/// So long after the start. Units: milliseconds.
pub(crate) fn at(millis: u64) -> Now {
    Now {
        steady: Duration::from_millis(millis),
        unix: 1_000_000_000 + millis / 1000,
    }
}

pub(crate) fn gid_of(guid: u64) -> [u8; 16] {
    let guid = Guid::new(guid).map(|guid| Gid::unicast(SubnetPrefix::LINK_LOCAL, guid));
    guid.map_or([0; 16], |gid| gid.0)
}

pub(crate) fn mask(layout: &Layout, components: &[&str]) -> u64 {
    let fields = components.iter().filter_map(|name| layout.field(name));
    fields.map(|field| field.mask()).sum()
}

impl Fixture {
    pub(crate) fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let parts = compile(NET);
        let database = SaDatabase::open(Some(&directory.path().join("journal")), at(0))?;
        let lid = lid_of(&parts, 0x10_0001)?;
        Ok(Self {
            directory,
            parts,
            database,
            now: at(0),
            lid,
            key: 0,
        })
    }

    fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// Of its file.
    pub(crate) fn journal_lines(&self) -> Result<usize> {
        Ok(std::fs::read_to_string(self.journal())?.lines().count())
    }

    /// Ends and starts again; the steady clock begins anew.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.database.commit()?;
        self.now.steady = Duration::ZERO;
        self.database = SaDatabase::open(Some(&self.journal()), self.now)?;
        self.database.fabric_changed(None, &self.parts);
        Ok(())
    }

    pub(crate) fn expire(&mut self) -> Result<()> {
        self.database.expire(self.now);
        Ok(self.database.commit()?)
    }

    /// The fabric without a host, or with all again; what is reported of it.
    pub(crate) fn change(&mut self, net: &str) -> Result<Vec<Report>> {
        let parts = compile(net);
        let before = core::mem::replace(&mut self.parts, parts);
        self.database.fabric_changed(Some(&before), &self.parts);
        Ok(self.database.reports(&self.parts))
    }

    pub(crate) fn lose(&mut self, host: &str) -> Result<Vec<Report>> {
        self.change(&without(host))
    }

    pub(crate) fn regain(&mut self) -> Result<Vec<Report>> {
        self.change(NET)
    }

    /// 0 for nobody's GUID.
    pub(crate) fn lid_of(&self, guid: u64) -> u16 {
        lid_of(&self.parts, guid).unwrap_or(0)
    }

    pub(crate) fn slot(&self, attribute: AttributeId, asked: u8, mask: u64, data: &[u8]) -> Slot {
        let mut slot = request::request(self.lid, asked, attribute, mask, data);
        SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = self.key.into();
        slot
    }

    pub(crate) fn reply(
        &mut self,
        attribute: AttributeId,
        asked: u8,
        mask: u64,
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let slot = self.slot(attribute, asked, mask, data);
        let responded = self.database.respond(&self.parts, &slot, 2, self.now);
        responded.reply
    }

    pub(crate) fn status(
        &mut self,
        attribute: AttributeId,
        asked: u8,
        mask: u64,
        data: &[u8],
    ) -> Option<u16> {
        let reply = self.reply(attribute, asked, mask, data)?;
        Some(u16::from_be_bytes([reply[4], reply[5]]))
    }

    /// A whole table.
    pub(crate) fn records(
        &mut self,
        attribute: AttributeId,
        mask: u64,
        data: &[u8],
        size: usize,
    ) -> Vec<Vec<u8>> {
        let reply = self.reply(attribute, method::GET_TABLE, mask, data);
        let reply = reply.unwrap_or_default();
        let data = reply.get(DATA_OFFSET..).unwrap_or_default();
        data.chunks_exact(size).map(<[u8]>::to_vec).collect()
    }

    /// Some request that changes something, of some host.
    pub(crate) fn random(&mut self, rng: &mut Rng) {
        let guids = [0x10_0001, 0x10_0011, 0x10_0021, 0x10_0031];
        self.lid = self.lid_of(guids[rng.below(4)]);
        self.key = u64::from(rng.below(2) == 0);
        let mut data = vec![0; 176];
        let asked = match rng.below(3) {
            0 => method::DELETE,
            _ => method::SET,
        };
        match rng.below(3) {
            0 => {
                data[7] = u8::try_from(rng.below(20)).unwrap_or(0);
                data[8..24].copy_from_slice(&gid_of(guids[rng.below(4)]));
                data[31] = 200;
                let lease = [0, 1 << 4][rng.below(2)];
                self.reply(AttributeId::SERVICE_RECORD, asked, 3 | lease, &data);
            }
            1 => {
                data[16..18].fill(0xff);
                data[22] = 1;
                data[23] = u8::from(rng.below(3) > 0);
                data[24..28].fill(0xff);
                data[27] = u8::try_from(rng.below(9)).unwrap_or(0);
                data[30] = 1;
                self.reply(AttributeId::INFORM_INFO, method::SET, 0, &data);
            }
            _ => {
                data[..2].copy_from_slice(&self.lid.to_be_bytes());
                data[2] = u8::try_from(rng.below(4)).unwrap_or(0);
                for place in 0..8 {
                    data[15 + 8 * place] = u8::try_from(rng.below(40)).unwrap_or(0);
                }
                let some = 3 | (rng.number() & 0xfe) << 4;
                self.reply(AttributeId::GUID_INFO_RECORD, asked, some, &data);
            }
        }
    }
}

fn compile(net: &str) -> FabricState {
    Site::new(net).partitions(PARTITIONS).compile().parts
}

/// The fabric with that host's cable drawn.
fn without(host: &str) -> String {
    let is_its = |block: &&str| !block.contains(&format!("Hca 1 \"{host}\""));
    let blocks: Vec<&str> = NET.split("\n\n").filter(is_its).collect();
    let lines = blocks.join("\n\n");
    let lines = lines.lines();
    let cable = format!("\"{host}\"[1]");
    let lines: Vec<&str> = lines.filter(|line| !line.contains(&cable)).collect();
    lines.join("\n")
}

fn lid_of(parts: &FabricState, guid: u64) -> Result<u16> {
    let index = parts.subnet.by_guid(Guid::new(guid)?).context("a port")?;
    Ok(parts.subnet.end_ports()[index].lid.get())
}
