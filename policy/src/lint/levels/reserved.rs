//! SLs that are kept for something that does not ask, and words that only this product reads.
//!
//! `reserved-sl` is a promise to a program that never asks the SA, mostly an MPI library with an SL
//! set by hand. Nothing enforces it, so lint holds levels against it; on a torus it cannot be kept
//! at all.
//!
//! ```text
//! reserved-sl: 3 mpi            and a level with sl: 3       L36, an error: somebody else is on it
//! the same on torus-2QoS                                     L40, an error: no SL is free to be kept
//! ```

use sa_text::{Severity, Spanned};

use crate::lint::finding::{Finding, LintId};
use crate::lint::{Analysis, FabricView};
use crate::model::{Policy, ReservedSl};

/// Levels that give SLs which are kept for something else.
/// One for each level, at its SL. Made levels count as well.
pub(in crate::lint) fn given_out(policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    for level in &policy.levels {
        let Some(sl) = level.sl else { continue };
        let keeps = |reserved: &&ReservedSl| reserved.sls.contains(u64::from(sl.value));
        if let Some(reserved) = policy.reserved_sls.iter().find(keeps) {
            let sentence = format!(
                "level {} gives SL {}, which is reserved for {}",
                level.title(),
                sl.value,
                reserved.name
            );
            let remedy = "give the level another SL, or reserve another one";
            let finding = Finding::new(LintId::RESERVED_SL, sl.span, sentence, remedy);
            // The first reservation that holds the SL; another one for it would say the same.
            found.push(finding.and(reserved.span, "the reservation"));
        }
    }
    found
}

/// On a torus no SL can be kept: the engine makes the lower bits of every path's.
pub(in crate::lint) fn on_torus(analysis: &Analysis<'_>, view: &FabricView<'_>) -> Vec<Finding> {
    // The engine takes SLs as they are.
    if view.sl_bits == FabricView::ALL_BITS {
        return Vec::new();
    }
    let finding = |reserved: &ReservedSl| {
        let sentence = format!(
            "no SL can be kept for {}: torus-2QoS gives each path an SL of its own, and packets \
             on another one can lock the fabric up",
            reserved.name
        );
        let remedy = "have the library ask the SA, or its local service, for the SL of each path";
        Finding {
            severity: Severity::Error,
            ..Finding::new(LintId::TORUS, reserved.span, sentence, remedy)
        }
    };
    analysis.policy.reserved_sls.iter().map(finding).collect()
}

/// What only this product reads: one finding for each keyword.
/// Told where OpenSM may have to read the file, at the first use of each.
pub(in crate::lint) fn extensions(policy: &Policy) -> Vec<Finding> {
    let mut told: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for extension in &policy.extensions {
        if !told.contains(&extension.value) {
            told.push(extension.value);
            found.push(told_once(policy, *extension));
        }
    }
    found
}

/// One finding for a keyword, at its first use.
fn told_once(policy: &Policy, first: Spanned<&'static str>) -> Finding {
    let same = |other: &&Spanned<&str>| other.value == first.value;
    let others = match policy.extensions.iter().filter(same).count() {
        1 => String::new(),
        all => format!(", used {all} times"),
    };
    let what = match first.value {
        "service-id" => "a service by name",
        keyword => keyword,
    };
    let sentence = format!("{what} is an extension{others}; OpenSM refuses this file");
    let remedy = "`sapphire policy convert --to opensm` writes services out as numbers";
    Finding::new(LintId::OPENSM, first.span, sentence, remedy)
}
