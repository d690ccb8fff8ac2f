//! The state of a fabric in the lines of the recordings, read back by Gets along directed routes.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use fabric_simulator::Simulator;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;
use sa_wire::smp::attribute;

use crate::trace::get;

/// What our devices have a say in.
pub(crate) fn is_compared(line: &str) -> bool {
    !line.starts_with("sminfo ") && !line.starts_with("mft ")
}

/// Without the bit that an SM's program sets in the capability mask of its port.
pub(crate) fn without_sm(line: &str) -> String {
    line.replace("capmask=0x0050c04a", "capmask=0x0050c048")
}

/// All lines, nodes by GUID.
pub(crate) fn read_back(simulator: &mut Simulator, fabric: &Fabric, from: PortRef) -> Vec<String> {
    let mut nodes: Vec<NodeIx> = (0..fabric.nodes().len()).map(NodeIx::nth).collect();
    nodes.sort_by_key(|ix| fabric.node(*ix).guid);
    let paths = paths(fabric, from);
    let mut lines = Vec::new();
    for ix in nodes {
        let mut reader = Reader {
            simulator: &mut *simulator,
            fabric,
            from,
            node: ix,
            paths: &paths,
            lines: &mut lines,
        };
        reader.node();
    }
    lines
}

/// A directed route to each port, by the port at which it is entered.
fn paths(fabric: &Fabric, from: PortRef) -> BTreeMap<PortRef, Vec<u8>> {
    let mut paths = BTreeMap::from([(from, Vec::new())]);
    let mut front = VecDeque::from([from]);
    while let Some(at) = front.pop_front() {
        let node = fabric.node(at.node);
        let outs = match node.kind {
            NodeType::Switch => 1..=node.port_count(),
            _ if at == from => at.port..=at.port,
            _ => continue,
        };
        for out in outs {
            let end = PortRef { port: out, ..at };
            let Some(far) = fabric.port(end).peer else {
                continue;
            };
            let known = |it: &PortRef| {
                fabric.node(far.node).kind == NodeType::Switch && it.node == far.node
            };
            if paths.contains_key(&far) || paths.keys().any(known) {
                continue;
            }
            let mut path = paths[&at].clone();
            path.push(out);
            paths.insert(far, path);
            front.push_back(far);
        }
    }
    paths
}

struct Reader<'a> {
    simulator: &'a mut Simulator,
    fabric: &'a Fabric,
    from: PortRef,
    node: NodeIx,
    paths: &'a BTreeMap<PortRef, Vec<u8>>,
    lines: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn is_switch(&self) -> bool {
        self.fabric.node(self.node).kind == NodeType::Switch
    }

    /// By the port itself, or, on a switch, by any.
    fn get(&mut self, port: u8, id: u16, modifier: u32) -> [u8; 64] {
        let is_switch = self.is_switch();
        let fits = |it: &&PortRef| it.node == self.node && (is_switch || it.port == port);
        let entry = self.paths.keys().find(fits).unwrap();
        let path = self.paths[entry].clone();
        let answer = get(self.simulator, self.from, &path, id, modifier);
        assert_eq!(
            answer.status().get(),
            0,
            "attribute {id:#x} modifier {modifier:#x}"
        );
        answer.data
    }

    fn node(&mut self) {
        let first = self.ports()[0];
        let info = self.get(first, attribute::NODE_INFO, 0);
        let text = self.get(first, attribute::NODE_DESCRIPTION, 0);
        let text: Vec<u8> = text.into_iter().take_while(|byte| *byte != 0).collect();
        let kind = match info[2] {
            1 => "ca",
            2 => "sw",
            _ => "rt",
        };
        let guid = number(&info, 12, 8);
        self.lines.push(format!(
            "node {guid:#018x} type={kind} ports={} sysguid={:#018x} partcap={} vendor={:#08x} device={:#06x} rev={:#x} desc=\"{}\"",
            info[3],
            number(&info, 4, 8),
            number(&info, 28, 2),
            number(&info, 37, 3),
            number(&info, 30, 2),
            number(&info, 32, 4),
            String::from_utf8(text).unwrap(),
        ));
        let top = if self.is_switch() {
            self.switch(guid)
        } else {
            0
        };
        let ports = self.ports();
        for port in &ports {
            self.port(guid, *port);
        }
        let external = if self.is_switch() { 64 } else { 0 };
        for port in &ports {
            let cap = match (external, port) {
                (0, _) | (_, 0) => number(&info, 28, 2),
                _ => external,
            };
            self.keys(guid, *port, cap);
        }
        for port in ports
            .iter()
            .filter(|port| !self.is_switch() || **port != 0)
            .copied()
            .collect::<Vec<_>>()
        {
            self.arbitration(guid, port);
        }
        self.sl_to_vl(guid, &ports);
        if self.is_switch() {
            for block in 0..=u32::try_from(top).unwrap() / 64 {
                let data = self.get(first, attribute::LINEAR_TABLE, block);
                self.lines
                    .push(format!("lft {guid:#018x} {} {}", block * 64, hex(&data)));
            }
        }
    }

    /// Ports that the recordings show: of switches 0 and those with a link.
    fn ports(&self) -> Vec<u8> {
        let node = self.fabric.node(self.node);
        let linked = |port: &u8| {
            *port == 0
                || self
                    .fabric
                    .port(PortRef {
                        node: self.node,
                        port: *port,
                    })
                    .peer
                    .is_some()
        };
        match node.kind {
            NodeType::Switch => (0..=node.port_count()).filter(linked).collect(),
            _ => (1..=node.port_count()).filter(linked).collect(),
        }
    }

    /// LinearFDBTop.
    fn switch(&mut self, guid: u64) -> u64 {
        let d = self.get(0, attribute::SWITCH_INFO, 0);
        let bit = |byte: usize, bit: u8| (d[byte] >> bit) & 1;
        self.lines.push(format!(
            "swinfo {guid:#018x} lincap={} randcap={} mcastcap={} lintop={} defport={} defmp={} defmnp={} lifetime={} psc={} optslvl={} lidsperport={} enfcap={} inenf={} outenf={} inraw={} outraw={} esp0={} mfttop={:#06x}",
            number(&d, 0, 2), number(&d, 2, 2), number(&d, 4, 2), number(&d, 6, 2),
            d[8], d[9], d[10], d[11] >> 3, bit(11, 2), d[11] & 3,
            number(&d, 12, 2), number(&d, 14, 2),
            bit(16, 7), bit(16, 6), bit(16, 5), bit(16, 4), bit(16, 3), number(&d, 18, 2),
        ));
        number(&d, 6, 2)
    }

    fn port(&mut self, guid: u64, port: u8) {
        let d = self.get(port, attribute::PORT_INFO, 0x8000_0000 | u32::from(port));
        let info = self.get(port, attribute::NODE_INFO, 0);
        let end = PortRef {
            node: self.node,
            port,
        };
        let peer = self.fabric.port(end).peer.map_or_else(
            || "-".to_owned(),
            |peer| {
                format!(
                    "{:#018x}/{}",
                    self.fabric.node(peer.node).guid.get(),
                    peer.port
                )
            },
        );
        let mut line = format!(
            "port {guid:#018x}/{port} guid={:#018x} peer={peer}",
            number(&info, 20, 8)
        );
        let _ = write!(
            line,
            " lid={} lmc={} smlid={} smsl={} prefix={:#018x} state={} phys={} downdef={} mtu={} mtucap={} opvls={} vlcap={} highlimit={} arbhi={} arblo={} stall={} hoq={}",
            number(&d, 16, 2),
            d[34] & 7,
            number(&d, 18, 2),
            d[36] & 0xf,
            number(&d, 8, 8),
            d[32] & 0xf,
            d[33] >> 4,
            d[33] & 0xf,
            d[36] >> 4,
            d[41] & 0xf,
            d[43] >> 4,
            d[37] >> 4,
            d[38],
            d[39],
            d[40],
            d[42] >> 5,
            d[42] & 0x1f,
        );
        let _ = write!(
            line,
            " enf={}{} raw={}{} mkey={:#x} mkprot={} mklease={} mkviol={} subnto={} resp={} errs={}/{} wid={}/{}/{} spd={}/{}/{} ext={}/{}/{} capmask={:#010x} capmask2={:#06x} guidcap={} initreply={}",
            (d[43] >> 3) & 1,
            (d[43] >> 2) & 1,
            (d[43] >> 1) & 1,
            d[43] & 1,
            number(&d, 0, 8),
            d[34] >> 6,
            number(&d, 26, 2),
            number(&d, 44, 2),
            d[51] & 0x1f,
            d[52] & 0x1f,
            d[53] >> 4,
            d[53] & 0xf,
            d[29],
            d[30],
            d[31],
            d[35] & 0xf,
            d[32] >> 4,
            d[35] >> 4,
            d[63] & 0x1f,
            d[62] & 0xf,
            d[62] >> 4,
            number(&d, 20, 4),
            number(&d, 60, 2),
            d[50],
            d[41] >> 4,
        );
        self.lines.push(line);
    }

    fn keys(&mut self, guid: u64, port: u8, cap: u64) {
        let high = if self.is_switch() {
            u32::from(port) << 16
        } else {
            0
        };
        let mut line = String::new();
        for block in 0..cap.div_ceil(32) {
            let modifier = high | u32::try_from(block).unwrap();
            let data = self.get(port, attribute::PKEY_TABLE, modifier);
            for (index, key) in (block * 32..).zip(data.chunks(2)) {
                if key != [0, 0] {
                    let _ = write!(line, " {index}:{}", hex(key));
                }
            }
        }
        if !line.is_empty() {
            self.lines.push(format!("pkey {guid:#018x}/{port}{line}"));
        }
    }

    /// Of ports with 8 entries in each table, which those of the recordings have.
    fn arbitration(&mut self, guid: u64, port: u8) {
        for (block, name) in [(1, "low0"), (3, "high0")] {
            let low = if self.is_switch() { u32::from(port) } else { 0 };
            let data = self.get(port, attribute::VL_ARBITRATION, (block << 16) | low);
            let entries: String = data[..16].chunks(2).fold(String::new(), |mut text, entry| {
                let _ = write!(text, " {}:{}", entry[0] & 0xf, entry[1]);
                text
            });
            self.lines
                .push(format!("vlarb {guid:#018x}/{port} {name}{entries}"));
        }
    }

    fn sl_to_vl(&mut self, guid: u64, ports: &[u8]) {
        let mut rows: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
        for out in ports {
            let inputs = if self.is_switch() { ports } else { &[0] };
            for input in inputs {
                let modifier = match self.is_switch() {
                    true => (u32::from(*input) << 8) | u32::from(*out),
                    false => 0,
                };
                let data = self.get(*out, attribute::SL_TO_VL, modifier);
                rows.entry((*out, hex(&data[..8])))
                    .or_default()
                    .push(input.to_string());
            }
        }
        for ((out, table), inputs) in rows {
            self.lines.push(format!(
                "slvl {guid:#018x} out={out} {table} in={}",
                inputs.join(",")
            ));
        }
    }
}

fn number(data: &[u8], at: usize, bytes: usize) -> u64 {
    data[at..at + bytes]
        .iter()
        .fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
