//! Requests, mostly sensible, with everything wrong that a client can get wrong.

use sa_wire::mad::method;
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::umad::Slot;
use sm_control::request::path_request;

use crate::dialects::TCLASSES;
use crate::dice::Dice;
use crate::options::{CLASSES, IDS, KEYS, PREFIXES};
use crate::world::World;

/// A request and who it claims to come from.
pub(crate) fn request(dice: &mut Dice, world: &World) -> Slot {
    let mut draft = Draft {
        mask: 0,
        record: PathRecord::default(),
    };
    draft.ends(dice, world);
    draft.conditions(dice);
    draft.leftovers(dice);
    let asked = match dice.below(40) {
        0 => dice.pick(&[method::SET, method::DELETE, method::GET_MULTI, 0x13, 0x81]),
        1..=12 => method::GET_TABLE,
        _ => method::GET,
    };
    let mask = PathCompMask(draft.mask);
    let mut slot = path_request(lid(dice, world, None, 12), asked, mask, &draft.record);
    headers(dice, world, &mut slot);
    slot
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
        self.record.flow = FlowWord::new(0x12345, dice.byte());
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

/// Everything before the PathRecord, and behind it.
fn headers(dice: &mut Dice, world: &World, slot: &mut Slot) {
    let mad = &mut slot.mad;
    mad[8..16].copy_from_slice(&dice.next().to_be_bytes());
    if dice.one_in(6) {
        let key = dice.pick(&[0, 1, 1, 7, world.parts.options.sa_key, u64::MAX]);
        mad[36..44].copy_from_slice(&key.to_be_bytes());
    }
    // A client of the kernel's marks tables as RMPP, though one segment needs none.
    if dice.one_in(6) {
        mad[24..27].copy_from_slice(&[1, 1, 7]);
        mad[31] = 1;
    }
    if dice.one_in(10) {
        mad[4..8].copy_from_slice(&[0, 0x1c, 3, 4]);
        mad[18..24].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        mad[44..48].copy_from_slice(&[9, 9, 9, 9]);
        mad[120..].fill(dice.byte());
    }
}
