//! Paths in bulk through the ring of the node's `sapphired`.
//!
//! Answers cross as one block of rows that NumPy looks at in place; its `dtype` is in `_paths.py`, and
//! a test holds both together.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyByteArray;
use sa_client::query::{End, PathQuery};
use sa_client::resolve::{Answer, Bulk, Job, Summary};
use sa_client::{Error, Options};
use sa_wire::path_record::PathRecord;
use sa_wire::{Mtu, Pkey, Rate, Selector, ServiceId, Sl};

use crate::errors::{input, unreachable};

/// A row: status, LIDs, P_Key, SL, MTU, rate and so on. Units: bytes.
const ROW: usize = 56;
/// Status of a row whose request has no answer.
const NO_ANSWER: i32 = -1;

/// Rows; how many were found, refused, unanswered, sent again; what was wrong with the daemon.
type Told<'py> = (
    Bound<'py, PyByteArray>,
    (usize, usize, usize, u64),
    Option<String>,
);

/// Ends of paths: numbers of a NumPy array, or words.
#[derive(FromPyObject)]
enum Ends {
    /// Of the host's order, eight bytes each.
    Numbers(PyBackedBytes),
    Words(Vec<String>),
}

/// A ring of one's own at the daemon. One call at a time; others wait for it.
#[pyclass(frozen, module = "sapphire_sa")]
pub(crate) struct Client {
    path: PathBuf,
    client: Mutex<sa_client::Client>,
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (path, slots = 0, timeout = 1.0))]
    fn new(py: Python<'_>, path: PathBuf, slots: u32, timeout: f64) -> PyResult<Self> {
        let options = Options {
            slots,
            timeout: seconds(timeout)?,
        };
        let connected = py.detach(|| sa_client::Client::connect_with(&path, options));
        Ok(Self {
            client: Mutex::new(connected.map_err(unreachable)?),
            path,
        })
    }

    /// The rows, and how many were found, refused, unanswered and sent again.
    #[pyo3(signature = (sources, destinations, *, service_id = None, pkey = None, qos_class = None,
        traffic_class = None, sl = None, hop_limit = None, min_mtu = None, min_rate = None,
        one_way = false, deadline = 10.0, window = 256, requester = 0))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn resolve<'py>(
        &self,
        py: Python<'py>,
        sources: Ends,
        destinations: Ends,
        service_id: Option<u64>,
        pkey: Option<u16>,
        qos_class: Option<u16>,
        traffic_class: Option<u8>,
        sl: Option<u8>,
        hop_limit: Option<u8>,
        min_mtu: Option<u32>,
        min_rate: Option<f64>,
        one_way: bool,
        deadline: f64,
        window: usize,
        requester: u16,
    ) -> PyResult<Told<'py>> {
        let wishes = Wishes {
            service_id,
            pkey,
            qos_class,
            traffic_class,
            sl,
            hop_limit,
            min_mtu,
            min_rate,
            one_way,
        };
        let bulk = Bulk {
            window,
            deadline: seconds(deadline)?,
            requester,
            ..Bulk::default()
        };
        let (rows, summary) = py.detach(|| self.ask(&sources, &destinations, &wishes, bulk))?;
        let counts = (
            summary.found,
            summary.refused,
            summary.unanswered,
            summary.sent_again,
        );
        let trouble = summary.trouble.map(|error| error.to_string());
        Ok((PyByteArray::new(py, &rows), counts, trouble))
    }

    fn __repr__(&self) -> String {
        format!("<Client {}>", self.path.display())
    }
}

impl Client {
    /// Without the interpreter's lock. Errors: a wrong end or wish, before anything is asked; Ctrl-C.
    fn ask(
        &self,
        sources: &Ends,
        destinations: &Ends,
        wishes: &Wishes,
        bulk: Bulk,
    ) -> PyResult<(Vec<u8>, Summary)> {
        let (sources, destinations) = (ends(sources)?, ends(destinations)?);
        if sources.len() != destinations.len() {
            let (from, to) = (sources.len(), destinations.len());
            let words =
                format!("{from} sources and {to} destinations: give one of each for a path");
            return Err(PyValueError::new_err(words));
        }
        let queries = sources.into_iter().zip(destinations);
        let queries: Vec<PathQuery> = queries
            .map(|(from, to)| wishes.query(from, to))
            .collect::<Result<_, _>>()
            .map_err(|words| input(words, None))?;
        let mut job = Rows {
            rows: vec![0; queries.len() * ROW],
            queries,
            stopped: None,
        };
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = client
            .resolve_job(&mut job, bulk)
            .map_err(|error| match error {
                Error::Forked => input(error, None),
                other => unreachable(other),
            })?;
        match job.stopped {
            Some(error) => Err(error),
            None => Ok((job.rows, summary)),
        }
    }
}

/// What each path is to be good for.
struct Wishes {
    service_id: Option<u64>,
    pkey: Option<u16>,
    qos_class: Option<u16>,
    traffic_class: Option<u8>,
    sl: Option<u8>,
    hop_limit: Option<u8>,
    min_mtu: Option<u32>,
    min_rate: Option<f64>,
    one_way: bool,
}

impl Wishes {
    /// Errors: in words.
    fn query(&self, source: End, destination: End) -> Result<PathQuery, String> {
        let mut query = PathQuery::between(source, destination);
        if self.one_way {
            query = query.one_way();
        }
        if let Some(id) = self.service_id {
            query = query.service_id(ServiceId(id));
        }
        if let Some(key) = self.pkey {
            query = query.pkey(Pkey::new(key).map_err(words)?);
        }
        if let Some(class) = self.qos_class {
            query = query.qos_class(class).map_err(words)?;
        }
        if let Some(class) = self.traffic_class {
            query = query.traffic_class(class);
        }
        if let Some(sl) = self.sl {
            query = query.sl(Sl::new(sl).map_err(words)?);
        }
        if let Some(hops) = self.hop_limit {
            query = query.hop_limit(hops);
        }
        if let Some(bytes) = self.min_mtu {
            query = at_least_mtu(query, bytes)?;
        }
        if let Some(rate) = self.min_rate {
            query = at_least_rate(query, rate)?;
        }
        Ok(query)
    }
}

/// Requests know "greater", not "at least": greater than the next smaller one. Every path has the
/// smallest.
fn at_least_mtu(query: PathQuery, bytes: u32) -> Result<PathQuery, String> {
    let wrong = || format!("an MTU of {bytes} bytes: there are 256, 512, 1024, 2048 and 4096");
    let mtu = Mtu::from_bytes(bytes).ok_or_else(wrong)?;
    Ok(match Mtu::from_code(mtu.code() - 1) {
        Ok(smaller) => query.mtu(Selector::Greater, smaller),
        Err(_) => query,
    })
}

/// The same for a rate in Gb/s: greater than the fastest that is slower.
fn at_least_rate(query: PathQuery, gbps: f64) -> Result<PathQuery, String> {
    let mut ranks = (1..=23).filter_map(sa_wire::RateRank::from_raw);
    let is_enough = |rate: Rate| f64::from(rate.tenths_of_gbps()) >= gbps * 10.0 - 0.5;
    let Some(first) = ranks.find(|rank| is_enough(rank.rate())) else {
        return Err(format!("no rate of InfiniBand is {gbps} Gb/s or more"));
    };
    Ok(match first.previous() {
        Some(slower) => query.rate(Selector::Greater, slower.rate()),
        None => query,
    })
}

/// Requests, and a row for each.
struct Rows {
    queries: Vec<PathQuery>,
    rows: Vec<u8>,
    /// Ctrl-C, or what else a handler of signals has raised.
    stopped: Option<PyErr>,
}

impl Job for Rows {
    fn count(&self) -> usize {
        self.queries.len()
    }

    fn query(&self, nth: usize) -> PathQuery {
        self.queries[nth]
    }

    fn answer(&mut self, nth: usize, answer: Answer) {
        let row = match answer {
            Answer::Found(record) => row(0, &record),
            Answer::Refused(status) => row(status.get().into(), &PathRecord::default()),
            Answer::None => row(NO_ANSWER, &PathRecord::default()),
        };
        if let Some(place) = self.rows.get_mut(nth * ROW..(nth + 1) * ROW) {
            place.copy_from_slice(&row);
        }
    }

    fn goes_on(&mut self) -> bool {
        self.stopped = Python::attach(|py| py.check_signals()).err();
        self.stopped.is_none()
    }
}

/// Shape: the `dtype` of `_paths.py`, numbers in the host's order.
fn row(status: i32, record: &PathRecord) -> [u8; ROW] {
    let mtu = Mtu::from_code(record.mtu.value()).map_or(0, Mtu::bytes);
    let rate = Rate::from_code(record.rate.value()).map_or(0, Rate::tenths_of_gbps);
    let tenths = f32::from(u16::try_from(rate).unwrap_or(u16::MAX));
    let mut row = [0; ROW];
    let fields: [&[u8]; 14] = [
        &status.to_ne_bytes(),
        &record.slid.get().to_ne_bytes(),
        &record.dlid.get().to_ne_bytes(),
        &record.pkey.get().to_ne_bytes(),
        &u16::try_from(mtu).unwrap_or(0).to_ne_bytes(),
        &(tenths / 10.0).to_ne_bytes(),
        &record.flow.flow_label().to_ne_bytes(),
        &[record.qos_class_sl.sl().get()],
        &[record.packet_life.value()],
        &[record.flow.hop_limit()],
        &[record.tclass],
        &record.sgid,
        &record.dgid,
        &[],
    ];
    let mut at = 0;
    for field in fields {
        if let Some(place) = row.get_mut(at..at + field.len()) {
            place.copy_from_slice(field);
        }
        at += field.len();
    }
    row
}

/// Errors: which of them names no port.
fn ends(given: &Ends) -> PyResult<Vec<End>> {
    let wrong = |nth: usize, error: String| input(format!("end {nth}: {error}"), None);
    let told = |(nth, end): (usize, Result<End, _>)| {
        end.map_err(|error: sa_client::query::NoEnd| wrong(nth, error.to_string()))
    };
    match given {
        Ends::Numbers(bytes) => {
            let numbers = bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|bytes| u64::from_ne_bytes(*bytes));
            numbers.map(End::of_number).enumerate().map(told).collect()
        }
        Ends::Words(words) => words
            .iter()
            .map(|word| word.parse())
            .enumerate()
            .map(told)
            .collect(),
    }
}

/// Errors: negative, not a number, or longer than there is time.
fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}

fn words(error: impl ToString) -> String {
    error.to_string()
}
