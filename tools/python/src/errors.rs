//! Errors as exceptions, each with the file, line and column that it is about.
//!
//! The attributes are always there, `None` for what no file says, so that a program need not ask
//! whether they are.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sa_compiler::pipeline::{Inputs, PipelineError};
use sa_text::Location;

create_exception!(
    sapphire_sa,
    SapphireError,
    PyException,
    "What Sapphire says is wrong; see file, line and column."
);
create_exception!(
    sapphire_sa,
    InputError,
    SapphireError,
    "A file or a value that cannot be read, or is wrong."
);
create_exception!(
    sapphire_sa,
    RefusedError,
    SapphireError,
    "Understood, and the answer is no: a fabric that the engine refuses, a credit loop."
);
create_exception!(
    sapphire_sa,
    UnreachableError,
    SapphireError,
    "Nobody answers, or nobody listens."
);

/// Puts all of them into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SapphireError", py.get_type::<SapphireError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("RefusedError", py.get_type::<RefusedError>())?;
    module.add("UnreachableError", py.get_type::<UnreachableError>())
}

/// A file or value that is wrong.
pub(crate) fn input(text: impl Display, place: Option<Location>) -> PyErr {
    placed(InputError::new_err(text.to_string()), place)
}

/// The answer is no.
pub(crate) fn refused(text: impl Display) -> PyErr {
    placed(RefusedError::new_err(text.to_string()), None)
}

/// Nobody answers.
pub(crate) fn unreachable(text: impl Display) -> PyErr {
    placed(UnreachableError::new_err(text.to_string()), None)
}

/// Of a compilation: as `sapphire compile` tells them apart by its exit status.
pub(crate) fn compilation(error: &PipelineError, inputs: &Inputs) -> PyErr {
    match error {
        PipelineError::Refused(refused) => {
            // What contradicts the fabric is the first of the reasons.
            let at = refused
                .refusal
                .reasons
                .first()
                .and_then(|reason| reason.place());
            let file = inputs.torus_conf();
            let place = file.zip(at).map(|(file, at)| Location::new(file, at));
            placed(RefusedError::new_err(error.to_string()), place)
        }
        PipelineError::CreditLoop { .. }
        | PipelineError::StrictLoop { .. }
        | PipelineError::LostPairs(_) => refused(error),
        other => input(other, other.location()),
    }
}

/// The same exception with its place.
fn placed(error: PyErr, place: Option<Location>) -> PyErr {
    Python::attach(|py| {
        let value = error.value(py);
        let at = place.as_ref().and_then(|place| place.at);
        let file = place.as_ref().map(|place| place.file.as_os_str());
        let set = value
            .setattr("file", file)
            .and_then(|()| value.setattr("line", at.map(|at| at.line)))
            .and_then(|()| value.setattr("column", at.map(|at| at.column)));
        // Out of memory, at the worst: that is what is told then.
        set.err().unwrap_or(error)
    })
}
