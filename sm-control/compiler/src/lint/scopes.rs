//! The scopes of `qos-setup` in the fabric.
//!
//! The work is that of `qos_setup::scopes`; here its findings become lints with the number that the
//! catalogue gives them. They are judged as the RFCs fit tables, whatever is programmed.

use policy::lint::{Finding, LintId};

use super::Subject;
use crate::qos_setup::{FindingKind, ScopeFit, Scopes, SetupContext};

/// What is wrong with scopes, with its number in the catalogue. Ports in no group are told for the
/// whole policy, and what the parser said is told with it.
///
/// None without a `qos-setup`, also for ports in no group: those are told once for the policy.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let policy = subject.policy;
    if policy.setup.spans.is_empty() {
        return Vec::new();
    }
    let scopes = Scopes::new(
        policy,
        SetupContext::from_state(subject.parts),
        ScopeFit::Rfc,
    );
    // Refusals are the parser's and told with its diagnostics.
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
        let (sentence, remedy) = (finding.kind.to_string(), finding.kind.remedy());
        Finding::new(id, finding.span, sentence, remedy).with(finding.severity())
    };
    own.map(note).collect()
}
