//! Requests for paths on a subnet that is known from its own records: mostly sensible, with
//! everything wrong that a client can get wrong.

use anyhow::{Context, Result};
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::multipath_record::{self, MultiPathRecord};
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};
use sa_wire::records::Layout;
use sa_wire::request::path_request;
use sa_wire::sa::{AttributeId, DATA_OFFSET};

use sa_tests::records::{Request, SA_KEY};
use sa_tests::rng::Rng;

use crate::bench::Client;

/// Who can be asked for.
pub(super) struct Subnet {
    pub(super) ports: Vec<Port>,
    prefix: u64,
    groups: Vec<[u8; 16]>,
}

#[derive(Clone, Copy)]
pub(super) struct Port {
    guid: u64,
    node: u64,
    lid: u16,
    lids: u16,
}

impl Subnet {
    /// From NodeRecords, PortInfoRecords and MCMemberRecords.
    pub(super) fn read(client: &mut Client) -> Result<Self> {
        let nodes = client.table(AttributeId::NODE_RECORD)?;
        let infos = client.table(AttributeId::PORT_INFO_RECORD)?;
        let layout = Layout::PORT_INFO;
        let info = |record: &Vec<u8>, name: &str| {
            let field = layout.field(name).context("a component")?;
            anyhow::Ok(field.value(record))
        };
        let of_node = |record: &[u8], name: &str| {
            let field = Layout::NODE.field(name).context("a component")?;
            anyhow::Ok(field.value(record))
        };
        let mut ports = Vec::new();
        let mut prefix = 0xfe80 << 48;
        for node in &nodes {
            let lid = u16::try_from(of_node(node, "lid")?)?;
            let own = infos.iter().find(|record| record[..2] == node[..2]);
            let own = own.context("a PortInfoRecord for each port")?;
            prefix = info(own, "gid_prefix")?.max(prefix);
            ports.push(Port {
                guid: of_node(node, "port_guid")?,
                node: of_node(node, "node_guid")?,
                lid,
                lids: 1 << info(own, "lmc")?,
            });
        }
        let groups = client.table(AttributeId::MC_MEMBER_RECORD)?;
        let groups = groups.iter().filter_map(|record| record.first_chunk());
        Ok(Self {
            ports,
            prefix,
            groups: groups.copied().collect(),
        })
    }
}

/// So many requests for PathRecords, half of them for tables.
pub(super) fn path_requests(
    subnet: &Subnet,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Request> {
    let mut draft = Draft::new(subnet, seed << 8);
    (0..count).map(move |_| draft.path())
}

/// So many requests for MultiPathRecords.
pub(super) fn multi_path_requests(
    subnet: &Subnet,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Request> {
    let mut draft = Draft::new(subnet, seed << 8 | 1);
    (0..count).map(move |_| draft.multi_path())
}

struct Draft<'a> {
    subnet: &'a Subnet,
    rng: Rng,
    mask: u64,
    record: PathRecord,
}

impl<'a> Draft<'a> {
    fn new(subnet: &'a Subnet, seed: u64) -> Self {
        Self {
            subnet,
            rng: Rng::new(seed),
            mask: 0,
            record: PathRecord::default(),
        }
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.rng.one_in(sides)
    }

    fn port(&mut self) -> Port {
        self.rng.pick(&self.subnet.ports)
    }

    fn path(&mut self) -> Request {
        (self.mask, self.record) = (0, PathRecord::default());
        self.ends();
        self.conditions();
        let asked = match self.rng.below(20) {
            0..=10 => method::GET_TABLE,
            _ => method::GET,
        };
        let slot = path_request(0, asked, PathCompMask(self.mask), &self.record);
        let data = &slot.mad[DATA_OFFSET..DATA_OFFSET + PathRecord::SIZE];
        self.request(AttributeId::PATH_RECORD, asked, self.mask, data)
    }

    fn request(&mut self, attribute: AttributeId, asked: u8, mask: u64, data: &[u8]) -> Request {
        let key = self.rng.pick(&[0, 0, 0, 0, 0, SA_KEY]);
        // Who has the wrong key gets no reply, and that takes its time.
        let key = if self.one_in(700) { 7 } else { key };
        Request {
            attribute,
            asked,
            mask,
            modifier: 0,
            key,
            data: data.to_vec(),
        }
    }

    /// Both ends, one, or none; by GID, by LID, or both.
    fn ends(&mut self) {
        let (from, to) = match self.rng.below(24) {
            0 => (false, false),
            1..=3 => (true, false),
            4..=6 => (false, true),
            _ => (true, true),
        };
        if from {
            let (gid, lid) = self.end();
            if let Some(gid) = gid {
                self.record.sgid = gid;
                self.mask |= 1 << 3;
            }
            if let Some(lid) = lid {
                self.record.slid = lid.into();
                self.mask |= 1 << 5;
            }
        }
        if to {
            let (gid, lid) = self.end();
            if let Some(gid) = gid {
                self.record.dgid = gid;
                self.mask |= 1 << 2;
            }
            if let Some(lid) = lid {
                self.record.dlid = lid.into();
                self.mask |= 1 << 4;
            }
        }
        if !self.subnet.groups.is_empty() && self.one_in(25) {
            self.record.dgid = self.rng.pick(&self.subnet.groups);
            // Members are not in the files: deviation 6.
            self.mask = self.mask & !(1 << 3 | 1 << 4 | 1 << 5) | 1 << 2;
        }
    }

    fn end(&mut self) -> (Option<[u8; 16]>, Option<u16>) {
        let port = self.port();
        match self.rng.below(8) {
            0..=3 => (Some(self.gid(port)), None),
            4..=6 => (None, Some(self.lid(port))),
            _ => (Some(self.gid(port)), Some(self.lid(port))),
        }
    }

    /// Of the port mostly; else of nobody, or of another subnet.
    fn gid(&mut self, port: Port) -> [u8; 16] {
        let prefix = match self.rng.below(24) {
            0 => self
                .rng
                .pick(&[0, 0xfec0 << 48, 0x2001 << 48 | 7, 0xfe9f << 48]),
            1..=8 => 0xfe80 << 48,
            _ => self.subnet.prefix,
        };
        let guid = match self.rng.below(24) {
            0 => port.node,
            1 => self
                .rng
                .pick(&[0, 1, u64::MAX, port.guid ^ 1, port.guid.swap_bytes()]),
            _ => port.guid,
        };
        gid(prefix, guid)
    }

    fn lid(&mut self, port: Port) -> u16 {
        if self.one_in(20) {
            return self
                .rng
                .pick(&[0, 0xbfff, 0xc000, 0xffff, port.lid + port.lids]);
        }
        let offset = self.rng.below(usize::from(port.lids));
        port.lid + u16::try_from(offset).unwrap_or(0)
    }

    /// What narrows the paths down, or chooses the level.
    fn conditions(&mut self) {
        let often = self.rng.pick(&[2, 5, 20, 100, 100]);
        let record = &mut self.record;
        let key = self.rng.pick(&[0x7fff, 0x7fff, 0x0001, 0x0123, 0x0002, 0]);
        record.pkey = (key | self.rng.pick(&[0, 0x8000])).into();
        record.service_id = (self.rng.pick(&[0x1000, 0x1234, 0x2000, 0x2001, 7])).into();
        let class = self.rng.pick(&[0, 1, 2, 5, 9, 0xfff]);
        let sl = self.rng.pick(&[0, 0, 1, 2, 3, 5, 8, 15]);
        record.qos_class_sl = QosClassSl::new(class, sa_wire::Sl::from_low_bits(sl));
        let paths = self.rng.pick(&[0, 1, 2, 3, 5, 127]);
        record.numb_path = NumbPathByte(paths | self.rng.pick(&[0, 0x80]));
        record.flow = FlowWord::new(0x12345, 9);
        if self.rng.below(2) == 0 {
            record.flow = record.flow.with_raw_traffic();
        }
        record.mtu = SelectedValue(
            self.rng.pick(&[0, 0x40, 0x80, 0xc0]) | self.rng.pick(&[1, 2, 3, 4, 5, 0, 6]),
        );
        record.rate = SelectedValue(
            self.rng.pick(&[0, 0x40, 0x80, 0xc0])
                | self
                    .rng
                    .pick(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 18, 22, 1, 23]),
        );
        record.packet_life = SelectedValue(
            self.rng.pick(&[0, 0x40, 0x80, 0xc0]) | self.rng.pick(&[0, 1, 16, 17, 18, 19, 63]),
        );
        record.tclass = self.rng.pick(&[0, 1, 0x20]);
        // Halves of pairs are mostly named together.
        for bits in [[0, 1], [16, 17], [18, 19], [20, 21]] {
            if self.one_in(often) {
                for bit in bits {
                    if !self.one_in(12) {
                        self.mask |= 1 << bit;
                    }
                }
            }
        }
        for bit in [6, 8, 9, 10, 11, 12, 13, 14, 15, 40] {
            if self.one_in(often) {
                self.mask |= 1 << bit;
            }
        }
    }

    /// The same in the places that MultiPathRecord has for it.
    fn multi_path(&mut self) -> Request {
        (self.mask, self.record) = (0, PathRecord::default());
        self.conditions();
        let mut mask = self.mask >> 6 & 0xffff | 1 << 19 | 1 << 20;
        for (here, there) in [(0, 16), (1, 21), (40, 18)] {
            mask |= (self.mask >> here & 1) << there;
        }
        if self.one_in(20) {
            mask &= !(1 << self.rng.pick(&[19, 20]));
        }
        let mut record = MultiPathRecord {
            flow: self.record.flow,
            tclass: self.record.tclass,
            numb_path: self.record.numb_path,
            pkey: self.record.pkey,
            qos_class_sl: self.record.qos_class_sl,
            mtu: self.record.mtu,
            rate: self.record.rate,
            packet_life: self.record.packet_life,
            independence: self.rng.byte(),
            ..MultiPathRecord::default()
        };
        let [high, low @ ..] = self.record.service_id.get().to_be_bytes();
        (record.service_id_msb, record.service_id_lsb) = (high, low);
        let (sources, destinations) = self.rng.pick(&SIZES);
        let mut listed = |count| -> Vec<Gid> {
            (0..count)
                .map(|_| {
                    let port = self.port();
                    if self.one_in(30) {
                        Gid(self.gid(port))
                    } else {
                        Gid(gid(self.subnet.prefix, port.guid))
                    }
                })
                .collect()
        };
        let (sgids, dgids) = (listed(sources), listed(destinations));
        let mut data = [0; 200];
        // No more GIDs than there is room for.
        let _ = multipath_record::encode(&record, &sgids, &dgids, &mut data);
        self.request(
            AttributeId::MULTI_PATH_RECORD,
            method::GET_MULTI,
            mask,
            &data,
        )
    }
}

fn gid(prefix: u64, guid: u64) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&prefix.to_be_bytes());
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    gid
}

/// Sources and destinations.
const SIZES: [(usize, usize); 9] = [
    (1, 1),
    (1, 1),
    (2, 2),
    (1, 3),
    (2, 1),
    (3, 2),
    (5, 6),
    (9, 2),
    (1, 10),
];
