//! Policies and requests of any size for measuring the match step, the same every time.

use std::fmt::Write;

use policy::PortFacts;
use sa_snapshot::model::Model;
use sa_snapshot::{MatchInput, PortIx, Snapshot};
use sa_wire::NodeType;

/// How a synthetic policy is made.
#[derive(Debug, Clone, Copy)]
pub struct RuleSpec {
    /// Rules.
    pub rules: u64,
    /// Port groups; every rule names one as source and one as destination.
    pub groups: u64,
    /// Ranges of GUIDs in each group.
    pub ranges: u64,
    /// How many of 10,000 ports each group has, about; groups overlap.
    pub members: u64,
    /// Which rules ask for what a request says.
    pub asks: Asks,
}

/// What the rules ask for beside their groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Seven of ten a service id, two of ten a QoS class, 15 of 100 a P_Key, each by chance.
    Mixed,
    /// Every rule its own single service id and destination group, no source.
    ServiceOnly,
    /// Nothing: groups alone.
    GroupsOnly,
    /// Every rule a range of service ids out of one small block, so that ranges overlap deeply.
    DeepRanges,
}

/// A request for the match step.
#[derive(Debug, Clone, Copy)]
pub struct MatchQuery {
    /// Where the path starts.
    pub source: PortIx,
    /// Where it ends.
    pub destination: PortIx,
    /// What the request says.
    pub input: MatchInput,
}

/// Service ids lie in this many blocks of 4,096, as those of real protocols do.
const SERVICE_BLOCKS: u64 = 4096;

impl RuleSpec {
    /// The synthetic policy of the reference: overlapping groups, mixed criteria.
    pub const fn mixed(rules: u64, groups: u64) -> Self {
        Self {
            rules,
            groups,
            ranges: if groups < 32 { 2 } else { 8 },
            members: 200,
            asks: Asks::Mixed,
        }
    }

    /// The policy in OpenSM's dialect.
    pub fn text(&self) -> String {
        let mut text = "qos-levels\n".to_owned();
        for (sl, name) in ["default", "L1", "L2", "L3"].iter().enumerate() {
            text += &format!("qos-level\nname: {name}\nsl: {sl}\nend-qos-level\n");
        }
        text += "end-qos-levels\nport-groups\n";
        for group in 0..self.groups {
            self.group(&mut text, group);
        }
        text += "end-port-groups\nqos-match-rules\n";
        for rule in 0..self.rules {
            self.rule(&mut text, rule);
        }
        text + "end-qos-match-rules\n"
    }

    fn group(&self, text: &mut String, group: u64) {
        *text += &format!("port-group\nname: g{group}\n");
        // GUIDs of the synthetic torus are spread over all 64 bits.
        let width = u64::MAX / 10_000 * self.members / self.ranges;
        for range in 0..self.ranges {
            let first = spread(group * 31 + range, 17) % (u64::MAX - width);
            *text += &format!("port-guid: {first:#x}-{:#x}\n", first + width);
        }
        *text += "end-port-group\n";
    }

    fn rule(&self, text: &mut String, rule: u64) {
        let dice = |salt: u64, sides: u64| spread(rule, salt) % sides;
        *text += "qos-match-rule\n";
        if self.asks != Asks::ServiceOnly {
            *text += &format!("source: g{}\n", dice(1, self.groups));
        }
        *text += &format!("destination: g{}\n", dice(2, self.groups));
        let (service, class, pkey) = match self.asks {
            Asks::Mixed => (dice(4, 10) < 7, dice(8, 10) < 2, dice(11, 100) < 15),
            Asks::ServiceOnly | Asks::DeepRanges => (true, false, false),
            Asks::GroupsOnly => (false, false, false),
        };
        let line = |text: core::fmt::Arguments<'_>, out: &mut String| {
            // Writing to a string does not fail.
            let _ = out.write_fmt(text);
        };
        if service {
            let (first, last) = self.service_ids(rule);
            line(format_args!("service-id: {first:#x}-{last:#x}\n"), text);
        }
        if class {
            line(format_args!("qos-class: {}\n", dice(9, 4096)), text);
        }
        if pkey {
            line(format_args!("pkey: {}\n", 1 + dice(12, 64)), text);
        }
        let level = 1 + dice(13, 3);
        line(
            format_args!("qos-level-name: L{level}\nend-qos-match-rule\n"),
            text,
        );
    }

    fn service_ids(&self, rule: u64) -> (u64, u64) {
        let dice = |salt: u64, sides: u64| spread(rule, salt) % sides;
        match self.asks {
            Asks::ServiceOnly => (0x1000_0000 + rule, 0x1000_0000 + rule),
            Asks::DeepRanges => {
                let (one, other) = (dice(5, 1 << 20), dice(6, 1 << 20));
                (0x1000_0000 + one.min(other), 0x1000_0000 + one.max(other))
            }
            Asks::Mixed | Asks::GroupsOnly => {
                let first = dice(5, SERVICE_BLOCKS * 4096);
                (first, first + dice(6, 256))
            }
        }
    }

    /// Requests between `ports` hosts drawn from all. Each field is named by seven of ten; half of
    /// what is named is what some rule asks for.
    ///
    /// An answer looks its ports up before the match; with few hosts their records are in cache
    /// here too.
    pub fn queries(&self, snapshot: &Snapshot, count: u64, ports: u64) -> Vec<MatchQuery> {
        let hosts: Vec<PortIx> = snapshot
            .ports()
            .filter(|(_, port)| !port.is_switch())
            .map(|(ix, _)| ix)
            .collect();
        let drawn = (0..ports).filter_map(|at| {
            let place = spread(at, 99) % hosts.len().max(1) as u64;
            hosts.get(usize::try_from(place).ok()?).copied()
        });
        let drawn: Vec<PortIx> = drawn.collect();
        (0..count).filter_map(|at| self.query(&drawn, at)).collect()
    }

    fn query(&self, hosts: &[PortIx], at: u64) -> Option<MatchQuery> {
        let dice = |salt: u64, sides: u64| spread(at, 100 + salt) % sides;
        let host = |salt: u64| {
            let place = usize::try_from(dice(salt, hosts.len() as u64)).unwrap_or(0);
            hosts.get(place).copied()
        };
        let named = |salt: u64| dice(salt, 10) < 7;
        let as_a_rule = |salt: u64| dice(salt, 2) == 0;
        let rule = dice(1, self.rules.max(1));
        let narrow = |value: u64| u16::try_from(value).unwrap_or(0);
        let ids = self.service_ids(rule);

        Some(MatchQuery {
            source: host(2)?,
            destination: host(3)?,
            input: MatchInput {
                service_id: named(4).then(|| match as_a_rule(5) {
                    true => ids.0 + dice(6, ids.1 - ids.0 + 1),
                    false => spread(at, 107),
                }),
                qos_class: named(8).then(|| match as_a_rule(9) {
                    true => narrow(spread(rule, 9) % 4096),
                    false => narrow(dice(10, 4096)),
                }),
                pkey: named(11).then(|| match as_a_rule(12) {
                    true => narrow(1 + spread(rule, 12) % 64),
                    false => narrow(1 + dice(13, 0x7ffe)),
                }),
            },
        })
    }
}

/// The ports of a model as a policy sees them.
pub fn facts(model: &Model) -> Vec<PortFacts> {
    let fact = |port: &sa_snapshot::model::PortRow| PortFacts {
        guid: port.guid,
        node_guid: port.guid,
        node_type: port.node_type,
        description: String::new(),
        port_number: u8::from(port.node_type != NodeType::Switch),
        node_ports: 1,
        is_sm: false,
    };
    model.ports.iter().map(fact).collect()
}

/// A number that looks drawn by chance, the same every time.
fn spread(seed: u64, salt: u64) -> u64 {
    let mixed =
        (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
