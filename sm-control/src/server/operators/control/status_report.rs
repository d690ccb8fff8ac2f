//! The status as an object for programs.
//!
//! Fields are only ever added under one [`SCHEMA`]: whoever reads it may rely on those that there
//! are, and skips those that it does not know. What is absent is null, so that every status has
//! every field.
//!
//! Times are told twice where both are of use: as Unix time, to be compared with other logs, and as
//! an age, to be read at once. Nothing here is secret, but it says much about a fabric: who may
//! connect is the socket's mode.
//!
//! ```text
//!  {"schema":"sapphired.status/1","role":"reader","source":"files /etc/sapphire/fabric","ready":true,
//!   "snapshot":{"epoch":7,"age_s":412,"engine":"torus-2QoS",..},"held_epoch":null,
//!   "ports":[{"transport":"umad","place":"mlx5_0 port 1","served":true,"refused":{},..}],..}
//! ```

mod port;
mod slow_lane;
mod subnet_manager;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use sa_compiler::pipeline;
use sa_fastpath::publish::EpochId;
use sa_local::agent::{Counted, Reason};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use self::port::Port;
use self::slow_lane::SlowLane;
use self::subnet_manager::SubnetManager;
use super::fleet_report::FleetReport;
use crate::server::operators::counts::{Counts, Event};
use crate::server::operators::status::{self, Status};

/// Name and version of what [`StatusReport`] is.
const SCHEMA: &str = "sapphired.status/1";

/// Everything that operators may know, at one moment: it is taken from the status field by field,
/// so two fields may be of two moments.
#[derive(Debug, Serialize)]
pub(in crate::server) struct StatusReport {
    schema: &'static str,
    /// Of the program.
    version: &'static str,
    pid: u32,
    uptime_s: u64,
    /// As `[sa] role` has it.
    role: String,
    /// Kind and path of the fabric's source.
    source: String,
    /// The same verdict as that of `/ready`.
    ready: bool,
    /// Why not.
    not_ready: Option<String>,
    /// Requests that come here are answered here.
    active: bool,
    /// Why nobody is answered.
    passive: Option<String>,
    /// How the daemon stands to the SM.
    standing: Pairs<&'static str, String>,
    snapshot: Option<Snapshot>,
    /// A rollback would return to it.
    previous_epoch: Option<u64>,
    /// A rollback has returned to it, and holds.
    held_epoch: Option<u64>,
    /// What a restart would find.
    state: State,
    /// What differs between the configuration file and what is in force.
    configuration: Option<String>,
    /// How long the load under way has taken; none without one.
    loading_s: Option<u64>,
    last_failure: Option<LastFailure>,
    /// Since the start, as all counts here.
    loads: u64,
    failed_loads: u64,
    forwarding_entries_changed: u64,
    rollbacks: u64,
    /// None in another role.
    shadow: Option<Shadow>,
    /// None where another SM has the subnet.
    subnet_manager: Option<SubnetManager>,
    /// None without one.
    local_service: Option<LocalService>,
    /// None without `[fleet]`.
    fleet: Option<FleetReport>,
    /// None before it runs.
    slow_lane: Option<SlowLane>,
    /// In the order of the configuration.
    ports: Vec<Port>,
}

/// The snapshot in service.
#[derive(Debug, Serialize)]
struct Snapshot {
    epoch: u64,
    /// When it was compiled; a copy keeps that of its original.
    built_unix: u64,
    age_s: u64,
    engine: String,
    switches: usize,
    /// CA and router ports.
    hosts: usize,
    /// Of the QoS policy; none without one.
    rules: Option<u32>,
    /// Of the snapshot in memory, which is its file.
    bytes: usize,
    /// 16 hex digits.
    digest: String,
}

/// The state directory.
#[derive(Debug, Serialize)]
struct State {
    /// None without `[state]`.
    directory: Option<String>,
    /// What is on the disk; another epoch than the snapshot's where a write failed.
    stored_epoch: Option<u64>,
    problem: Option<String>,
    failures: u64,
}

/// The last load, if that failed.
#[derive(Debug, Serialize)]
struct LastFailure {
    what: String,
    /// What had asked for the load.
    cause: String,
    unix: u64,
    age_s: u64,
}

/// What a shadow has compared.
#[derive(Debug, Serialize)]
struct Shadow {
    /// Questions; those without an answer are the difference to `answered`.
    asked: u64,
    answered: u64,
    different: u64,
}

/// What this host's kernel was answered.
#[derive(Debug, Serialize)]
struct LocalService {
    /// Its thread runs.
    served: bool,
    resolved: u64,
    addresses: u64,
    /// Put off, to be answered when the SA has answered.
    later: u64,
    refused: Pairs<&'static str, u64>,
    /// In the cache, now.
    kept: u64,
    overruns: u64,
    unsent: u64,
    /// Other programs that answer the same kernel: should be 0.
    others: u64,
}

/// An object whose fields are data, in this order: reasons and counters have names that a struct
/// could not keep up with.
pub(super) struct Pairs<K, V>(pub(super) Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Pairs<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.iter().map(|(name, value)| (name, value)))
            .finish()
    }
}

impl StatusReport {
    /// As it is now.
    pub(super) fn new(status: &Status) -> Self {
        let readiness = status.readiness();
        let passive = status.passive();
        let rollback = status.rollback();
        let counts = &status.counts;
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            uptime_s: status.uptime(),
            role: status.role.clone(),
            source: status.source.clone(),
            ready: readiness.is_ok(),
            not_ready: readiness.err().map(|why| why.to_string()),
            active: passive.is_none(),
            passive,
            standing: Pairs(status.sm_facts().facts.clone()),
            snapshot: status.service().as_deref().map(Snapshot::new),
            previous_epoch: rollback.previous.map(EpochId::get),
            held_epoch: rollback.held.map(EpochId::get),
            state: State::new(status),
            configuration: status.reconfigured().map(|what| what.to_string()),
            loading_s: status.loading().map(|since| since.as_secs()),
            last_failure: status.failure().as_deref().map(LastFailure::new),
            loads: counts.of(Event::Loaded),
            failed_loads: counts.of(Event::LoadFailed),
            forwarding_entries_changed: counts.of(Event::EntryChanged),
            rollbacks: counts.of(Event::RolledBack),
            shadow: status.is_shadow.then(|| Shadow::new(counts)),
            subnet_manager: status
                .sweeps()
                .map(|sweeps| SubnetManager::new(sweeps, status.observed())),
            local_service: status.local().map(LocalService::new),
            fleet: status.fleet().map(|fleet| FleetReport::of(fleet, false)),
            slow_lane: status.lane().map(SlowLane::new),
            ports: status.ports.iter().map(Port::new).collect(),
        }
    }
}

impl Snapshot {
    fn new(service: &status::InService) -> Self {
        Self {
            epoch: service.epoch.get(),
            built_unix: service.built_unix,
            age_s: service.age(),
            engine: service.engine.clone(),
            switches: service.switches,
            hosts: service.hosts,
            rules: service.rules,
            bytes: service.bytes,
            digest: format!("{:016x}", service.digest),
        }
    }
}

impl State {
    fn new(status: &Status) -> Self {
        let kept = status.kept();
        Self {
            directory: status.state_directory.clone(),
            stored_epoch: kept.stored.map(EpochId::get),
            problem: kept.problem.clone(),
            failures: kept.failures,
        }
    }
}

impl LastFailure {
    fn new(failure: &status::LastFailure) -> Self {
        Self {
            what: failure.what.clone(),
            cause: failure.cause.clone(),
            unix: failure.unix,
            age_s: pipeline::unix_time().saturating_sub(failure.unix),
        }
    }
}

impl Shadow {
    fn new(counts: &Counts) -> Self {
        Self {
            asked: counts.of(Event::ShadowAsked),
            answered: counts.of(Event::ShadowAnswered),
            different: counts.of(Event::ShadowDiffered),
        }
    }
}

impl LocalService {
    fn new(local: &status::Local) -> Self {
        let refused = Reason::ALL.map(|reason| local.counters.refused_for(reason));
        let counts = &local.counts;
        Self {
            served: local.is_served(),
            resolved: local.counters.of(Counted::Resolved),
            addresses: local.counters.of(Counted::ResolvedAddress),
            later: local.counters.of(Counted::Later),
            refused: reasons(Reason::ALL.map(Reason::name), refused),
            kept: load(&counts.kept),
            overruns: load(&counts.overruns),
            unsent: load(&counts.unsent),
            others: load(&counts.others),
        }
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Those that counted: a reason that never happened is left out, so that a status can be read.
fn reasons<const N: usize>(names: [&'static str; N], counts: [u64; N]) -> Pairs<&'static str, u64> {
    let all = names.into_iter().zip(counts);
    Pairs(all.filter(|(_, count)| *count > 0).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Config;

    const CONFIG: &str = "[fabric]\nsource = \"files\"\npath = \"net\"\n[sa]\nrole = \"shadow\"\n\
                          [[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n";

    #[test]
    fn every_field_is_there_from_the_start() {
        let config = Config::parse(CONFIG).unwrap();
        let status = Status::new(&config, vec![(Arc::default(), Arc::default())]);
        let report = serde_json::to_value(StatusReport::new(&status)).unwrap();
        let fields: Vec<&str> = report
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            fields,
            [
                "schema",
                "version",
                "pid",
                "uptime_s",
                "role",
                "source",
                "ready",
                "not_ready",
                "active",
                "passive",
                "standing",
                "snapshot",
                "previous_epoch",
                "held_epoch",
                "state",
                "configuration",
                "loading_s",
                "last_failure",
                "loads",
                "failed_loads",
                "forwarding_entries_changed",
                "rollbacks",
                "shadow",
                "subnet_manager",
                "local_service",
                "fleet",
                "slow_lane",
                "ports",
            ]
        );
        assert_eq!(report["schema"], SCHEMA);
        assert_eq!(report["snapshot"], serde_json::Value::Null);
        assert_eq!(report["shadow"]["asked"], 0);
        assert_eq!(report["ports"][0]["refused"], serde_json::json!({}));
        assert_eq!(report["ports"][0]["transport"], "ibsim");
        assert_eq!(report["slow_lane"], serde_json::Value::Null);
        assert_eq!(report["ports"][0]["batch_ns"], serde_json::Value::Null);
    }
}
