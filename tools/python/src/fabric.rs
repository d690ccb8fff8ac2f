//! A fabric, compiled: what `sapphire compile`, `check`, `route`, `explain` and `draw` know of it.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use policy::{ParseOptions, Query};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sa_compiler::account::{self, Pair};
use sa_compiler::export::{self, Psl};
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_source::{SaReadError, SaSource, Wants};
use sa_text::Location;
use sa_wire::Lmc;

use crate::errors::{compilation, input, refused, unreachable};
use crate::snapshot::Snapshot;
use crate::{hops, lengths, picture};

/// A fabric with its routes, its proof and its snapshot.
#[pyclass(frozen, module = "sapphire_sa")]
pub(crate) struct Fabric {
    pub(crate) compiled: Compiled,
    /// Once more, as who asks why needs them.
    inputs: Inputs,
}

/// Name, port GUID, LID of a host.
type Host = (String, u64, u16);

#[pymethods]
impl Fabric {
    /// Of files: as `sapphire compile --fabric` takes them.
    #[staticmethod]
    #[pyo3(signature = (fabric, *, torus_conf = None, engine = None, policy = None, partitions = None,
        opensm_conf = None, lids = None, qos = None, fail = Vec::new(), root_guids = None, lmc = None,
        sm_node = None, prefix_routes = None, aliases = None, dialect = None,
        endpoint_mask_required = None, scope_precedence = None, service_id_encoding = None,
        echo = None, partitions_as_groups = false, extensions = true, apply_setup = false,
        ulp_names = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn compile(
        py: Python<'_>,
        fabric: PathBuf,
        torus_conf: Option<PathBuf>,
        engine: Option<&str>,
        policy: Option<PathBuf>,
        partitions: Option<PathBuf>,
        opensm_conf: Option<PathBuf>,
        lids: Option<PathBuf>,
        qos: Option<bool>,
        fail: Vec<String>,
        root_guids: Option<PathBuf>,
        lmc: Option<u8>,
        sm_node: Option<String>,
        prefix_routes: Option<PathBuf>,
        aliases: Option<PathBuf>,
        dialect: Option<&str>,
        endpoint_mask_required: Option<bool>,
        scope_precedence: Option<&str>,
        service_id_encoding: Option<&str>,
        echo: Option<&str>,
        partitions_as_groups: bool,
        extensions: bool,
        apply_setup: bool,
        ulp_names: Option<PathBuf>,
    ) -> PyResult<Self> {
        let inputs = Inputs {
            fabric,
            torus_conf,
            engine: word(engine)?,
            policy,
            partitions,
            opensm_conf,
            lids,
            qos,
            failed: fail,
            root_guids,
            lmc: lmc.map(checked).transpose()?,
            sm_node,
            prefix_routes,
            aliases,
            dialect: word(dialect)?,
            reading: ParseOptions {
                endpoint_mask_required,
                scope_precedence: word(scope_precedence)?,
                service_id_encoding: word(service_id_encoding)?,
                echo: word(echo)?,
                partitions_as_groups,
                extensions,
                ..ParseOptions::default()
            },
            apply_setup,
            ulp_names,
            ..Self::usual()
        };
        py.detach(|| Self::of(inputs))
    }

    /// Of a running SA: `via` is umad, umad:DEVICE[:PORT], ibsim:NODE or ring:PATH. Routes are those
    /// that its switches hold.
    #[staticmethod]
    #[pyo3(signature = (via, *, sa_lid = None, timeout = 3.0, policy = None, partitions = None,
        torus_conf = None))]
    fn read(
        py: Python<'_>,
        via: &str,
        sa_lid: Option<u16>,
        timeout: f64,
        policy: Option<PathBuf>,
        partitions: Option<PathBuf>,
        torus_conf: Option<PathBuf>,
    ) -> PyResult<Self> {
        let transport = via.parse().map_err(|error| input(error, None))?;
        let timeout_ms = milliseconds(timeout)?;
        let source = SaSource {
            sa_lid,
            timeout_ms,
            ..SaSource::over(transport)
        };
        py.detach(|| {
            let mut ask = source.open().map_err(unreachable)?;
            let told = sa_source::read(&mut ask, &Wants::default());
            let told = told.map_err(|error| match error {
                SaReadError::Ask(error) => unreachable(error),
                other => refused(other),
            })?;
            Self::of(Inputs {
                from_sa: Some(Arc::new(told)),
                policy,
                partitions,
                torus_conf,
                ..Self::usual()
            })
        })
    }

    /// One line, as `sapphire compile` prints it.
    #[getter]
    fn summary(&self) -> String {
        self.compiled.summary()
    }

    /// What computed the routes.
    #[getter]
    fn engine(&self) -> String {
        self.compiled.parts.routes.engine().name().to_owned()
    }

    /// How many switches are routed.
    #[getter]
    fn switches(&self) -> usize {
        self.compiled.parts.topology.switches.len()
    }

    /// What an operator should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.compiled
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// Name, port GUID and LID of each host, in the order of `path_lengths`.
    fn hosts(&self) -> Vec<Host> {
        let topology = &self.compiled.parts.topology;
        let host = |end| {
            let end = topology.end_port(end);
            (end.description.clone(), end.guid.get(), end.lid.get())
        };
        hops::hosts(topology).into_iter().map(host).collect()
    }

    /// Links between hosts: a byte for each pair, row by row, 255 without a path.
    fn path_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let parts = &self.compiled.parts;
        let matrix = py.detach(|| hops::matrix(&parts.topology, &parts.routes));
        PyBytes::new(py, &matrix)
    }

    /// How many pairs of hosts have paths of how many links: an SVG.
    fn plot_path_lengths(&self, py: Python<'_>) -> String {
        let parts = &self.compiled.parts;
        let of = format!("{} switches, engine {}", self.switches(), self.engine());
        py.detach(|| lengths::svg(&hops::matrix(&parts.topology, &parts.routes), &of))
    }

    /// What the proof over the forwarding tables found.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (proof, parts) = (&self.compiled.proof, &self.compiled.parts);
        let words = |found: &Option<routing::proof::CreditLoop>| {
            let found = found.as_ref();
            found.map(|found| found.in_words(&parts.topology, &parts.routes))
        };
        let told = PyDict::new(py);
        told.set_item("credit_loop", words(&proof.credit_loop))?;
        told.set_item("management_loop", words(&proof.management_loop))?;
        told.set_item("multicast_loop", words(&proof.multicast_loop))?;
        told.set_item("pairs", proof.reachability.pairs)?;
        told.set_item("lost_pairs", proof.reachability.lost)?;
        told.set_item("lost_between_hosts", proof.reachability.lost_between_hosts)?;
        told.set_item("publishable", self.compiled.publishable().is_ok())?;
        Ok(told)
    }

    /// Why a pair gets the path it gets: the document of `sapphire explain --json`, as text.
    #[pyo3(signature = (source, destination, *, service_id = None, qos_class = None, pkey = None,
        traffic_class = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn explain(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        service_id: Option<u64>,
        qos_class: Option<u16>,
        pkey: Option<u16>,
        traffic_class: Option<u8>,
    ) -> PyResult<String> {
        let (compiled, parts) = (&self.compiled, &self.compiled.parts);
        let find = |name| parts.subnet.find(name).map_err(|error| input(error, None));
        let asked = Query {
            service_id,
            qos_class,
            pkey,
            tclass: traffic_class,
            ..Query::default()
        };
        let pair = Pair {
            source: find(source)?,
            destination: find(destination)?,
            numbers: asked.numbers(),
            sl: None,
            silent: None,
            names: pipeline::ulp_names(&self.inputs).map_err(|error| {
                let place = error.location();
                input(error, place)
            })?,
        };
        let file = self.inputs.policy.as_deref();
        let told = py.detach(|| account::account(&compiled.snapshot, parts, &pair, file));
        let told = told.map_err(|error| input(error, None))?;
        serde_json::to_string(&told).map_err(|error| input(error, None))
    }

    /// Writes the tables in the formats of OpenSM's dumps, as `sapphire route --out` does.
    fn route(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let (parts, snapshot) = (&self.compiled.parts, &self.compiled.snapshot);
        let written = py.detach(|| export::all(&directory, parts, snapshot, Psl::WhenSmall));
        written.map_err(|error| input(&error, Some(Location::file(error.path()))))
    }

    /// What a daemon would answer from.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let bytes = self.compiled.snapshot.as_bytes();
        let copy = py.detach(|| sa_snapshot::Snapshot::from_bytes(bytes));
        copy.map(Snapshot).map_err(|error| input(error, None))
    }

    /// A picture, for notebooks.
    fn _repr_svg_(&self, py: Python<'_>) -> String {
        let parts = &self.compiled.parts;
        let title = self.compiled.summary();
        py.detach(|| picture::svg(&parts.topology, parts.routes.torus(), &title))
    }

    fn __repr__(&self) -> String {
        let hosts = hops::hosts(&self.compiled.parts.topology).len();
        let (engine, switches) = (self.engine(), self.switches());
        format!("<Fabric {switches} switches, {hosts} hosts, engine {engine}>")
    }
}

impl Fabric {
    /// As the tool: what is lost is shown, and whoever wants to serve it decides.
    fn usual() -> Inputs {
        Inputs {
            is_q_given: true,
            allow_lost_pairs: true,
            ..Inputs::default()
        }
    }

    fn of(inputs: Inputs) -> PyResult<Self> {
        let compiled = pipeline::compile(&inputs, Stamp::default());
        let compiled = compiled.map_err(|error| compilation(&error, &inputs))?;
        Ok(Self { compiled, inputs })
    }
}

/// One of the words that a type knows. Errors: the type's own, which lists them.
fn word<T: FromStr<Err: Display>>(given: Option<&str>) -> PyResult<Option<T>> {
    let parsed = given.map(|word| word.parse().map_err(|error| input(error, None)));
    parsed.transpose()
}

/// Errors: no LMC.
fn checked(lmc: u8) -> PyResult<Lmc> {
    Lmc::new(lmc).map_err(|error| input(error, None))
}

/// Errors: negative, or more than fits.
fn milliseconds(seconds: f64) -> PyResult<u32> {
    let time = std::time::Duration::try_from_secs_f64(seconds).ok();
    time.and_then(|time| u32::try_from(time.as_millis()).ok())
        .ok_or_else(|| PyValueError::new_err(format!("{seconds} seconds are no time to wait")))
}
