//! Errors of policy files, shown with the line that they are about.
//!
//! The one place where an error of the `policy` crate, which knows bytes and places, becomes a
//! failure of the command line, which has a file, a line and an exit status.

use policy::Error;
use policy::lint::diagnostic_of_error;
use sa_text::Location;

use crate::failure::Failure;

/// A file that does not parse, in words.
pub(super) fn refused(name: &str, text: &str, error: &Error) -> Failure {
    let diagnostic = diagnostic_of_error(error);
    let location = Location::new(name, error.span.start);
    Failure::failed(diagnostic.render(name, text).trim_end().to_owned()).about(location)
}
