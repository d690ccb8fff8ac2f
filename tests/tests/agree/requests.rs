//! Requests, mostly sensible, with everything wrong that a client can get wrong.

use policy::ServiceIdEncoding;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::request::{multi_path_request, path_request};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix};

use crate::dialects::TCLASSES;
use crate::dice::Dice;
use crate::options::{CLASSES, ELSEWHERE, IDS, KEYS, PREFIXES};
use crate::world::World;

/// A request and who it claims to come from.
pub(crate) fn request(dice: &mut Dice, world: &World) -> Slot {
    match dice.below(8) {
        0 | 1 => multi(dice, world),
        2 | 3 => nearly_common(dice, world),
        _ => single(dice, world),
    }
}

/// A Get or the table of one pair whose ends are named well, with few components: mostly what may be
/// taken together with others.
fn nearly_common(dice: &mut Dice, world: &World) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.conditions(dice);
    draft.mask = 0;
    draft.good_ends(dice, world);
    draft.few_wishes(dice);
    let asked = dice.pick(&[method::GET, method::GET_TABLE]);
    let (from, mask) = (lid(dice, world, None, 50), PathCompMask(draft.mask));
    let mut slot = path_request(from, asked, mask, &draft.record);
    if dice.one_in(6) {
        let keys = [0, 1, world.parts.options.sa_key, world.parts.options.sa_key];
        slot.mad[36..44].copy_from_slice(&dice.pick(&keys).to_be_bytes());
    }
    mark_as_rmpp(dice, &mut slot);
    slot
}

/// A client of the kernel's marks tables as RMPP, though one segment needs none; a program on the
/// simulator's preload library sets the Active flag alone.
fn mark_as_rmpp(dice: &mut Dice, slot: &mut Slot) {
    match dice.below(12) {
        0 | 1 => {
            slot.mad[24..27].copy_from_slice(&[1, 1, 7]);
            slot.mad[31] = 1;
        }
        2 => slot.mad[26] = 1,
        _ => {}
    }
}

fn single(dice: &mut Dice, world: &World) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.ends(dice, world);
    draft.conditions(dice);
    draft.of_group(dice, world);
    draft.leftovers(dice);
    let asked = match dice.below(40) {
        0 => dice.pick(&[method::SET, method::DELETE, method::GET_MULTI, 0x13, 0x81]),
        1..=12 => method::GET_TABLE,
        _ => method::GET,
    };
    let mask = PathCompMask(draft.mask);
    let mut slot = path_request(lid(dice, world, None, 12), asked, mask, &draft.record);
    headers(dice, world, &mut slot);
    mark_as_rmpp(dice, &mut slot);
    slot
}

/// For MultiPathRecord.
fn multi(dice: &mut Dice, world: &World) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.conditions(dice);
    draft.leftovers(dice);
    let (mut record, mask) = draft.as_multi(dice);
    let (sources, destinations) = dice.pick(&[
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
    if (sources, destinations) == (2, 2) && dice.one_in(2) {
        // Alternate paths, whether the mask says so or not.
        record.numb_path = NumbPathByte(dice.byte() & 0x80 | 2);
    }
    let mut gids = |count| -> Vec<Gid> {
        let mut all: Vec<_> = (0..count).map(|_| listed(dice, world)).collect();
        if dice.one_in(5) {
            all[count - 1] = all[0];
        }
        all
    };
    let (sgids, dgids) = (gids(sources), gids(destinations));
    let from = lid(dice, world, None, 12);
    let mut slot = multi_path_request(from, mask, &record, &sgids, &dgids).unwrap();
    headers(dice, world, &mut slot);
    spoil(dice, &mut slot);
    slot
}

/// A GID that is mostly good.
fn listed(dice: &mut Dice, world: &World) -> Gid {
    let port = world.port(dice);
    if dice.one_in(9) {
        return Gid(gid(dice, world, port.guid.get()));
    }
    let prefix = world.parts.options.subnet_prefix;
    Gid::unicast(prefix, alias_or_own(dice, world, port.guid))
}

/// A GUID that the port has, mostly not its own where it has others.
fn alias_or_own(dice: &mut Dice, world: &World, own: Guid) -> Guid {
    let aliases = world.parts.aliases.iter();
    let aliases: Vec<_> = aliases.filter(|(_, base)| *base == own).collect();
    if aliases.is_empty() || dice.one_in(3) {
        return own;
    }
    dice.pick(&aliases).0
}

/// What only MultiPathRecord has to go wrong.
fn spoil(dice: &mut Dice, slot: &mut Slot) {
    let mad = &mut slot.mad;
    match dice.below(30) {
        // No RMPP, or no type where no kernel came between.
        0 => mad[24..36].fill(0),
        1 | 2 => mad[25] = 0,
        3 => mad[3] = dice.pick(&[method::GET, method::GET_TABLE, method::SET, 0x13]),
        4 => mad[53] &= dice.pick(&[0xe7, 0xef, 0xf7]),
        5 => mad[71] = dice.pick(&[0, 1, 2, 11, 12, 255]),
        6 => mad[72] = dice.pick(&[0, 1, 2, 11, 12, 255]),
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
    fn ends(&mut self, dice: &mut Dice, world: &World) {
        let wide = world.lids().count();
        // Every port with every port takes the slow twin long.
        let open = match dice.below(20) {
            0 if wide * wide < 3000 => (true, true),
            1 | 2 if wide < 500 => (true, false),
            3 | 4 if wide < 500 => (false, true),
            _ => (false, false),
        };
        let source = self.end(dice, world, open.0);
        let destination = self.end(dice, world, open.1);
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
        let beyond = &world.parts.beyond;
        let often = if beyond.routers.is_empty() || beyond.prefix_routes.is_empty() {
            80
        } else {
            8
        };
        if dice.one_in(often) {
            self.towards_elsewhere(dice, world);
        } else if dice.one_in(20) {
            self.towards_group(dice, world);
        }
    }

    /// Both, by names of a port that are its own and mostly agree.
    fn good_ends(&mut self, dice: &mut Dice, world: &World) {
        let prefix = world.parts.options.subnet_prefix;
        let mut named = |gid_bit: u32, lid_bit: u32| {
            let port = world.port(dice);
            let range = (port.lid.get(), port.lmc.lids());
            let bits = [1 << gid_bit, 1 << lid_bit, 1 << gid_bit | 1 << lid_bit];
            let lid = lid(dice, world, Some(range), 30);
            (Gid::unicast(prefix, port.guid).0, lid, dice.pick(&bits))
        };
        let (sgid, slid, source) = named(SGID, SLID);
        let (dgid, dlid, destination) = named(DGID, DLID);
        (self.record.sgid, self.record.slid) = (sgid, slid.into());
        (self.record.dgid, self.record.dlid) = (dgid, dlid.into());
        self.mask |= source | destination;
    }

    /// Components of their own accord, wishes among them, mostly one.
    fn few_wishes(&mut self, dice: &mut Dice) {
        let often = dice.pick(&[3, 10, 10]);
        for bits in [0b11, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14] {
            if dice.one_in(often) {
                self.mask |= bits;
            }
        }
        // Both halves of a pair, seldom one.
        let often = dice.pick(&[2, 5, 5]);
        for bits in [1 << 15, 0b11 << 16, 0b11 << 18, 0b11 << 20] {
            if dice.one_in(often) {
                self.mask |= bits & dice.pick(&[u64::MAX, u64::MAX, u64::MAX, 0xaa_aaaa]);
            }
        }
        // An SL that a torus may give.
        if dice.one_in(2) {
            let class = self.record.qos_class_sl.qos_class();
            let sl = dice.pick(&[0, 0, 1, 2, 3, 4, 7, 8]);
            self.record.qos_class_sl.0 = (class << 4 | sl).into();
        }
        if dice.one_in(2) {
            // A life time about the default.
            self.record.packet_life = SelectedValue(dice.within(0, 3) << 6 | dice.within(16, 20));
        }
    }

    /// To another subnet, or to this one by a name that is not its own.
    fn towards_elsewhere(&mut self, dice: &mut Dice, world: &World) {
        let prefix = SubnetPrefix(dice.pick(&ELSEWHERE));
        self.record.dgid = Gid::unicast(prefix, world.port(dice).guid).0;
        self.say(DGID);
        match dice.below(4) {
            0 => {}
            1 if !world.parts.beyond.routers.is_empty() => {
                let routers = &world.parts.beyond.routers;
                let router = routers[dice.below(routers.len())];
                let port = world.parts.topology.end_port(router);
                let range = (port.lid.get(), port.lmc.lids());
                self.record.dlid = lid(dice, world, Some(range), 15).into();
                self.say(DLID);
            }
            _ => self.mask &= !(1 << DLID),
        }
    }

    /// To a group, with what it is like, mostly; see [`Self::of_group`].
    fn towards_group(&mut self, dice: &mut Dice, world: &World) {
        let groups = world.parts.partitions.multicast_groups();
        self.record.dgid = [0xff; 16];
        if !groups.is_empty() {
            self.record.dgid = groups[dice.below(groups.len())].mgid.0;
        }
        if dice.one_in(8) {
            self.record.dgid[15] ^= dice.byte();
        }
        self.say(DGID);
        if !dice.one_in(10) {
            self.mask &= !(1 << SGID | 1 << SLID);
        }
        if !dice.one_in(10) {
            self.mask &= !(1 << DLID);
        }
    }

    /// The values of the group that is the destination, where there is one.
    fn of_group(&mut self, dice: &mut Dice, world: &World) {
        let groups = world.parts.partitions.multicast_groups().iter();
        let mut numbered = groups.zip(&world.parts.beyond.mlids);
        let Some((group, mlid)) = numbered.find(|(group, _)| group.mgid.0 == self.record.dgid)
        else {
            return;
        };
        let record = &mut self.record;
        if !dice.one_in(6) {
            record.dlid = mlid.get().into();
        }
        if !dice.one_in(6) {
            record.pkey = (group.base | 0x8000).into();
        }
        if !dice.one_in(6) {
            let class = record.qos_class_sl.qos_class();
            record.qos_class_sl.0 = (class << 4 | u16::from(group.sl.get())).into();
        }
        if !dice.one_in(6) {
            record.flow = FlowWord::new(group.flow_label, group.hop_limit);
        }
        if !dice.one_in(6) {
            record.tclass = group.tclass;
        }
    }

    fn end(&self, dice: &mut Dice, world: &World, open: bool) -> (Option<[u8; 16]>, Option<u16>) {
        if open {
            return (None, None);
        }
        let port = world.port(dice);
        let (guid, range) = (port.guid.get(), (port.lid.get(), port.lmc.lids()));
        match dice.below(8) {
            0..=3 => (Some(gid(dice, world, guid)), None),
            4..=6 => (None, Some(lid(dice, world, Some(range), 15))),
            _ => (
                Some(gid(dice, world, guid)),
                Some(lid(dice, world, Some(range), 4)),
            ),
        }
    }

    /// What narrows the paths down, or chooses the level.
    fn conditions(&mut self, dice: &mut Dice) {
        let often = dice.pick(&[2, 5, 5, 20, 100]);
        let near = |dice: &mut Dice, pool: &[u64]| {
            let value = dice.pick(pool);
            dice.pick(&[value, value, value.wrapping_add(1), value.wrapping_sub(1)])
        };
        let [.., high, low] = near(dice, &KEYS).to_be_bytes();
        let membership = dice.pick(&[0, 0x8000, 0x8000]);
        let key = u16::from_be_bytes([high, low]) & 0x7fff | membership;
        self.record.pkey = if dice.one_in(15) { membership } else { key }.into();
        self.record.service_id = near(dice, &IDS).into();
        let [.., high, low] = near(dice, &CLASSES).to_be_bytes();
        let class = u16::from_be_bytes([high, low]);
        self.record.qos_class_sl.0 = (class << 4 | u16::from(dice.within(0, 15))).into();
        let [.., tclass] = near(dice, &TCLASSES).to_be_bytes();
        self.record.tclass = tclass;
        self.record.numb_path = NumbPathByte(dice.byte() & 0x80 | dice.pick(&[0, 1, 2, 3, 5, 127]));
        self.record.flow = FlowWord::new(dice.pick(&[0x12345, 0x12345, 0, 1]), dice.byte());
        if dice.one_in(2) {
            self.record.flow = self.record.flow.with_raw_traffic();
        }
        self.record.mtu = selected(dice, &[0, 1, 2, 3, 4, 5, 6, 63], 20, (1, 5));
        self.record.rate = selected(dice, &[0, 1, 19, 20, 21, 22, 23, 24, 25, 63], 10, (2, 18));
        self.record.packet_life = selected(dice, &[0, 1, 17, 18, 19, 62, 63], 2, (0, 63));
        // Halves of pairs are mostly named together.
        for bits in [&[0, 1][..], &[16, 17], &[18, 19], &[20, 21]] {
            if dice.one_in(often) {
                for bit in bits.iter().filter(|_| !dice.one_in(12)) {
                    self.say(*bit);
                }
            }
        }
        for bit in [6, 10, 11, 12, 13, 14, 15] {
            if dice.one_in(often) {
                self.say(bit);
            }
        }
    }

    /// The same in the places that MultiPathRecord has for it.
    fn as_multi(&self, dice: &mut Dice) -> (MultiPathRecord, MultiPathCompMask) {
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
            independence: dice.byte(),
            ..MultiPathRecord::default()
        };
        let [high, low @ ..] = self.record.service_id.get().to_be_bytes();
        (record.service_id_msb, record.service_id_lsb) = (high, low);
        (record, MultiPathCompMask(mask))
    }

    /// What must not matter.
    fn leftovers(&mut self, dice: &mut Dice) {
        if dice.one_in(2) {
            return;
        }
        self.record.preference = dice.byte();
        self.record.reserved = std::array::from_fn(|_| dice.byte());
        for bit in [7, 8, 9, 22, 23, 40, 63] {
            if dice.one_in(4) {
                self.say(bit);
            }
        }
    }
}

/// Selector and value, an odd one once in `often`.
fn selected(dice: &mut Dice, odd: &[u8], often: usize, usual: (u8, u8)) -> SelectedValue {
    let value = if dice.one_in(often) {
        dice.pick(odd)
    } else {
        dice.within(usual.0, usual.1)
    };
    SelectedValue(dice.within(0, 3) << 6 | value)
}

/// A GID of the port mostly; else of nobody, of another subnet, or of a group.
fn gid(dice: &mut Dice, world: &World, guid: u64) -> [u8; 16] {
    let own = world.parts.options.subnet_prefix.0;
    let prefix = match dice.below(24) {
        0 => dice.pick(&PREFIXES),
        1 => 0xfe9f_1234_5678_9abc,
        2 => dice.pick(&[
            0,
            0xff12_601b << 32,
            0xff12_401b_ffff_0000,
            0xfe40 << 48,
            u64::MAX,
        ]),
        3..=12 => 0xfe80 << 48,
        _ => own,
    };
    let guid = Guid::new(guid).map_or(guid, |own| alias_or_own(dice, world, own).get());
    let guid = match dice.below(24) {
        0 => world.node_guid(dice),
        1 => dice.pick(&[0, 1, u64::MAX, guid ^ 1, guid.swap_bytes()]),
        _ => guid,
    };
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&prefix.to_be_bytes());
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    gid
}

/// A LID of the port or of any port; an odd one once in `odd`.
fn lid(dice: &mut Dice, world: &World, port: Option<(u16, u16)>, odd: usize) -> u16 {
    let (first, count) = port.unwrap_or_else(|| {
        let port = world.port(dice);
        (port.lid.get(), port.lmc.lids())
    });
    if dice.one_in(odd) {
        let other = world.port(dice).lid.get();
        return dice.pick(&[
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
    first + u16::try_from(dice.below(usize::from(count))).unwrap()
}

/// Everything before the record, and behind it.
fn headers(dice: &mut Dice, world: &World, slot: &mut Slot) {
    let mad = &mut slot.mad;
    mad[8..16].copy_from_slice(&dice.next().to_be_bytes());
    let in_key = world.service_id_encoding() == Some(ServiceIdEncoding::LegacyA);
    if dice.one_in(if in_key { 2 } else { 6 }) {
        let own = world.parts.options.sa_key;
        let key = match in_key && !dice.one_in(4) {
            true => dice.pick(&IDS),
            false => dice.pick(&[0, 1, 1, 7, own, u64::MAX]),
        };
        mad[36..44].copy_from_slice(&key.to_be_bytes());
    }
    if dice.one_in(10) {
        mad[4..8].copy_from_slice(&[0, 0x1c, 3, 4]);
        mad[18..24].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        mad[44..48].copy_from_slice(&[9, 9, 9, 9]);
        // Behind the last GID that may count.
        mad[56 + 24 + 11 * 16..].fill(dice.byte());
        if mad[17] == 0x35 {
            mad[120..].fill(dice.byte());
        }
    }
}
