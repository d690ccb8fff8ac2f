//! OpenSM's dump files and ibsim's net files, as far as the tests need them.

use std::collections::BTreeMap;

use routing::{EndPortIx, SwitchIx, Topology};
use sa_wire::SlToVl;

use super::build::FabricBuilder;

/// opensm-subnet.lst.
pub(crate) fn read_subnet_list(text: &str, fabric: &mut FabricBuilder) {
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let mut sides = line.split("} {");
        let near = node(sides.next().unwrap(), fabric);
        let far = node(sides.next().unwrap(), fabric);
        fabric.cable(near, far);
    }
}

fn node(text: &str, fabric: &mut FabricBuilder) -> (u64, u8) {
    let field = |name: &str| {
        let from = text
            .find(name)
            .unwrap_or_else(|| panic!("{name} in {text}"))
            + name.len();
        text[from..].split([' ', '}']).next().unwrap()
    };
    let hex = |name: &str| u64::from_str_radix(field(name), 16).unwrap();
    let guid = hex("NodeGUID:");
    let port = u8::try_from(hex("PN:")).unwrap();
    let open = text.rfind('{').unwrap();
    let description = text[open + 1..].split('}').next().unwrap();
    let kind = text
        .trim_start_matches(['{', ' '])
        .split(' ')
        .next()
        .unwrap();
    if kind.starts_with("SW") {
        fabric.switch(guid, u8::try_from(hex("Ports:")).unwrap(), description);
    } else {
        fabric.host(guid, port, hex("PortGUID:"), description);
    }
    fabric
        .lids
        .insert(hex("PortGUID:"), u16::try_from(hex("LID:")).unwrap());
    (guid, port)
}

/// An ibsim net file.
pub(crate) fn read_net(text: &str, fabric: &mut FabricBuilder) {
    let mut guids: BTreeMap<String, u64> = BTreeMap::new();
    let mut cables = Vec::new();
    let mut guid = 0;
    let mut here = String::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(number) = line.split_once("guid=0x").map(|(_, number)| number) {
            guid = u64::from_str_radix(number, 16).unwrap();
        } else if line.starts_with("Switch") || line.starts_with("Hca") {
            let mut words = line.split_whitespace();
            let is_switch = words.next() == Some("Switch");
            let ports = words.next().unwrap().parse().unwrap();
            here = words.next().unwrap().trim_matches('"').to_owned();
            guids.insert(here.clone(), guid);
            if is_switch {
                fabric.switch(guid, ports, &here);
            } else {
                fabric.host(guid, 1, guid + 1, &here);
            }
        } else if line.starts_with('[') {
            let parts: Vec<_> = line.split(['[', ']', '"']).map(str::trim).collect();
            let port: u8 = parts[1].parse().unwrap();
            cables.push((
                here.clone(),
                port,
                parts[3].to_owned(),
                parts[5].parse::<u8>().unwrap(),
            ));
        }
    }
    for (near, port, far, far_port) in cables {
        fabric.cable((guids[&near], port), (guids[&far], far_port));
    }
}

/// opensm-lfts.dump: by switch index, a table by LID, 0xff where there is no entry.
pub(crate) fn read_lfts(text: &str, topology: &Topology) -> Vec<Vec<u8>> {
    let by_guid = switches_by_guid(topology);
    let mut tables = vec![vec![0xff; usize::from(topology.max_lid()) + 1]; topology.switches.len()];
    let mut switch = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(" guid 0x") {
            let guid = rest.split(' ').next().unwrap();
            switch = Some(by_guid[&u64::from_str_radix(guid, 16).unwrap()]);
        } else if let Some(rest) = line.strip_prefix("0x") {
            let mut words = rest.split(' ');
            let lid = usize::from_str_radix(words.next().unwrap(), 16).unwrap();
            tables[switch.unwrap().index()][lid] = words.next().unwrap().parse().unwrap();
        }
    }
    tables
}

/// Tables of opensm-sl2vl.dump.
#[derive(Default)]
pub(crate) struct Sl2VlDump {
    pub(crate) switches: Vec<(SwitchIx, u8, u8, SlToVl)>,
    pub(crate) end_ports: Vec<(EndPortIx, SlToVl)>,
}

/// opensm-sl2vl.dump.
pub(crate) fn read_sl2vl(text: &str, topology: &Topology) -> Sl2VlDump {
    let by_guid = switches_by_guid(topology);
    let ends: BTreeMap<u64, EndPortIx> = topology
        .end_port_ixs()
        .map(|ix| (topology.end_port(ix).guid.get(), ix))
        .collect();
    let mut dump = Sl2VlDump::default();
    let (mut guid, mut is_switch) = (0, false);
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        if let Some((kind, rest)) = line.split_once(" 0x") {
            guid = u64::from_str_radix(rest.split(',').next().unwrap(), 16).unwrap();
            is_switch = kind == "Switch";
            continue;
        }
        let (ports, vls) = line.split_once(':').unwrap();
        let mut ports = ports
            .split_whitespace()
            .map(|port| port.parse::<u8>().unwrap());
        let (input, output) = (ports.next().unwrap(), ports.next().unwrap());
        let vls: Vec<u8> = vls
            .split_whitespace()
            .map(|vl| vl.parse().unwrap())
            .collect();
        let table = SlToVl(vls.try_into().unwrap());
        if is_switch {
            dump.switches.push((by_guid[&guid], input, output, table));
        } else {
            dump.end_ports.push((ends[&guid], table));
        }
    }
    dump
}

/// psl: source node GUID, DLID, SL; no SL where the SA refused.
pub(crate) fn read_psl(text: &str) -> Vec<(u64, u16, Option<u8>)> {
    let row = |line: &str| {
        let mut words = line.split(' ');
        let guid = u64::from_str_radix(words.next().unwrap().trim_start_matches("0x"), 16).unwrap();
        let lid = words.next().unwrap().parse().unwrap();
        (guid, lid, words.next().unwrap().parse().ok())
    };
    text.lines().map(row).collect()
}

/// opensm.mcfdbs: (switch GUID, MLID) to ports.
pub(crate) fn read_mcfdbs(text: &str) -> BTreeMap<(u64, u16), Vec<u8>> {
    let mut tables = BTreeMap::new();
    let mut guid = 0;
    for line in text.lines() {
        if let Some(hex) = line.strip_prefix("Switch 0x") {
            guid = u64::from_str_radix(hex.trim(), 16).unwrap();
        } else if let Some((mlid, ports)) = line.strip_prefix("0x").and_then(|l| l.split_once(':'))
        {
            let mlid = u16::from_str_radix(mlid.trim(), 16).unwrap();
            let port = |text: &str| u8::from_str_radix(&text[2..], 16).unwrap();
            tables.insert((guid, mlid), ports.split_whitespace().map(port).collect());
        }
    }
    tables
}

/// mcgroups.txt: MLID, SL, members' port GUIDs.
pub(crate) fn read_groups(text: &str) -> Vec<(u16, u8, Vec<u64>)> {
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let mlid = u16::try_from(hex(words.next().unwrap())).unwrap();
        let sl = words
            .nth(1)
            .unwrap()
            .trim_start_matches("sl=")
            .parse()
            .unwrap();
        (mlid, sl, words.map(hex).collect())
    };
    text.lines()
        .filter(|line| !line.is_empty())
        .map(row)
        .collect()
}

fn switches_by_guid(topology: &Topology) -> BTreeMap<u64, SwitchIx> {
    topology
        .switch_ixs()
        .map(|ix| (topology.switch(ix).guid.get(), ix))
        .collect()
}
