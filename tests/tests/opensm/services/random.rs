//! Random requests, of few enough values that they meet.

use sa_wire::mad::method;
use sa_wire::records::{GuidInfoRecord, InformInfo, InformInfoRecord, Layout, ServiceRecord};
use sa_wire::sa::AttributeId;
use sa_wire::{Gid, Guid, SubnetPrefix};
use zerocopy::{FromZeros, IntoBytes};

use sa_tests::rng::Rng;

use super::pair::{Ask, Pair};

/// The SM_Key of a request, mostly none.
fn key(rng: &mut Rng) -> u64 {
    rng.pick(&[0, 0, 1])
}

/// About services.
pub(crate) fn service(pair: &Pair, rng: &mut Rng) -> Ask {
    let asked = rng.pick(&[
        method::SET,
        method::SET,
        method::SET,
        method::DELETE,
        method::GET,
        method::GET_TABLE,
        method::GET_TABLE,
    ]);
    let mut record = ServiceRecord::new_zeroed();
    record.id = rng.pick(&[1, 2, 0x1000_0000_0000_0003]).into();
    record.gid = gid(pair, rng);
    record.pkey = rng.pick(&PKEYS).into();
    record.reserved = rng.pick(&[0, 0, 5]).into();
    // None that ends while this runs.
    record.lease = rng.pick(&[u32::MAX, 3600, 0x8000_0000]).into();
    record.key = [rng.pick(&[0, 1, 2]); 16];
    let name = rng.pick(&[
        "",
        "a",
        "service.of.sixty-four.bytes.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ]);
    record.name[..name.len().min(64)].copy_from_slice(&name.as_bytes()[..name.len().min(64)]);
    record.data8.fill(rng.pick(&[0, 1]));
    record.data16.fill(rng.pick(&[0, 0x0102]).into());
    record.data32.fill(rng.pick(&[0, 0x0102_0304]).into());
    record
        .data64
        .fill(rng.pick(&[0, 0x0102_0304_0506_0708]).into());
    let mut mask = 0;
    if matches!(asked, method::SET | method::DELETE) {
        mask |= 3;
        mask |= rng.pick(&[0, 4]) | rng.pick(&[0, 16]) | rng.pick(&[0, 32]) | 64;
        if rng.one_in(12) {
            mask &= !rng.pick(&[1, 2, 3]);
        }
    }
    if !matches!(asked, method::SET) || rng.one_in(4) {
        // Bits without a meaning too.
        for _ in 0..rng.below(3) {
            mask |= 1 << rng.below(40);
        }
    }
    // What lies behind the bytes that come through cannot be asked.
    mask &= !(1 << 36);
    Ask {
        key: key(rng),
        ..Ask::new(
            AttributeId::SERVICE_RECORD,
            asked,
            mask,
            &record.as_bytes()[..168],
        )
    }
}

/// About subscriptions.
pub(crate) fn inform(pair: &Pair, rng: &mut Rng) -> Ask {
    if rng.one_in(3) {
        return inform_record(pair, rng);
    }
    let mut info = InformInfo::new_zeroed();
    if rng.one_in(4) {
        info.gid = gid(pair, rng);
    }
    let last = pair.parts().topology.max_lid();
    let ranges = [
        (0xffff, 0),
        (0xffff, 0),
        (0xffff, 7),
        (1, 3),
        (2, 0),
        (0, 2),
        (4, 1),
        (last, last),
        (last, 0xbfff),
        (last + 1, 0),
        (last + 1, last + 2),
    ];
    let (begin, end) = rng.pick(&ranges);
    info.lid_range_begin = begin.into();
    info.lid_range_end = end.into();
    info.reserved = rng.pick(&[0, 0, 9]).into();
    info.is_generic = rng.pick(&[1, 1, 1, 0, 2]);
    info.subscribe = rng.pick(&[1, 1, 0, 0, 0, 2]);
    info.trap_type = rng.pick(&[0xffff, 0xffff, 3]).into();
    info.trap_number = rng.pick(&[0xffff, 64, 65, 255, 256, 259, 260]).into();
    info.set_qpn(rng.pick(&[1, 1, 1, 0, 2]));
    info.qpn_and_resp_time = (info.qpn_and_resp_time.get() | rng.pick(&[0, 19])).into();
    info.reserved2 = rng.pick(&[0, 0, 7]);
    info.producer_type = rng.pick(&[[0xff; 3], [0xff; 3], [0, 0, 4]]);
    Ask {
        key: key(rng),
        ..Ask::new(AttributeId::INFORM_INFO, method::SET, 0, info.as_bytes())
    }
}

fn inform_record(pair: &Pair, rng: &mut Rng) -> Ask {
    let mut record = InformInfoRecord::new_zeroed();
    record.subscriber_gid = gid(pair, rng);
    record.number = rng.pick(&[0, 0, 0, 1]).into();
    record.info.trap_number = 64.into();
    let mask = rng.pick(&[0, 1, 1, 2, 3, 1 << 10]) | rng.pick(&[0, 0, 1 << 3]);
    let asked = rng.pick(&[method::GET, method::GET_TABLE, method::GET_TABLE]);
    let attribute = AttributeId::INFORM_INFO_RECORD;
    Ask {
        key: key(rng),
        ..Ask::new(attribute, asked, mask, record.as_bytes())
    }
}

/// About alias GUIDs.
pub(crate) fn alias(pair: &Pair, rng: &mut Rng) -> Ask {
    let ends = pair.parts().subnet.end_ports();
    let mut record = GuidInfoRecord::default();
    let end = ends[rng.below(ends.len())];
    let lid = match rng.one_in(20) {
        true => rng.pick(&[0, 0xffff, 0xbfff, 0xc001]),
        false => end.lid.get() + rng.below(end.lmc.lids()),
    };
    record.lid = lid.into();
    record.block = rng.pick(&[0, 0, 0, 1, 3, 4, 255]);
    record.reserved = [rng.pick(&[0, 0, 3]); 5];
    let taken = ends[rng.below(ends.len())].guid.get();
    for place in &mut record.guids {
        let some = 0xa000 + u64::try_from(rng.below(12)).unwrap_or(0);
        *place = rng.pick(&[0, 0, some, some, some, taken]).into();
    }
    let asked = rng.pick(&[
        method::SET,
        method::SET,
        method::DELETE,
        method::GET,
        method::GET_TABLE,
    ]);
    let mut mask = rng.pick(&[3, 3, 3, 3, 3, 3, 3, 3, 1, 2, 0]);
    let changes = matches!(asked, method::SET | method::DELETE);
    if changes {
        mask |= (rng.number() & rng.number() & 0xff) << 4;
        if !rng.one_in(10) && record.block == 0 {
            mask &= !Layout::GUID_INFO
                .field("guid0")
                .map_or(0, |field| field.mask());
        }
    } else if rng.one_in(4) {
        mask |= 1 << (4 + rng.below(8));
    }
    Ask {
        key: key(rng),
        ..Ask::new(
            AttributeId::GUID_INFO_RECORD,
            asked,
            mask,
            record.as_bytes(),
        )
    }
}

/// Of a port of this subnet.
pub(crate) fn gid_of(guid: u64) -> [u8; 16] {
    let guid = Guid::new(guid).map(|guid| Gid::unicast(SubnetPrefix::LINK_LOCAL, guid));
    guid.map_or([0; 16], |gid| gid.0)
}

/// A port's, an alias, nobody's, a group's.
fn gid(pair: &Pair, rng: &mut Rng) -> [u8; 16] {
    let ends = pair.parts().subnet.end_ports();
    let own = ends[rng.below(ends.len())].guid;
    let strange = rng.pick(&[1, 0xa000, 0xa001]);
    let other = Guid::new(strange).unwrap_or(own);
    let guid = if rng.one_in(12) { other } else { own };
    let prefix = match rng.one_in(12) {
        true => SubnetPrefix(7),
        false => SubnetPrefix::LINK_LOCAL,
    };
    match rng.one_in(20) {
        true => [0xff; 16],
        false => Gid::unicast(prefix, guid).0,
    }
}

const PKEYS: [u16; 9] = [
    0xffff, 0xffff, 0x7fff, 0x8001, 0x0001, 0x8123, 0x0000, 0x8000, 0x2001,
];
