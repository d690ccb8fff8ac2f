//! Snapshots: what `sapphired` answers from, as a file.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sa_fabric::store;
use sa_text::Location;

use crate::errors::input;

/// A snapshot, verified: its digest and every index in it are right.
#[pyclass(frozen, module = "sapphire_sa")]
pub(crate) struct Snapshot(pub(crate) sa_snapshot::Snapshot);

#[pymethods]
impl Snapshot {
    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| store::open(&file));
        opened
            .map(Self)
            .map_err(|error| input(&error, Some(Location::file(error.path()))))
    }

    /// Writes the file, whole or not at all.
    fn write(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        let written = py.detach(|| store::write(&file, &self.0));
        written.map_err(|error| input(&error, Some(Location::file(error.path()))))
    }

    /// What it holds, by the names that `sapphire snapshot info --json` has for it.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.0.info();
        let told = PyDict::new(py);
        told.set_item("epoch", info.epoch.map_or(0, |epoch| epoch.get()))?;
        told.set_item("built_unix", info.built_unix)?;
        told.set_item("bytes", info.bytes)?;
        told.set_item("digest", format!("{:016x}", info.digest))?;
        told.set_item("hosts", info.hosts)?;
        told.set_item("switches", info.switches)?;
        told.set_item("rules", info.rules)?;
        told.set_item("path_classes", info.path_classes)?;
        told.set_item("encoding", info.encoding)?;
        told.set_item("qos", info.qos)?;
        told.set_item("has_key", info.has_key)?;
        told.set_item("provenance", info.provenance)?;
        Ok(told)
    }

    fn __repr__(&self) -> String {
        let info = self.0.info();
        format!(
            "<Snapshot {:016x}: {} switches, {} hosts>",
            info.digest, info.switches, info.hosts
        )
    }
}
