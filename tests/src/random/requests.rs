//! Requests, mostly sensible, with everything wrong that a client can get wrong.

use policy::ServiceIdEncoding;
use sa_compiler::state::FabricState;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::request::{multi_path_request, path_request};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix};

use super::dialects::TCLASSES;
use super::options::{CLASSES, ELSEWHERE, IDS, KEYS, PREFIXES};
use super::ports;
use crate::rng::Rng;

/// A request and who it claims to come from.
pub fn request(rng: &mut Rng, parts: &FabricState) -> Slot {
    match rng.below(8) {
        0 | 1 => multi(rng, parts),
        2 | 3 => nearly_common(rng, parts),
        _ => single(rng, parts),
    }
}

/// A Get or the table of one pair whose ends are named well, with few components: mostly what may be
/// taken together with others.
fn nearly_common(rng: &mut Rng, parts: &FabricState) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.conditions(rng);
    draft.mask = 0;
    draft.good_ends(rng, parts);
    draft.few_wishes(rng);
    let asked = rng.pick(&[method::GET, method::GET_TABLE]);
    let (from, mask) = (lid(rng, parts, None, 50), PathCompMask(draft.mask));
    let mut slot = path_request(from, asked, mask, &draft.record);
    if rng.one_in(6) {
        let keys = [0, 1, parts.options.sa_key, parts.options.sa_key];
        slot.mad[36..44].copy_from_slice(&rng.pick(&keys).to_be_bytes());
    }
    mark_as_rmpp(rng, &mut slot);
    slot
}

/// A client of the kernel's marks tables as RMPP, though one segment needs none; a program on the
/// simulator's preload library sets the Active flag alone.
fn mark_as_rmpp(rng: &mut Rng, slot: &mut Slot) {
    match rng.below(12) {
        0 | 1 => {
            slot.mad[24..27].copy_from_slice(&[1, 1, 7]);
            slot.mad[31] = 1;
        }
        2 => slot.mad[26] = 1,
        _ => {}
    }
}

fn single(rng: &mut Rng, parts: &FabricState) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.ends(rng, parts);
    draft.conditions(rng);
    draft.of_group(rng, parts);
    draft.leftovers(rng);
    let asked = match rng.below(40) {
        0 => rng.pick(&[method::SET, method::DELETE, method::GET_MULTI, 0x13, 0x81]),
        1..=12 => method::GET_TABLE,
        _ => method::GET,
    };
    let mask = PathCompMask(draft.mask);
    let mut slot = path_request(lid(rng, parts, None, 12), asked, mask, &draft.record);
    headers(rng, parts, &mut slot);
    mark_as_rmpp(rng, &mut slot);
    slot
}

/// For MultiPathRecord.
fn multi(rng: &mut Rng, parts: &FabricState) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.conditions(rng);
    draft.leftovers(rng);
    let (mut record, mask) = draft.as_multi(rng);
    let (sources, destinations) = rng.pick(&[
        (1, 1),
        (1, 1),
        (2, 2),
        (2, 2),
        (2, 2),
        (1, 3),
        (2, 1),
        (3, 2),
        (5, 6),
        (9, 2),
    ]);
    if (sources, destinations) == (2, 2) && rng.one_in(2) {
        // Alternate paths, whether the mask says so or not.
        record.numb_path = NumbPathByte(rng.byte() & 0x80 | 2);
    }
    let mut gids = |count| -> Vec<Gid> {
        let mut all: Vec<_> = (0..count).map(|_| listed(rng, parts)).collect();
        if rng.one_in(5) {
            all[count - 1] = all[0];
        }
        all
    };
    let (sgids, dgids) = (gids(sources), gids(destinations));
    let from = lid(rng, parts, None, 12);
    let mut slot = multi_path_request(from, mask, &record, &sgids, &dgids).unwrap();
    headers(rng, parts, &mut slot);
    spoil(rng, &mut slot);
    slot
}

/// A GID that is mostly good.
fn listed(rng: &mut Rng, parts: &FabricState) -> Gid {
    let port = ports::any(parts, rng);
    if rng.one_in(9) {
        return Gid(gid(rng, parts, port.guid.get()));
    }
    let prefix = parts.options.subnet_prefix;
    Gid::unicast(prefix, alias_or_own(rng, parts, port.guid))
}

/// A GUID that the port has, mostly not its own where it has others.
fn alias_or_own(rng: &mut Rng, parts: &FabricState, own: Guid) -> Guid {
    let aliases = parts.aliases.iter();
    let aliases: Vec<_> = aliases.filter(|(_, base)| *base == own).collect();
    if aliases.is_empty() || rng.one_in(3) {
        return own;
    }
    rng.pick(&aliases).0
}

/// What only MultiPathRecord has to go wrong.
fn spoil(rng: &mut Rng, slot: &mut Slot) {
    let mad = &mut slot.mad;
    match rng.below(30) {
        // No RMPP, or no type where no kernel came between.
        0 => mad[24..36].fill(0),
        1 | 2 => mad[25] = 0,
        3 => mad[3] = rng.pick(&[method::GET, method::GET_TABLE, method::SET, 0x13]),
        4 => mad[53] &= rng.pick(&[0xe7, 0xef, 0xf7]),
        5 => mad[71] = rng.pick(&[0, 1, 2, 11, 12, 255]),
        6 => mad[72] = rng.pick(&[0, 1, 2, 11, 12, 255]),
        _ => {}
    }
}

struct Draft {
    mask: u64,
    record: PathRecord,
}

const DGID: u32 = 2;
const SGID: u32 = 3;
const DLID: u32 = 4;
const SLID: u32 = 5;

impl Draft {
    fn say(&mut self, bit: u32) {
        self.mask |= 1 << bit;
    }

    /// Both ends, one, or none; by GID, by LID, or by both.
    fn ends(&mut self, rng: &mut Rng, parts: &FabricState) {
        let wide = ports::lids(parts).count();
        // Every port with every port takes the reference long.
        let open = match rng.below(20) {
            0 if wide * wide < 3000 => (true, true),
            1 | 2 if wide < 500 => (true, false),
            3 | 4 if wide < 500 => (false, true),
            _ => (false, false),
        };
        let source = self.end(rng, parts, open.0);
        let destination = self.end(rng, parts, open.1);
        if let Some(gid) = source.0 {
            self.record.sgid = gid;
            self.say(SGID);
        }
        if let Some(gid) = destination.0 {
            self.record.dgid = gid;
            self.say(DGID);
        }
        if let Some(lid) = source.1 {
            self.record.slid = lid.into();
            self.say(SLID);
        }
        if let Some(lid) = destination.1 {
            self.record.dlid = lid.into();
            self.say(DLID);
        }
        // Most fabrics have no way to other subnets.
        let beyond = &parts.off_subnet;
        let often = if beyond.routers.is_empty() || beyond.prefix_routes.is_empty() {
            80
        } else {
            8
        };
        if rng.one_in(often) {
            self.towards_elsewhere(rng, parts);
        } else if rng.one_in(20) {
            self.towards_group(rng, parts);
        }
    }

    /// Both, by names of a port that are its own and mostly agree.
    fn good_ends(&mut self, rng: &mut Rng, parts: &FabricState) {
        let prefix = parts.options.subnet_prefix;
        let mut named = |gid_bit: u32, lid_bit: u32| {
            let port = ports::any(parts, rng);
            let range = (port.lid.get(), port.lmc.lids());
            let bits = [1 << gid_bit, 1 << lid_bit, 1 << gid_bit | 1 << lid_bit];
            let lid = lid(rng, parts, Some(range), 30);
            (Gid::unicast(prefix, port.guid).0, lid, rng.pick(&bits))
        };
        let (sgid, slid, source) = named(SGID, SLID);
        let (dgid, dlid, destination) = named(DGID, DLID);
        (self.record.sgid, self.record.slid) = (sgid, slid.into());
        (self.record.dgid, self.record.dlid) = (dgid, dlid.into());
        self.mask |= source | destination;
    }

    /// Components of their own accord, wishes among them, mostly one.
    fn few_wishes(&mut self, rng: &mut Rng) {
        let often = rng.pick(&[3, 10, 10]);
        for bits in [0b11, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14] {
            if rng.one_in(often) {
                self.mask |= bits;
            }
        }
        // Both halves of a pair, seldom one.
        let often = rng.pick(&[2, 5, 5]);
        for bits in [1 << 15, 0b11 << 16, 0b11 << 18, 0b11 << 20] {
            if rng.one_in(often) {
                self.mask |= bits & rng.pick(&[u64::MAX, u64::MAX, u64::MAX, 0xaa_aaaa]);
            }
        }
        // An SL that a torus may give.
        if rng.one_in(2) {
            let class = self.record.qos_class_sl.qos_class();
            let sl = rng.pick(&[0, 0, 1, 2, 3, 4, 7, 8]);
            self.record.qos_class_sl.0 = (class << 4 | sl).into();
        }
        if rng.one_in(2) {
            // A life time about the default.
            self.record.packet_life = SelectedValue(rng.within(0, 3) << 6 | rng.within(16, 20));
        }
    }

    /// To another subnet, or to this one by a name that is not its own.
    fn towards_elsewhere(&mut self, rng: &mut Rng, parts: &FabricState) {
        let prefix = SubnetPrefix(rng.pick(&ELSEWHERE));
        self.record.dgid = Gid::unicast(prefix, ports::any(parts, rng).guid).0;
        self.say(DGID);
        match rng.below(4) {
            0 => {}
            1 if !parts.off_subnet.routers.is_empty() => {
                let routers = &parts.off_subnet.routers;
                let router = routers[rng.below(routers.len())];
                let port = parts.topology.end_port(router);
                let range = (port.lid.get(), port.lmc.lids());
                self.record.dlid = lid(rng, parts, Some(range), 15).into();
                self.say(DLID);
            }
            _ => self.mask &= !(1 << DLID),
        }
    }

    /// To a group, with what it is like, mostly; see [`Self::of_group`].
    fn towards_group(&mut self, rng: &mut Rng, parts: &FabricState) {
        let groups = parts.partitions.multicast_groups();
        self.record.dgid = [0xff; 16];
        if !groups.is_empty() {
            self.record.dgid = groups[rng.below(groups.len())].mgid.0;
        }
        if rng.one_in(8) {
            self.record.dgid[15] ^= rng.byte();
        }
        self.say(DGID);
        if !rng.one_in(10) {
            self.mask &= !(1 << SGID | 1 << SLID);
        }
        if !rng.one_in(10) {
            self.mask &= !(1 << DLID);
        }
    }

    /// The values of the group that is the destination, where there is one.
    fn of_group(&mut self, rng: &mut Rng, parts: &FabricState) {
        let groups = parts.partitions.multicast_groups().iter();
        let mut numbered = groups.zip(&parts.off_subnet.mlids);
        let Some((group, mlid)) = numbered.find(|(group, _)| group.mgid.0 == self.record.dgid)
        else {
            return;
        };
        let record = &mut self.record;
        if !rng.one_in(6) {
            record.dlid = mlid.get().into();
        }
        if !rng.one_in(6) {
            record.pkey = (group.base | 0x8000).into();
        }
        if !rng.one_in(6) {
            let class = record.qos_class_sl.qos_class();
            record.qos_class_sl.0 = (class << 4 | u16::from(group.sl.get())).into();
        }
        if !rng.one_in(6) {
            record.flow = FlowWord::new(group.flow_label, group.hop_limit);
        }
        if !rng.one_in(6) {
            record.tclass = group.tclass;
        }
    }

    fn end(
        &self,
        rng: &mut Rng,
        parts: &FabricState,
        open: bool,
    ) -> (Option<[u8; 16]>, Option<u16>) {
        if open {
            return (None, None);
        }
        let port = ports::any(parts, rng);
        let (guid, range) = (port.guid.get(), (port.lid.get(), port.lmc.lids()));
        match rng.below(8) {
            0..=3 => (Some(gid(rng, parts, guid)), None),
            4..=6 => (None, Some(lid(rng, parts, Some(range), 15))),
            _ => (
                Some(gid(rng, parts, guid)),
                Some(lid(rng, parts, Some(range), 4)),
            ),
        }
    }

    /// What narrows the paths down, or chooses the level.
    fn conditions(&mut self, rng: &mut Rng) {
        let often = rng.pick(&[2, 5, 5, 20, 100]);
        let near = |rng: &mut Rng, pool: &[u64]| {
            let value = rng.pick(pool);
            rng.pick(&[value, value, value.wrapping_add(1), value.wrapping_sub(1)])
        };
        let [.., high, low] = near(rng, &KEYS).to_be_bytes();
        let membership = rng.pick(&[0, 0x8000, 0x8000]);
        let key = u16::from_be_bytes([high, low]) & 0x7fff | membership;
        self.record.pkey = if rng.one_in(15) { membership } else { key }.into();
        self.record.service_id = near(rng, &IDS).into();
        let [.., high, low] = near(rng, &CLASSES).to_be_bytes();
        let class = u16::from_be_bytes([high, low]);
        self.record.qos_class_sl.0 = (class << 4 | u16::from(rng.within(0, 15))).into();
        let [.., tclass] = near(rng, &TCLASSES).to_be_bytes();
        self.record.tclass = tclass;
        self.record.numb_path = NumbPathByte(rng.byte() & 0x80 | rng.pick(&[0, 1, 2, 3, 5, 127]));
        self.record.flow = FlowWord::new(rng.pick(&[0x12345, 0x12345, 0, 1]), rng.byte());
        if rng.one_in(2) {
            self.record.flow = self.record.flow.with_raw_traffic();
        }
        self.record.mtu = selected(rng, &[0, 1, 2, 3, 4, 5, 6, 63], 20, (1, 5));
        self.record.rate = selected(rng, &[0, 1, 19, 20, 21, 22, 23, 24, 25, 63], 10, (2, 18));
        self.record.packet_life = selected(rng, &[0, 1, 17, 18, 19, 62, 63], 2, (0, 63));
        // Halves of pairs are mostly named together.
        for bits in [&[0, 1][..], &[16, 17], &[18, 19], &[20, 21]] {
            if rng.one_in(often) {
                for bit in bits.iter().filter(|_| !rng.one_in(12)) {
                    self.say(*bit);
                }
            }
        }
        for bit in [6, 10, 11, 12, 13, 14, 15] {
            if rng.one_in(often) {
                self.say(bit);
            }
        }
    }

    /// The same in the places that MultiPathRecord has for it.
    fn as_multi(&self, rng: &mut Rng) -> (MultiPathRecord, MultiPathCompMask) {
        let mut mask = self.mask >> 6 & 0xffff;
        for (here, there) in [(0, 16), (1, 21), (23, 17), (40, 18), (63, 63)] {
            mask |= (self.mask >> here & 1) << there;
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
            independence: rng.byte(),
            ..MultiPathRecord::default()
        };
        let [high, low @ ..] = self.record.service_id.get().to_be_bytes();
        (record.service_id_msb, record.service_id_lsb) = (high, low);
        (record, MultiPathCompMask(mask))
    }

    /// What must not matter.
    fn leftovers(&mut self, rng: &mut Rng) {
        if rng.one_in(2) {
            return;
        }
        self.record.preference = rng.byte();
        self.record.reserved = std::array::from_fn(|_| rng.byte());
        for bit in [7, 8, 9, 22, 23, 40, 63] {
            if rng.one_in(4) {
                self.say(bit);
            }
        }
    }
}

/// Selector and value, an odd one once in `often`.
fn selected(rng: &mut Rng, odd: &[u8], often: usize, usual: (u8, u8)) -> SelectedValue {
    let value = if rng.one_in(often) {
        rng.pick(odd)
    } else {
        rng.within(usual.0, usual.1)
    };
    SelectedValue(rng.within(0, 3) << 6 | value)
}

/// A GID of the port mostly; else of nobody, of another subnet, or of a group.
fn gid(rng: &mut Rng, parts: &FabricState, guid: u64) -> [u8; 16] {
    let own = parts.options.subnet_prefix.0;
    let prefix = match rng.below(24) {
        0 => rng.pick(&PREFIXES),
        1 => 0xfe9f_1234_5678_9abc,
        2 => rng.pick(&[
            0,
            0xff12_601b << 32,
            0xff12_401b_ffff_0000,
            0xfe40 << 48,
            u64::MAX,
        ]),
        3..=12 => 0xfe80 << 48,
        _ => own,
    };
    let guid = Guid::new(guid).map_or(guid, |own| alias_or_own(rng, parts, own).get());
    let guid = match rng.below(24) {
        0 => ports::node_guid(parts, rng),
        1 => rng.pick(&[0, 1, u64::MAX, guid ^ 1, guid.swap_bytes()]),
        _ => guid,
    };
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&prefix.to_be_bytes());
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    gid
}

/// A LID of the port or of any port; an odd one once in `odd`.
fn lid(rng: &mut Rng, parts: &FabricState, port: Option<(u16, u16)>, odd: usize) -> u16 {
    let (first, count) = port.unwrap_or_else(|| {
        let port = ports::any(parts, rng);
        (port.lid.get(), port.lmc.lids())
    });
    if rng.one_in(odd) {
        let other = ports::any(parts, rng).lid.get();
        return rng.pick(&[
            0,
            0xbfff,
            0xc000,
            0xc001,
            0xffff,
            first - 1,
            first + count,
            other,
        ]);
    }
    first + u16::try_from(rng.below(usize::from(count))).unwrap()
}

/// Everything before the record, and behind it.
fn headers(rng: &mut Rng, parts: &FabricState, slot: &mut Slot) {
    let mad = &mut slot.mad;
    mad[8..16].copy_from_slice(&rng.number().to_be_bytes());
    let in_key = ports::service_id_encoding(parts) == Some(ServiceIdEncoding::LegacyA);
    if rng.one_in(if in_key { 2 } else { 6 }) {
        let own = parts.options.sa_key;
        let key = match in_key && !rng.one_in(4) {
            true => rng.pick(&IDS),
            false => rng.pick(&[0, 1, 1, 7, own, u64::MAX]),
        };
        mad[36..44].copy_from_slice(&key.to_be_bytes());
    }
    if rng.one_in(10) {
        mad[4..8].copy_from_slice(&[0, 0x1c, 3, 4]);
        mad[18..24].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        mad[44..48].copy_from_slice(&[9, 9, 9, 9]);
        // Behind the last GID that may count.
        mad[56 + 24 + 11 * 16..].fill(rng.byte());
        if mad[17] == 0x35 {
            mad[120..].fill(rng.byte());
        }
    }
}
