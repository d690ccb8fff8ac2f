//! Tables of a recorded state, and of a model, in one form: a line for each.

use std::collections::BTreeMap;

use sa_fabric::PortRef;
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Node, Subnet};
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use sm_recordings::{fields, guid, place};

/// Kind of line, and what it is about; then what is held.
pub(crate) type Tables = BTreeMap<(String, String), String>;

/// P_Key, SL2VL and VL arbitration tables as recorded. Ports without a link have none that an SM would write.
pub(crate) fn recorded(model: &Subnet, state: &str) -> Tables {
    let mut tables = Tables::new();
    for line in state.lines() {
        let kind = line.split(' ').next().unwrap();
        let (subject, rest) = fields(line);
        match kind {
            "pkey" => {
                let keys = rest.split(' ').filter(|key| !key.ends_with(":0000"));
                let keys: Vec<_> = keys.collect();
                tables.insert((kind.into(), subject.into()), keys.join(" "));
            }
            "vlarb" => {
                let (part, entries) = rest.split_once(' ').unwrap();
                tables.insert((kind.into(), format!("{subject} {part}")), entries.into());
            }
            "slvl" => slvl(model, &mut tables, subject, rest),
            "lft" => {
                let (first, digits) = rest.split_once(' ').unwrap();
                tables.insert((kind.into(), format!("{subject} {first}")), digits.into());
            }
            _ => {}
        }
    }
    tables
}

fn slvl(model: &Subnet, tables: &mut Tables, subject: &str, rest: &str) {
    let words: Vec<&str> = rest.split(' ').collect();
    let output: u8 = words[0].strip_prefix("out=").unwrap().parse().unwrap();
    let at = place(
        model,
        &format!("{}/{output}", subject.split('/').next().unwrap()),
    );
    let node = model.node(at.node).unwrap();
    // A base port 0 gets no table.
    if node.is_switch() && output == 0 && !node.has_enhanced_port0() {
        return;
    }
    for input in words[2].strip_prefix("in=").unwrap().split(',') {
        let key = (
            "slvl".to_owned(),
            format!("{} {input} {output}", guid(subject)),
        );
        tables.insert(key, words[1].to_owned());
    }
}

/// The same of a model: blocks that were acknowledged or read.
pub(crate) fn held(model: &Subnet) -> Tables {
    let mut tables = Tables::new();
    for (at, node) in model.places() {
        let mut keys: BTreeMap<u8, BTreeMap<u32, Data>> = BTreeMap::new();
        for (block, data) in node.tables.blocks() {
            match block.attribute {
                attribute::PKEY_TABLE => {
                    let port = own_or_named(node, block);
                    let blocks = keys.entry(port).or_default();
                    blocks.insert(block.modifier & 0xffff, *data);
                }
                attribute::VL_ARBITRATION => arbitration(node, block, data, &mut tables),
                attribute::SL_TO_VL => {
                    for (input, output) in pairs(node, block) {
                        let key = format!("{} {input} {output}", node.guid());
                        // Blocks for single ports come before those for all, which hold for the others.
                        let table = tables.entry(("slvl".into(), key));
                        table.or_insert_with(|| hex(&data[..8]));
                    }
                }
                attribute::LINEAR_TABLE => {
                    let key = format!("{} {}", name(node), block.modifier * 64);
                    tables.insert(("lft".into(), key), hex(data));
                }
                _ => {}
            }
        }
        for (port, blocks) in keys {
            let linked = model.port(PortRef { node: at, port }).unwrap();
            // Of ports without a link nobody reads or writes any.
            if linked.peer.is_some() || port == 0 {
                tables.insert(
                    ("pkey".into(), format!("{}/{port}", name(node))),
                    of_keys(&blocks),
                );
            }
        }
    }
    tables
}

/// Input and output ports that a block of SL2VL is about.
fn pairs(node: &Node, block: &Block) -> Vec<(u8, u8)> {
    let [_, _, input, output] = block.modifier.to_be_bytes();
    if !node.is_switch() {
        return vec![(0, block.end_port)];
    }
    let ports = |flag: u32, one: u8| match block.modifier & flag {
        0 => one..=one,
        _ => 0..=node.port_count(),
    };
    let inputs = ports(ALL_INPUTS, input);
    let pairs = inputs.flat_map(|input| ports(ALL_OUTPUTS, output).map(move |it| (input, it)));
    pairs.collect()
}

fn own_or_named(node: &Node, block: &Block) -> u8 {
    match node.is_switch() {
        true => u8::try_from(block.modifier >> 16).unwrap(),
        false => block.end_port,
    }
}

fn name(node: &Node) -> String {
    format!("{:#018x}", node.guid().get())
}

fn of_keys(blocks: &BTreeMap<u32, Data>) -> String {
    let keys = blocks.iter().flat_map(|(number, data)| {
        let keys = data
            .chunks(2)
            .map(|key| u16::from_be_bytes([key[0], key[1]]));
        (number * 32..).zip(keys).collect::<Vec<_>>()
    });
    let keys = keys.filter(|(_, key)| *key != 0);
    let keys: Vec<_> = keys
        .map(|(index, key)| format!("{index}:{key:04x}"))
        .collect();
    keys.join(" ")
}

/// As many entries as the recordings show: 8.
fn arbitration(node: &Node, block: &Block, data: &Data, tables: &mut Tables) {
    let part = match block.modifier >> 16 {
        1 => "low0",
        3 => "high0",
        _ => return,
    };
    let port = match node.is_switch() {
        true => u8::try_from(block.modifier & 0xff).unwrap(),
        false => block.end_port,
    };
    let entries = data[..16].chunks(2);
    let entries: Vec<_> = entries.map(|it| format!("{}:{}", it[0], it[1])).collect();
    let key = format!("{}/{port} {part}", name(node));
    tables.insert(("vlarb".into(), key), entries.join(" "));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
