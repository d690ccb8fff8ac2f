//! What is wrong with the scopes of a policy, told to people.
//!
//! Reading a policy already says that scopes do nothing, since with OpenSM's tables they do not.
//! Where this verb applies them that is wrong, and errors in scopes would come twice: once from
//! reading, once from [`of_scopes`], with ports and tables. So the former are taken out.

use std::collections::HashSet;
use std::path::Path;

use policy::Policy;
use policy::lint::notes::{NoteKind, notes};
use sa_compiler::pipeline::remark_of_note;
use sa_compiler::qos_setup::{Scopes, refused};
use sa_text::{Remark, Severity};

use crate::failure::{Failure, Outcome};

/// What was said on reading the inputs, without what [`of_scopes`] says.
pub(super) fn of_others(said: &[Remark], policy: Option<&Policy>, file: &Path) -> Vec<Remark> {
    // Without a policy no scope was spoken of.
    let Some(policy) = policy else {
        return said.to_vec();
    };
    let told = refused(policy).map(|told| Remark::from_diagnostic(file, &told));
    let mut left_out: HashSet<Remark> = told.collect();
    let without_effect = notes(policy).into_iter();
    let without_effect = without_effect.filter(|note| note.kind == NoteKind::SetupWithoutEffect);
    // Whole remarks are compared, with their places: the same words about another scope stay.
    left_out.extend(without_effect.map(|note| remark_of_note(file, &note)));
    let others = said.iter().filter(|remark| !left_out.contains(*remark));
    others.cloned().collect()
}

/// Everything about scopes, in the order of the file.
pub(super) fn of_scopes(scopes: &Scopes<'_>, file: &Path) -> Vec<Remark> {
    let findings = scopes.findings().iter();
    findings.map(|finding| finding.remark(file)).collect()
}

/// On standard error.
pub(super) fn tell(remarks: &[Remark]) {
    for remark in remarks {
        errln!("{}: {remark}", remark.severity);
    }
}

/// Exit 3 where there is an error.
pub(super) fn verdict(remarks: &[Remark]) -> Outcome {
    let errors = remarks
        .iter()
        .filter(|remark| remark.severity == Severity::Error);
    match errors.count() {
        0 => Ok(()),
        1 => Err(Failure::refused("the scopes have an error".to_owned())),
        errors => Err(Failure::refused(format!("the scopes have {errors} errors"))),
    }
}
