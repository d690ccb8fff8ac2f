//! The flows of one pair of hosts over the ways of one switch.
//!
//! The smallest question: two hosts, one switch with `ways` equal paths, as many flows as one
//! likes. It is what most of the published figures are about, since here a label can do most:
//! addresses are equal for all flows, so that only the port differs.
//!
//! Random flows are balls in bins: with as many flows as ways, 1 - 1/e or 63 % of the ways are used
//! when there are many. A linear hash and consecutive ports do better than that; with labels in
//! steps, worse.

use sa_wire::roce::{FlowLabel, SourcePort};

use super::dice::Dice;
use super::flows::{PortUse, QpnUse};
use super::method::{Identity, Method, random};
use super::sample::{Sample, count};
use super::switch::{Address, HashKind, Tuple};

/// Flows of a pair: how their names come about and who labels them.
#[derive(Debug, Clone, Copy)]
pub struct PairOfHosts {
    /// Who labels.
    pub method: Method,
    /// QPNs on both ends.
    pub qpns: QpnUse,
    /// The CM's source ports.
    pub ports: PortUse,
    /// The CM's destination port.
    pub service: u16,
}

impl PairOfHosts {
    /// Labelled so; QPNs and ports one apart, NVMe over Fabrics' port.
    pub const fn new(method: Method) -> Self {
        Self {
            method,
            qpns: QpnUse::Step(1),
            ports: PortUse::Step(1),
            service: 4420,
        }
    }

    /// The names of this many flows.
    ///
    /// Starts are drawn once for the pair, numbers within it follow from them.
    pub fn identities(&self, flows: u32, dice: &mut Dice) -> Vec<Identity> {
        let (local, remote) = self.qpns.starts(dice);
        let source = PortUse::start(dice);
        let start = dice.below_16(SourcePort::COUNT);
        let identity = |index| Identity {
            local: self.qpns.nth(local, index, dice),
            remote: self.qpns.nth(remote, index, dice),
            source: self.ports.nth(source, index, dice),
            service: self.service,
            start,
            index,
        };
        (0..flows).map(identity).collect()
    }

    /// Their ports.
    ///
    /// In the order of the flows.
    pub fn source_ports(&self, flows: u32, dice: &mut Dice) -> Vec<SourcePort> {
        let identities = self.identities(flows, dice);
        let port = |of: &Identity| self.method.label(of, dice).source_port();
        identities.iter().map(port).collect()
    }
}

/// How flows lie on the ways of a switch.
///
/// 1 for both is the best there is: every way carries the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// Share of the ways that carry a flow.
    pub used: f64,
    /// Flows of the busiest way over the mean.
    pub busiest: f64,
}

impl Balance {
    /// From flows by way.
    pub fn of(loads: &[u32]) -> Self {
        let (ways, flows) = (count(loads.len()), f64::from(loads.iter().sum::<u32>()));
        let used = count(loads.iter().filter(|load| **load > 0).count());
        let most = f64::from(loads.iter().copied().max().unwrap_or(0));
        Self {
            used: used / ways.max(1.0),
            busiest: most * ways / flows.max(1.0),
        }
    }
}

/// A [`Balance`] over trials.
#[derive(Debug, Clone, Default)]
pub struct Balances {
    /// Share of the ways that carry a flow.
    pub used: Sample,
    /// Flows of the busiest way over the mean.
    pub busiest: Sample,
}

impl Balances {
    /// One more trial.
    pub fn add(&mut self, balance: Balance) {
        self.used.add(balance.used);
        self.busiest.add(balance.busiest);
    }
}

/// Trials of `flows` flows over `ways` ways, each between two hosts of its own.
///
/// Cost: trials times flows, one hash each, and for `greedy` one per try.
pub fn spread(
    of: &PairOfHosts,
    flows: u32,
    ways: u32,
    hash: &HashKind,
    trials: u32,
    dice: &mut Dice,
) -> Balances {
    let mut balances = Balances::default();
    let mut loads = vec![0; usize::try_from(ways).unwrap_or(0)];
    for _ in 0..trials {
        loads.fill(0);
        let hosts = [dice.word(), dice.word()].map(Address::v4);
        // Drawn in each trial: a figure must not be about one switch.
        let seed = dice.bits();
        for identity in of.identities(flows, dice) {
            let way = |label: FlowLabel| {
                let [source, destination] = hosts;
                let tuple = Tuple {
                    source,
                    destination,
                    port: label.source_port(),
                };
                usize::try_from(hash.way(&tuple, seed, ways)).unwrap_or(0)
            };
            // The method's own label is the first try.
            let mut best = way(of.method.label(&identity, dice));
            for _ in 1..of.method.tries() {
                let other = way(random(dice));
                // The first of equals stays: then a greedy label is random where nothing is to be
                // gained.
                if loads.get(other) < loads.get(best) {
                    best = other;
                }
            }
            if let Some(load) = loads.get_mut(best) {
                *load += 1;
            }
        }
        balances.add(Balance::of(&loads));
    }
    balances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_counts_ways_and_the_busiest() {
        let balance = Balance::of(&[4, 0, 0, 4]);
        assert_eq!((balance.used, balance.busiest), (0.5, 2.0));
    }

    /// As many balls as bins leave (1 - 1/16)^16 of them empty.
    #[test]
    fn random_labels_are_balls_in_bins() {
        let pair = PairOfHosts::new(Method::Random);
        let spread = spread(&pair, 16, 16, &HashKind::Strong, 2000, &mut Dice::new(1));
        assert!((spread.used.mean() - 0.644).abs() < 0.01);
    }

    #[test]
    fn one_port_uses_one_way() {
        let pair = PairOfHosts::new(Method::Constant);
        let spread = spread(&pair, 64, 16, &HashKind::Crc32c, 20, &mut Dice::new(1));
        assert_eq!(
            (spread.used.mean(), spread.busiest.mean()),
            (1.0 / 16.0, 16.0)
        );
    }
}
