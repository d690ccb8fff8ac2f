//! What is counted: a fabric, a policy, a workload.

use std::error::Error;
use std::mem::offset_of;

use policy::{ParseOptions, Partitions};
use sa_answer::whole;
use sa_bench::count::{Case, PASSES};
use sa_bench::requests::{Draw, Workload, hosts};
use sa_bench::rules::{RuleSpec, facts};
use sa_bench::synthetic::{dense, torus_model, with_policy};
use sa_snapshot::model::Model;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// A case and what it is to cost.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) what: &'static str,
    /// Units: instructions per query, or per record.
    pub(crate) goal: Option<f64>,
    /// What is asked; it also says what one unit is.
    workload: Workload,
    /// Switches around each of the three rings.
    radix: u8,
    /// Rules of the synthetic policy; 0 for no policy.
    rules: u64,
    /// The levels give flow labels.
    labels: bool,
    /// Wishes for what the answer would be without them.
    wishes: PathCompMask,
    paths: Paths,
}

/// How the snapshot holds paths.
///
/// A torus has no table of paths; the dense one is what any other fabric has.
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
        wishes: PathCompMask(0),
        paths: Paths::Torus,
    }
}

/// Two hosts a switch each.
///
/// Goals are in the first ones; the others are there to see what a change costs where nobody has
/// set a goal.
pub(crate) const CASES: [Spec; 21] = [
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
        "gid-and-lid-1000",
        "24x24x24, GID-GID with the source's LID too, 1,000 rules",
        Some(620.0),
        Workload::GidAndLid,
        1_000,
    ),
    torus(
        "table-pair-gid-1000",
        "24x24x24, GetTable of one pair by GIDs, 1,000 rules",
        Some(620.0),
        Workload::PairGid,
        1_000,
    ),
    torus(
        "table-pair-lid-1000",
        "24x24x24, GetTable of one pair by LIDs, 1,000 rules",
        Some(550.0),
        Workload::PairLid,
        1_000,
    ),
    Spec {
        wishes: PathCompMask::SL,
        ..torus(
            "gid-wish-sl-1000",
            "24x24x24, GID-GID with a wish for the SL, 1,000 rules",
            Some(620.0),
            Workload::Gid,
            1_000,
        )
    },
    Spec {
        wishes: PathCompMask::MTU_PAIR,
        ..torus(
            "gid-wish-mtu-1000",
            "24x24x24, GID-GID with a wish for the MTU, 1,000 rules",
            Some(620.0),
            Workload::Gid,
            1_000,
        )
    },
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
        // No rules is no policy at all, not an empty one.
        let rules = (self.rules > 0).then(|| RuleSpec {
            labels: self.labels,
            ..RuleSpec::mixed(self.rules, GROUPS)
        });
        let snapshot = self.snapshot(rules)?;
        let hosts = hosts(&snapshot)?;
        let mut draw = Draw::new(&hosts, rules, SEED);
        let part = match self.workload {
            // A table's request is thousands of records by itself, so few of them do.
            Workload::Gid
            | Workload::Lid
            | Workload::RdmaCm
            | Workload::GidAndLid
            | Workload::PairGid
            | Workload::PairLid => 8_192,
            Workload::Mpr => 512,
            Workload::Table => 2,
        };
        let count = part * PASSES;
        let mut requests: Vec<Slot> = Vec::with_capacity(count);
        while requests.len() < count {
            let drawn = draw.next(self.workload)?;
            // Those that would get nothing are drawn again: a refusal is shorter than an answer.
            requests.extend(match self.wishes {
                PathCompMask(0) => Some(drawn),
                wishes => wishing(&snapshot, drawn, wishes)?,
            });
        }
        let records = records(&snapshot, &requests)?;
        let case = Case {
            snapshot,
            requests,
            is_long: self.workload.is_long(),
            batch: sa_port::BATCH,
        };
        // A table is counted per record, as its length depends on the fabric.
        let units = match self.workload {
            Workload::Table => records,
            _ => 1.0,
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

/// The model with the tables of a policy. Errors: the synthetic policy has a fault, which is a
/// defect here.
fn ruled(model: Model, policy: &str) -> Result<Model, Box<dyn Error>> {
    let facts = facts(&model);
    let partitions = Partitions::without_file(&facts);
    let parsed = policy::parse(policy, &ParseOptions::default());
    let parsed = parsed.map_err(|_| "the synthetic policy does not parse")?;
    let tables = policy::compile(&parsed, &facts, &partitions)?;
    Ok(with_policy(model, tables))
}

/// The request with a wish for what it gets anyhow, and for no way back, which may have another SL.
/// None where it gets nothing then: a torus gives other SLs than the policy, and a wish is for
/// both. Errors: no reply.
fn wishing(
    snapshot: &Snapshot,
    mut slot: Slot,
    wishes: PathCompMask,
) -> Result<Option<Slot>, Box<dyn Error>> {
    let got = |slot: &Slot| -> Result<Option<PathRecord>, Box<dyn Error>> {
        let reply = whole::respond(snapshot, slot).ok_or("a request gets no reply")?;
        Ok(request::parse(&reply)?.1.first().copied())
    };
    let Some(record) = got(&slot)? else {
        return Ok(None);
    };
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let [sl, mtu] = [
        offset_of!(PathRecord, qos_class_sl) + 1,
        offset_of!(PathRecord, mtu),
    ];
    mad.data[sl] = mad.data[sl] & 0xf0 | record.qos_class_sl.sl().get();
    mad.data[mtu] = record.mtu.0;
    // REVERSIBLE asks for a way back with the same SL, which a wish for an SL may contradict.
    let mask = mad.sa.component_mask.get() & !PathCompMask::REVERSIBLE.0;
    mad.sa.component_mask = (mask | wishes.0).into();
    // Asked once more: a wish for what was granted may still be refused.
    Ok(got(&slot)?.map(|_| slot))
}

/// Records of a reply, on average. Errors: one has none, so that nothing would be counted but its
/// refusal.
fn records(snapshot: &Snapshot, requests: &[Slot]) -> Result<f64, Box<dyn Error>> {
    let mut all = 0;
    for slot in requests {
        let reply = whole::respond(snapshot, slot).ok_or("a request gets no reply")?;
        let (status, records) = request::parse(&reply)?;
        if status != 0 || records.is_empty() {
            return Err(format!("a request is answered by status {status:#06x}").into());
        }
        all += records.len();
    }
    Ok(f64::from(u32::try_from(all)?) / f64::from(u32::try_from(requests.len())?))
}

/// Port groups of the synthetic policy.
///
/// As many as `sapphire bench` has, so that both measure one policy.
const GROUPS: u64 = 60;
/// Any; the committed ceilings were written with this one.
const SEED: u64 = 0x5eed;
