//! What requests are made of.

use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord};
use sa_wire::{Gid, Guid, Lid};

use sa_tests::rng::Rng;

use super::pair::Pair;
use super::requests::Script;

pub(crate) const IP: [u128; 9] = [
    0xff12_401b_ffff_0000_0000_0000_ffff_ffff,
    0xff12_401b_ffff_0000_0000_0000_0000_0001,
    0xff12_401b_8001_0000_0000_0000_ffff_ffff,
    0xff12_401b_8123_0000_0000_0000_ffff_ffff,
    0xff12_401b_8123_0000_0000_0000_0000_0016,
    0xff12_601b_ffff_0000_0000_0001_ff00_0001,
    0xff12_601b_8001_0000_0000_0000_0000_0001,
    0xff15_401b_ffff_0000_0000_0000_ffff_ffff,
    0xff15_601b_8001_0000_0000_0000_0000_0001,
];

pub(crate) const OTHERS: [u128; 12] = [
    0xff12_0000_0000_0000_0000_0000_0000_0077,
    0xff12_0000_0000_0000_0000_0000_0000_0078,
    0xff1e_0000_0000_0000_0000_0000_0000_0079,
    0xff15_a01b_fe80_0000_0000_0000_0000_0001,
    0xff12_a01b_fe80_0000_0000_0000_0000_0001,
    0xff32_0000_0000_0000_0000_0000_0000_0001,
    0xff82_401b_ffff_0000_0000_0000_0000_0002,
    0xff02_0000_0000_0000_0000_0000_0000_0001,
    0xfe80_0000_0000_0000_0000_0000_0010_0001,
    0xff10_401b_ffff_0000_0000_0000_ffff_ffff,
    0x0000_0000_0000_0000_0000_0000_0000_0000,
    0xff12_ffff_ffff_ffff_ffff_ffff_ffff_ffff,
];

const PKEYS: [u16; 12] = [
    0xffff, 0xffff, 0xffff, 0x7fff, 0x8001, 0x8001, 0x0001, 0x8123, 0x8123, 0x8000, 0x8999, 0xa001,
];

impl Script {
    /// What a group may well be made with, and joined.
    pub(crate) fn make_good(&mut self, pair: &Pair, client: usize, record: &mut McMemberRecord) {
        let subnet = &pair.bench.parts().subnet;
        let lid = Lid::new(pair.clients[client].lid).ok();
        let own = lid.and_then(|lid| subnet.by_lid(lid));
        let guid = own.map(|index| subnet.end_ports()[index].guid);
        record.port_gid = guid.map_or([0; 16], |guid| Gid::unicast(self.prefix, guid).0);
        let broadcast = pair.bench.parts().partitions.multicast_groups().iter();
        let mut broadcast = broadcast.filter(|group| group.mgid.0[2..6] == record.mgid[2..6]);
        let like = broadcast.next();
        record.pkey = like.map_or(0xffff, |group| group.base | 0x8000).into();
        record.q_key = like.map_or(0x0b1b, |group| group.q_key).into();
        record.tclass = like.map_or(0, |group| group.tclass);
        let sl = like.map_or(0, |group| u32::from(group.sl.get()));
        let flow = like.map_or(0, |group| group.flow_label);
        record.sl_flow_hop = (sl << 28 | flow << 8).into();
        record.mtu = SelectedValue(self.rng.pick(&[0x80, 0x81, 0x82, 0x84, 0x00, 0x45, 0xc0]));
        record.rate = SelectedValue(self.rng.pick(&[0x82, 0x83, 0x85, 0x86, 0x00, 0x47, 0xc0]));
    }

    /// Components of all kinds, most of them good.
    pub(crate) fn record(&mut self, pair: &Pair, client: usize) -> McMemberRecord {
        let lid = Lid::new(pair.clients[client].lid).ok();
        let own = lid.and_then(|lid| pair.bench.parts().subnet.by_lid(lid));
        let own = own.map(|index| pair.bench.parts().subnet.end_ports()[index].guid);
        let rng = &mut self.rng;
        let guid = match rng.below(8) {
            0..5 => own.map_or(0, Guid::get),
            5 | 6 => rng.pick(&self.guids).get(),
            _ => rng.pick(&[0, 0x99, 0x10_0000, 0x10_0001]),
        };
        let prefix = match rng.below(30) {
            0 => 0xfe80_0000_0000_0000,
            1 => 0xfec0_0000_0000_0001,
            _ => self.prefix.0,
        };
        let gid = u128::from(prefix) << 64 | u128::from(guid);
        let selected = |rng: &mut Rng, good: &[u8]| {
            let value = match rng.below(8) {
                0 => rng.byte(),
                _ => rng.pick(good),
            };
            SelectedValue(rng.pick(&[0, 0x40, 0x80, 0x80, 0x80, 0xc0]) | value & 0x3f)
        };
        let sl = rng.pick(&[0u32, 0, 0, 2, 3]) << 28;
        let flow = rng.pick(&[0u32, 0, 0, 0x12345]) << 8;
        let hop = rng.pick(&[0u32, 0, 3, 255]);
        McMemberRecord {
            mgid: [0; 16],
            port_gid: gid.to_be_bytes(),
            q_key: rng.pick(&[0x0b1bu32, 0x0b1b, 0x0b1b, 1, 0x77]).into(),
            mlid: rng
                .pick(&[0u16, 0, 0, 0xc000, 0xc002, 0xc010, 0xc3ff, 0xc400, 0xffff])
                .into(),
            mtu: selected(rng, &[1, 1, 2, 3, 4, 5]),
            tclass: rng.pick(&[0, 0, 0, 9]),
            pkey: rng.pick(&PKEYS).into(),
            rate: selected(rng, &[2, 2, 3, 3, 5, 6, 7, 15, 16, 22]),
            packet_life: selected(rng, &[0, 15, 18]),
            sl_flow_hop: (sl | flow | hop).into(),
            scope_and_state: rng.pick(&[0x20, 0x20, 0x20, 0, 0x50, 0xe0]) | rng.byte() & 0x0f,
            proxy_join: rng.pick(&[0, 0, 0, 1, 0x80, 0xff]),
            reserved: rng.pick(&[[0, 0], [0, 0], [1, 2]]),
            padding: rng.pick(&[[0; 4], [0; 4], [5, 6, 7, 8]]),
        }
    }

    pub(crate) fn few(&mut self, from: &[Mask]) -> Mask {
        let mut mask = Mask::default();
        for bits in from {
            if self.rng.one_in(9) {
                mask = mask.union(*bits);
            }
        }
        mask
    }

    pub(crate) fn some_of(&mut self, mask: Mask) -> Mask {
        Mask(mask.0 & (self.rng.number() | self.rng.number() | self.rng.number()))
    }
}
