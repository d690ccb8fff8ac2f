//! Small fabrics of any ports, as a compiler would number them: what comes first has the first number.

use std::collections::BTreeSet;

use sa_snapshot::model::*;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::{Guid, Lid, Lmc, Mtu, NodeType, Pkey, Rate, SlVlMask};

/// What a fabric has besides its ports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// A class for each pair of a switch and a port.
    pub(crate) dense: bool,
    /// Rules; none without a policy. More than 255 are indexed.
    pub(crate) rules: Option<u16>,
}

/// Four ports of each switch, port 4n its own.
const PER_SWITCH: u16 = 4;

/// Numbers in the order in which things are first seen.
struct Numbers<T>(Vec<T>);

impl<T: PartialEq> Numbers<T> {
    fn of(&mut self, thing: T) -> u16 {
        let known = self.0.iter().position(|known| *known == thing);
        let at = known.unwrap_or_else(|| {
            self.0.push(thing);
            self.0.len() - 1
        });
        u16::try_from(at).unwrap()
    }
}

/// A fabric of these ports. Everything about a port but its numbers follows from which it is.
pub(crate) fn snapshot(ports: &BTreeSet<u16>, kind: Kind, epoch: u64) -> Snapshot {
    let mut switches = Numbers(Vec::new());
    let rows: Vec<PortRow> = ports
        .iter()
        .map(|port| row(*port, switches.of(port / PER_SWITCH)))
        .collect();
    let count = rows.len();
    let numbered = |step: u16| -> Vec<u16> {
        (1..=u16::try_from(count).unwrap())
            .map(|at| (at - 1) * step + 1)
            .collect()
    };
    let mut classes = Numbers(vec![0]);
    let pairs = match kind.dense {
        false => Pairs::Uniform {
            within: classes.of(1),
            across: classes.of(2),
        },
        true => {
            let switches: Vec<u16> = switches.0;
            let of_row = |switch: u16| {
                let cells = ports
                    .iter()
                    .map(move |port| switch.abs_diff(port / PER_SWITCH) % 40 + port % 2);
                cells.collect::<Vec<u16>>()
            };
            let cells: Vec<u16> = switches.iter().flat_map(|at| of_row(*at)).collect();
            let table = cells.into_iter().map(|hops| classes.of(hops + 1)).collect();
            Pairs::Dense {
                columns: u32::try_from(count).unwrap().max(1),
                table,
            }
        }
    };
    let capacity = capacity();
    let path_class = |hops: &u16| PathClass {
        capacity,
        carried: SlVlMask::ALL,
        hops: u8::try_from(*hops).unwrap(),
        sl: PathSl::Policy,
    };
    let model = Model {
        provenance: Provenance {
            engine: "test".into(),
            inputs: vec![format!("fabric {epoch}")],
            built_unix: epoch,
            ..Default::default()
        },
        subnet: Subnet::default(),
        paths: PathTables {
            engine_sl: EngineSl::Keep,
            classes: classes.0.iter().map(path_class).collect(),
            rows: match kind.dense {
                true => rows
                    .iter()
                    .map(|row| row.switch.map_or(0, number))
                    .collect(),
                false => vec![1; count],
            },
            columns: numbered(1).into_iter().map(|at| vec![at]).collect(),
            pairs,
        },
        partitions: vec![],
        policy: kind.rules.map(|rules| policy(ports, rules)),
        groups: vec![],
        prefix_routes: vec![PrefixRouteRow {
            prefix: None,
            router: None,
        }],
        aliases: ports
            .iter()
            .zip(0..)
            .filter(|(port, _)| *port % 5 == 1)
            .map(|(port, at)| (Guid::new(0x9_0000 + u64::from(*port)).unwrap(), at))
            .collect(),
        ports: rows,
    };
    Builder::build(&model).unwrap()
}

fn number(switch: u32) -> u16 {
    u16::try_from(switch).unwrap() + 1
}

fn capacity() -> Capacity {
    Capacity {
        mtu: Mtu::M2048,
        rate: Rate::from_code(3).unwrap().rank(),
    }
}

fn row(port: u16, switch: u16) -> PortRow {
    let keys: &[u16] = match port % 11 {
        0 => &[0xffff, 0x8001],
        1 => &[0xffff, 0x8002, 0x8003],
        _ => &[0xffff],
    };
    PortRow {
        guid: Guid::new(0x0010_0000 + u64::from(port) * 0x0101).unwrap(),
        node_type: match port % PER_SWITCH {
            0 => NodeType::Switch,
            _ => NodeType::Ca,
        },
        lid: Lid::new(port + 1).unwrap(),
        lmc: Lmc::new(0).unwrap(),
        switch: Some(u32::from(switch)),
        own: capacity(),
        edge: capacity(),
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: keys.iter().map(|key| Pkey::new(*key).unwrap()).collect(),
        coordinate: None,
    }
}

/// Rule n is for sources of one of seven kinds, destinations of one of five, and, where rules are many, a service id of its own.
fn policy(ports: &BTreeSet<u16>, rules: u16) -> PolicyTables {
    let set = |holds: &dyn Fn(u16) -> bool| {
        let mut set = vec![0; usize::from(rules).div_ceil(64).max(1)];
        for rule in (0..rules).filter(|rule| holds(*rule)) {
            set[usize::from(rule / 64)] |= 1u64 << (rule % 64);
        }
        set
    };
    let end = |kinds: u16| {
        let mut numbers = Numbers(Vec::new());
        // One port in twenty has rules of its own.
        let kind = |port: &u16| match port % 20 {
            3 => kinds + port,
            _ => port % kinds,
        };
        let map = ports.iter().map(|port| numbers.of(kind(port))).collect();
        let unnamed = numbers.of(u16::MAX);
        let sets = numbers.0.iter();
        let sets = sets.map(|of| set(&|rule| rule % kinds == of % kinds && *of != u16::MAX));
        (
            Dimension {
                map,
                sets: sets.collect(),
            },
            unnamed,
        )
    };
    let all = || vec![set(&|_| true)];
    let ((source, unnamed_source), (destination, unnamed_destination)) = (end(7), end(5));
    let services = if rules > 255 { rules } else { 0 };
    PolicyTables {
        levels: ["DEFAULT", "gold"]
            .map(|name| QosLevelRow {
                name: name.into(),
                sl: Some(0),
                mtu_limit: None,
                rate_limit: None,
                packet_life: None,
                pkeys: vec![],
                path_bits: None,
                tclass: None,
            })
            .into(),
        default_level: 0,
        rules: (0..rules)
            .map(|at| RuleRow {
                level: at % 2,
                line: 10 * u32::from(at),
            })
            .collect(),
        source,
        destination,
        unnamed: UnnamedEnds {
            source: unnamed_source,
            destination: unnamed_destination,
        },
        qos_class: Dimension {
            map: vec![0; 4097],
            sets: all(),
        },
        pkey: Dimension {
            map: vec![0; 0x8001],
            sets: all(),
        },
        service_id: Dimension {
            map: ServiceIntervals {
                starts: (0..=u64::from(services)).collect(),
                classes: (0..=services).collect(),
                absent: 0,
            },
            sets: match services {
                0 => all(),
                _ => (0..=services)
                    .map(|at| set(&|rule| rule + 1 == at))
                    .collect(),
            },
        },
        rare: vec![Dimension {
            map: vec![0; 257],
            sets: all(),
        }],
        flow_labels: vec![],
        semantics: PolicySemantics::default(),
    }
}
