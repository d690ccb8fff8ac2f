//! Pairs of ports with a path in one direction only.
//!
//! A path is told as reversible if there is one back. Forwarding tables of a torus or a tree give
//! both; hand-made ones, or those of switches that lost a part, may not, and then clients that ask
//! for reversible paths (all that use the rdma_cm) get none.
//!
//! Only gaps in the tables can make such pairs, so a fabric without a gap is done at once.
//!
//! Pairs count once; the example is told in the direction that works.

use policy::lint::{Finding, LintId};
use routing::SwitchIx;
use sa_snapshot::model::Pairs;

use super::Subject;
use super::paths::{Ends, Paths};

/// Pairs with a path there and none back: their answers are not reversible.
///
/// Kinds are compared with each other, switch by switch: with 4,096 switches these are 8 million
/// pairs of kinds, and not of ports.
pub(super) fn finding(subject: &Subject<'_>, paths: &Paths) -> Option<Finding> {
    let has_gaps = match &paths.tables.pairs {
        Pairs::Dense { table, .. } => table.contains(&0),
        Pairs::Uniform { .. } => false,
    };
    let ports = 0..subject.parts.facts.len();
    let is_odd = |port: usize| (paths.row(port) == 0) != (paths.column(port) == 0);
    if !has_gaps && !ports.clone().any(is_odd) {
        return None;
    }
    // The switch belongs to the kind, since paths within one have another class.
    let switch = |port: usize| {
        let attached = paths.edges.get(port).and_then(|edge| edge.switch);
        attached.map_or(usize::MAX, SwitchIx::index)
    };
    let ends = Ends::new(ports.end, |port| {
        (
            switch(port),
            subject.held.of_port(port),
            paths.row(port),
            paths.column(port),
        )
    });
    let (mut pairs, mut example) = (0, None);
    for (at, ((one, one_held, row, column), one_ports)) in ends.kinds.iter().enumerate() {
        for ((other, other_held, back_row, back_column), ports) in ends.kinds.get(at + 1..)? {
            // Ports on one switch have the class for that in uniform tables.
            let is_within = one == other;
            let there = paths.class(*row, *back_column, is_within).is_some();
            let back = paths.class(*back_row, *column, is_within).is_some();
            if there == back || !subject.held.share(*one_held, *other_held) {
                continue;
            }
            pairs += one_ports.len() * ports.len();
            let pair = (*one_ports.first()?, *ports.first()?);
            example.get_or_insert(if there { pair } else { (pair.1, pair.0) });
        }
    }
    let (from, to) = example?;
    let facts = &subject.parts.facts;
    let sentence = format!(
        "{pairs} pairs of ports have a path one way only, e.g. from {} to {}; their answers are \
         not reversible",
        facts.get(from)?.title(),
        facts.get(to)?.title()
    );
    let remedy = "repair the forwarding tables; `sapphire check` lists the pairs";
    Some(Finding::new(LintId::ASYMMETRIC, None, sentence, remedy))
}
