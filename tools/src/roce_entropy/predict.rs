//! `predict`: how evenly a job's flows will lie.
//!
//! One call makes a dozen simulations with the same seed: the labels asked for, all that compare
//! with them, and the same with twice and four times the QPs. Only so can the advice say what
//! another choice would bring, with the same hosts and the same draws.
//!
//! The figures of a tier: `used`, the share of its links that carry any flow, and `busiest/mean`,
//! how much longer the job takes than with even links. The mean over trials, its median and its
//! 95th percentile are shown: a job is started once, and meets one draw.

use clap::Args;
use sa_entropy::Method;
use sa_entropy::job::{Fabric, Job, Pattern};
use sa_entropy::predict::{Prediction, predict};
use sa_fabric::display;
use serde::Serialize;

use super::advice::{self, Case};
use super::job::{FabricArgs, JobArgs};
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};

/// Says how evenly a job's flows will lie on the links of an Ethernet fabric, by simulation: the
/// share of links that carry a flow, and the busiest link over the mean, by tier; which labels and
/// how many QPs would do better.
///
/// Flows weigh the same. Switch hashes are models: the strong one stands for good hardware, crc32
/// and xorfold for linear ones. Exit status 3: the busiest link is above --fail-above.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fabric: FabricArgs,
    /// Who makes the labels: qpn (drivers), cm (Linux's RDMA CM), cm-rfc, source-port, fmix64,
    /// multiply-shift, crc32c, qpn-sum, qpn-u32, random, assigned:STEP, greedy:TRIES,
    /// constant [default: cm for the pattern service, else qpn]
    #[arg(long)]
    method: Option<Method>,
    /// Trials [default: as many as take about a second]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,
    /// Exit with 3 when the busiest link of any tier is more than this many times the mean
    #[arg(long, value_name = "RATIO")]
    fail_above: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(verb: &Predict) -> Outcome {
    let job = verb.job.job()?.job;
    let fabric = verb.fabric.fabric(&job)?;
    let trials = verb
        .trials
        // About a second in all; five trials at least, else percentiles mean nothing.
        .unwrap_or_else(|| (400_000 / job.flows().max(1)).clamp(5, 500));
    let predicted =
        |job: &Job, fabric: &Fabric, method| predict(job, fabric, method, trials, verb.job.seed);
    let method = verb.method.unwrap_or(match job.pattern {
        // Services are reached through the CM, whose label counts then; other jobs exchange QPNs by
        // themselves.
        Pattern::Service => Method::CmShipped,
        _ => Method::QpnProduct,
    });
    let chosen = predicted(&job, &fabric, method);
    let Some((_, worst)) = chosen
        .worst()
        // A ratio of no flows would be told as a good one.
        .filter(|_| chosen.flows_per_switch.iter().any(|it| *it > 0.0))
    else {
        return Err(Failure::usage(
            "no flow leaves its leaf: give fewer --hosts-per-leaf, or another --pattern".to_owned(),
        ));
    };
    let mut others: Vec<Method> = Method::COMPARED.into();
    // A method such as qpn-sum is none that is compared, but its own line must be there.
    if !others.contains(&method) {
        others.push(method);
    }
    let others = others
        .into_iter()
        .map(|other| (other, predicted(&job, &fabric, other)))
        .collect::<Vec<_>>();
    // Twice and four times: enough to see whether flows are too few for the ways.
    let more = [2, 4].map(|times| {
        let qps = (job.qps * times).min(16384);
        let more = Job { qps, ..job.clone() };
        // Up to the most that the options take; there is nothing to gain at that end.
        (qps, predicted(&more, &fabric, method))
    });
    let case = Case {
        job: &job,
        fabric: &fabric,
        method,
        chosen: &chosen,
        others: &others,
        more: &more,
    };
    let shown = Shown {
        case,
        trials,
        hash: verb.fabric.hash_name(),
        advice: advice::of(&case),
    };
    if verb.json {
        json::print(&shown.report())?;
    } else {
        shown.print();
    }
    match verb.fail_above {
        Some(limit) if worst > limit => Err(Failure::refused(format!(
            "the busiest link carries {worst:.2} times the mean, more than --fail-above {limit}"
        ))),
        _ => Ok(()),
    }
}

/// What both forms of output need.
struct Shown<'a> {
    case: Case<'a>,
    trials: u32,
    hash: &'a str,
    advice: Vec<String>,
}

impl Shown<'_> {
    /// Four tables: the job, the tiers, other methods, more QPs; then the advice.
    fn print(&self) {
        let Case {
            job,
            fabric,
            method,
            chosen,
            others,
            more,
        } = self.case;
        outln!(
            "job              {}, {} a pair, {}",
            display::count(job.host_count(), "host", "hosts"),
            display::count(job.qps, "QP", "QPs"),
            display::count(job.flows(), "flow", "flows")
        );
        let ways: Vec<String> = fabric.ways.iter().map(ToString::to_string).collect();
        outln!(
            "fabric           {} a leaf, rails {}, ways {}, hash {}",
            display::count(fabric.hosts_per_leaf, "host", "hosts"),
            fabric.rails,
            ways.join(" "),
            self.hash
        );
        outln!(
            "method           {method}, {}",
            display::count(self.trials, "trial", "trials")
        );
        outln!("\ntier  flows/switch  used  busiest/mean  p50   p95");
        for (nth, (tier, flows)) in chosen
            .tiers
            .iter()
            .zip(&chosen.flows_per_switch)
            .enumerate()
        {
            outln!(
                "{:<4}  {flows:>12.1}  {:>4.2}  {:>12.2}  {:<4.2}  {:<4.2}",
                nth + 1,
                tier.used.mean(),
                tier.busiest.mean(),
                tier.busiest.percentile(0.5),
                tier.busiest.percentile(0.95),
            );
        }
        outln!(
            "\nQPs of a pair with another one's port: {:.2} %",
            100.0 * chosen.repeats.mean()
        );
        outln!("\nmethod          used  busiest/mean  p95   same port");
        for (method, prediction) in others {
            // A method under which no flow leaves its leaf has no line.
            let Some(tier) = worst_tier(prediction) else {
                continue;
            };
            outln!(
                "{:<14}  {:>4.2}  {:>12.2}  {:<4.2}  {:>7.2} %",
                method.to_string(),
                tier.used.mean(),
                tier.busiest.mean(),
                tier.busiest.percentile(0.95),
                100.0 * prediction.repeats.mean(),
            );
        }
        outln!();
        for (qps, prediction) in more {
            if let Some((_, busiest)) = prediction.worst() {
                let qps = display::count(qps, "QP", "QPs");
                outln!("with {qps} a pair: busiest/mean {busiest:.2}");
            }
        }
        outln!();
        for line in &self.advice {
            outln!("{line}");
        }
    }

    /// The text's figures, unrounded.
    fn report(&self) -> Report<'_> {
        let Case {
            job,
            fabric,
            method,
            chosen,
            others,
            more,
        } = self.case;
        let methods = others.iter().map(|(method, it)| OfMethod {
            method: method.to_string(),
            summary: Summary::of(it),
        });
        let more = more.iter().map(|(qps, it)| OfQps {
            qps: *qps,
            summary: Summary::of(it),
        });
        let tiers = chosen.tiers.iter().zip(&chosen.flows_per_switch);
        let tiers = tiers.map(|(tier, flows)| Tier {
            flows_per_switch: *flows,
            used: tier.used.mean(),
            busiest: tier.busiest.mean(),
            p50: tier.busiest.percentile(0.5),
            p95: tier.busiest.percentile(0.95),
        });
        Report {
            hosts: job.host_count(),
            qps: job.qps,
            flows: job.flows(),
            ways: &fabric.ways,
            hash: self.hash,
            method: method.to_string(),
            trials: self.trials,
            tiers: tiers.collect(),
            same_port: chosen.repeats.mean(),
            methods: methods.collect(),
            more_qps: more.collect(),
            polarised: advice::polarised(&self.case),
            recommendation: self.advice.join(" "),
        }
    }
}

/// How flows will lie, for programs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    hosts: u32,
    /// QPs of a pair of hosts.
    qps: u32,
    flows: u32,
    /// Of a switch, from the leaves up.
    ways: &'a [u32],
    hash: &'a str,
    method: String,
    trials: u32,
    /// From the leaves up.
    tiers: Vec<Tier>,
    /// Share of the QPs of a pair whose port another one has.
    same_port: f64,
    methods: Vec<OfMethod>,
    more_qps: Vec<OfQps>,
    /// Tiers, from 0, that see only what a linear hash below has chosen.
    polarised: Vec<usize>,
    recommendation: String,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.roce-entropy-predict/1";
}

/// Links of a tier.
///
/// From the leaves up, by place in the list.
#[derive(Debug, Serialize)]
struct Tier {
    flows_per_switch: f64,
    /// Share of the links that carry a flow.
    used: f64,
    /// The busiest link over the mean: its mean over trials, its median, what 95 % stay below.
    busiest: f64,
    p50: f64,
    p95: f64,
}

/// What other labels would give.
///
/// Without figures where no flow leaves its leaf.
#[derive(Debug, Serialize)]
struct OfMethod {
    method: String,
    #[serde(flatten)]
    summary: Option<Summary>,
}

/// What more QPs would give.
#[derive(Debug, Serialize)]
struct OfQps {
    qps: u32,
    #[serde(flatten)]
    summary: Option<Summary>,
}

/// Of the tier whose busiest link is busiest.
///
/// The worst tier decides how long a job takes, so it stands for the whole.
#[derive(Debug, Serialize)]
struct Summary {
    used: f64,
    busiest: f64,
    p95: f64,
    same_port: f64,
}

impl Summary {
    fn of(prediction: &Prediction) -> Option<Self> {
        let tier = worst_tier(prediction)?;
        Some(Self {
            used: tier.used.mean(),
            busiest: tier.busiest.mean(),
            p95: tier.busiest.percentile(0.95),
            same_port: prediction.repeats.mean(),
        })
    }
}

/// None where no tier has a flow.
fn worst_tier(of: &Prediction) -> Option<&sa_entropy::one_pair::Balances> {
    of.worst().and_then(|(tier, _)| of.tiers.get(tier))
}
