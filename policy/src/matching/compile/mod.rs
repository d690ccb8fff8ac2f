//! From a policy to match tables: equivalence classes per criterion, and the set of rules that
//! each class satisfies.
//!
//! For each criterion the values that no rule tells apart become one class, and each class has the set of
//! rules that it satisfies (`ends` for ports, `values` for numbers, `sets` for the sets). A request is then a
//! handful of classes, and the first rule that holds is the lowest bit of their sets' intersection: what
//! `sa_snapshot` lays out and the workers follow.
//!
//! Why classes: a policy of thousands of rules tells only some hundreds of values apart, so that tables by
//! value would be the same over and over. Nothing here depends on routes; what the default level and the
//! semantics are goes along.
//!
//! # Sizes
//!
//! A class has a bit for each rule, and a bit behind the last rule is added by the snapshot for "no
//! rule". 1,000 rules between 60 groups make some 900 classes of ports on each side, 128 bytes
//! each; a table by pair of ports would have millions of entries.
//!
//! | part | keyed by | length |
//! |---|---|---|
//! | source, destination | port index | ports |
//! | QoS class, P_Key, TClass | the number | 4,096 + 1, 32,768 + 1, 256 + 1 |
//! | service id | intervals of 64-bit numbers | two for each range, at most |
//!
//! # What it costs to look a request up
//!
//! A lookup by index for each of both ports, the QoS class and the P_Key, a search by halves for
//! the service id, then an AND over words from the front until one is not zero. With 1,000 rules
//! that is 16 words at most; nothing is tried rule by rule. (How workers do better than that for
//! common policies is in `docs/architecture.md`, section 3.)

mod ends;
mod sets;
mod values;

use sa_snapshot::RareField;
use sa_snapshot::model::{PolicySemantics, PolicyTables, QosLevelRow, RuleRow, UnnamedEnds};

use crate::error::{Error, Problem};
use crate::facts::PortFacts;
use crate::matching::groups::GroupResolver;
use crate::model::criterion::Field;
use crate::model::semantics::{Echo, ServiceIdEncoding};
use crate::model::{Level, Policy, Rule, RuleIx, RuleOrigin};
use crate::partitions::Partitions;
use ends::EndClasses;
use sa_snapshot::model::FlowLabels;

/// The match tables of a policy in a fabric.
///
/// Shape: `partitions` belongs to the same `ports`; tables are indexed as `ports` is.
/// Errors: those of [`check`]; more than 65,535 classes of one criterion,
/// [`Problem::TooManyClasses`].
///
/// Cost: O(classes x rules / 64) for each criterion. Compiled anew on every change of fabric or
/// policy: membership of ports follows both.
pub fn compile(
    policy: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
) -> Result<PolicyTables, Error> {
    check_ipoib(policy, partitions)?;
    let resolver = GroupResolver::new(ports, partitions);
    // Groups are resolved once for both ends.
    let ends = EndClasses::new(policy, ports.len(), &resolver)?;
    let rules = &policy.rules;
    let source = ends.dimension("source", rules, |rule| &rule.source)?;
    let destination = ends.dimension("destination", rules, |rule| &rule.destination)?;
    Ok(PolicyTables {
        levels: policy
            .levels
            .iter()
            .map(|level| level_row(policy, level))
            .collect(),
        default_level: policy.default_level.0,
        rules: rules.iter().map(rule_row).collect(),
        unnamed: UnnamedEnds {
            source: source.unnamed,
            destination: destination.unnamed,
        },
        source: source.named,
        destination: destination.named,
        qos_class: values::array(rules, Field::QosClass)?,
        pkey: values::array(rules, Field::Pkey)?,
        service_id: values::intervals(rules, Field::ServiceId)?,
        rare: RareField::ALL
            .into_iter()
            .map(|rare| values::array(rules, Field::from_rare(rare)))
            .collect::<Result<_, _>>()?,
        flow_labels: flow_labels(policy),
        semantics: semantics(policy),
    })
}

/// By rule, behind them the default level's.
/// Shape: one more than there are rules.
fn flow_labels(policy: &Policy) -> Vec<FlowLabels> {
    let rules = (0..).map(RuleIx).zip(&policy.rules);
    let of_rules = rules.map(|(at, rule)| policy.flow_labels(Some(at), rule.level.value));
    let of_default = policy.flow_labels(None, policy.default_level);
    of_rules.chain([of_default]).collect()
}

/// What OpenSM checks against the fabric when it loads a policy.
///
/// Errors: a port name whose node lacks the port; an `ipoib` rule whose partition does not exist
/// or has less than two full members.
/// For whoever wants the verdict without the tables.
pub fn check(policy: &Policy, ports: &[PortFacts], partitions: &Partitions) -> Result<(), Error> {
    check_ipoib(policy, partitions)?;
    let resolver = GroupResolver::new(ports, partitions);
    policy
        .groups
        .iter()
        .try_for_each(|group| resolver.members(group).map(drop))
}

/// Errors: an `ipoib` line for a partition that does not exist, or that nobody could use. OpenSM refuses the
/// whole file then.
fn check_ipoib(policy: &Policy, partitions: &Partitions) -> Result<(), Error> {
    for rule in &policy.rules {
        if let (RuleOrigin::Ulp { ipoib: true }, Some(bases)) =
            (rule.origin, rule.wanted(Field::Pkey))
        {
            // Ranges of P_Keys are short: there are 32,767 bases at most.
            for base in bases.pairs().iter().flat_map(|(low, high)| *low..=*high) {
                let base = u16::try_from(base).unwrap_or(u16::MAX);
                let problem = ipoib_problem(base, partitions);
                problem.map_or(Ok(()), |problem| Err(Error::new(rule.span, problem)))?;
            }
        }
    }
    Ok(())
}

/// Why IPoIB cannot run in the partition of this base.
fn ipoib_problem(base: u16, partitions: &Partitions) -> Option<Problem> {
    match partitions.by_base(base) {
        None => Some(Problem::IpoibPartition { base }),
        // Members that are limited do not help: OpenSM counts the full ones.
        Some(partition) if partition.full_members < 2 => Some(Problem::IpoibMembers {
            base,
            full: partition.full_members,
        }),
        Some(_) => None,
    }
}

/// How requests are read and answers are filled, in the snapshot's words.
fn semantics(policy: &Policy) -> PolicySemantics {
    let encoding = policy.semantics.service_id_encoding;
    PolicySemantics {
        echo: match policy.semantics.echo {
            Echo::None => sa_snapshot::model::Echo::None,
            Echo::QosClass => sa_snapshot::model::Echo::QosClass,
            Echo::TClass => sa_snapshot::model::Echo::TClass,
        },
        endpoint_mask_required: policy.semantics.endpoint_mask_required,
        // The snapshot has a flag for each of RFC 0.1's two options.
        legacy_service_id: encoding == ServiceIdEncoding::LegacyB,
        service_id_in_key: encoding == ServiceIdEncoding::LegacyA,
    }
}

/// Path bits as a set. OpenSM reads them and lets paths be.
/// 128 offsets are as many as an LMC of 7 has.
fn path_bits(policy: &Policy, level: &Level) -> Option<u128> {
    let allowed = level.path_bits.as_ref()?;
    let bits = (0..128).filter(|bit| allowed.contains(*bit));
    let set = bits.fold(0, |set, bit| set | 1u128 << bit);
    // In OpenSM's dialect nothing may change by them, not even the order of answers.
    policy.dialect.is_rfc().then_some(set)
}

/// A level in the snapshot's words. A traffic class counts only where it comes back at all.
/// Codes become ranks here, since workers compare rates and never print them.
fn level_row(policy: &Policy, level: &Level) -> QosLevelRow {
    let narrow = |base: u64| u16::try_from(base).unwrap_or(u16::MAX);
    let pkeys = level.pkeys.iter().flat_map(|bases| bases.pairs());
    QosLevelRow {
        name: level.title(),
        sl: level.sl.map(|sl| *sl),
        mtu_limit: level.mtu_limit.map(|mtu| *mtu),
        rate_limit: level.rate_limit.map(|rate| rate.rank()),
        packet_life: level.packet_life.map(|life| *life),
        pkeys: pkeys
            .map(|(low, high)| (narrow(*low), narrow(*high)))
            .collect(),
        path_bits: path_bits(policy, level),
        tclass: level
            .tclass
            // Elsewhere answers have no traffic class, whatever a level says.
            .filter(|_| policy.semantics.echo == Echo::TClass)
            .map(|tclass| *tclass),
    }
}

/// A rule for people: where it stands and what it gives.
/// Workers need the level alone; the line is for who asks why.
fn rule_row(rule: &Rule) -> RuleRow {
    RuleRow {
        level: rule.level.0,
        line: rule.span.start.line,
    }
}
