//! Forwarding tables and SL2VL of routing engines, as blocks, against what OpenSM wrote.

use routing::engine::by_kind;
use routing::engine::torus::TorusConfig;
use routing::engine::{EngineInput, Request};
use routing::watch::Watch;
use routing::{EngineKind, Peer, Qos, Routes, SwitchIx, Topology};
use sa_fabric::OpenSmOptions;
use sa_fabric::formats::net;
use sa_fabric::subnet::{Subnet, SubnetOptions};
use sa_sm::wanted::linear::blocks;
use sa_sm::wanted::qos::{sl_to_vl, switch_sl_to_vl};
use sa_wire::{Guid, Lid, NodeType, Sl};

use sm_recordings::{fields, guid, read, subnet};

/// Routes of a recorded fabric, whose LIDs are those of the SM's first sweep.
struct Case {
    state: String,
    topology: Topology,
    routes: Routes,
    sm_lid: Lid,
}

impl Case {
    fn new(name: &str, conf: &str, kind: EngineKind) -> Self {
        let state = read(name, "state-0-up.txt");
        let model = subnet(&state);
        let sm = model.port(model.sm().unwrap()).unwrap();
        let options = OpenSmOptions::parse(conf.as_bytes()).unwrap();
        let seen = SubnetOptions {
            lmc: Some(options.lmc.unwrap_or_default()),
            lmc_esp0: options.lmc_esp0,
            sm_guid: sm.guid,
            ..SubnetOptions::default()
        };
        let fabric = net::parse(read(name, "net").as_bytes()).unwrap();
        let fabric = Subnet::new(fabric, &seen).unwrap();
        let topology = fabric.topology(&options);
        let torus = (kind == EngineKind::Torus2Qos)
            .then(|| TorusConfig::parse(&read(name, "torus-2QoS.conf")).unwrap());
        let request = Request {
            topology: &topology,
            qos: if options.qos { Qos::On } else { Qos::Off },
            input: torus
                .as_ref()
                .map_or(EngineInput::Nothing, EngineInput::TorusConf),
            before: None,
            watch: Watch::default(),
        };
        let routes = by_kind(kind).route(&request).unwrap();
        let sm_lid = Lid::new(sm.info.unwrap().base_lid.get()).unwrap();
        Self {
            state,
            topology,
            routes,
            sm_lid,
        }
    }

    fn lines(&self, kind: &str) -> impl Iterator<Item = (Guid, Vec<&str>)> {
        let lines = self
            .state
            .lines()
            .filter(move |line| line.split(' ').next() == Some(kind));
        lines.map(|line| {
            let (subject, rest) = fields(line);
            let node = subject.split('/').next().unwrap();
            (guid(node), rest.split(' ').collect())
        })
    }

    /// OpenSM's tables. Shape: by switch index, then by LID.
    fn tables(&self) -> Vec<Vec<u8>> {
        let mut tables = vec![Vec::new(); self.topology.switches.len()];
        for (node, words) in self.lines("lft") {
            let switch = self
                .topology
                .switch_ixs()
                .find(|ix| self.topology.switch(*ix).guid == node);
            let bytes = words[1].as_bytes().chunks(2);
            let ports =
                bytes.map(|it| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap());
            tables[switch.unwrap().index()].extend(ports);
        }
        tables
    }

    /// Switches that are left behind on the way that `output` tells.
    fn hops(&self, from: SwitchIx, output: impl Fn(SwitchIx) -> Option<u8>) -> Option<usize> {
        let mut at = from;
        for hops in 0..=self.topology.switches.len() {
            match self.topology.peer(at, output(at)?) {
                Peer::Switch { switch, .. } => at = switch,
                Peer::EndPort(_) | Peer::Nothing => return Some(hops),
            }
        }
        panic!("a loop from {from:?}");
    }

    /// Blocks that are OpenSM's, and all.
    fn equal_blocks(&self) -> (usize, usize) {
        let mut count = (0, 0);
        for (node, words) in self.lines("lft") {
            let switch = self
                .topology
                .switch_ixs()
                .find(|ix| self.topology.switch(*ix).guid == node);
            let table = self.routes.lft(switch.unwrap());
            let number = words[0].parse::<u32>().unwrap() / 64;
            let (_, data) = blocks(table)
                .find(|(block, _)| block.modifier == number)
                .unwrap();
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            count.0 += usize::from(hex == words[1]);
            count.1 += 1;
        }
        count
    }
}

const QOS: &str = "qos TRUE\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n";

#[test]
fn a_torus_is_forwarded_as_opensm_does() {
    let case = Case::new("g07-torus444-2qos", QOS, EngineKind::Torus2Qos);
    assert_eq!(case.equal_blocks(), (192, 192));
}

#[test]
fn vls_of_a_torus_are_those_of_opensm() {
    let case = Case::new("g07-torus444-2qos", QOS, EngineKind::Torus2Qos);
    let mut compared = 0;
    for (node, words) in case.lines("slvl") {
        let output: u8 = words[0].strip_prefix("out=").unwrap().parse().unwrap();
        let switch = case
            .topology
            .switch_ixs()
            .find(|ix| case.topology.switch(*ix).guid == node);
        let inputs = words[2].strip_prefix("in=").unwrap().split(',');
        for input in inputs.map(|input| input.parse::<u8>().unwrap()) {
            let (_, data) = match switch {
                // A base port 0 gets no table.
                Some(_) if output == 0 => continue,
                Some(ix) => switch_sl_to_vl(input, output, case.routes.sl2vl(ix, input, output)),
                None => {
                    let is_it = |ix: &_| {
                        let port = case.topology.end_port(*ix);
                        port.node_guid == node && port.port_number == output
                    };
                    let end = case.topology.end_port_ixs().find(is_it).unwrap();
                    sl_to_vl(output, case.routes.end_port_sl2vl(end))
                }
            };
            let hex: String = data[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, words[1], "{node} from {input} to {output}");
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn the_sl_to_the_sm_is_the_engines() {
    let case = Case::new("g07-torus444-2qos", QOS, EngineKind::Torus2Qos);
    let model = subnet(&case.state);
    let mut seen = std::collections::BTreeSet::new();
    for (at, port) in model.end_ports() {
        let info = port.info.unwrap();
        let lid = Lid::new(info.base_lid.get()).unwrap();
        let sl = case
            .routes
            .path_sl(Sl::default(), lid, case.sm_lid)
            .unwrap();
        assert_eq!(sl.get(), info.neighbor_mtu_and_sm_sl & 0xf, "{at:?}");
        seen.insert(sl);
    }
    assert!(seen.len() > 3, "{seen:?}");
    let switches = case
        .topology
        .end_port_ixs()
        .filter(|ix| case.topology.end_port(*ix).node_type == NodeType::Switch);
    assert_eq!(switches.count(), 64);
}

/// OpenSM and our engine balance paths of equal length otherwise, so tables are equal where there are none, and of
/// equal length everywhere.
#[test]
fn shortest_paths_are_as_short_as_opensms() {
    for (name, conf, blocks) in [
        ("g01-star", "", Some((1, 1))),
        ("g02-line", "", Some((4, 4))),
        ("g03-ftree", "", None),
        ("g04-ftree-lmc1", "lmc 1\n", None),
        ("g05-torus444-minhop", "", None),
        ("g11-parallel", "", None),
        (
            "g12-router-esp0-lmc1",
            "lmc 1\nlmc_esp0 TRUE\n",
            Some((2, 2)),
        ),
    ] {
        let case = Case::new(name, conf, EngineKind::MinHop);
        if let Some(expected) = blocks {
            assert_eq!(case.equal_blocks(), expected, "{name}");
        }
        let opensm = case.tables();
        let mut walked = 0;
        for from in case.topology.switch_ixs() {
            for lid in (1..=0xbfff).map_while(|lid| Lid::new(lid).ok()) {
                let ours = |at: SwitchIx| case.routes.output(at, lid);
                let theirs = |at: SwitchIx| {
                    let port = opensm[at.index()].get(lid.index()).copied();
                    port.filter(|port| *port != 0xff)
                };
                let (found, expected) = (case.hops(from, ours), case.hops(from, theirs));
                assert_eq!(found, expected, "{name} {from:?} {lid}");
                walked += usize::from(found.is_some());
            }
        }
        assert!(walked > 2, "{name} {walked}");
    }
}
