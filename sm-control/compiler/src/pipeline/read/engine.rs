//! The routing engine that the inputs call for, and what it is given.
//!
//! Where no engine is named the inputs decide, in this order: a torus configuration means
//! torus-2QoS, an SA the tables that its switches hold, a directory with forwarding tables those,
//! and anything else min-hop. A configuration that merely lies beside the fabric counts as well,
//! with a remark, because it changes the SL of nearly every path.

use std::path::{Path, PathBuf};

use routing::engine::{self, Needs};
use routing::{EngineKind, Topology, TorusConfig};
use sa_fabric::detect::DumpDir;
use sa_fabric::intake::Kind;
use sa_fabric::mistaken::FileKind;
use sa_fabric::options::OpenSmOptions;
use sa_fabric::subnet::Subnet;
use sa_text::Remark;

use super::reader::{Reader, or_mistaken};
use super::{OptionsProblem, ReadProblem, roots, tables};
use crate::pipeline::Inputs;
use crate::state::{Given, Routing};

/// The engine and what it needs. Errors: a file that it needs is missing or does not parse; the
/// paths of a running SA are the SM's.
///
/// What the engine is given is read here, so that routing opens no file.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    subnet: &Subnet,
    dumps: Option<&DumpDir>,
) -> Result<Routing, ReadProblem> {
    let is_from_sa = inputs.from_sa.is_some();
    let torus_conf = inputs.torus_conf();
    // Nothing to say where the operator named the file or another engine.
    if inputs.torus_conf.is_none() && inputs.is_open_to_torus() {
        let topology = || subnet.topology(options);
        let remark = remark_on_torus(torus_conf.as_deref(), topology);
        reader.remarks.extend(remark);
    }
    let engine = inputs.engine.unwrap_or_else(|| match (&torus_conf, dumps) {
        (Some(_), _) => EngineKind::Torus2Qos,
        (None, _) if is_from_sa => EngineKind::Files,
        // What the switches hold is nearer to the truth than what we would compute.
        (None, Some(dumps)) if tables::present(dumps) => EngineKind::Files,
        (None, _) => EngineKind::MinHop,
    });
    let given = match engine::by_kind(engine).needs() {
        Needs::TorusConf => given_torus(reader, torus_conf)?,
        Needs::Tables if is_from_sa => Given::HeldTables,
        Needs::Tables => given_tables(subnet, dumps)?,
        // A running fabric has its routes; made-up ones would be answers that no switch follows.
        Needs::Nothing | Needs::Roots if is_from_sa => {
            let engine = engine.name();
            return Err(OptionsProblem::EngineForSa { engine }.into());
        }
        Needs::Nothing => Given::Nothing,
        Needs::Roots => Given::Roots(roots::read(reader, inputs, options)?),
    };
    Ok(Routing { engine, given })
}

/// What is said of a torus configuration that nobody named: that it was found beside the fabric, or
/// that the fabric seems to need one.
///
/// The grid is looked for only where no configuration was found, as that costs a search.
fn remark_on_torus(found: Option<&Path>, topology: impl Fn() -> Topology) -> Option<Remark> {
    if let Some(found) = found {
        let text = format!(
            "{} lies beside the fabric and is used: paths are those of torus-2QoS; --engine \
             (engine in [routing]) chooses others",
            found.display()
        );
        return Some(Remark::warning("torus-conf-found", text));
    }
    let grid = engine::torus::recognise(&topology())?;
    let text = format!(
        "the switches form a {grid}, and no torus configuration is given: paths have no \
         SLs that keep them from waiting for each other, where torus-2QoS gives them; \
         name its file with --torus-conf (torus_conf in [routing]) or lay it beside the \
         fabric as torus-2QoS.conf"
    );
    Some(Remark::warning("torus-conf-missing", text))
}

/// The tables of a directory of dumps.
/// Errors: the fabric is no directory; it holds no tables, or those of another fabric.
fn given_tables(subnet: &Subnet, dumps: Option<&DumpDir>) -> Result<Given, ReadProblem> {
    let dumps = dumps.ok_or(OptionsProblem::NoDumps)?;
    let (lfts, sl2vl) = tables::read(dumps, subnet)?;
    let psl = tables::path_sls(dumps)?;
    Ok(Given::Tables { lfts, sl2vl, psl })
}

/// Errors: none is named or lies beside the fabric.
fn given_torus(reader: &mut Reader, path: Option<PathBuf>) -> Result<Given, ReadProblem> {
    let path = path.ok_or(OptionsProblem::NoTorusConf)?;
    let config = torus_conf(reader, &path)?;
    Ok(Given::TorusConf { config, path })
}

/// `torus-2QoS.conf`. Errors: it cannot be read or parsed.
///
/// All errors of the file come at once, warnings with their places.
pub(super) fn torus_conf(reader: &mut Reader, path: &Path) -> Result<TorusConfig, ReadProblem> {
    let text = reader.text(Kind::Options, "torus-2QoS.conf", path)?;
    let config = TorusConfig::parse(&text).map_err(|errors| {
        let problem = ReadProblem::TorusConf {
            path: path.to_owned(),
            errors,
        };
        or_mistaken(path, &text, FileKind::TorusConf, problem)
    })?;
    let remarks = config.warnings.iter().map(|warning| {
        let code = warning.remark.code();
        let text = format!("warning[{code}]: {}", warning.remark);
        Remark::warning(code, text).at(path, warning.at)
    });
    reader.remarks.extend(remarks);
    Ok(config)
}
