//! What becomes of a job's flows on a fabric, over many trials.
//!
//! A trial hands out QPNs and ports to all hosts, labels every flow, and lets switches choose tier
//! by tier; the loads of links are then reduced to a `Balance` per tier. The next trial draws other
//! starts, seeds and random labels, with the same addresses.
//!
//! Only ways up are followed: downwards there is one path in a tree. A flow between hosts of one
//! leaf meets no choice.

use sa_wire::roce::{FlowLabel, SourcePort};

use super::dice::Dice;
use super::flows::{PortUse, QpnUse};
use super::job::{Fabric, Job, Seeds};
use super::method::{Identity, Method, random};
use super::one_pair::{Balance, Balances};
use super::port_use::Repeats;
use super::sample::{Sample, count};
use super::switch::Tuple;

/// What came of the trials.
///
/// Some numbers per trial and tier; flows themselves are not kept.
#[derive(Debug, Clone, Default)]
pub struct Prediction {
    /// How each tier is used, from the leaves up.
    pub tiers: Vec<Balances>,
    /// Flows at a choosing switch of each tier, on average.
    pub flows_per_switch: Vec<f64>,
    /// Share of the QPs of a pair of hosts whose port another one has.
    pub repeats: Sample,
}

impl Prediction {
    /// The tier whose busiest link is busiest. Shape: number from 0, mean over trials.
    pub fn worst(&self) -> Option<(usize, f64)> {
        let means = self.tiers.iter().map(|tier| tier.busiest.mean());
        means
            .enumerate()
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Runs the job with labels made so. Shape: the same for the same seed.
///
/// Cost: trials times flows, times the tiers for a hash each.
pub fn predict(job: &Job, fabric: &Fabric, method: Method, trials: u32, seed: u64) -> Prediction {
    let mut dice = Dice::new(seed);
    let mut prediction = Prediction::default();
    prediction
        .tiers
        .resize_with(fabric.ways.len(), Balances::default);
    prediction.flows_per_switch.resize(fabric.ways.len(), 0.0);
    let mut repeats = Repeats::default();
    for _ in 0..trials.max(1) {
        let mut trial = Trial::new(job, fabric, method, &mut dice);
        trial.run(&mut dice, &mut repeats, &mut prediction.repeats, |_| {});
        let flows = prediction.flows_per_switch.iter_mut();
        for ((tier, balances), flows) in trial.tiers.iter().zip(&mut prediction.tiers).zip(flows) {
            let (balance, of_switch) = tier.balance();
            balances.add(balance);
            *flows += of_switch / f64::from(trials.max(1));
        }
    }
    prediction
}

/// A label that was chosen for a QP of a pair of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Active and passive side: indices of hosts.
    pub pair: (u32, u32),
    /// Which QP of the pair.
    pub index: u32,
    /// Never 0.
    pub label: FlowLabel,
}

/// Labels for all QPs of a job, one after the other the best of `tries` random ones for the
/// fabric's hash. Shape: the same for the same seed.
pub fn plan(job: &Job, fabric: &Fabric, tries: u32, seed: u64) -> Vec<Planned> {
    let mut dice = Dice::new(seed);
    let mut trial = Trial::new(job, fabric, Method::Greedy { tries }, &mut dice);
    let mut planned = Vec::new();
    let mut repeats = Repeats::default();
    trial.run(&mut dice, &mut repeats, &mut Sample::default(), |it| {
        planned.push(it)
    });
    planned
}

/// The links of a tier.
struct Tier {
    ways: u32,
    seed: u64,
    /// By switch, then by way.
    loads: Vec<u32>,
}

impl Tier {
    /// Over the switches that any flow reaches; and flows at each of those.
    fn balance(&self) -> (Balance, f64) {
        let ways = usize::try_from(self.ways).unwrap_or(1).max(1);
        let active = self
            .loads
            .chunks(ways)
            .filter(|loads| loads.iter().any(|load| *load > 0));
        let loads: Vec<u32> = active.flatten().copied().collect();
        let switches = (count(loads.len()) / count(ways)).max(1.0);
        let flows = f64::from(loads.iter().sum::<u32>());
        (Balance::of(&loads), flows / switches)
    }
}

/// One run of a job.
///
/// Made anew for each trial, so that nothing is left of the one before.
struct Trial<'a> {
    job: &'a Job,
    fabric: &'a Fabric,
    method: Method,
    /// By host.
    hosts: Vec<Counters>,
    tiers: Vec<Tier>,
}

/// What a host hands out next.
#[derive(Clone, Copy)]
struct Counters {
    qpn_start: u32,
    port_start: u16,
    qpns: u32,
    ports: u32,
}

/// Links that a flow takes, one of each tier. Shape: tiers above the fourth are not counted.
type Path = [Option<usize>; MOST_TIERS];

/// How many tiers a fabric can have.
pub const MOST_TIERS: usize = 4;

impl<'a> Trial<'a> {
    fn new(job: &'a Job, fabric: &'a Fabric, method: Method, dice: &mut Dice) -> Self {
        // Drawn also where it is not used: all methods then see the same draws after it.
        let both = job.qpns.starts(dice).0;
        let hosts = job.hosts.iter().map(|_| Counters {
            qpn_start: if job.qpns == QpnUse::Same {
                both
            } else {
                job.qpns.starts(dice).0
            },
            port_start: PortUse::start(dice),
            qpns: 0,
            ports: 0,
        });
        let hosts = hosts.collect();
        // As above: a known seed must not change what is drawn afterwards.
        let drawn = dice.bits();
        let seed = fabric.known_seed.unwrap_or(drawn);
        let switches = fabric.switches(job.host_count()).into_iter();
        let tiers = switches
            .zip(&fabric.ways)
            .enumerate()
            .map(|(nth, (switches, ways))| Tier {
                ways: *ways,
                seed: match fabric.seeds {
                    // The seed that is known is that of the leaves.
                    Seeds::ByTier if nth > 0 => dice.bits(),
                    Seeds::Same | Seeds::ByTier => seed,
                },
                loads: vec![0; usize::try_from(switches.saturating_mul(*ways)).unwrap_or(0)],
            });
        let tiers = tiers.collect();
        Self {
            job,
            fabric,
            method,
            hosts,
            tiers,
        }
    }

    /// One pass over all connections; `tell` hears of every label, for whoever makes a plan.
    fn run(
        &mut self,
        dice: &mut Dice,
        repeats: &mut Repeats,
        shares: &mut Sample,
        mut tell: impl FnMut(Planned),
    ) {
        let mut ports: Vec<SourcePort> = Vec::new();
        let mut all = Sample::default();
        for (from, to) in self.job.pattern.pairs(self.job.host_count()) {
            ports.clear();
            let start = dice.below_16(SourcePort::COUNT);
            for index in 0..self.job.qps {
                let Some(identity) = self.identity((from, to), start, index, dice) else {
                    continue;
                };
                let label = self.best((from, to), &identity, dice);
                ports.push(label.source_port());
                self.add((from, to), index, label);
                tell(Planned {
                    pair: (from, to),
                    index,
                    label,
                });
            }
            all.add(repeats.share(ports.iter().copied()));
        }
        shares.add(all.mean());
    }

    /// The next QPNs and port of both hosts.
    fn identity(
        &mut self,
        (from, to): (u32, u32),
        start: u16,
        index: u32,
        dice: &mut Dice,
    ) -> Option<Identity> {
        let [active, passive] = [from, to].map(|host| usize::try_from(host).unwrap_or(usize::MAX));
        let local = self.hosts.get_mut(active)?;
        let nth = local.qpns;
        local.qpns += 1;
        let source = self.job.ports.nth(local.port_start, local.ports, dice);
        local.ports += 1;
        let local = self.job.qpns.nth(local.qpn_start, nth, dice);
        let remote = self.hosts.get_mut(passive)?;
        let nth = if self.job.qpns == QpnUse::Same {
            nth
        } else {
            remote.qpns
        };
        remote.qpns += 1;
        Some(Identity {
            local,
            remote: self.job.qpns.nth(remote.qpn_start, nth, dice),
            source,
            service: self.job.service,
            start,
            index,
        })
    }

    /// The label; of several the one whose links carry least.
    fn best(&self, pair: (u32, u32), identity: &Identity, dice: &mut Dice) -> FlowLabel {
        let mut label = self.method.label(identity, dice);
        if self.method.tries() == 1 {
            return label;
        }
        let mut cost = self.cost(pair, identity.index, label);
        for _ in 1..self.method.tries() {
            let other = random(dice);
            let cost_of_other = self.cost(pair, identity.index, other);
            if cost_of_other < cost {
                (label, cost) = (other, cost_of_other);
            }
        }
        label
    }

    /// The busiest link of all tiers and directions, by its tier's number of links.
    ///
    /// Loads are weighed by the number of links of the tier, so that tiers with few, busy links do
    /// not decide alone.
    fn cost(&self, pair: (u32, u32), index: u32, label: FlowLabel) -> usize {
        let links = self.directions(pair).flat_map(|pair| {
            let path = self.path(pair, index, label);
            path.into_iter().zip(&self.tiers)
        });
        let costs = links.filter_map(|(link, tier)| {
            let load = tier.loads.get(link?)?;
            Some(
                usize::try_from(*load)
                    .unwrap_or(0)
                    .saturating_mul(tier.loads.len()),
            )
        });
        costs.max().unwrap_or(0)
    }

    fn add(&mut self, pair: (u32, u32), index: u32, label: FlowLabel) {
        for pair in self.directions(pair) {
            let path = self.path(pair, index, label);
            for (link, tier) in path.into_iter().zip(&mut self.tiers) {
                if let Some(load) = link.and_then(|link| tier.loads.get_mut(link)) {
                    *load += 1;
                }
            }
        }
    }

    /// One or both: loads count each direction for itself.
    fn directions(&self, (from, to): (u32, u32)) -> impl Iterator<Item = (u32, u32)> + use<> {
        let back = self.job.pattern.is_both_ways().then_some((to, from));
        [Some((from, to)), back].into_iter().flatten()
    }

    /// Nothing below one leaf.
    fn path(&self, (from, to): (u32, u32), index: u32, label: FlowLabel) -> Path {
        let mut path = [None; MOST_TIERS];
        let below = self.fabric.hosts_per_leaf.max(1);
        let address = |host: u32| {
            usize::try_from(host)
                .ok()
                .and_then(|host| self.job.hosts.get(host))
        };
        let (Some(source), Some(destination)) = (address(from), address(to)) else {
            return path;
        };
        // One leaf: the switch has one port to the host and chooses nothing.
        if from / below == to / below {
            return path;
        }
        let tuple = Tuple {
            source: *source,
            destination: *destination,
            port: label.source_port(),
        };
        let rails = self.fabric.rails.max(1);
        let rail = index % rails;
        let mut switch = from / below * rails + rail;
        for (nth, (tier, link)) in self.tiers.iter().zip(&mut path).enumerate() {
            let way = self.fabric.hash.way(&tuple, tier.seed, tier.ways);
            *link = usize::try_from(switch * tier.ways + way).ok();
            let below = if nth == 0 { rail } else { switch };
            switch = below * tier.ways + way;
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::Pattern;
    use super::super::one_pair::{PairOfHosts, spread};
    use super::super::switch::{Address, HashKind};
    use super::*;

    fn job(hosts: u32, qps: u32, pattern: Pattern) -> Job {
        Job {
            hosts: (0..hosts)
                .map(|host| Address::v4(0x0a00_0001 + host))
                .collect(),
            qps,
            pattern,
            qpns: QpnUse::Step(1),
            ports: PortUse::Step(1),
            service: 4420,
        }
    }

    fn fabric(ways: &[u32], seeds: Seeds) -> Fabric {
        Fabric {
            ways: ways.to_vec(),
            hosts_per_leaf: 1,
            rails: 1,
            hash: HashKind::Strong,
            seeds,
            known_seed: None,
        }
    }

    /// The same question asked in both ways of this crate.
    #[test]
    fn a_job_of_one_pair_is_one_pair() {
        let job = job(2, 64, Pattern::OnePair);
        for (method, hash) in [
            (Method::QpnProduct, HashKind::Strong),
            (Method::Assigned { step: 257 }, HashKind::XorFold),
            (Method::Greedy { tries: 4 }, HashKind::Strong),
        ] {
            let fabric = Fabric {
                hash,
                ..fabric(&[64], Seeds::ByTier)
            };
            let predicted = predict(&job, &fabric, method, 1000, 1);
            let pair = PairOfHosts::new(method);
            let spread = spread(&pair, 64, 64, &fabric.hash, 1000, &mut Dice::new(2));
            let tier = &predicted.tiers[0];
            assert!(
                (tier.used.mean() - spread.used.mean()).abs() < 0.02,
                "{method}"
            );
            let busiest = spread.busiest.mean();
            assert!(
                (tier.busiest.mean() - busiest).abs() < 0.1 * busiest,
                "{method}"
            );
        }
    }

    #[test]
    fn planned_labels_fill_the_ways_of_a_known_hash() {
        let fabric = Fabric {
            known_seed: Some(9),
            ..fabric(&[8], Seeds::ByTier)
        };
        let planned = plan(&job(2, 8, Pattern::OnePair), &fabric, 32, 1);
        assert_eq!(planned.len(), 8);
        let way = |it: &Planned| {
            let [source, destination] = [0, 1].map(|host| Address::v4(0x0a00_0001 + host));
            let tuple = Tuple {
                source,
                destination,
                port: it.label.source_port(),
            };
            HashKind::Strong.way(&tuple, 9, 8)
        };
        let ways: std::collections::BTreeSet<u32> = planned.iter().map(way).collect();
        assert_eq!(ways.len(), 8);
        assert!(planned.iter().all(|it| it.label.is_set()));
    }

    #[test]
    fn tiers_that_choose_alike_leave_ways_idle() {
        let job = job(64, 4, Pattern::AllToAll);
        let same = predict(&job, &fabric(&[8, 8], Seeds::Same), Method::Random, 3, 1);
        assert!((same.tiers[1].used.mean() - 0.125).abs() < 1e-9);
        let own = predict(&job, &fabric(&[8, 8], Seeds::ByTier), Method::Random, 3, 1);
        assert_eq!(own.tiers[1].used.mean(), 1.0);
        assert_eq!(own.worst().unwrap().0, 0);
    }

    /// A seed flips bits of a linear hash and no more, so that it does not help.
    #[test]
    fn seeds_do_not_help_linear_hashes() {
        let job = job(64, 4, Pattern::AllToAll);
        for hash in [HashKind::Crc32c, HashKind::XorFold] {
            let fabric = Fabric {
                hash,
                ..fabric(&[8, 8], Seeds::ByTier)
            };
            let tiers = predict(&job, &fabric, Method::Random, 3, 1).tiers;
            assert!((tiers[1].used.mean() - 0.125).abs() < 1e-9);
        }
    }

    #[test]
    fn rails_divide_the_qps_of_a_pair() {
        let fabric = Fabric {
            rails: 4,
            ..fabric(&[1], Seeds::ByTier)
        };
        let prediction = predict(
            &job(2, 8, Pattern::OnePair),
            &fabric,
            Method::Constant,
            1,
            1,
        );
        assert_eq!(prediction.flows_per_switch, [2.0]);
        assert_eq!(prediction.repeats.mean(), 7.0 / 8.0);
    }
}
