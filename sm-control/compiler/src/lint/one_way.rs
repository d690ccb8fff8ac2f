//! Pairs of ports with a path in one direction only.

use policy::lint::{Finding, LintId};
use routing::SwitchIx;
use sa_snapshot::model::Pairs;

use super::Subject;
use super::paths::{Ends, Paths};

/// Pairs with a path there and none back: their answers are not reversible.
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
