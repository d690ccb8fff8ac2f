//! QoS policies: whether they load, and what is likely not meant in them.

use std::path::PathBuf;

use policy::{Dialect, ParseOptions};
use pyo3::prelude::*;
use sa_compiler::lint::TablesInForce;
use sa_fabric::intake::{self, Kind};
use sa_text::{Diagnostic, Location, Severity};

use crate::errors::input;
use crate::fabric::Fabric;

/// Check, severity, line, column, sentence, remedy.
type Finding = (
    String,
    &'static str,
    Option<u32>,
    Option<u32>,
    String,
    String,
);

/// A policy that has been read.
#[pyclass(frozen, module = "sapphire_sa")]
pub(crate) struct Policy {
    file: PathBuf,
    text: String,
    policy: policy::Policy,
}

#[pymethods]
impl Policy {
    /// Reads a file. `dialect`: text, xml or opensm; detected where it is not given.
    #[staticmethod]
    #[pyo3(signature = (file, dialect = None))]
    fn read(py: Python<'_>, file: PathBuf, dialect: Option<&str>) -> PyResult<Self> {
        let dialect: Option<Dialect> = dialect
            .map(|word| word.parse().map_err(|error| input(error, None)))
            .transpose()?;
        py.detach(|| {
            let whole = || Some(Location::file(&file));
            let bytes = intake::read(Kind::Policy, &file).map_err(|error| input(error, whole()))?;
            let text = sa_text::decode(&bytes).into_owned();
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
            let parsed = policy::parse_as(&text, dialect, &ParseOptions::default());
            let policy = parsed.map_err(|error| {
                input(
                    in_words(&file.display().to_string(), &text, &error),
                    Some(Location::new(&file, error.span.start)),
                )
            })?;
            Ok(Self { file, text, policy })
        })
    }

    /// How many levels there are.
    #[getter]
    fn levels(&self) -> usize {
        self.policy.levels.len()
    }

    /// How many match rules there are.
    #[getter]
    fn rules(&self) -> usize {
        self.policy.rules.len()
    }

    /// What is likely not meant: as `sapphire policy lint` says it, with a fabric more of it.
    #[pyo3(signature = (fabric = None))]
    fn lint(&self, py: Python<'_>, fabric: Option<&Fabric>) -> Vec<Finding> {
        let found = py.detach(|| match fabric {
            Some(fabric) => sa_compiler::lint::lint(
                &fabric.compiled.parts,
                &self.policy,
                Some(&self.text),
                TablesInForce::OpenSm,
            ),
            None => policy::lint::lint(&self.policy, None, Some(&self.text)),
        });
        let told = found.into_iter().map(|finding| {
            let at = finding.span.map(|span| span.start);
            (
                finding.id.to_string(),
                finding.severity.word(),
                at.map(|at| at.line),
                at.map(|at| at.column),
                finding.sentence,
                finding.remedy.into_owned(),
            )
        });
        told.collect()
    }

    fn __repr__(&self) -> String {
        let (levels, rules) = (self.levels(), self.rules());
        format!(
            "<Policy {}: {levels} levels, {rules} rules>",
            self.file.display()
        )
    }
}

/// With the line that is wrong and what was expected there, as the tool shows it.
fn in_words(name: &str, text: &str, error: &policy::Error) -> String {
    let expected = error.expected();
    let expected = expected.map(|expected| format!("expected {expected}").into());
    let diagnostic = Diagnostic {
        code: None,
        severity: Severity::Error,
        place: Some(error.span),
        message: error.message(),
        help: expected
            .into_iter()
            .chain(error.help().map(Into::into))
            .collect(),
    };
    diagnostic.render(name, text).trim_end().to_owned()
}
