//! Recorded states of subnets that OpenSM brought up (`tests/golden/sm`), as models, for tests.
//!
//! A state is lines such as `port GUID/PORT guid=.. peer=.. lid=..`. What is no such line stops the test that reads it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the recordings are ours"
)]

use std::collections::BTreeMap;
use std::path::Path;

use sa_fabric::PortRef;
use sa_sm::model::{Node, Route, Subnet};
use sa_wire::Guid;
use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use zerocopy::FromZeros;

/// A file of a recording, packed or not.
pub fn read(case: &str, file: &str) -> String {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut roots = above.map(|above| above.join("tests/golden/sm"));
    let folder = roots.find(|root| root.is_dir()).unwrap().join(case);
    if let Ok(text) = std::fs::read_to_string(folder.join(file)) {
        return text;
    }
    let packed = std::fs::File::open(folder.join(format!("{file}.xz"))).unwrap();
    let mut text = String::new();
    let mut reader = lzma_rust2::XzReader::new(packed, false);
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    text
}

/// The nodes, ports and links of a state. The SM runs on the port whose LID is everybody's `smlid`.
pub fn subnet(state: &str) -> Subnet {
    let mut subnet = Subnet::default();
    for line in state.lines().filter(|line| line.starts_with("node ")) {
        subnet.add(node(&Line::new(line)));
    }
    for line in state.lines().filter(|line| line.starts_with("swinfo ")) {
        let line = Line::new(line);
        let at = subnet.by_guid(guid(line.subject)).unwrap();
        subnet.node_mut(at).unwrap().switch_info = Some(switch_info(&line));
    }
    let ports: Vec<Line<'_>> = state
        .lines()
        .filter(|line| line.starts_with("port "))
        .map(Line::new)
        .collect();
    for line in &ports {
        let at = place(&subnet, line.subject);
        let is_switch = subnet.node(at.node).unwrap().is_switch();
        let port = subnet.port_mut(at).unwrap();
        port.info = Some(port_info(line, at.port));
        if !is_switch || at.port == 0 {
            port.guid = Some(guid(line.text("guid")));
            port.route = Some(Route::default());
        }
    }
    for line in ports.iter().filter(|line| line.text("peer") != "-") {
        subnet.join(
            place(&subnet, line.subject),
            place(&subnet, line.text("peer")),
        );
    }
    let sm = ports.iter().find(|it| it.text("lid") == it.text("smlid"));
    subnet.set_sm(place(&subnet, sm.unwrap().subject));
    subnet
}

/// Subject of a line, and what is behind it.
pub fn fields(line: &str) -> (&str, &str) {
    let rest = line.split_once(' ').unwrap().1;
    rest.split_once(' ').unwrap()
}

/// `GUID/PORT`.
pub fn place(subnet: &Subnet, text: &str) -> PortRef {
    let (node, port) = text.split_once('/').unwrap();
    PortRef {
        node: subnet.by_guid(guid(node)).unwrap(),
        port: port.parse().unwrap(),
    }
}

/// In hex.
pub fn guid(text: &str) -> Guid {
    Guid::new(number(text)).unwrap()
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// A line: its subject and `key=value` words.
struct Line<'a> {
    subject: &'a str,
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        let mut words = line.split(' ').skip(1);
        let subject = words.next().unwrap();
        Self {
            subject,
            fields: words.filter_map(|word| word.split_once('=')).collect(),
        }
    }

    fn text(&self, key: &str) -> &'a str {
        self.fields[key]
    }

    /// The number, or that at a place of several with `/` between them.
    fn nth(&self, key: &str, place: usize) -> u64 {
        number(self.text(key).split('/').nth(place).unwrap())
    }

    fn byte(&self, key: &str, place: usize) -> u8 {
        self.nth(key, place).try_into().unwrap()
    }

    fn word(&self, key: &str) -> u16 {
        self.nth(key, 0).try_into().unwrap()
    }
}

fn node(line: &Line<'_>) -> Node {
    let mut record = NodeRecord::new_zeroed();
    record.node_type = match line.text("type") {
        "ca" => 1,
        "sw" => 2,
        _ => 3,
    };
    record.num_ports = line.byte("ports", 0);
    record.node_guid = number(line.subject).into();
    record.partition_cap = line.word("partcap").into();
    Node::new(record).unwrap()
}

fn switch_info(line: &Line<'_>) -> SwitchInfoRecord {
    let bit = |key, at: u8| line.byte(key, 0) << at;
    SwitchInfoRecord {
        linear_cap: line.word("lincap").into(),
        multicast_cap: line.word("mcastcap").into(),
        linear_top: line.word("lintop").into(),
        life_time_and_change: bit("lifetime", 3) | bit("psc", 2) | bit("optslvl", 0),
        enforcement_cap: line.word("enfcap").into(),
        flags: bit("esp0", 3),
        multicast_top: line.word("mfttop").into(),
        ..SwitchInfoRecord::default()
    }
}

fn port_info(line: &Line<'_>, number: u8) -> PortInfoRecord {
    let pair = |high: (&str, usize), low: (&str, usize)| {
        (line.byte(high.0, high.1) << 4) | line.byte(low.0, low.1)
    };
    let bits = |key: &str| u8::from_str_radix(line.text(key), 2).unwrap();
    PortInfoRecord {
        local_port_num: number,
        m_key: line.nth("mkey", 0).into(),
        gid_prefix: line.nth("prefix", 0).into(),
        base_lid: line.word("lid").into(),
        sm_lid: line.word("smlid").into(),
        capability_mask: u32::try_from(line.nth("capmask", 0)).unwrap().into(),
        m_key_lease_period: line.word("mklease").into(),
        link_width_enabled: line.byte("wid", 0),
        link_width_supported: line.byte("wid", 1),
        link_width_active: line.byte("wid", 2),
        speed_supported_and_state: pair(("spd", 1), ("state", 0)),
        physical_state_and_down_default: pair(("phys", 0), ("downdef", 0)),
        m_key_protect_and_lmc: (line.byte("mkprot", 0) << 6) | line.byte("lmc", 0),
        speed_active_and_enabled: pair(("spd", 2), ("spd", 0)),
        neighbor_mtu_and_sm_sl: pair(("mtu", 0), ("smsl", 0)),
        vl_cap_and_init_type: line.byte("vlcap", 0) << 4,
        vl_high_limit: line.byte("highlimit", 0),
        vl_arb_high_cap: line.byte("arbhi", 0),
        vl_arb_low_cap: line.byte("arblo", 0),
        init_type_reply_and_mtu_cap: pair(("initreply", 0), ("mtucap", 0)),
        vl_stall_and_hoq_life: (line.byte("stall", 0) << 5) | line.byte("hoq", 0),
        operational_vls_and_enforcement: (line.byte("opvls", 0) << 4)
            | (bits("enf") << 2)
            | bits("raw"),
        guid_cap: line.byte("guidcap", 0),
        subnet_timeout: line.byte("subnto", 0),
        response_time: line.byte("resp", 0),
        error_thresholds: pair(("errs", 0), ("errs", 1)),
        capability_mask2: line.word("capmask2").into(),
        ext_speed_active_and_supported: pair(("ext", 2), ("ext", 1)),
        ext_speed_enabled: line.byte("ext", 0),
        ..PortInfoRecord::default()
    }
}
