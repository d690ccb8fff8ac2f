//! What source ports that were seen say.
//!
//! Worked example: 1024 flows whose QPNs count up have 1024 different ports, entropy 10 of at most
//! 10 bits. Behind a switch that chose with CRC32C over 16 ways, one link carries 64 of them; their
//! ports have 4 free bits less, and the next switch with the same hash has one way for all of them.
//!
//! Alarms are for what is wrong beyond chance: small samples give none, since a dozen ports may be
//! even, or lack a bit, by accident.

use std::collections::{BTreeMap, BTreeSet};

use sa_entropy::port_use::PortCounts;
use sa_entropy::{Address, HashKind, Tuple};
use sa_fabric::display;
use sa_wire::roce::SourcePort;
use serde::Serialize;

use super::Seen;
use crate::json::Document;

/// A switch to ask: how would these flows lie on its ways.
pub(super) struct Way {
    /// As the option has it.
    pub(super) name: String,
    /// What it chooses by, with seed 0.
    pub(super) hash: HashKind,
    /// Equal paths.
    pub(super) ways: u32,
}

/// What is to be said.
///
/// `bits` is about flows: each counts once. `packet_bits` weighs by packets: one elephant among
/// many flows shows there.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    /// By hosts, source port and destination QP, as far as known.
    pub(super) flows: usize,
    /// Of all flows.
    pub(super) packets: u64,
    /// UDP source ports that were seen.
    pub(super) distinct_ports: usize,
    /// Entropy of the port of a flow.
    pub(super) bits: f64,
    /// The most that so many flows could have.
    pub(super) most_bits: f64,
    /// Entropy of the port of a packet.
    pub(super) packet_bits: f64,
    /// The one with most packets.
    pub(super) busiest_port: u16,
    /// Of the packets, 0 to 1.
    pub(super) busiest_share: f64,
    /// Of the 14 bits, those that differ on their own.
    pub(super) free_bits: u32,
    /// One for each hash that was asked for.
    pub(super) next_switch: Vec<Lie>,
    /// Empty where nothing is wrong beyond chance.
    pub(super) alarms: Vec<Alarm>,
}

impl Document for Findings {
    const SCHEMA: &'static str = "sapphire.roce-entropy-check/1";
}

/// How flows would lie on ways.
///
/// `used` far below `chance` means that the hash has been used on these flows before.
#[derive(Debug, Serialize)]
pub(super) struct Lie {
    /// By its word.
    pub(super) hash: String,
    /// That there are.
    pub(super) ways: u32,
    /// That some flow takes.
    pub(super) used: u32,
    /// As many random flows would use.
    pub(super) chance: f64,
}

/// Something to act upon.
///
/// `code` is stable and what an exit status of 3 names; `text` is for people.
#[derive(Debug, Serialize)]
pub(super) struct Alarm {
    pub(super) code: &'static str,
    pub(super) text: String,
}

impl Findings {
    /// Shape: `seen` is not empty.
    pub(super) fn new(seen: &[Seen], ways: &[Way]) -> Self {
        let mut counts = PortCounts::default();
        for port in seen.iter().filter_map(|it| SourcePort::new(it.port).ok()) {
            counts.add(port, 1);
        }
        // At least 1: shares are divided by it.
        let packets = seen.iter().map(|it| it.packets).sum::<u64>().max(1);
        let mut by_port: BTreeMap<u16, u64> = BTreeMap::new();
        for it in seen {
            *by_port.entry(it.port).or_default() += it.packets;
        }
        let busiest = by_port.iter().max_by_key(|(_, packets)| **packets);
        let (busiest_port, most) = busiest.map_or((0, 0), |(port, packets)| (*port, *packets));
        let mut flows_by_port: BTreeMap<u16, u64> = BTreeMap::new();
        for it in seen {
            *flows_by_port.entry(it.port).or_default() += 1;
        }
        let mut findings = Self {
            flows: seen.len(),
            packets,
            distinct_ports: by_port.len(),
            bits: entropy(flows_by_port.values()),
            most_bits: real(u64::try_from(seen.len()).unwrap_or(0))
                .log2()
                .clamp(0.0, 14.0),
            packet_bits: entropy(by_port.values()),
            busiest_port,
            busiest_share: real(most) / real(packets),
            free_bits: counts.free_bits(),
            next_switch: ways.iter().map(|way| lie(seen, way)).collect(),
            alarms: Vec::new(),
        };
        findings.alarms.extend(constant_ports(seen));
        findings.alarms.extend(foreign(seen));
        let of_set = even(&by_port).or_else(|| confined(&counts, findings.free_bits));
        findings.alarms.extend(of_set);
        findings.alarms.extend(
            findings
                .next_switch
                .iter()
                .filter_map(polarised)
                .collect::<Vec<_>>(),
        );
        findings
    }

    /// The same facts as the document.
    pub(super) fn print(&self) {
        outln!(
            "flows          {}, {}",
            self.flows,
            display::count(self.packets, "packet", "packets")
        );
        outln!("source ports   {} of 16384", self.distinct_ports);
        outln!(
            "entropy        {:.2} bits by flow (so many flows: {:.2} at most), {:.2} by packet",
            self.bits,
            self.most_bits,
            self.packet_bits
        );
        outln!(
            "busiest port   {}, {:.1} % of the packets",
            self.busiest_port,
            100.0 * self.busiest_share
        );
        outln!("free bits      {} of 14", self.free_bits);
        for lie in &self.next_switch {
            outln!(
                "next switch    {}: {} of {} ways used, {:.1} by chance",
                lie.hash,
                lie.used,
                lie.ways,
                lie.chance
            );
        }
        for alarm in &self.alarms {
            outln!("alarm          {}: {}", alarm.code, alarm.text);
        }
    }
}

/// Hosts whose QPs all have the same port; where hosts are not known, all of them.
///
/// What an application or an old driver does that sets no label.
fn constant_ports(seen: &[Seen]) -> Vec<Alarm> {
    type Flow = (Option<Address>, Option<u32>);
    let mut hosts: BTreeMap<Option<Address>, (BTreeSet<u16>, BTreeSet<Flow>)> = BTreeMap::new();
    for it in seen {
        let (source, destination) = it.hosts.unzip();
        let (ports, flows) = hosts.entry(source).or_default();
        ports.insert(it.port);
        flows.insert((destination, it.qpn));
    }
    let alarm = |(host, (ports, flows)): (Option<Address>, (BTreeSet<u16>, BTreeSet<Flow>))| {
        let port = ports.first().copied().filter(|_| ports.len() == 1)?;
        let who = host.map_or_else(
            || "all packets have".to_owned(),
            |host| format!("{} has", words(host)),
        );
        // One QP with one port is as it should be.
        (host.is_none() || flows.len() > 1).then(|| Alarm {
            code: "constant-port",
            text: format!(
                "{who} one source port, {port}{}: the stack sets it by itself or no label reaches it, and switches see one flow for each pair of hosts",
                if host.is_some() { format!(", for {} QPs", flows.len()) } else { String::new() }
            ),
        })
    };
    hosts.into_iter().filter_map(alarm).collect()
}

/// Ports below those that labels give.
///
/// Such a port comes of another stack, or of something between the hosts that rewrites it.
fn foreign(seen: &[Seen]) -> Option<Alarm> {
    let below: BTreeSet<u16> = seen
        .iter()
        .map(|it| it.port)
        .filter(|port| SourcePort::new(*port).is_err())
        .collect();
    let first = below.first()?;
    Some(Alarm {
        code: "foreign-ports",
        text: format!(
            "{} source ports below 49152, the first is {first}: they come of no flow label",
            below.len()
        ),
    })
}

/// Linux's `connect` gives even ports; the CM hands them on into the label.
///
/// Every second port: fewer than [`FEW`] may be so by accident.
fn even(ports: &BTreeMap<u16, u64>) -> Option<Alarm> {
    let is_even = |port: &u16| port.is_multiple_of(2);
    (ports.len() >= FEW && ports.keys().all(is_even)).then(|| Alarm {
        code: "even-only",
        text: "all source ports are even, as connect() gives them: half of the ways stay idle where the switch hash is linear".to_owned(),
    })
}

/// A subset that is closed under XOR, and neither a range nor numbered in steps: what a linear hash
/// chose from all.
fn confined(counts: &PortCounts, free_bits: u32) -> Option<Alarm> {
    let ports: Vec<u16> = counts.seen().map(|(port, _)| port.get()).collect();
    // Fewer can lack a bit by how their QPNs happened to be numbered.
    let is_enough = ports.len() >= 128;
    (is_enough && free_bits < 14 && !is_stepped(&ports)).then(|| Alarm {
        code: "polarised",
        text: format!(
            "{} ports have {free_bits} free bits where random ones have 14: a linear switch hash \
             has chosen them, and another of the same kind leaves ways idle",
            ports.len()
        ),
    })
}

/// Whether ports, ascending, came of counting, as QPNs and the CM's ports do: numbers a step apart
/// that go round have three different gaps; folding upper bits of a label onto them makes a few
/// more.
fn is_stepped(ports: &[u16]) -> bool {
    let gaps: BTreeSet<u16> = ports
        .windows(2)
        .map(|pair| {
            pair.last()
                .zip(pair.first())
                .map_or(0, |(high, low)| high - low)
        })
        .collect();
    // The more ports there are, the fewer different gaps random ones have: the bound falls with
    // them.
    let most = match ports.len() {
        ..=512 => 32,
        513..4096 => 8,
        _ => 2,
    };
    gaps.len() <= most
}

/// As in the advice of `predict`, less than 0.6 of chance; below two expected ways that says
/// nothing.
fn polarised(lie: &Lie) -> Option<Alarm> {
    let used = f64::from(lie.used);
    (lie.chance >= 2.0 && used < 0.6 * lie.chance).then(|| Alarm {
        code: "polarised",
        text: format!(
            "with hash {} {} of {} ways would be used, {:.1} by chance",
            lie.hash, lie.used, lie.ways, lie.chance
        ),
    })
}

/// Where hosts are not known they are taken for one pair.
///
/// With seed 0: a linear hash with another seed only exchanges the ways.
fn lie(seen: &[Seen], way: &Way) -> Lie {
    let nobody = Address::V4([0; 4]);
    let tuples: BTreeSet<Tuple> = seen
        .iter()
        .filter_map(|it| {
            let (source, destination) = it.hosts.unwrap_or((nobody, nobody));
            Some(Tuple {
                source,
                destination,
                port: SourcePort::new(it.port).ok()?,
            })
        })
        .collect();
    let used: BTreeSet<u32> = tuples
        .iter()
        .map(|tuple| way.hash.way(tuple, 0, way.ways))
        .collect();
    let ways = f64::from(way.ways);
    let flows = real(u64::try_from(tuples.len()).unwrap_or(0));
    Lie {
        hash: way.name.clone(),
        ways: way.ways,
        used: u32::try_from(used.len()).unwrap_or(u32::MAX),
        chance: ways * (1.0 - (1.0 - 1.0 / ways).powf(flows)),
    }
}

/// Units: bits.
///
/// Shannon's, over shares of the total. `abs` since a single share gives -0.
fn entropy<'a>(counts: impl Iterator<Item = &'a u64> + Clone) -> f64 {
    let total = real(counts.clone().sum());
    let of = |count: &u64| {
        let share = real(*count) / total;
        -share * share.log2()
    };
    counts.map(of).sum::<f64>().abs()
}

/// As people write addresses.
fn words(address: Address) -> String {
    match address {
        Address::V4(bytes) => std::net::Ipv4Addr::from(bytes).to_string(),
        Address::V6(bytes) => std::net::Ipv6Addr::from(bytes).to_string(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares of counts need no more than 53 bits"
)]
const fn real(count: u64) -> f64 {
    count as f64
}

/// Fewer ports say nothing by being even.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use sa_entropy::one_pair::PairOfHosts;
    use sa_entropy::{Dice, Method};

    use super::*;

    fn seen(ports: impl Iterator<Item = u16>) -> Vec<Seen> {
        ports
            .map(|port| Seen {
                hosts: None,
                qpn: None,
                port,
                packets: 1,
            })
            .collect()
    }

    fn codes(seen: &[Seen]) -> Vec<&'static str> {
        Findings::new(seen, &[])
            .alarms
            .iter()
            .map(|alarm| alarm.code)
            .collect()
    }

    #[test]
    fn alarms_are_raised_where_they_should_be() {
        let mut dice = Dice::new(1);
        let random: Vec<u16> = (0..100).map(|_| 0xc000 + dice.below_16(0x4000)).collect();
        assert!(codes(&seen(random.into_iter())).is_empty());
        assert!(codes(&seen(0xc100..0xc200)).is_empty());
        assert_eq!(codes(&seen([0xc000].into_iter())), ["constant-port"]);
        assert_eq!(codes(&seen((0xc000..0xc100).step_by(2))), ["even-only"]);
        assert_eq!(codes(&seen([1024, 0xc001].into_iter())), ["foreign-ports"]);
    }

    /// Those that count QPNs or ports are no alarm, nor those that mix.
    #[test]
    fn stacks_as_they_are_raise_no_alarm() {
        let mut dice = Dice::new(1);
        let methods = [
            Method::QpnProduct,
            Method::CmShipped,
            Method::SourcePort,
            Method::Mixed,
            Method::Random,
        ];
        for method in methods {
            let pair = PairOfHosts::new(method);
            let wrong = (0..600).filter(|nth| {
                let ports = pair.source_ports(40 + nth, &mut dice);
                let codes = codes(&seen(ports.into_iter().map(SourcePort::get)));
                codes.contains(&"polarised")
            });
            let wrong: Vec<u32> = wrong.collect();
            assert!(wrong.is_empty(), "{method} {wrong:?}");
        }
    }

    /// What one way of a linear first stage passes on.
    #[test]
    fn what_a_linear_hash_chose_is_polarised() {
        let host = Address::V4([10, 0, 0, 1]);
        let hash = HashKind::Crc32c;
        let mut dice = Dice::new(1);
        let random = (0..1000).map(|_| 0xc000 + dice.below_16(0x4000));
        let passed = random.filter(|port| {
            let tuple = Tuple {
                source: host,
                destination: host,
                port: SourcePort::new(*port).unwrap(),
            };
            hash.way(&tuple, 5, 4) == 1
        });
        assert_eq!(codes(&seen(passed)), ["polarised"]);
    }

    #[test]
    fn one_port_for_many_qps_is_a_stack_that_sets_it() {
        let flow = |qpn, port| Seen {
            hosts: Some((Address::V4([10, 0, 0, 1]), Address::V4([10, 0, 0, 2]))),
            qpn: Some(qpn),
            port,
            packets: 5,
        };
        assert_eq!(
            codes(&[flow(1, 0xc000), flow(2, 0xc000)]),
            ["constant-port"]
        );
        assert!(codes(&[flow(1, 0xc000)]).is_empty());
        assert!(codes(&[flow(1, 0xc000), flow(2, 0xc001)]).is_empty());
    }
}
