//! What is wrong with the scopes of a policy, told to people.

use std::collections::HashSet;
use std::path::Path;

use policy::Policy;
use policy::lint::notes::{NoteKind, notes};
use sa_compiler::qos_setup::{Scopes, refused};
use sa_text::Severity;

use crate::failure::{Failure, Outcome};

/// A sentence, and how bad it is.
pub(super) type Remark = (Severity, String);

/// What was said on reading the inputs, without what [`of_scopes`] says.
pub(super) fn of_others(said: &[String], policy: Option<&Policy>, file: &Path) -> Vec<String> {
    let Some(policy) = policy else {
        return said.to_vec();
    };
    let at = |text: &dyn std::fmt::Display| format!("{}:{text}", file.display());
    let mut left_out: HashSet<String> = refused(policy).map(|remark| at(remark)).collect();
    let without_effect = notes(policy).into_iter();
    let without_effect = without_effect.filter(|note| note.kind == NoteKind::SetupWithoutEffect);
    left_out.extend(without_effect.map(|note| at(&note)));
    let others = said.iter().filter(|text| !left_out.contains(*text));
    others.cloned().collect()
}

/// Everything about scopes, in the order of the file.
pub(super) fn of_scopes(scopes: &Scopes<'_>, file: &Path) -> Vec<Remark> {
    let findings = scopes.findings().iter();
    findings
        .map(|finding| {
            let text = format!("{}:{finding}", file.display());
            (finding.severity(), text)
        })
        .collect()
}

/// On standard error.
pub(super) fn tell(remarks: &[Remark]) {
    for (severity, text) in remarks {
        errln!("{severity}: {text}");
    }
}

/// Exit 3 where there is an error.
pub(super) fn verdict(remarks: &[Remark]) -> Outcome {
    let errors = remarks
        .iter()
        .filter(|(severity, _)| *severity == Severity::Error);
    match errors.count() {
        0 => Ok(()),
        1 => Err(Failure::Refused("the scopes have an error".to_owned())),
        errors => Err(Failure::Refused(format!("the scopes have {errors} errors"))),
    }
}
