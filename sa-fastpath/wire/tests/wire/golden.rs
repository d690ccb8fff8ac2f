//! Requests as they were sent to OpenSM 3.3.23 on a simulated fabric, and what they said.

use sa_wire::mad::DecodeError;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord, MultiPathRequest};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::{Gid, Guid, SubnetPrefix};
use zerocopy::FromBytes;

use crate::layout::Field;
use crate::layouts::{decode_multi_path, decode_path};
use crate::tables;

struct Recorded {
    id: &'static str,
    /// Component mask as sent.
    mask: u64,
    /// Attribute bytes as sent, in hex.
    bytes: &'static str,
    /// Named as in the layout's table; all others are zero.
    fields: &'static [(&'static str, u128)],
    /// Of the GIDs behind the fixed part, sources first.
    guids: &'static [u64],
}

#[test]
fn path_requests_decode() {
    for case in PATH_REQUESTS {
        let record = PathRecord::read_from_bytes(&unhex(case.bytes)).unwrap();
        case.compare(&tables::PATH_RECORD, &decode_path(&record));
        let components = case.fields.iter().map(|(name, _)| path_component(name));
        let mask = components.fold(PathCompMask::default(), PathCompMask::union);
        assert_eq!(mask, PathCompMask(case.mask), "{}", case.id);
    }
}

#[test]
fn multi_path_requests_decode() {
    for case in MULTI_PATH_REQUESTS {
        let bytes = unhex(case.bytes);
        let mask = MultiPathCompMask(case.mask);
        let request = MultiPathRequest::parse(&bytes).unwrap();
        case.compare(
            &tables::MULTI_PATH_RECORD,
            &decode_multi_path(request.record),
        );
        let lists = request.gids(mask).unwrap();
        let gids: Vec<Gid> = case.guids.iter().map(|guid| local_gid(*guid)).collect();
        let found = lists.sgids.iter().chain(lists.dgids).copied().map(Gid);
        assert!(found.eq(gids.iter().copied()), "{}", case.id);
        let components = case
            .fields
            .iter()
            .map(|(name, _)| multi_path_component(name));
        assert_eq!(
            components.fold(MultiPathCompMask::default(), MultiPathCompMask::union),
            mask
        );
        let (sgids, dgids) = gids.split_at(lists.sgids.len());
        assert_eq!(written(request.record, sgids, dgids), bytes, "{}", case.id);
    }
}

/// Recorded as full-policy-basic/0/m_nocount; OpenSM answered 0x0600.
#[test]
fn counts_outside_the_mask_are_refused() {
    let bytes = unhex(concat!(
        "000000000003000000000000000000010100000000000000",
        "fe800000000000000000000000100011",
        "fe800000000000000000000000100031",
    ));
    let request = MultiPathRequest::parse(&bytes).unwrap();
    let refused = request.gids(MultiPathCompMask(0x40));
    assert_eq!(refused, Err(DecodeError::CountsNotInMask));
}

impl Recorded {
    fn compare(&self, table: &[Field], decoded: &[u128]) {
        for (name, _) in self.fields {
            assert!(table.iter().any(|field| field.name == *name), "{name}");
        }
        for (field, value) in table.iter().zip(decoded) {
            let told = self.fields.iter().find(|(name, _)| *name == field.name);
            let expected = told.map_or(0, |(_, value)| *value);
            assert_eq!(*value, expected, "{} in {}", field.name, self.id);
        }
    }
}

fn written(record: &MultiPathRecord, sgids: &[Gid], dgids: &[Gid]) -> Vec<u8> {
    let mut out = [0; 200];
    let length = sa_wire::multipath_record::encode(record, sgids, dgids, &mut out).unwrap();
    out[..length].to_vec()
}

fn local_gid(guid: u64) -> Gid {
    Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(guid).unwrap())
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn path_component(name: &str) -> PathCompMask {
    match name {
        "ServiceID" => PathCompMask::SERVICE_ID,
        "DGID" => PathCompMask::DGID,
        "SGID" => PathCompMask::SGID,
        "DLID" => PathCompMask::DLID,
        "SLID" => PathCompMask::SLID,
        "TClass" => PathCompMask::TCLASS,
        "Reversible" => PathCompMask::REVERSIBLE,
        "NumbPath" => PathCompMask::NUMB_PATH,
        "P_Key" => PathCompMask::PKEY,
        "QoSClass" => PathCompMask::QOS_CLASS,
        "SL" => PathCompMask::SL,
        "MTUSelector" => PathCompMask::MTU_SELECTOR,
        "MTU" => PathCompMask::MTU,
        "RateSelector" => PathCompMask::RATE_SELECTOR,
        "Rate" => PathCompMask::RATE,
        "PacketLifeTimeSelector" => PathCompMask::PACKET_LIFE_SELECTOR,
        "PacketLifeTime" => PathCompMask::PACKET_LIFE,
        other => panic!("{other} has no mask bit in the recorded requests"),
    }
}

fn multi_path_component(name: &str) -> MultiPathCompMask {
    match name {
        "ServiceID 63..56" => MultiPathCompMask::SERVICE_ID_MSB,
        "ServiceID 55..0" => MultiPathCompMask::SERVICE_ID_LSB,
        "SGIDCount" => MultiPathCompMask::SGID_COUNT,
        "DGIDCount" => MultiPathCompMask::DGID_COUNT,
        "TClass" => MultiPathCompMask::TCLASS,
        "Reversible" => MultiPathCompMask::REVERSIBLE,
        "NumbPath" => MultiPathCompMask::NUMB_PATH,
        "P_Key" => MultiPathCompMask::PKEY,
        "QoSClass" => MultiPathCompMask::QOS_CLASS,
        "SL" => MultiPathCompMask::SL,
        "MTUSelector" => MultiPathCompMask::MTU_SELECTOR,
        "MTU" => MultiPathCompMask::MTU,
        "RateSelector" => MultiPathCompMask::RATE_SELECTOR,
        "Rate" => MultiPathCompMask::RATE,
        "PacketLifeTimeSelector" => MultiPathCompMask::PACKET_LIFE_SELECTOR,
        "PacketLifeTime" => MultiPathCompMask::PACKET_LIFE,
        other => panic!("{other} has no mask bit in the recorded requests"),
    }
}

const PATH_REQUESTS: &[Recorded] = &[
    Recorded {
        id: "full-policy-basic/0/class7",
        mask: 0x400c,
        bytes: "0000000000000000fe800000000000000000000000100031fe800000000000000000000000100011000000000000000000000000007000000000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100031),
            ("QoSClass", 7),
        ],
        guids: &[],
    },
    Recorded {
        id: "full-policy-basic/0/pkey_part1",
        mask: 0x200c,
        bytes: "0000000000000000fe800000000000000000000000100031fe800000000000000000000000100011000000000000000000008123000000000000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100031),
            ("P_Key", 0x8123),
        ],
        guids: &[],
    },
    Recorded {
        id: "full-policy-basic/0/tclass7",
        mask: 0x40c,
        bytes: "0000000000000000fe800000000000000000000000100031fe800000000000000000000000100011000000000000000007000000000000000000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100031),
            ("TClass", 7),
        ],
        guids: &[],
    },
    Recorded {
        id: "full-policy-basic/0/sid22_st",
        mask: 0xf,
        bytes: "0000000000000016fe800000000000000000000000100051fe800000000000000000000000100011000000000000000000000000000000000000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100051),
            ("ServiceID", 22),
        ],
        guids: &[],
    },
    Recorded {
        id: "lid-endpoints/0/slid_storage",
        mask: 0x30,
        bytes: "00000000000000000000000000000000000000000000000000000000000000000000000000000000000100080000000000000000000000000000000000000000",
        fields: &[("SLID", 8), ("DLID", 1)],
        guids: &[],
    },
    Recorded {
        id: "lid-endpoints/0/dlid_only_tab",
        mask: 0x1013,
        bytes: "00000000000000160000000000000000000000000000000000000000000000000000000000000000000800000000000000010000000000000000000000000000",
        fields: &[("DLID", 8), ("NumbPath", 1), ("ServiceID", 22)],
        guids: &[],
    },
    Recorded {
        id: "limits-and-selectors/0/rate_gt_no",
        mask: 0xc400c,
        bytes: "0000000000000000fe800000000000000000000000100031fe800000000000000000000000100011000000000000000000000000002000030000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100031),
            ("QoSClass", 2),
            ("RateSelector", 0),
            ("Rate", 3),
        ],
        guids: &[],
    },
    Recorded {
        id: "limits-and-selectors/0/pl_gt_ok",
        mask: 0x30400c,
        bytes: "0000000000000000fe800000000000000000000000100031fe800000000000000000000000100011000000000000000000000000001000000b00000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100011),
            ("DGID", 0xfe800000000000000000000000100031),
            ("QoSClass", 1),
            ("PacketLifeTimeSelector", 0),
            ("PacketLifeTime", 11),
        ],
        guids: &[],
    },
    Recorded {
        id: "random-00/0/q18",
        mask: 0x5c0c,
        bytes: "0000000000000000fe800000000000000000000000100041fe8000000000000000000000001000310000000000000000eb810000002000000000000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100031),
            ("DGID", 0xfe800000000000000000000000100041),
            ("QoSClass", 2),
            ("TClass", 235),
            ("Reversible", 1),
            ("NumbPath", 1),
        ],
        guids: &[],
    },
    Recorded {
        id: "random-31/0/q0",
        mask: 0x3f600f,
        bytes: "0000000001070000fe800000000000000000000000100041fe80000000000000000000000010002100000000000000000000ffff0640428c0b00000000000000",
        fields: &[
            ("SGID", 0xfe800000000000000000000000100021),
            ("DGID", 0xfe800000000000000000000000100041),
            ("ServiceID", 0x1070000),
            ("QoSClass", 100),
            ("P_Key", 0xffff),
            ("MTUSelector", 1),
            ("MTU", 2),
            ("RateSelector", 2),
            ("Rate", 12),
            ("PacketLifeTimeSelector", 0),
            ("PacketLifeTime", 11),
        ],
        guids: &[],
    },
];

const MULTI_PATH_REQUESTS: &[Recorded] = &[
    Recorded {
        id: "full-policy-basic/0/m_class10",
        mask: 0x180140,
        bytes: "000000000003000000a00000000000010100000000000000fe800000000000000000000000100011fe800000000000000000000000100031",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 3),
            ("QoSClass", 10),
        ],
        guids: &[0x100011, 0x100031],
    },
    Recorded {
        id: "full-policy-basic/0/m_sid_hi",
        mask: 0x390040,
        bytes: "000000000003000000000000000100010100000001060cbcfe800000000000000000000000100011fe800000000000000000000000100021",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 3),
            ("ServiceID 63..56", 1),
            ("ServiceID 55..0", 0x1060cbc),
        ],
        guids: &[0x100011, 0x100021],
    },
    Recorded {
        id: "full-policy-basic/0/m_sl",
        mask: 0x180240,
        bytes: "000000000003000000030000000000010100000000000000fe800000000000000000000000100011fe800000000000000000000000100031",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 3),
            ("SL", 3),
        ],
        guids: &[0x100011, 0x100031],
    },
    Recorded {
        id: "full-policy-basic/0/m_multi_src",
        mask: 0x180040,
        bytes: "000000000003000000000000000000020100000000000000fe800000000000000000000000100011fe800000000000000000000000100051fe800000000000000000000000100031",
        fields: &[("SGIDCount", 2), ("DGIDCount", 1), ("NumbPath", 3)],
        guids: &[0x100011, 0x100051, 0x100031],
    },
    Recorded {
        id: "random-01/0/m15",
        mask: 0x393150,
        bytes: "000000005b01000000800046000000010100000000000002fe800000000000000000000000100051fe800000000000000000000000100041",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 1),
            ("ServiceID 63..56", 0),
            ("ServiceID 55..0", 0x2),
            ("QoSClass", 8),
            ("RateSelector", 1),
            ("Rate", 6),
            ("TClass", 91),
        ],
        guids: &[0x100051, 0x100041],
    },
    Recorded {
        id: "random-00/0/m7",
        mask: 0x18c0c0,
        bytes: "0000000000010123000000008f0000010100000000000000fe800000000000000000000000200010fe800000000000000000000000100031",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 1),
            ("P_Key", 0x0123),
            ("PacketLifeTimeSelector", 2),
            ("PacketLifeTime", 15),
        ],
        guids: &[0x200010, 0x100031],
    },
    Recorded {
        id: "random-00/0/m3",
        mask: 0x180060,
        bytes: "000000000081000000000000000000010100000000000000fe800000000000000000000000200010fe800000000000000000000000200010",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 1),
            ("Reversible", 1),
        ],
        guids: &[0x200010, 0x200010],
    },
    Recorded {
        id: "random-00/0/m35",
        mask: 0x180c40,
        bytes: "00000000000100000000c400000000010100000000000000fe800000000000000000000000100011fe800000000000000000000000100041",
        fields: &[
            ("SGIDCount", 1),
            ("DGIDCount", 1),
            ("NumbPath", 1),
            ("MTUSelector", 3),
            ("MTU", 4),
        ],
        guids: &[0x100011, 0x100041],
    },
];
