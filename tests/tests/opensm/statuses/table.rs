//! Which status for which request, and which requests get none: the tables of OpenSM's behaviour,
//! row by row, as far as they are about what this program serves.
//!
//! Elsewhere: silence before the first snapshot (`daemon::start`), and "no resources" for a table that
//! is too large (`agree`).

use sa_wire::mad::method::{DELETE, GET, GET_MULTI, GET_TABLE, GET_TRACE_TABLE, SET};
use sa_wire::sa::AttributeId;

use super::draft::{Draft, OF_MULTI, OF_PATH};
use super::site::{H1, H2, H3, H4, Lids, gid, with_prefix};

/// What a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Silence,
    Status(u16),
    /// A table without records, which is a success.
    Empty,
    /// A success with at least one record.
    Records,
}

/// What OpenSM says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Theirs {
    /// The same, byte for byte.
    Same,
    /// Something else, by a row of `docs/deviations.md`.
    Instead(Said, u8),
    /// It cannot be asked over the simulator, and why.
    Hidden(&'static str),
}

pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) draft: Draft,
    /// GUID of the port that asks.
    pub(crate) from: u64,
    pub(crate) ours: Said,
    pub(crate) theirs: Theirs,
}

const INVALID: Said = Said::Status(0x0200);
const NO_RECORDS: Said = Said::Status(0x0300);
const TOO_MANY: Said = Said::Status(0x0400);
const INVALID_GID: Said = Said::Status(0x0500);
const INSUFFICIENT: Said = Said::Status(0x0600);
const UNSUPPORTED: Said = Said::Status(0x000c);
const BAD_VERSION: Said = Said::Status(0x0004);

/// Attributes of records that this program serves, without PathRecord and MultiPathRecord.
const RECORDS: [AttributeId; 11] = [
    AttributeId::NODE_RECORD,
    AttributeId::PORT_INFO_RECORD,
    AttributeId::SL_TO_VL_RECORD,
    AttributeId::SWITCH_INFO_RECORD,
    AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
    AttributeId::MULTICAST_FORWARDING_TABLE_RECORD,
    AttributeId::SM_INFO_RECORD,
    AttributeId::LINK_RECORD,
    AttributeId::PKEY_TABLE_RECORD,
    AttributeId::VL_ARBITRATION_RECORD,
    AttributeId::GUID_INFO_RECORD,
];

const OWN_LID: &str = "a client of the simulator has the LID of its port";

#[derive(Default)]
struct Table {
    cases: Vec<Case>,
}

pub(crate) fn all(lids: &Lids) -> Vec<Case> {
    let mut table = Table::default();
    table.nothing_found(lids);
    table.impossible_values();
    table.halves();
    table.ends_that_are_nobodys(lids);
    table.paths_that_are_not(lids);
    table.multi_paths();
    table.records(lids);
    table.methods();
    table.unknown_attributes();
    table.drops();
    table.cases
}

/// Between two hosts that may see each other.
fn good(asked: u8) -> Draft {
    Draft::path(asked).sgid(gid(H2)).dgid(gid(H4))
}

fn good_multi() -> Draft {
    Draft::multi(GET_MULTI, &[gid(H2)], &[gid(H4)])
}

impl Table {
    fn add(&mut self, what: impl Into<String>, draft: Draft, ours: Said) -> &mut Case {
        let case = Case {
            what: what.into(),
            draft,
            from: H2,
            ours,
            theirs: Theirs::Same,
        };
        self.cases.push(case);
        let last = self.cases.len() - 1;
        &mut self.cases[last]
    }

    /// A Get that finds nothing is refused, a table is empty.
    fn finds_nothing(&mut self, what: &str, draft: impl Fn(u8) -> Draft) {
        self.add(format!("Get: {what}"), draft(GET), NO_RECORDS);
        self.add(format!("GetTable: {what}"), draft(GET_TABLE), Said::Empty);
    }

    fn nothing_found(&mut self, lids: &Lids) {
        self.add("Get, a path", good(GET), Said::Records);
        self.add("GetTable, a path", good(GET_TABLE), Said::Records);
        self.add("GetMulti, a path", good_multi(), Said::Records);
        self.add(
            "GetMulti, no paths",
            good_multi().says(&[6], 5, &[0]),
            Said::Empty,
        );
        self.add("Get of any path", Draft::path(GET), Said::Records);
        self.finds_nothing("NodeRecord of a LID that nobody has", |asked| {
            Draft::new(AttributeId::NODE_RECORD, asked).says(&[0], 0, &lids.unused().to_be_bytes())
        });
        let nodes = Draft::new(AttributeId::NODE_RECORD, GET);
        self.add("Get with several matches", nodes, TOO_MANY);
    }

    fn impossible_values(&mut self) {
        for (name, places, draft) in both() {
            for selector in 0..4_u8 {
                for value in [0, 1, 23, 24, 63] {
                    let what = format!("{name}: rate {value}, selector {selector}");
                    let (bits, at) = places.rate;
                    let draft = draft.clone().says(&bits, at, &[selector << 6 | value]);
                    self.add(what, draft, INVALID);
                }
                for value in [0, 6, 63] {
                    let what = format!("{name}: MTU {value}, selector {selector}");
                    let (bits, at) = places.mtu;
                    let draft = draft.clone().says(&bits, at, &[selector << 6 | value]);
                    self.add(what, draft, INVALID);
                }
            }
            for (selector, value) in [(1, 63), (3, 0), (3, 63), (0, 0)] {
                let what = format!("{name}: life time {value}, selector {selector}");
                let (bits, at) = places.life;
                let draft = draft.clone().says(&bits, at, &[selector << 6 | value]);
                self.add(what, draft, Said::Records);
            }
            let pairs = [("MTU", places.mtu), ("rate", places.rate)];
            for (part, (bits, at)) in pairs {
                for bit in bits {
                    let what = format!("{name}: half of a {part}, bit {bit}");
                    let draft = draft.clone().says(&[bit], at, &[0xff]);
                    self.add(what, draft, Said::Records);
                }
            }
        }
    }

    fn halves(&mut self) {
        for (name, places, draft) in both() {
            for bit in places.service_id {
                let what = format!("{name}: half of a service id, bit {bit}");
                let draft = draft.clone().says(&[bit], 0, &[]);
                self.add(what, draft, INSUFFICIENT);
            }
        }
        // Rate and MTU come first.
        let (bits, at) = OF_PATH.rate;
        let draft = good(GET).says(&bits, at, &[0x80]).says(&[0], 0, &[]);
        self.add("an impossible rate and half a service id", draft, INVALID);
    }

    fn ends_that_are_nobodys(&mut self, lids: &Lids) {
        const ELSEWHERE: u64 = 0xfec0 << 48;
        let gids = [
            ("unknown", gid(0x99_9999)),
            ("foreign", with_prefix(ELSEWHERE, H4)),
            ("of a CA, not of its port", gid(0x10_0030)),
            ("zero", [0; 16]),
        ];
        for (name, other) in gids {
            self.finds_nothing(&format!("SGID {name}"), |asked| {
                Draft::path(asked).sgid(other).dgid(gid(H4))
            });
            self.finds_nothing(&format!("DGID {name}"), |asked| {
                Draft::path(asked).sgid(gid(H2)).dgid(other)
            });
        }
        for lid in [0, lids.unused(), 0xbfff, 0xc000, 0xffff] {
            let (h2, h4) = (lids.of(H2), lids.of(H4));
            self.finds_nothing(&format!("SLID {lid}"), |asked| {
                Draft::path(asked).slid(lid).dlid(h4)
            });
            self.finds_nothing(&format!("DLID {lid}"), |asked| {
                Draft::path(asked).slid(h2).dlid(lid)
            });
        }
        self.finds_nothing("a group that is not", |asked| {
            Draft::path(asked).dgid(with_prefix(0xff12 << 48, 1))
        });
        for asked in [GET, GET_TABLE] {
            let far = good(asked).dgid(with_prefix(0xfec0_0000_0000_0007, 1));
            let what = format!("a way to another subnet, method {asked:#x}");
            self.add(what, far.clone(), Said::Records);
            let what = format!("another subnet by a DLID not its router's, method {asked:#x}");
            self.add(what, far.dlid(lids.of(H4)), INVALID);
            let what = format!("SGID and SLID of two ports, method {asked:#x}");
            self.add(what, good(asked).slid(lids.of(H3)), INVALID);
            let what = format!("DGID and DLID of two ports, method {asked:#x}");
            self.add(what, good(asked).dlid(lids.of(H3)), INVALID);
        }
    }

    fn paths_that_are_not(&mut self, lids: &Lids) {
        self.finds_nothing("no P_Key in common", |asked| {
            Draft::path(asked).sgid(gid(H1)).dgid(gid(H3))
        });
        self.finds_nothing("a P_Key that one end does not have", |asked| {
            Draft::path(asked).sgid(gid(H2)).dgid(gid(H3)).pkey(0x8001)
        });
        for key in [0, 0x8000, 0x1234] {
            self.finds_nothing(&format!("P_Key {key:#06x}"), |asked| good(asked).pkey(key));
        }
        self.finds_nothing("an SL without a VL", |asked| good(asked).sl(7));
        let (mtu, rate, life) = (OF_PATH.mtu, OF_PATH.rate, OF_PATH.life);
        let unsatisfied = [
            ("an MTU that is too large", mtu, 0x85),
            ("an MTU below the least", mtu, 0x41),
            ("a rate that is not the path's", rate, 0x82),
            ("a rate above all", rate, 0x16),
            ("a rate below the least", rate, 0x42),
            ("a life time above all", life, 0x3f),
            ("a life time below the least", life, 0x41),
        ];
        for (name, (bits, at), value) in unsatisfied {
            self.finds_nothing(name, |asked| good(asked).says(&bits, at, &[value]));
        }
        let none = good(GET_TABLE).says(&[12], 49, &[0]);
        self.add("GetTable, no path wanted", none, Said::Empty);
        let none = good(GET).says(&[12], 49, &[0]);
        self.add("Get, no path wanted", none, Said::Records);
        self.finds_nothing("a requester who may not see one end", |asked| {
            Draft::path(asked).slid(lids.of(H1)).dlid(lids.of(H2))
        });
        for case in self.cases.iter_mut().rev().take(2) {
            case.from = H3;
        }
    }

    fn multi_paths(&mut self) {
        let gids = [
            ("unknown", gid(0x99_9999)),
            ("foreign", with_prefix(0xfec0 << 48, H4)),
            ("with a route", with_prefix(0xfec0_0000_0000_0007, 1)),
            ("multicast", with_prefix(0xff12_401b_ffff_0000, 0xffff_ffff)),
            ("zero", [0; 16]),
        ];
        for (name, other) in gids {
            let draft = Draft::multi(GET_MULTI, &[gid(H2), other], &[gid(H4)]);
            self.add(format!("an SGID {name}"), draft, INVALID_GID);
            let draft = Draft::multi(GET_MULTI, &[gid(H2)], &[gid(H4), other]);
            self.add(format!("a DGID {name}"), draft, INVALID_GID);
        }
        for bits in [&[19][..], &[20], &[19, 20]] {
            let what = format!("counts not in the mask: {bits:?}");
            self.add(what, good_multi().without(bits), INSUFFICIENT);
        }
        let none =
            |sources: &[_], destinations: &[_]| Draft::multi(GET_MULTI, sources, destinations);
        self.add("no sources", none(&[], &[gid(H4)]), INVALID);
        self.add("no destinations", none(&[gid(H2)], &[]), INVALID);
        self.add("neither", none(&[], &[]), INVALID);
        let many = good_multi().says(&[], 16, &[11]);
        self.add("more destinations than there are", many, INVALID_GID);
        self.add("GetMulti without RMPP", good_multi().inactive(), INVALID);
        for asked in [GET, GET_TABLE] {
            let draft = Draft::multi(asked, &[gid(H2)], &[gid(H4)]);
            let what = format!("method {asked:#x} of MultiPathRecord");
            self.add(format!("{what}, without RMPP"), draft.clone(), INVALID);
            self.add(format!("{what}, with RMPP"), draft.active(), UNSUPPORTED);
        }
    }

    fn records(&mut self, lids: &Lids) {
        for asked in [GET, GET_TABLE] {
            let key = Draft::new(AttributeId::PKEY_TABLE_RECORD, asked);
            let what = format!("P_Keys without the SA's key, method {asked:#x}");
            self.add(what, key.clone(), INVALID);
            let lid = lids.of(H2).to_be_bytes();
            let key = key.key(1).says(&[0], 0, &lid);
            let what = format!("P_Keys with the SA's key, method {asked:#x}");
            let one = key.clone().says(&[1], 2, &[0, 0]);
            self.add(what, one, Said::Records);
        }
        let key = Draft::new(AttributeId::PKEY_TABLE_RECORD, GET).key(1);
        self.add("Get of several blocks of P_Keys", key, TOO_MANY);
        let draft = Draft::new(AttributeId::CLASS_PORT_INFO, GET);
        self.add("ClassPortInfo", draft, Said::Records);
        for asked in [GET_TABLE, GET_MULTI] {
            let draft = Draft::new(AttributeId::CLASS_PORT_INFO, asked);
            self.add(format!("ClassPortInfo, method {asked:#x}"), draft, INVALID);
        }
    }

    fn methods(&mut self) {
        let paths = [AttributeId::PATH_RECORD, AttributeId::CLASS_PORT_INFO];
        let served = RECORDS.iter().chain(&paths);
        let served = served.chain(&[AttributeId::MULTI_PATH_RECORD]);
        for attribute in served {
            // What others make of GUIDInfoRecord is not ours to say here.
            let is_writable = *attribute == AttributeId::GUID_INFO_RECORD;
            for asked in [SET, DELETE, GET_TRACE_TABLE] {
                if is_writable && asked != GET_TRACE_TABLE {
                    continue;
                }
                let what = format!("{attribute}, method {asked:#x}");
                let draft = Draft::new(*attribute, asked);
                self.add(what, draft, UNSUPPORTED).theirs = Theirs::Instead(Said::Silence, 2);
            }
            for asked in [0x03, 0x05, 0x06, 0x20] {
                let what = format!("{attribute}, method {asked:#x}");
                self.add(what, Draft::new(*attribute, asked), Said::Silence);
            }
        }
        for attribute in RECORDS.iter().chain(&[AttributeId::PATH_RECORD]) {
            let draft = Draft::new(*attribute, GET_MULTI);
            self.add(format!("{attribute}, GetMulti"), draft, UNSUPPORTED);
        }
    }

    fn unknown_attributes(&mut self) {
        for number in [
            0x0000, 0x0010, 0x0016, 0x0032, 0x0039, 0x003b, 0x0135, 0xffff,
        ] {
            for asked in [GET, GET_TABLE, GET_MULTI, SET, DELETE, GET_TRACE_TABLE] {
                let draft = Draft::new(AttributeId::PATH_RECORD, asked);
                let draft = draft.header(16, &u16::to_be_bytes(number));
                let what = format!("attribute {number:#06x}, method {asked:#x}");
                self.add(what, draft, UNSUPPORTED).theirs = Theirs::Instead(Said::Silence, 2);
            }
        }
    }

    fn drops(&mut self) {
        let drafts = || {
            let records =
                RECORDS.map(|attribute| (format!("{attribute}"), Draft::new(attribute, GET_TABLE)));
            let others = [
                ("Get(PathRecord)".to_owned(), good(GET)),
                ("GetTable(PathRecord)".to_owned(), good(GET_TABLE)),
                ("MultiPathRecord".to_owned(), good_multi()),
            ];
            records.into_iter().chain(others)
        };
        let info = || {
            (
                "ClassPortInfo".to_owned(),
                Draft::new(AttributeId::CLASS_PORT_INFO, GET),
            )
        };
        for (name, draft) in drafts().chain([info()]) {
            for key in [7, u64::MAX] {
                let what = format!("{name} with the key {key:#x}");
                self.add(what, draft.clone().key(key), Said::Silence);
            }
            let what = format!("{name}, a response");
            let asked = draft.asked() | 0x80;
            self.add(what, draft.clone().header(3, &[asked]), Said::Silence)
                .theirs =
                Theirs::Hidden("the simulator sends responses to those whose transaction it is");
            let what = format!("{name} of another class");
            self.add(what, draft.clone().header(1, &[0x04]), Said::Silence)
                .theirs = Theirs::Hidden("that agent is another one");
            for (version, base) in [(3, 1), (2, 2), (2, 0)] {
                let what = format!("{name}, class version {version}, base version {base}");
                let draft = draft.clone().header(2, &[version]).header(0, &[base]);
                self.add(what, draft, BAD_VERSION).theirs =
                    Theirs::Hidden("the simulator discards it");
            }
        }
        let first = good(GET).header(2, &[1]);
        self.add("class version 1", first, BAD_VERSION).theirs = Theirs::Instead(Said::Records, 3);
        let nobody = |(name, draft): (String, Draft)| (format!("{name} from nobody"), draft);
        for (what, draft) in drafts().map(nobody) {
            // P_Keys are refused to who has no key before anyone asks who that is.
            let case = self.add(what, draft.key(1), Said::Silence);
            (case.from, case.theirs) = (0, Theirs::Hidden(OWN_LID));
        }
        let (what, draft) = nobody(info());
        let case = self.add(what, draft, Said::Records);
        (case.from, case.theirs) = (0, Theirs::Hidden(OWN_LID));
        for asked in [GET, GET_TABLE] {
            let draft = Draft::new(AttributeId::SM_INFO_RECORD, asked);
            let what = format!("SMInfoRecord from who may not see the SM, method {asked:#x}");
            self.add(what, draft, Said::Silence).from = H3;
        }
        let status = good(GET).header(4, &[0, 0x1c]);
        self.add("a request with a status", status, Said::Records)
            .theirs = Theirs::Instead(Said::Status(0x1c), 1);
    }
}

/// Good requests for both kinds of paths, to be spoilt.
fn both() -> [(&'static str, super::draft::Places, Draft); 3] {
    [
        ("Get(PathRecord)", OF_PATH, good(GET)),
        ("GetTable(PathRecord)", OF_PATH, good(GET_TABLE)),
        ("MultiPathRecord", OF_MULTI, good_multi()),
    ]
}
