//! What is counted: a fabric, a policy, a workload.

use std::error::Error;

use policy::{ParseOptions, Partitions};
use sa_bench::count::{Case, PASSES};
use sa_bench::requests::{Draw, Host, Workload};
use sa_bench::rules::{RuleSpec, facts};
use sa_bench::synthetic::{dense, torus_model, with_policy};
use sa_snapshot::model::Model;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix};
use sm_control::{request, slow_sa};

/// A case and what it is to cost.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) what: &'static str,
    /// Units: instructions per query, or per record.
    pub(crate) goal: Option<f64>,
    workload: Workload,
    /// Switches around each of the three rings.
    radix: u8,
    rules: u64,
    /// The levels give flow labels.
    labels: bool,
    paths: Paths,
}

/// How the snapshot holds paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    Torus,
    Dense,
}

const fn torus(
    name: &'static str,
    what: &'static str,
    goal: Option<f64>,
    workload: Workload,
    rules: u64,
) -> Spec {
    Spec {
        name,
        what,
        goal,
        workload,
        radix: 24,
        rules,
        labels: false,
        paths: Paths::Torus,
    }
}

/// Two hosts a switch each.
pub(crate) const CASES: [Spec; 16] = [
    torus(
        "gid-1000",
        "24x24x24, GID-GID, 1,000 rules",
        Some(320.0),
        Workload::Gid,
        1_000,
    ),
    Spec {
        labels: true,
        ..torus(
            "gid-1000-labels",
            "24x24x24, GID-GID, 1,000 rules with flow labels",
            Some(540.0),
            Workload::Gid,
            1_000,
        )
    },
    torus(
        "lid-1000",
        "24x24x24, LID-LID, 1,000 rules",
        Some(285.0),
        Workload::Lid,
        1_000,
    ),
    torus(
        "rdma-cm-1000",
        "24x24x24, as the kernel's rdma_cm asks, 1,000 rules",
        Some(380.0),
        Workload::RdmaCm,
        1_000,
    ),
    torus(
        "gid-none",
        "24x24x24, GID-GID, no policy",
        Some(228.0),
        Workload::Gid,
        0,
    ),
    torus(
        "lid-none",
        "24x24x24, LID-LID, no policy",
        None,
        Workload::Lid,
        0,
    ),
    torus(
        "gid-10000",
        "24x24x24, GID-GID, 10,000 rules",
        None,
        Workload::Gid,
        10_000,
    ),
    Spec {
        paths: Paths::Dense,
        ..torus(
            "gid-1000-dense",
            "24x24x24 by dense table, GID-GID, 1,000 rules",
            None,
            Workload::Gid,
            1_000,
        )
    },
    torus(
        "table-1000",
        "24x24x24, table of half the world, 1,000 rules, per record",
        None,
        Workload::Table,
        1_000,
    ),
    torus(
        "table-none",
        "24x24x24, table of half the world, no policy, per record",
        None,
        Workload::Table,
        0,
    ),
    torus(
        "mpr-1000",
        "24x24x24, MultiPathRecord 4x4, 1,000 rules",
        None,
        Workload::Mpr,
        1_000,
    ),
    torus(
        "mpr-none",
        "24x24x24, MultiPathRecord 4x4, no policy",
        None,
        Workload::Mpr,
        0,
    ),
    Spec {
        radix: 8,
        ..torus(
            "gid-none-8",
            "8x8x8, GID-GID, no policy",
            None,
            Workload::Gid,
            0,
        )
    },
    Spec {
        radix: 8,
        ..torus(
            "gid-1000-8",
            "8x8x8, GID-GID, 1,000 rules",
            None,
            Workload::Gid,
            1_000,
        )
    },
    Spec {
        radix: 8,
        ..torus(
            "lid-1000-8",
            "8x8x8, LID-LID, 1,000 rules",
            None,
            Workload::Lid,
            1_000,
        )
    },
    Spec {
        radix: 8,
        paths: Paths::Dense,
        ..torus(
            "gid-1000-dense-8",
            "8x8x8 by dense table, GID-GID, 1,000 rules",
            None,
            Workload::Gid,
            1_000,
        )
    },
];

/// A case to be answered, and how many queries or records one request of it counts for.
pub(crate) struct Ready {
    pub(crate) case: Case,
    pub(crate) units: f64,
}

impl Spec {
    /// Makes the case and answers it once. Errors: a request gets no record.
    pub(crate) fn prepare(&self) -> Result<Ready, Box<dyn Error>> {
        let rules = (self.rules > 0).then(|| RuleSpec {
            labels: self.labels,
            ..RuleSpec::mixed(self.rules, GROUPS)
        });
        let snapshot = self.snapshot(rules)?;
        let hosts = hosts(&snapshot)?;
        let mut draw = Draw::new(&hosts, rules, SEED);
        let part = match self.workload {
            Workload::Gid | Workload::Lid | Workload::RdmaCm => 8_192,
            Workload::Mpr => 512,
            Workload::Table => 2,
        };
        let drawn = (0..part * PASSES).map(|_| draw.next(self.workload));
        let requests: Vec<Slot> = drawn.collect::<Result<_, _>>()?;
        let records = records(&snapshot, &requests)?;
        let case = Case {
            snapshot,
            requests,
            is_long: self.workload.is_long(),
            batch: sa_fastpath::port::BATCH,
        };
        let units = match self.workload {
            Workload::Table => records,
            Workload::Gid | Workload::Lid | Workload::RdmaCm | Workload::Mpr => 1.0,
        };
        Ok(Ready { case, units })
    }

    fn snapshot(&self, rules: Option<RuleSpec>) -> Result<Snapshot, Box<dyn Error>> {
        let model = torus_model([self.radix; 3], 2).ok_or("the torus has too many LIDs")?;
        let model = match self.paths {
            Paths::Torus => model,
            Paths::Dense => dense(model),
        };
        let model = match rules {
            None => model,
            Some(rules) => ruled(model, &rules.text_for(&(0..=u64::MAX)))?,
        };
        Ok(Builder::build(&model)?)
    }
}

fn ruled(model: Model, policy: &str) -> Result<Model, Box<dyn Error>> {
    let facts = facts(&model);
    let partitions = Partitions::without_file(&facts);
    let parsed = policy::parse(policy, &ParseOptions::default());
    let parsed = parsed.map_err(|_| "the synthetic policy does not parse")?;
    let tables = policy::compile(&parsed, &facts, &partitions)?;
    Ok(with_policy(model, tables))
}

fn hosts(snapshot: &Snapshot) -> Result<Vec<Host>, Box<dyn Error>> {
    let ports = snapshot.ports().filter(|(_, port)| !port.is_switch());
    let host = |port: &sa_snapshot::PortRecord| {
        let guid = Guid::new(port.guid())?;
        Ok(Host {
            lid: port.lid,
            gid: Gid::unicast(SubnetPrefix::LINK_LOCAL, guid),
        })
    };
    ports.map(|(_, port)| host(port)).collect()
}

/// Records of a reply, on average. Errors: one has none, so that nothing would be counted but its
/// refusal.
fn records(snapshot: &Snapshot, requests: &[Slot]) -> Result<f64, Box<dyn Error>> {
    let mut all = 0;
    for slot in requests {
        let reply = slow_sa::respond(snapshot, slot).ok_or("a request gets no reply")?;
        let (status, records) = request::parse(&reply)?;
        if status != 0 || records.is_empty() {
            return Err(format!("a request is answered by status {status:#06x}").into());
        }
        all += records.len();
    }
    Ok(f64::from(u32::try_from(all)?) / f64::from(u32::try_from(requests.len())?))
}

/// Port groups of the synthetic policy.
const GROUPS: u64 = 60;
const SEED: u64 = 0x5eed;
