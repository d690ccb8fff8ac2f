//! The scopes of `qos-setup` in the fabric.

use policy::lint::{Finding, LintId};

use super::Subject;
use crate::qos_setup::{FindingKind, Ground, ScopeFit, Scopes};

/// What is wrong with scopes, with its number in the catalogue. Ports in no group are told for the
/// whole policy, and what the parser said is told with it.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let policy = subject.policy;
    if policy.setup.spans.is_empty() {
        return Vec::new();
    }
    let scopes = Scopes::new(policy, Ground::of_parts(subject.parts), ScopeFit::Rfc);
    let own = scopes
        .findings()
        .iter()
        .filter(|finding| !matches!(finding.kind, FindingKind::Refused(_)));
    let note = |finding: &crate::qos_setup::Finding| {
        let id = match finding.kind {
            FindingKind::UnsupportedVl { .. } | FindingKind::QuotesUnsupportedVl { .. } => {
                LintId::VL_RANGE
            }
            FindingKind::TorusMapsSls { .. }
            | FindingKind::UnequalWeights { .. }
            | FindingKind::UnusedVlWeights { .. } => LintId::TORUS,
            _ => LintId::SCOPE,
        };
        let severity = finding.severity();
        let sentence = finding.kind.to_string();
        // In words it is told as `line:column: what (what to do)`.
        let words = finding.to_string();
        let remedy = words.split_once(&sentence).map_or("", |(_, behind)| behind);
        let remedy = remedy
            .trim_start_matches(" (")
            .trim_end_matches(')')
            .to_owned();
        Finding::new(id, finding.span, sentence, remedy).with(severity)
    };
    own.map(note).collect()
}
