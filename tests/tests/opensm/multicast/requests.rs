//! Which requests are compared.

use sa_wire::mad::method;
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord};
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord, join_state};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix, request};
use zerocopy::{FromBytes, IntoBytes};

use super::components::{IP, OTHERS};
use super::pair::Pair;
use sa_tests::records::SA_KEY;
use sa_tests::rng::Rng;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) attribute: AttributeId,
    pub(crate) asked: u8,
    pub(crate) mask: u64,
    pub(crate) key: u64,
    pub(crate) data: Vec<u8>,
}

impl Request {
    fn member(asked: u8, mask: Mask, record: &McMemberRecord) -> Self {
        Self {
            attribute: AttributeId::MC_MEMBER_RECORD,
            asked,
            mask: mask.0,
            key: 0,
            data: record.as_bytes().to_vec(),
        }
    }

    pub(crate) fn with_method(&self, asked: u8) -> Self {
        Self {
            asked,
            ..self.clone()
        }
    }

    pub(crate) fn with_mask(&self, mask: Mask) -> Self {
        Self {
            mask: mask.0,
            ..self.clone()
        }
    }

    pub(crate) fn with_states(&self, states: u8) -> Self {
        let mut request = self.clone();
        request.data[48] = states;
        request
    }

    pub(crate) fn slot(&self, requester: u16, transaction: u64) -> Slot {
        let (asked, attribute) = (self.asked, self.attribute);
        let mut slot = request::request(requester, asked, attribute, self.mask, &self.data);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = transaction.into();
        mad.sa.sm_key = self.key.into();
        slot
    }
}

/// Somebody who joined.
#[derive(Debug, Clone, Copy)]
struct Joined {
    client: usize,
    record: McMemberRecord,
}

/// A run of requests that depend on what was answered before.
pub(crate) struct Script {
    pub(crate) rng: Rng,
    pub(crate) prefix: SubnetPrefix,
    pub(crate) guids: Vec<Guid>,
    mgids: Vec<[u8; 16]>,
    joined: Vec<Joined>,
}

impl Script {
    pub(crate) fn new(pair: &Pair, seed: u64) -> Self {
        let parts = pair.bench.parts();
        let listed = parts.partitions.multicast_groups();
        let mut mgids: Vec<[u8; 16]> = listed.iter().map(|group| group.mgid.0).collect();
        for mgid in IP.iter().chain(&OTHERS).map(|mgid| mgid.to_be_bytes()) {
            if !mgids.contains(&mgid) {
                mgids.push(mgid);
            }
        }
        Self {
            rng: Rng::new(seed),
            prefix: parts.options.subnet_prefix,
            guids: parts
                .subnet
                .end_ports()
                .iter()
                .map(|end| end.guid)
                .collect(),
            mgids,
            joined: Vec::new(),
        }
    }

    /// A request that makes one of many groups.
    pub(crate) fn make(&self, number: u32) -> Request {
        let mut mgid = 0xff12_0000_0000_0000_0000_0000_0001_0000u128;
        mgid += u128::from(number);
        let guid = self.guids.iter().find(|guid| guid.get() == 0x10_0001);
        let record = McMemberRecord {
            mgid: mgid.to_be_bytes(),
            port_gid: guid.map_or([0; 16], |guid| Gid::unicast(self.prefix, *guid).0),
            pkey: 0xffff.into(),
            scope_and_state: join_state::FULL,
            ..McMemberRecord::default()
        };
        Request::member(method::SET, Mask::CREATE, &record)
    }

    /// Who asks, and what.
    pub(crate) fn next(&mut self, pair: &Pair) -> (usize, Request) {
        let client = self.rng.below(pair.clients.len());
        let mut request = match self.rng.below(20) {
            0..8 => self.join(pair, client),
            8..13 => return self.leave(pair, client),
            13..15 => self.path(pair, client),
            _ => self.query(pair, client),
        };
        if self.rng.one_in(60) {
            let kept = match request.attribute {
                AttributeId::PATH_RECORD => PathCompMask::DGID.0,
                _ => 0,
            };
            request.mask = self.rng.number() | kept;
        }
        if self.rng.one_in(80) && request.attribute == AttributeId::MC_MEMBER_RECORD {
            request.asked = method::GET_MULTI;
        }
        (client, request)
    }

    /// Remembers who joined, and the MGIDs that were made up.
    pub(crate) fn note(&mut self, client: usize, request: &Request, reply: Option<&[u8]>) {
        let Some(reply) = reply.filter(|reply| reply[4..6] == [0, 0]) else {
            return;
        };
        let record = reply
            .get(DATA_OFFSET..)
            .map(McMemberRecord::ref_from_prefix);
        let Some(Ok((record, _))) = record else {
            return;
        };
        if request.asked == method::SET {
            self.joined.push(Joined {
                client,
                record: *record,
            });
            if !self.mgids.contains(&record.mgid) && self.mgids.len() < 60 {
                self.mgids.push(record.mgid);
            }
        }
    }

    /// Every group, and every port in it.
    pub(crate) fn everything(&self, pair: &Pair) -> Vec<(usize, Request)> {
        let mut all = Vec::new();
        for client in 0..pair.clients.len() {
            for mgid in &self.mgids {
                let mut record = McMemberRecord {
                    mgid: *mgid,
                    ..McMemberRecord::default()
                };
                all.push((
                    client,
                    Request::member(method::GET_TABLE, Mask::MGID, &record),
                ));
                for guid in &self.guids {
                    record.port_gid = Gid::unicast(self.prefix, *guid).0;
                    let mask = Mask::MGID.union(Mask::PORT_GID);
                    let mut get = Request::member(method::GET, mask, &record);
                    get.key = SA_KEY;
                    all.push((client, get));
                }
            }
        }
        all
    }

    fn join(&mut self, pair: &Pair, client: usize) -> Request {
        let rng = &mut self.rng;
        let nth = rng.below(self.mgids.len());
        let mgid = self.mgids[nth];
        let mut record = self.record(pair, client);
        record.mgid = mgid;
        let is_good = !self.rng.one_in(3);
        if is_good {
            self.make_good(pair, client, &mut record);
        }
        // OpenSM keeps a group for ever when its last full member, which may send only too, is a
        // full member no more; so that nobody is both here.
        let states: [u8; 6] = match (mgid[14] ^ mgid[15]) & 1 {
            0 => [1, 1, 1, 2, 4, 3],
            _ => [8, 8, 8, 2, 4, 10],
        };
        record.scope_and_state = record.scope_and_state & 0xf0 | self.rng.pick(&states);
        if self.rng.one_in(40) {
            record.scope_and_state &= 0xf0;
        }
        let mut mask = match self.rng.below(8) {
            0..4 => Mask::CREATE,
            4..7 => Mask::JOIN,
            _ => self.some_of(Mask::CREATE),
        };
        if is_good && self.rng.one_in(2) {
            return Request::member(method::SET, mask, &record);
        }
        mask = mask.union(self.few(&[
            Mask::MTU_PAIR,
            Mask::RATE_PAIR,
            Mask::MTU_SELECTOR,
            Mask::RATE_SELECTOR,
            Mask::SCOPE,
            Mask::HOP_LIMIT,
            Mask::PACKET_LIFE,
            Mask::PROXY_JOIN,
            Mask::MLID,
        ]));
        Request::member(method::SET, mask, &record)
    }

    /// Mostly by one who is in, and of what it is.
    fn leave(&mut self, pair: &Pair, client: usize) -> (usize, Request) {
        let mut record = self.record(pair, client);
        let mut who = client;
        let count = self.joined.len();
        if count > 0 && !self.rng.one_in(6) {
            let nth = self.rng.below(count);
            let joined = match self.rng.one_in(3) {
                true => self.joined.swap_remove(nth),
                false => self.joined[nth],
            };
            record = joined.record;
            if !self.rng.one_in(5) {
                who = joined.client;
            }
        } else {
            record.mgid = self.rng.pick(&self.mgids);
        }
        if self.rng.one_in(4) {
            let states = self.rng.pick(&[1u8, 2, 3, 4, 5, 8, 10, 15, 0]);
            record.scope_and_state = record.scope_and_state & 0xf0 | states;
        }
        let mask = match self.rng.one_in(30) {
            true => self.some_of(Mask::JOIN),
            false => Mask::JOIN,
        };
        (who, Request::member(method::DELETE, mask, &record))
    }

    fn query(&mut self, pair: &Pair, client: usize) -> Request {
        let mut record = self.record(pair, client);
        let count = self.joined.len();
        if count > 0 && self.rng.one_in(2) {
            let nth = self.rng.below(count);
            record = self.joined[nth].record;
        } else {
            record.mgid = self.rng.pick(&self.mgids);
        }
        let mut mask = self.few(&[
            Mask::PORT_GID,
            Mask::Q_KEY,
            Mask::MLID,
            Mask::MTU_PAIR,
            Mask::MTU_SELECTOR,
            Mask::MTU,
            Mask::TCLASS,
            Mask::PKEY,
            Mask::RATE_PAIR,
            Mask::RATE_SELECTOR,
            Mask::PACKET_LIFE,
            Mask::SL,
            Mask::FLOW_LABEL,
            Mask::HOP_LIMIT,
            Mask::SCOPE,
            Mask::JOIN_STATE,
            Mask::PROXY_JOIN,
        ]);
        if !self.rng.one_in(4) {
            mask = mask.union(Mask::MGID);
        }
        if self.rng.one_in(3) {
            mask = mask.union(Mask::PORT_GID);
        }
        let asked = self.rng.pick(&[method::GET, method::GET_TABLE]);
        let mut request = Request::member(asked, mask, &record);
        request.key = self.rng.pick(&[0, SA_KEY, SA_KEY]);
        if self.rng.one_in(100) {
            request.key = 7;
        }
        request
    }

    /// A path to a group, at times as it is, at times with something else.
    fn path(&mut self, pair: &Pair, client: usize) -> Request {
        let group = self.record(pair, client);
        let rng = &mut self.rng;
        let dgid = rng.pick(&self.mgids);
        let record = PathRecord {
            service_id: rng.number().into(),
            dgid: if dgid[0] == 0xff {
                dgid
            } else {
                IP[0].to_be_bytes()
            },
            sgid: group.port_gid,
            dlid: group.mlid,
            slid: pair.clients[client].lid.into(),
            tclass: group.tclass,
            numb_path: NumbPathByte::new(rng.pick(&[0, 1, 3])),
            pkey: group.pkey,
            mtu: group.mtu,
            rate: group.rate,
            packet_life: group.packet_life,
            preference: rng.byte(),
            ..PathRecord::default()
        };
        let mut mask = PathCompMask::DGID;
        for bits in [
            PathCompMask::SERVICE_ID,
            PathCompMask::SERVICE_ID_LSB,
            PathCompMask::SGID,
            PathCompMask::SGID,
            PathCompMask::SLID,
            PathCompMask::DLID,
            PathCompMask::PKEY,
            PathCompMask::SL,
            PathCompMask::FLOW_LABEL,
            PathCompMask::HOP_LIMIT,
            PathCompMask::TCLASS,
            PathCompMask::NUMB_PATH,
            PathCompMask::MTU_PAIR,
            PathCompMask::RATE_PAIR,
        ] {
            if rng.one_in(8) {
                mask = mask.union(bits);
            }
        }
        Request {
            attribute: AttributeId::PATH_RECORD,
            asked: rng.pick(&[method::GET, method::GET_TABLE]),
            mask: mask.0 | PathCompMask::DGID.0,
            key: 0,
            data: record.as_bytes().to_vec(),
        }
    }
}
