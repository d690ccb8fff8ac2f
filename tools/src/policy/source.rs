//! Errors of policy files, shown with the line that they are about.
//!
//! The one place where an error of the `policy` crate, which knows bytes and places, becomes a
//! failure of the command line, which has a file, a line and an exit status.

use policy::Error;
use policy::lint::id_of_error;
use sa_text::{Diagnostic, Location, Severity};

use crate::failure::Failure;

/// A file that does not parse, in words.
pub(super) fn refused(name: &str, text: &str, error: &Error) -> Failure {
    // What was expected comes before the advice.
    let expected = error.expected();
    let expected = expected.map(|expected| format!("expected {expected}").into());
    let help = error.help().map(Into::into);
    let diagnostic = Diagnostic {
        code: id_of_error(error).map(|id| id.to_string().into()),
        severity: Severity::Error,
        place: Some(error.span),
        message: error.message(),
        help: expected.into_iter().chain(help).collect(),
    };
    let location = Location::new(name, error.span.start);
    Failure::failed(diagnostic.render(name, text).trim_end().to_owned()).about(location)
}
