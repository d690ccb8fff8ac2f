//! A recorded trace: `number ms cN Set ATTRIBUTE mod=0x.. dr=PATH node/port {changes} data=hex -> st=0x..`.

use std::time::Duration;

use fabric_simulator::Simulator;
use sa_fabric::PortRef;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use zerocopy::{FromBytes, IntoBytes};

/// One request and its answer, now.
pub(crate) fn ask(simulator: &mut Simulator, from: PortRef, smp: &Smp) -> Smp {
    let mut bytes = [0; 256];
    bytes.copy_from_slice(smp.as_bytes());
    simulator.post(from, 0, &bytes, Duration::ZERO);
    let (_, at, answer) = simulator.next(Duration::ZERO).unwrap();
    assert_eq!(at, from);
    let answer = Smp::read_from_bytes(&answer).unwrap();
    assert_eq!(answer.header.method, method::GET_RESP);
    answer
}

pub(crate) fn get(
    simulator: &mut Simulator,
    from: PortRef,
    path: &[u8],
    id: u16,
    modifier: u32,
) -> Smp {
    let mut smp = Smp::directed(method::GET, id, 1, path).unwrap();
    smp.header.attribute_modifier = modifier.into();
    ask(simulator, from, &smp)
}

/// All Sets of the first sweep, each with the status that was recorded. How many there were.
pub(crate) fn replay(simulator: &mut Simulator, sm: PortRef, trace: &str) -> usize {
    let is_set = |line: &&str| line.split(' ').nth(3) == Some("Set");
    let first = trace.lines().take_while(|line| !line.contains("SUBNET UP"));
    let sets: Vec<&str> = first.filter(is_set).collect();
    for line in &sets {
        set(simulator, sm, line);
    }
    sets.len()
}

fn set(simulator: &mut Simulator, sm: PortRef, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let id = id(words[4]);
    let modifier = number(words[5].strip_prefix("mod=").unwrap());
    let path = path(words[6].strip_prefix("dr=").unwrap());
    let found = get(simulator, sm, &path, id, modifier);
    let mut smp = Smp::directed(method::SET, id, 2, &path).unwrap();
    smp.header.attribute_modifier = modifier.into();
    smp.data = found.data;
    match line.split_once(" data=") {
        Some((_, hex)) => smp.data = bytes(hex.split(' ').next().unwrap()),
        None => change(&mut smp, line),
    }
    let answer = ask(simulator, sm, &smp);
    let status = line
        .rsplit_once("st=0x")
        .unwrap()
        .1
        .split(' ')
        .next()
        .unwrap();
    let status = u16::from_str_radix(status, 16).unwrap();
    assert_eq!(answer.status().get(), status, "{line}");
}

/// `{field=old>new ..}`; a field that was not read before stands as `{field=new}`. Old values are
/// those of the device that was recorded, so they are compared.
fn change(smp: &mut Smp, line: &str) {
    // PortState and PortPhysicalState of a Set are 0 where nothing is said.
    if smp.header.attribute_id.get() == attribute::PORT_INFO {
        smp.data[32] &= 0xf0;
        smp.data[33] &= 0x0f;
    } else {
        // PortStateChange is written only where it is said.
        smp.data[11] &= !4;
    }
    let changes = line.split_once('{').map_or("", |(_, rest)| rest);
    let changes = changes.split('}').next().unwrap();
    for field in changes.split(' ').filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once('=').unwrap();
        let (old, new) = value
            .split_once('>')
            .map_or((None, value), |(old, new)| (Some(old), new));
        let place = place(smp.header.attribute_id.get(), name);
        if let Some(old) = old {
            assert_eq!(place.read(&smp.data), number(old), "{name}: {line}");
        }
        place.write(&mut smp.data, number(new));
    }
}

/// Bits of an attribute: the first bit, counted from the beginning, and how many.
struct Place(usize, usize);

impl Place {
    fn read(&self, data: &[u8; 64]) -> u64 {
        (self.0..self.0 + self.1).fold(0, |value, bit| {
            let byte = data[bit / 8];
            (value << 1) | u64::from((byte >> (7 - bit % 8)) & 1)
        })
    }

    fn write(&self, data: &mut [u8; 64], value: u64) {
        for (place, bit) in (self.0..self.0 + self.1).rev().enumerate() {
            let mask = 1 << (7 - bit % 8);
            data[bit / 8] &= !mask;
            if value >> place & 1 == 1 {
                data[bit / 8] |= mask;
            }
        }
    }
}

/// The recordings' names of fields.
fn place(id: u16, name: &str) -> Place {
    let (first, bits) = match (id, name) {
        (attribute::SWITCH_INFO, "lintop") => (48, 16),
        (attribute::SWITCH_INFO, "lifetime") => (88, 5),
        (attribute::SWITCH_INFO, "psc") => (93, 1),
        (attribute::SWITCH_INFO, "mfttop") => (144, 16),
        (_, "prefix") => (64, 64),
        (_, "lid") => (128, 16),
        (_, "smlid") => (144, 16),
        (_, "mklease") => (208, 16),
        (_, "wen") => (232, 8),
        (_, "state") => (260, 4),
        (_, "downdef") => (268, 4),
        (_, "lmc") => (277, 3),
        (_, "spden") => (284, 4),
        (_, "mtu") => (288, 4),
        (_, "smsl") => (292, 4),
        (_, "highlimit") => (304, 8),
        (_, "stall") => (336, 3),
        (_, "hoq") => (339, 5),
        (_, "opvls") => (344, 4),
        (_, "enf") => (348, 2),
        (_, "rereg") => (408, 1),
        (_, "subnto") => (411, 5),
        (_, "errs") => (424, 8),
        _ => panic!("no field {name}"),
    };
    Place(first, bits)
}

fn id(name: &str) -> u16 {
    match name {
        "SwitchInfo" => attribute::SWITCH_INFO,
        "PortInfo" => attribute::PORT_INFO,
        "P_KeyTable" => attribute::PKEY_TABLE,
        "SLtoVL" => attribute::SL_TO_VL,
        "VLArb" => attribute::VL_ARBITRATION,
        "LFT" => attribute::LINEAR_TABLE,
        "MFT" => attribute::MULTICAST_TABLE,
        _ => panic!("no attribute {name}"),
    }
}

fn number<T: From<u32> + TryFrom<u64>>(text: &str) -> T {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    T::try_from(value).ok().unwrap()
}

fn path(text: &str) -> Vec<u8> {
    let hops = text.split(',').filter(|hop| *hop != "-");
    hops.map(|hop| hop.parse().unwrap()).collect()
}

fn bytes(hex: &str) -> [u8; 64] {
    let mut data = [0; 64];
    for (byte, pair) in data.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).unwrap();
        *byte = u8::from_str_radix(pair, 16).unwrap();
    }
    data
}
