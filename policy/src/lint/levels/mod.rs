//! What the policy gives requests for a partition, against what the partition itself has.
//!
//! IPoIB asks for paths by the P_Key of its partition and takes MTU and SL of the multicast group for
//! granted. Where the policy gives such requests something else, unicast and multicast of one network
//! interface differ.
//!
//! ```text
//! partitions.conf   ib0=0x0123, ipoib, sl=1 : ..       multicast goes on SL 1
//! policy            default: sl 0                       unicast of the same interface on SL 0
//! ```
//!
//! What counts is what requests get that name the P_Key and nothing else, found by the rules and by
//! who the members are; a rule for other ports in between changes nothing for these.

pub(in crate::lint) mod asymmetry;
pub(in crate::lint) mod reserved;

use std::collections::BTreeMap;

use sa_wire::NodeType;

use crate::lint::finding::{Finding, LintId};
use crate::lint::pairs::{HeldSets, kinds, satisfied};
use crate::lint::{Analysis, Fabric};
use crate::model::criterion::{ByField, Field};
use crate::model::{Level, LevelIx, RuleIx};
use crate::partitions::{MulticastGroup, Partition};

/// For every partition: SLs that differ from its own or its multicast groups', and MTU limits
/// under that of an IPoIB group. What counts is what requests get that name the P_Key and no
/// service, as IPoIB's do; switches are left out.
/// Cost: O(partitions x kinds of members^2).
pub(in crate::lint) fn partitions(
    analysis: &Analysis<'_>,
    fabric: &Fabric<'_>,
    held: &HeldSets,
) -> Vec<Finding> {
    let list = fabric.view.partitions.list();
    let each = list.iter().enumerate().flat_map(|(at, partition)| {
        let levels = levels_for(analysis, fabric, held, at);
        levels
            .into_iter()
            .flat_map(move |(level, chosen)| of_level(analysis, fabric, partition, level, chosen))
    });
    each.collect()
}

/// The levels that members get, each with a rule that gives it; none is the default.
/// By level, so that one finding stands for all pairs that get it.
fn levels_for(
    analysis: &Analysis<'_>,
    fabric: &Fabric<'_>,
    held: &HeldSets,
    place: usize,
) -> BTreeMap<LevelIx, Option<RuleIx>> {
    let partitions = fabric.view.partitions;
    let base = partitions.list()[place].base;
    let mut values = ByField::default();
    // As IPoIB asks: no service, no class.
    values[Field::Pkey] = Some(base.into());
    let rules = satisfied(analysis, &values);
    let is_member = |port: usize| {
        // IPoIB runs on hosts.
        fabric.view.ports[port].node_type != NodeType::Switch
            && partitions.membership(port, place).is_some()
    };
    let kinds = kinds(analysis, &rules, held, is_member);
    let mut levels = BTreeMap::new();
    for from in &kinds {
        for to in kinds
            .iter()
            // Two limited members have no path, whatever level they would get.
            .filter(|to| from.pairs(to) > 0 && held.share(from.held, to.held))
        {
            let rule = from
                .first(to)
                .and_then(|rule| u16::try_from(rule).ok())
                .map(RuleIx);
            let level = match rule {
                Some(rule) => analysis.policy.rule(rule).level.value,
                None => analysis.policy.default_level,
            };
            // The first rule that gives it serves as the example.
            levels.entry(level).or_insert(rule);
        }
    }
    levels
}

/// What is odd about a level that members of a partition get. Shape: `chosen` is a rule that gives it.
/// At most two findings: one about SLs, one about MTUs.
fn of_level(
    analysis: &Analysis<'_>,
    fabric: &Fabric<'_>,
    partition: &Partition,
    level: LevelIx,
    chosen: Option<RuleIx>,
) -> Vec<Finding> {
    let policy = analysis.policy;
    let level = policy.level(level);
    let groups = fabric.view.partitions.multicast_groups().iter();
    let groups: Vec<_> = groups
        .filter(|group| group.base == partition.base)
        .collect();
    let mut found = Vec::new();
    found.extend(sl(fabric, partition, level, &groups));
    found.extend(mtu(partition, level, &groups));
    for finding in &mut found {
        if let Some(rule) = chosen {
            let related = super::finding::Related {
                span: policy.rule(rule).span,
                label: String::from("this rule gives the level"),
            };
            finding.related.push(related);
        }
    }
    found
}

/// An SL other than the partition's or that of one of its groups, by the bits that the routing engine keeps.
/// None where the level leaves the SL to the partition.
fn sl(
    fabric: &Fabric<'_>,
    partition: &Partition,
    level: &Level,
    groups: &[&MulticastGroup],
) -> Option<Finding> {
    let sl = level.sl?;
    // On a torus SL 1 and SL 0 are the same level.
    let differs = |other: sa_wire::Sl| (other.get() ^ *sl) & fabric.view.sl_bits != 0;
    let group = groups.iter().find(|group| differs(group.sl));
    let whose = match (differs(partition.sl), group) {
        (true, Some(group)) if group.sl == partition.sl => {
            format!(
                "the partition and its multicast groups have SL {}",
                partition.sl.get()
            )
        }
        (true, Some(group)) => format!(
            "the partition has SL {} and its multicast group {} has SL {}",
            partition.sl.get(),
            group.mgid,
            group.sl.get()
        ),
        (true, None) => format!("the partition has SL {}", partition.sl.get()),
        (false, Some(group)) => {
            format!(
                "its multicast group {} has SL {}",
                group.mgid,
                group.sl.get()
            )
        }
        (false, None) => return None,
    };
    let sentence = format!(
        "in partition '{}' (P_Key 0x{:04x}) requests for the P_Key get SL {} by level '{}'; {whose}",
        partition.name,
        partition.base,
        *sl,
        level.title()
    );
    let remedy = format!(
        "set sl={} in partitions.conf, or give the P_Key a rule with a level of SL {}",
        *sl,
        partition.sl.get()
    );
    Some(Finding::new(
        LintId::PARTITION_SL,
        sl.span,
        sentence,
        remedy,
    ))
}

/// An MTU limit under what a group of the partition promises.
/// The first group that is wider than the limit.
fn mtu(partition: &Partition, level: &Level, groups: &[&MulticastGroup]) -> Option<Finding> {
    let limit = level.mtu_limit?;
    // The group's MTU is what the interface sends, also to one peer.
    let group = groups.iter().find(|group| group.mtu > *limit)?;
    let sentence = format!(
        "level '{}' limits paths in partition '{}' (P_Key 0x{:04x}) to an MTU of {} bytes; its \
         multicast group {} has {}",
        level.title(),
        partition.name,
        partition.base,
        limit.bytes(),
        group.mgid,
        group.mtu.bytes()
    );
    let remedy = format!(
        "set mtu={} in partitions.conf, or give the P_Key a level without the limit",
        limit.code()
    );
    Some(Finding::new(LintId::LIMIT, limit.span, sentence, remedy))
}
