//! Limits and path bits against what the ports have.

use policy::lint::{Finding, LintId};
use policy::model::{Level, Origin};
use routing::Qos;
use routing::paths::classes::port_edges;
use sa_text::Severity;
use sa_wire::NodeType;

use super::Subject;

/// MTU and rate limits over that of every link; path bits that no port has.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let parts = subject.parts;
    let edges = port_edges(&parts.topology, &parts.routes, Qos::Off);
    let ends = parts.topology.end_ports.iter().zip(&edges);
    let hosts = ends.filter(|(end, _)| end.node_type != NodeType::Switch);
    let hosts: Vec<_> = hosts.map(|(_, edge)| edge.edge).collect();
    let mtu = hosts.iter().map(|edge| edge.mtu).max();
    let rate = hosts.iter().map(|edge| edge.rate).max();
    let levels = subject.policy.levels.iter();
    let mut found = Vec::new();
    for level in levels.filter(|level| level.origin == Origin::Written) {
        if let (Some(limit), Some(most)) = (level.mtu_limit, mtu)
            && *limit > most
        {
            let sentence = format!(
                "no port has an MTU over {} bytes, so that the limit of {} changes nothing",
                most.bytes(),
                limit.bytes()
            );
            found.push(Finding::new(LintId::LIMIT, limit.span, sentence, REMOVE));
        }
        if let (Some(limit), Some(most)) = (level.rate_limit, rate)
            && limit.rank() > most
        {
            let sentence = format!(
                "no port is faster than {}, so that the limit of {} changes nothing",
                most.rate(),
                limit.value
            );
            found.push(Finding::new(LintId::LIMIT, limit.span, sentence, REMOVE));
        }
        found.extend(path_bits(subject, level));
    }
    found
}

const REMOVE: &str = "choose a lower limit, or remove it";

/// OpenSM does nothing with path bits; in the other dialects they choose among a port's LIDs.
fn path_bits(subject: &Subject<'_>, level: &Level) -> Option<Finding> {
    let bits = level.path_bits.as_ref()?;
    if !subject.policy.dialect.is_rfc() {
        return None;
    }
    let lids = subject.parts.topology.end_ports.iter();
    let lids = u64::from(lids.map(|end| end.lmc.lids()).max()?);
    let (_, last) = bits.pairs().last().filter(|(_, last)| *last >= lids)?;
    let none = bits.pairs().first().is_none_or(|(first, _)| *first >= lids);
    let (effect, severity) = match none {
        true => ("requests that get this level find no path", Severity::Error),
        false => ("the others are left", Severity::Warning),
    };
    let have = match lids {
        1 => String::from("1 LID"),
        several => format!("{several} LIDs"),
    };
    let sentence = format!(
        "no port has the path bits {last}: with the largest LMC ports have {have}; {effect}"
    );
    let remedy = format!("name path bits under {lids}, or raise the LMC");
    Some(Finding::new(LintId::PATH_BITS, bits.span, sentence, remedy).with(severity))
}
