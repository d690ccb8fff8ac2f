//! Reading every input before anything is computed from it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use policy::lint::notes::NoteKind;
use policy::model::criterion::Field;
use policy::{
    Dialect, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, UlpNames,
};
use routing::engine::{self, Needs};
use routing::{EngineKind, Topology, TorusConfig};
use sa_fabric::detect::{DumpDir, LoadError, Loaded, load_by, load_lids_by};
use sa_fabric::display::{at_most, first_few};
use sa_fabric::intake::{Intake, Kind};
use sa_fabric::mistaken::{FileKind, mistaken};
use sa_fabric::model::{Assumed, Fabric};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records::{self, SaFabric};
use sa_fabric::subnet::{Subnet, SubnetError, SubnetOptions};
use sa_wire::{Guid, Mlid};
use thiserror::Error;

use super::{Inputs, OnPolicyError, aliases, failures, tables};
use crate::beyond::{self, Beyond};
use crate::prefix_routes::{self, PrefixRoute};
use crate::state::{Given, Routing, Sources};

/// An input that cannot be read or parsed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadProblem {
    /// The fabric, the LIDs or the dumps.
    #[error(transparent)]
    Fabric(#[from] LoadError),
    /// The fabric gives no subnet.
    #[error("{}: {source}", path.display())]
    Subnet {
        /// The fabric file.
        path: PathBuf,
        /// Why not.
        source: SubnetError,
    },
    /// A snapshot where a fabric must stand.
    #[error(
        "{}: this is a snapshot, which holds no forwarding tables to work from; give the fabric \
        file it was compiled from",
        .0.display()
    )]
    IsSnapshot(PathBuf),
    /// Another file. Shape: `file:line:column: what`, with what was expected and what to do.
    #[error("{0}")]
    Text(String),
    /// Contradicting options.
    #[error("{0}")]
    Options(Cow<'static, str>),
}

/// Reads all inputs. Errors: the first [`ReadProblem`].
pub fn read(inputs: &Inputs) -> Result<Sources, ReadProblem> {
    let mut reader = Reader::new(inputs);
    let options = reader.opensm_conf(inputs)?;
    let (fabric, dumps) = reader.fabric(inputs)?;
    let subnet = reader.subnet(inputs, &options, fabric)?;
    let routing = reader.routing(inputs, &options, &subnet, dumps.as_ref())?;
    let subnet = reader.damaged(inputs, &options, &routing, subnet)?;
    let (partitions, mlids) = reader.partitions(inputs, &options, &subnet)?;
    let policy = reader.policy(inputs, &options, &subnet, &partitions)?;
    let beyond = Beyond {
        mlids,
        prefix_routes: reader.prefix_routes(inputs, &options, &subnet)?,
        routers: beyond::routers(&subnet),
    };
    let aliases = reader.aliases(inputs, &subnet)?;
    let Reader {
        provenance,
        warnings,
        intake: _,
    } = reader;
    Ok(Sources {
        subnet,
        options,
        routing,
        partitions,
        policy,
        beyond,
        aliases,
        apply_setup: inputs.apply_setup,
        live: inputs.live.clone(),
        provenance,
        warnings,
    })
}

/// What is said of a torus configuration that nobody named: that it was found beside the fabric, or
/// that the fabric seems to need one.
fn remark_on_torus(found: Option<&Path>, topology: impl Fn() -> Topology) -> Option<String> {
    match found {
        Some(found) => Some(format!(
            "{} lies beside the fabric and is used: paths are those of torus-2QoS; --engine \
             (engine in [routing]) chooses others",
            found.display()
        )),
        None => {
            let grid = engine::torus::recognise(&topology())?;
            Some(format!(
                "the switches form a {grid}, and no torus configuration is given: paths have no \
                 SLs that keep them from waiting for each other, where torus-2QoS gives them; \
                 name its file with --torus-conf (torus_conf in [routing]) or lay it beside the \
                 fabric as torus-2QoS.conf"
            ))
        }
    }
}

/// The tables of a directory of dumps.
fn given_tables(subnet: &Subnet, dumps: Option<&DumpDir>) -> Result<Given, ReadProblem> {
    let Some(dumps) = dumps else {
        return Err(ReadProblem::Options(
            "engine files needs a directory of OpenSM dumps as the fabric".into(),
        ));
    };
    let (lfts, sl2vl) = tables::read(dumps, subnet)?;
    Ok(Given::Tables { lfts, sl2vl })
}

/// Reads what lies in files beside a fabric that only a running SM tells. Returns what an operator
/// should know. Errors: the first [`ReadProblem`].
pub fn read_but_the_fabric(inputs: &Inputs) -> Result<Vec<String>, ReadProblem> {
    let mut reader = Reader::new(inputs);
    let options = reader.opensm_conf(inputs)?;
    if let Some(path) = &inputs.torus_conf {
        reader.torus_conf(path)?;
    }
    if let Some(path) = &inputs.partitions {
        reader.partitions_conf(path)?;
    }
    if let Some(path) = &inputs.policy {
        let text = reader.text(Kind::Policy, "policy", path)?;
        let (dialect, reading) = policy_reading(inputs, &options)?;
        if let Err(error) = policy::parse_as(&text, dialect, &reading) {
            let problem = policy_error(path, &error);
            match inputs.on_policy_error {
                OnPolicyError::Fail => return Err(problem),
                OnPolicyError::None => reader.warnings.push(problem.to_string()),
            }
        }
    }
    Ok(reader.warnings)
}

/// First and last service ids of the ranges that the rules of a policy name. Errors: it cannot be
/// read or parsed.
pub fn service_ranges(inputs: &Inputs) -> Result<Vec<(u64, u64)>, ReadProblem> {
    let Some(path) = &inputs.policy else {
        return Ok(Vec::new());
    };
    let mut reader = Reader::new(inputs);
    let options = reader.opensm_conf(inputs)?;
    let text = reader.text(Kind::Policy, "policy", path)?;
    let (dialect, reading) = policy_reading(inputs, &options)?;
    let policy = policy::parse_as(&text, dialect, &reading);
    let policy = policy.map_err(|error| policy_error(path, &error))?;
    let rules = policy.rules.iter();
    let named = rules.filter_map(|rule| rule.fields[Field::ServiceId].as_ref());
    Ok(named
        .flat_map(|named| named.value.pairs())
        .copied()
        .collect())
}

/// The dialect, where it is not to be found out, and the rest of how a policy is read. Errors: the
/// file of names cannot be read or parsed.
fn policy_reading(
    inputs: &Inputs,
    options: &OpenSmOptions,
) -> Result<(Option<Dialect>, ParseOptions), ReadProblem> {
    // Going on without policy, as OpenSM does, includes what OpenSM cannot read.
    let as_opensm = inputs.on_policy_error == OnPolicyError::None && inputs.dialect.is_none();
    let dialect = inputs
        .dialect
        .or_else(|| as_opensm.then_some(Dialect::OpenSm));
    let reading = ParseOptions {
        max_rate_code: options.max_rate_code(),
        extensions: inputs.reading.extensions && !as_opensm,
        ulp_names: ulp_names(inputs)?,
        ..inputs.reading.clone()
    };
    Ok((dialect, reading))
}

/// The names that services are called by. Errors: the file of names cannot be read or parsed.
pub fn ulp_names(inputs: &Inputs) -> Result<UlpNames, ReadProblem> {
    let Some(path) = &inputs.ulp_names else {
        return Ok(inputs.reading.ulp_names.clone());
    };
    let bytes = inputs
        .intake
        .read(Kind::Policy, path)
        .map_err(LoadError::from)?;
    let extended = inputs.reading.ulp_names.extend(&sa_text::decode(&bytes));
    extended.map_err(|error| policy_error(path, &error))
}

/// Options of the SM, as far as files tell them. Errors: `opensm.conf` cannot be read or parsed.
pub fn options(inputs: &Inputs) -> Result<OpenSmOptions, ReadProblem> {
    Reader::new(inputs).opensm_conf(inputs)
}

struct Reader {
    intake: Intake,
    provenance: Vec<String>,
    warnings: Vec<String>,
}

impl Reader {
    fn new(inputs: &Inputs) -> Self {
        Self {
            intake: inputs.intake.clone(),
            provenance: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The text of a file, noted as an input.
    fn text(&mut self, kind: Kind, role: &str, path: &Path) -> Result<String, ReadProblem> {
        let bytes = self.bytes(kind, role, path)?;
        // What is text already is not copied.
        let mut text = String::from_utf8(bytes)
            .unwrap_or_else(|error| sa_text::decode(error.as_bytes()).into_owned());
        // Some editors put a byte order mark before a text.
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        Ok(text)
    }

    fn bytes(&mut self, kind: Kind, role: &str, path: &Path) -> Result<Vec<u8>, ReadProblem> {
        let bytes = self.intake.read(kind, path).map_err(LoadError::from)?;
        self.note(kind, role, path)?;
        Ok(bytes)
    }

    /// Notes a file that was read as an input.
    fn note(&mut self, kind: Kind, role: &str, path: &Path) -> Result<(), ReadProblem> {
        let digest = self.intake.digest(kind, path).map_err(LoadError::from)?;
        // The name alone: where a file lies must not change what is compiled from it.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.provenance
            .push(format!("{role} {name} xxh3:{digest:016x}"));
        Ok(())
    }

    fn opensm_conf(&mut self, inputs: &Inputs) -> Result<OpenSmOptions, ReadProblem> {
        let mut options = OpenSmOptions::default();
        if let Some(path) = &inputs.opensm_conf {
            let bytes = self.bytes(Kind::Options, "opensm.conf", path)?;
            // Nearly any text is an opensm.conf with options that OpenSM does not know.
            if let Some(words) = mistaken(path, &bytes, FileKind::OpenSmConf) {
                return Err(ReadProblem::Text(words));
            }
            options = OpenSmOptions::parse(&bytes).map_err(|error| at(path, &error))?;
            let notes = options.notes.iter();
            self.warnings
                .extend(notes.map(|note| format!("{}:{note}", path.display())));
            let unused = options.not_used.iter();
            self.warnings.extend(unused.map(|unused| {
                let (place, known) = (unused.at, unused.is_known);
                let why = if known {
                    "has no effect here"
                } else {
                    "is no option of OpenSM's"
                };
                format!("{}: {place}: {} {why}", path.display(), unused.key)
            }));
        }
        let given = options.qos_given.then_some(options.qos);
        let told = inputs.live.as_ref().map(|live| live.qos());
        // What a file of OpenSM's does not mention is as OpenSM has it: off. Without any, nobody
        // has said that OpenSM's defaults are wanted.
        let asked = inputs.opensm_conf.as_ref().filter(|_| !inputs.is_q_given);
        let by_default = asked.map(|path| {
            let is_silent = inputs.qos.or(given).or(told).is_none();
            if is_silent {
                self.warnings.push(format!(
                    "{}: no line for qos: QoS is off, which is OpenSM's default; where OpenSM runs \
                     with -Q, say qos = true in [fabric]",
                    path.display()
                ));
            }
            OpenSmOptions::default().qos
        });
        options.qos = inputs.qos.or(given).or(told).or(by_default).unwrap_or(true);
        options.lmc = inputs.lmc.or(options.lmc);
        if let Some(live) = &inputs.live {
            self.follow(live, &mut options);
        }
        Ok(options)
    }

    /// What the SA says counts, whatever the file of options says.
    fn follow(&mut self, live: &SaFabric, options: &mut OpenSmOptions) {
        options.lmc = Some(live.lmc());
        options.lmc_esp0 = live.lmc_esp0();
        (options.reassign_lids, options.guid) = (false, None);
        let keys = live.pkeys();
        options.allow_both_pkeys |= keys.as_ref().is_some_and(sa_records::has_both);
        if let Some(prefix) = live.prefix() {
            if prefix != options.subnet_prefix {
                self.warnings.push(format!(
                    "subnet_prefix: ports have 0x{:016x}, not 0x{:016x}; taking that of the ports",
                    prefix.0, options.subnet_prefix.0
                ));
            }
            options.subnet_prefix = prefix;
        }
        if options.qos != live.qos() {
            let state = |qos| if qos { "on" } else { "off" };
            self.warnings.push(format!(
                "QoS is {} here, and {} at {}: paths will have other SLs",
                state(options.qos),
                state(live.qos()),
                live.whom()
            ));
        }
    }

    fn fabric(&mut self, inputs: &Inputs) -> Result<(Fabric, Option<DumpDir>), ReadProblem> {
        if let Some(live) = &inputs.live {
            self.provenance.push(live.provenance());
            self.warnings.extend(live.notes().iter().cloned());
            return Ok((live.fabric().clone(), None));
        }
        let (mut fabric, dumps) = match load_by(&inputs.intake, &inputs.fabric)? {
            Loaded::Fabric(fabric) => {
                self.note(Kind::Fabric, "fabric", &inputs.fabric)?;
                (fabric, None)
            }
            Loaded::Dumps(dumps) => {
                self.note(Kind::Fabric, "fabric", &dumps.fabric_path)?;
                (dumps.fabric.clone(), Some(dumps))
            }
            Loaded::Snapshot(file) => return Err(ReadProblem::IsSnapshot(file.path)),
        };
        let assumed = inputs
            .mtu
            .map_or(Assumed::IBSIM, |mtu| Assumed::IBSIM.with_mtu(mtu));
        fabric.assume(inputs.vl_cap.map_or(assumed, |vls| assumed.with_vls(vls)));
        self.warnings
            .extend(fabric.notes().iter().map(ToString::to_string));
        Ok((fabric, dumps))
    }

    fn subnet(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        fabric: Fabric,
    ) -> Result<Subnet, ReadProblem> {
        if let Some(live) = &inputs.live {
            return self.live_subnet(live, fabric);
        }
        let lids = match &inputs.lids {
            Some(path) => {
                let lids = load_lids_by(&inputs.intake, path)?;
                self.note(Kind::Fabric, "LIDs", path)?;
                Some(lids)
            }
            None => None,
        };
        let wanted = SubnetOptions {
            lmc: options.lmc,
            lmc_esp0: options.lmc_esp0,
            reassign_lids: options.reassign_lids,
            sm_node: inputs.sm_node.as_deref(),
            sm_guid: options.guid,
            lids: lids.as_ref(),
        };
        let subnet = Subnet::new(fabric, &wanted).map_err(|source| ReadProblem::Subnet {
            path: inputs.fabric.clone(),
            source,
        })?;
        self.note_subnet(&subnet);
        Ok(subnet)
    }

    /// Every port keeps the LID that it has. Errors: there is no SM, or LIDs cannot be kept.
    fn live_subnet(&mut self, live: &SaFabric, fabric: Fabric) -> Result<Subnet, ReadProblem> {
        let whom = live.whom();
        let subnet = Subnet::new(fabric, &live.subnet_options())
            .map_err(|problem| ReadProblem::Text(format!("the fabric of {whom}: {problem}")))?;
        if let Some((port, given, _)) = subnet.report().moved.first() {
            return Err(ReadProblem::Text(format!(
                "the fabric of {whom}: LID {given} of {} does not fit its LMC; is the SM at work?",
                subnet.fabric().port_name(*port)
            )));
        }
        self.note_subnet(&subnet);
        Ok(subnet)
    }

    /// The subnet after the parts failed that are to be taken as failed.
    fn damaged(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        routing: &Routing,
        subnet: Subnet,
    ) -> Result<Subnet, ReadProblem> {
        if inputs.failed.is_empty() {
            return Ok(subnet);
        }
        if matches!(routing.given, Given::Tables { .. }) || inputs.live.is_some() {
            return Err(ReadProblem::Options(
                "engine files has no answer to failures: its tables are given; choose another engine"
                    .into(),
            ));
        }
        let damaged = failures::apply(&subnet, options, routing, &inputs.failed)?;
        let cut_off = subnet.cut_off(&damaged);
        let cut_off: Vec<String> = cut_off.map(|node| node.name().to_owned()).collect();
        if !cut_off.is_empty() {
            self.warnings.push(format!(
                "host ports that are cut off: {}",
                first_few(&cut_off)
            ));
        }
        self.provenance
            .push(format!("failed {}", inputs.failed.join(" ")));
        Ok(damaged)
    }

    fn note_subnet(&mut self, subnet: &Subnet) {
        let report = subnet.report();
        let fabric = subnet.fabric();
        for node in &report.unreachable {
            let name = fabric.node(*node).name();
            self.warnings.push(format!(
                "{name} cannot be reached from the SM and is left out"
            ));
        }
        for (port, given, assigned) in &report.moved {
            let name = fabric.port_name(*port);
            self.warnings.push(format!(
                "LID {given} of {name} could not be kept, it gets {assigned}"
            ));
        }
        let unknown = report.unknown_guids.iter();
        self.warnings.extend(
            unknown.map(|guid| format!("the LID file names {guid}, which is not in the fabric")),
        );
        let without = report.without_lid.iter();
        self.warnings.extend(without.map(|port| {
            format!(
                "the LID file has no LID for {}, which was given one",
                fabric.port_name(*port)
            )
        }));
    }

    /// The engine and what it needs.
    fn routing(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        subnet: &Subnet,
        dumps: Option<&DumpDir>,
    ) -> Result<Routing, ReadProblem> {
        let is_live = inputs.live.is_some();
        let torus_conf = inputs.torus_conf();
        if inputs.torus_conf.is_none() && inputs.is_open_to_torus() {
            let topology = || subnet.topology(options);
            let remark = remark_on_torus(torus_conf.as_deref(), topology);
            self.warnings.extend(remark);
        }
        let engine = inputs.engine.unwrap_or_else(|| match (&torus_conf, dumps) {
            (Some(_), _) => EngineKind::Torus2Qos,
            (None, _) if is_live => EngineKind::Files,
            (None, Some(dumps)) if tables::present(dumps) => EngineKind::Files,
            (None, _) => EngineKind::MinHop,
        });
        let given = match engine::by_kind(engine).needs() {
            Needs::TorusConf => self.given_torus(torus_conf)?,
            Needs::Tables if is_live => Given::Live,
            Needs::Tables => given_tables(subnet, dumps)?,
            Needs::Nothing if is_live => {
                return Err(ReadProblem::Options(Cow::Owned(format!(
                    "engine {} makes paths of its own; those of a running SA are the SM's",
                    engine.name()
                ))));
            }
            Needs::Nothing => Given::Nothing,
        };
        Ok(Routing { engine, given })
    }

    fn given_torus(&mut self, path: Option<PathBuf>) -> Result<Given, ReadProblem> {
        let Some(path) = path else {
            return Err(ReadProblem::Options(
                "engines torus-2qos and torus-proved need a torus configuration, and no \
                 torus-2QoS.conf lies beside the fabric; give --torus-conf (torus_conf in \
                 [routing])"
                    .into(),
            ));
        };
        let config = self.torus_conf(&path)?;
        Ok(Given::TorusConf { config, path })
    }

    fn torus_conf(&mut self, path: &Path) -> Result<TorusConfig, ReadProblem> {
        let text = self.text(Kind::Options, "torus-2QoS.conf", path)?;
        let config = TorusConfig::parse(&text).map_err(|errors| {
            let report = errors.report(&path.display().to_string());
            let lines = report.lines().map(str::to_owned);
            let words = at_most(lines, "error", "errors").join("\n");
            let problem = ReadProblem::Text(words);
            or_mistaken(path, &text, FileKind::TorusConf, problem)
        })?;
        let remarks = config.warnings.iter();
        self.warnings
            .extend(remarks.map(|remark| format!("{}:{remark}", path.display())));
        Ok(config)
    }

    /// Partitions, and the LIDs of their multicast groups.
    fn partitions(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        subnet: &Subnet,
    ) -> Result<(Partitions, Vec<Mlid>), ReadProblem> {
        let ports = subnet.port_facts();
        let keys = inputs.live.as_ref().and_then(|live| live.pkeys());
        let wanted = PartitionOptions {
            qos: options.qos,
            allow_both_pkeys: options.allow_both_pkeys,
        };
        let config = match (&inputs.partitions, &keys) {
            (Some(path), _) => Some(self.partitions_conf(path)?),
            (None, Some(keys)) => self.partitions_by_tables(keys),
            (None, None) => None,
        };
        let (partitions, mlids) = match &config {
            Some(config) => {
                let partitions = Partitions::new(config, &ports, wanted);
                let mlids = beyond::mlids(config, &ports, wanted, &partitions);
                (partitions, mlids)
            }
            None => (Partitions::without_file(&ports), vec![Mlid::MIN]),
        };
        if let Some(keys) = &keys {
            let disagreement = sa_records::disagreement(keys, &partitions, &ports);
            self.warnings.extend(disagreement);
        }
        Ok((partitions, mlids))
    }

    fn partitions_conf(&mut self, path: &Path) -> Result<PartitionsConfig, ReadProblem> {
        let text = self.text(Kind::Policy, "partitions.conf", path)?;
        let config = PartitionsConfig::parse(&text).map_err(|error| {
            let problem = policy_error(path, &error);
            or_mistaken(path, &text, FileKind::Partitions, problem)
        })?;
        let notices = config.notices.iter();
        self.warnings
            .extend(notices.map(|notice| format!("{}:{notice}", path.display())));
        Ok(config)
    }

    /// Who belongs to which partition as P_Key tables have it.
    fn partitions_by_tables(
        &mut self,
        keys: &BTreeMap<Guid, BTreeSet<u16>>,
    ) -> Option<PartitionsConfig> {
        let config = sa_records::given_partitions(keys).unwrap_or_else(|problem| {
            self.warnings.push(problem);
            None
        });
        if config.is_some() {
            self.warnings.push(
                "partitions are those of the P_Key tables, all with SL 0: an SA tells no SLs; give \
                 the SM's partitions.conf"
                    .to_owned(),
            );
        }
        config
    }

    fn prefix_routes(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        subnet: &Subnet,
    ) -> Result<Vec<PrefixRoute>, ReadProblem> {
        let Some(path) = self.prefix_routes_file(inputs, options) else {
            return Ok(Vec::new());
        };
        let text = self.text(Kind::Options, "prefix-routes.conf", &path)?;
        let routes = prefix_routes::parse(&text).map_err(|error| {
            let problem = at(&path, &error);
            or_mistaken(&path, &text, FileKind::PrefixRoutes, problem)
        })?;
        self.warnings
            .extend(beyond::remarks(&path, &routes, subnet));
        Ok(routes)
    }

    fn aliases(
        &mut self,
        inputs: &Inputs,
        subnet: &Subnet,
    ) -> Result<Vec<(Guid, Guid)>, ReadProblem> {
        let Some(path) = &inputs.aliases else {
            return Ok(inputs
                .live
                .as_ref()
                .map_or_else(Vec::new, |live| live.aliases()));
        };
        let text = self.text(Kind::Fabric, "aliases", path)?;
        let given = aliases::parse(&text)
            .map_err(|error| or_mistaken(path, &text, FileKind::Aliases, at(path, &error)))?;
        aliases::of_ports(path, &given, subnet, &mut self.warnings)
    }

    /// The file that is named, or the one that `opensm.conf` names beside itself.
    fn prefix_routes_file(&mut self, inputs: &Inputs, options: &OpenSmOptions) -> Option<PathBuf> {
        if let Some(path) = &inputs.prefix_routes {
            return Some(path.clone());
        }
        let (conf, name) = (
            inputs.opensm_conf.as_ref()?,
            options.prefix_routes_file.as_ref()?,
        );
        // Files of the SM's host may be there on this one, and say something else.
        if Path::new(name).is_absolute() {
            if name != DEFAULT_PREFIX_ROUTES {
                self.warnings.push(format!(
                    "{}: prefix_routes_file {name} is not read; name it with --prefix-routes, or \
                     as prefix_routes of [fabric]",
                    conf.display()
                ));
            }
            return None;
        }
        let path = conf.with_file_name(name);
        if !path.exists() {
            self.warnings.push(format!(
                "{}: prefix_routes_file {name} is not there; DGIDs of other subnets have no paths",
                conf.display()
            ));
            return None;
        }
        Some(path)
    }

    fn policy(
        &mut self,
        inputs: &Inputs,
        options: &OpenSmOptions,
        subnet: &Subnet,
        partitions: &Partitions,
    ) -> Result<Option<Policy>, ReadProblem> {
        let Some(path) = inputs.policy.as_ref().filter(|_| options.qos) else {
            return Ok(None);
        };
        let text = self.text(Kind::Policy, "policy", path)?;
        let (dialect, reading) = policy_reading(inputs, options)?;
        let policy = policy::parse_as(&text, dialect, &reading)
            .and_then(|policy| {
                policy::check(&policy, &subnet.port_facts(), partitions).map(|()| policy)
            })
            .map_err(|error| {
                let problem = policy_error(path, &error);
                or_mistaken(path, &text, FileKind::Policy, problem)
            });
        match (policy, inputs.on_policy_error) {
            (Ok(policy), _) => {
                self.note_policy(inputs, path, &policy, subnet, partitions);
                Ok(Some(policy))
            }
            (Err(problem), OnPolicyError::None) => {
                self.warnings
                    .push(format!("{problem}; serving without a policy, as asked"));
                Ok(None)
            }
            (Err(problem), OnPolicyError::Fail) => Err(problem),
        }
    }

    fn note_policy(
        &mut self,
        inputs: &Inputs,
        path: &Path,
        policy: &Policy,
        subnet: &Subnet,
        partitions: &Partitions,
    ) {
        let remarks = policy.diagnostics.iter();
        self.warnings
            .extend(remarks.map(|remark| format!("{}:{remark}", path.display())));
        let mut notes = policy::lint::notes::notes(policy);
        notes.retain(|note| !inputs.apply_setup || note.kind != NoteKind::SetupWithoutEffect);
        notes.extend(policy::lint::notes::fabric_notes(
            policy,
            &subnet.port_facts(),
            partitions,
        ));
        notes.sort_by_key(|note| (note.span.start.line, note.span.start.column));
        self.warnings.extend(
            notes
                .iter()
                .map(|note| format!("{}:{note}", path.display())),
        );
    }
}

/// What `opensm -c` writes.
const DEFAULT_PREFIX_ROUTES: &str = "/etc/opensm/prefix-routes.conf";

/// The problem with a text, or that it is another than it was to be.
fn or_mistaken(path: &Path, text: &str, wanted: FileKind, problem: ReadProblem) -> ReadProblem {
    mistaken(path, text.as_bytes(), wanted).map_or(problem, ReadProblem::Text)
}

fn at(path: &Path, error: &sa_fabric::ParseError) -> ReadProblem {
    let place = error.at;
    let (line, column) = (place.line, place.column);
    ReadProblem::Text(format!(
        "{}:{line}:{column}: {}",
        path.display(),
        error.problem
    ))
}

/// A policy or partition error with all it has to say.
fn policy_error(path: &Path, error: &policy::Error) -> ReadProblem {
    struct Shown<'a>(&'a Path, &'a policy::Error);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self(path, error) = self;
            let (line, column) = (error.line(), error.column());
            write!(f, "{}:{line}:{column}: {}", path.display(), error.message())?;
            if let Some(expected) = error.expected() {
                write!(f, "; expected {expected}")?;
            }
            error.help().map_or(Ok(()), |help| write!(f, " ({help})"))
        }
    }
    ReadProblem::Text(Shown(path, error).to_string())
}
