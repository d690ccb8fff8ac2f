//! Policies and requests of any size for measuring the match step, the same every time.
//!
//! Few policies of real sites are known, and those are small. For measuring how the match step
//! grows, policies of any size are made from a few figures: how many rules and groups, how wide
//! groups are, and what rules ask for beside them. For example a rule of [`Asks::Mixed`]:
//!
//! ```text
//! qos-match-rule
//! source: g17
//! destination: g3
//! service-id: 0x8c1f20-0x8c1f9b
//! qos-level-name: L2
//! end-qos-match-rule
//! ```
//!
//! There is no state: everything about rule 7 follows from the number 7 and a salt per question, so
//! that requests can ask for what a rule asks for without keeping the rules.

use core::ops::RangeInclusive;
use std::fmt::Write;

use policy::PortFacts;
use sa_snapshot::model::Model;
use sa_snapshot::{MatchInput, PortIx, Snapshot};
use sa_wire::NodeType;

/// How a synthetic policy is made.
///
/// Two specs that are equal give the same text, byte for byte.
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
    /// Levels give flow labels: by a hash, or the same for all.
    pub labels: bool,
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
///
/// Ends as indices: an answer has found its ports before it matches.
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
            labels: false,
        }
    }

    /// The policy in OpenSM's dialect, for GUIDs that are spread over all 64 bits as those of the
    /// synthetic torus are.
    pub fn text(&self) -> String {
        let levels = ["sl: 0", "sl: 1", "sl: 2", "sl: 3"];
        self.text_of(&levels, &(0..=u64::MAX))
    }

    /// The same for ports with GUIDs in this range, and with levels that show in the answers of a
    /// torus, whose engine takes from an SL no more than its upper bit.
    pub fn text_for(&self, guids: &RangeInclusive<u64>) -> String {
        let levels = [
            "sl: 0",
            "sl: 8",
            "sl: 0\nmtu-limit: 3",
            "sl: 8\nmtu-limit: 3",
        ];
        self.text_of(&levels, guids)
    }

    /// Four levels; "default" is the one for requests that no rule takes.
    fn text_of(&self, levels: &[&str; 4], guids: &RangeInclusive<u64>) -> String {
        let mut text = "qos-levels\n".to_owned();
        for (level, name) in levels.iter().zip(["default", "L1", "L2", "L3"]) {
            let label = match (self.labels, name) {
                (true, "default" | "L2") => "\nflow-label: hash",
                (true, "L1") => "\nflow-label: fixed 12",
                _ => "",
            };
            text += &format!("qos-level\nname: {name}\n{level}{label}\nend-qos-level\n");
        }
        text += "end-qos-levels\nport-groups\n";
        for group in 0..self.groups {
            self.group(&mut text, group, guids);
        }
        text += "end-port-groups\nqos-match-rules\n";
        for rule in 0..self.rules {
            self.rule(&mut text, rule);
        }
        text + "end-qos-match-rules\n"
    }

    /// Ranges start anywhere and are as wide as gives the group its share of all GUIDs.
    fn group(&self, text: &mut String, group: u64, guids: &RangeInclusive<u64>) {
        *text += &format!("port-group\nname: g{group}\n");
        let span = guids.end() - guids.start();
        // In 128 bits: the span of all GUIDs times the members does not fit 64.
        let width = u128::from(span) * u128::from(self.members) / u128::from(10_000 * self.ranges);
        let width = u64::try_from(width).map_or(span, |width| width.min(span));
        for range in 0..self.ranges {
            // The last port of a range must not lie behind the last GUID.
            let first = guids.start() + spread(group * 31 + range, 17) % (span - width).max(1);
            *text += &format!("port-guid: {first:#x}-{:#x}\n", first + width);
        }
        *text += "end-port-group\n";
    }

    /// A salt per decision: with one more the earlier ones stay as they were.
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

    /// The range of a rule, the same whenever it is asked for.
    fn service_ids(&self, rule: u64) -> (u64, u64) {
        let dice = |salt: u64, sides: u64| spread(rule, salt) % sides;
        match self.asks {
            Asks::ServiceOnly => (0x1000_0000 + rule, 0x1000_0000 + rule),
            Asks::DeepRanges => {
                let (one, other) = (dice(5, 1 << 20), dice(6, 1 << 20));
                (0x1000_0000 + one.min(other), 0x1000_0000 + one.max(other))
            }
            Asks::Mixed | Asks::GroupsOnly => {
                // May run over the end of its block.
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

    /// What the `at`-th request asks for beside its ends, without a P_Key: service id and QoS
    /// class, each named by seven of ten; half of what is named is what some rule asks for.
    pub fn asked(&self, at: u64) -> (Option<u64>, Option<u16>) {
        let dice = |salt: u64, sides: u64| spread(at, 100 + salt) % sides;
        let narrow = |value: u64| u16::try_from(value).unwrap_or(0);
        let rule = dice(1, self.rules.max(1));
        let ids = self.service_ids(rule);
        let service = || match dice(5, 2) {
            0 => ids.0 + dice(6, ids.1 - ids.0 + 1),
            _ => spread(at, 107),
        };
        let class = || match dice(9, 2) {
            0 => narrow(spread(rule, 9) % 4096),
            _ => narrow(dice(10, 4096)),
        };
        let named = |salt: u64| dice(salt, 10) < 7;
        (named(4).then(service), named(8).then(class))
    }

    /// Between two of the hosts drawn before.
    fn query(&self, hosts: &[PortIx], at: u64) -> Option<MatchQuery> {
        let dice = |salt: u64, sides: u64| spread(at, 100 + salt) % sides;
        let host = |salt: u64| {
            let place = usize::try_from(dice(salt, hosts.len() as u64)).unwrap_or(0);
            hosts.get(place).copied()
        };
        let rule = dice(1, self.rules.max(1));
        let pkey = || match dice(12, 2) {
            0 => 1 + spread(rule, 12) % 64,
            _ => 1 + dice(13, 0x7ffe),
        };
        let (service_id, qos_class) = self.asked(at);
        Some(MatchQuery {
            source: host(2)?,
            destination: host(3)?,
            input: MatchInput {
                service_id,
                qos_class,
                pkey: (dice(11, 10) < 7).then(|| u16::try_from(pkey()).unwrap_or(0)),
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
///
/// The finaliser of SplitMix64 over both numbers.
fn spread(seed: u64, salt: u64) -> u64 {
    let mixed =
        (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
