//! Limits and path bits against what the ports have.
//!
//! A limit above what any port has is not wrong, but says that its author thought of another
//! fabric. Codes and not numbers are compared: rates in OpenSM's order, so that 30 Gb/s is less
//! than 25.
//!
//! Only levels that somebody wrote are looked at, and only ports of hosts.

use policy::lint::{Finding, LintId};
use policy::model::{Level, Origin};
use routing::Qos;
use routing::paths::classes::port_edges;
use sa_text::Severity;
use sa_wire::NodeType;

use super::Subject;

/// MTU and rate limits over that of every link; path bits that no port has.
///
/// The largest of any host port counts: a limit that one port can reach has an effect.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let parts = subject.parts;
    let edges = port_edges(&parts.topology, &parts.routes, Qos::Off);
    let ends = parts.topology.end_ports.iter().zip(&edges);
    // Ports 0 of switches are slow in simulators, and few paths end there.
    let hosts = ends.filter(|(end, _)| end.node_type != NodeType::Switch);
    let hosts: Vec<_> = hosts.map(|(_, edge)| edge.edge).collect();
    let mtu = hosts.iter().map(|edge| edge.mtu).max();
    let rate = hosts.iter().map(|edge| edge.rate).max();
    let levels = subject.policy.levels.iter();
    let mut found = Vec::new();
    // Levels that the parser made up have limits of nobody's.
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
///
/// The LMC gives 2^LMC LIDs, so with LMC 2 path bits go from 0 to 3. Bits that no port has are an
/// error where nothing else is named: such requests find no path.
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
