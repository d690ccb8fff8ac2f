//! A host of a large torus, with the snapshot of its SA.
//!
//! Made of tables, without files: a synthetic torus, the policy that `sapphire bench` measures
//! with, and a port of its first host as the local service sees one. What is asked goes all over
//! the fabric, so that records do not stay in the cache of the one core.

use std::sync::Arc;
use std::time::Instant;

use policy::{ParseOptions, Partitions};
use sa_bench::rules::{RuleSpec, facts};
use sa_bench::synthetic::{torus_model, with_policy};
use sa_fastpath::publish::{EpochId, Publisher, Reader};
use sa_local::addresses::Addresses;
use sa_local::origin::Origin;
use sa_local::ports::HostPort;
use sa_local::replica::Replica;
use sa_local::watch::Seen;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::netlink_ls::{PathUse, Resolve};
use sa_wire::{Gid, Lid, ServiceId, SubnetPrefix};

use super::Failure;

/// Rules of the policy; groups they name.
const RULES: (u64, u64) = (1000, 60);

/// Destinations that are asked for.
const QUERIES: u64 = 4096;

const DEVICE: &[u8] = b"mlx5_0";

/// Who asks, and what answers.
pub(super) struct Host {
    publisher: Publisher,
    spec: RuleSpec,
    port: HostPort,
    hosts: Vec<Gid>,
}

impl Host {
    /// The first host of a 24x24x24 torus with two on each switch, under 1,000 rules.
    pub(super) fn new() -> Result<Self, Failure> {
        let spec = RuleSpec::mixed(RULES.0, RULES.1);
        let model = torus_model([24; 3], 2).ok_or("the torus has more ports than LIDs")?;
        let facts = facts(&model);
        let partitions = Partitions::without_file(&facts);
        let parsed = policy::parse(&spec.text(), &ParseOptions::default())?;
        let tables = policy::compile(&parsed, &facts, &partitions)?;
        let snapshot = Builder::build(&with_policy(model, tables))?;
        let hosts = gids(&snapshot);
        let gid = *hosts.first().ok_or("no host")?;
        let first = snapshot.port_by_guid(gid.interface_id()).ok_or("no host")?;
        let lid = snapshot.port(first).base_lid();
        let mut publisher = Publisher::new();
        publisher.publish(snapshot);
        Ok(Self {
            publisher,
            spec,
            port: HostPort {
                device: String::from_utf8_lossy(DEVICE).into_owned(),
                port: 1,
                lid,
                sm_lid: Lid::new(1).ok(),
                sm_sl: 0,
                is_active: true,
                gid,
            },
            hosts,
        })
    }

    /// Answers from the snapshot.
    pub(super) fn replica(&self) -> Result<Replica, Failure> {
        let reader: Reader = self.publisher.reader().ok_or("no place for a reader")?;
        let none = Addresses::default();
        Ok(Replica::new(
            reader,
            Box::new(Unchanged(Instant::now())),
            none,
            Vec::new(),
            false,
        ))
    }

    /// The host's ports.
    pub(super) fn seen(&self) -> Arc<Vec<Seen>> {
        Arc::new(vec![Seen {
            port: self.port.clone(),
            sm_since: None,
            served: None,
        }])
    }

    /// As rdma_cm asks: all over the fabric, for services that some rule names and others.
    pub(super) fn queries(&self) -> Vec<Resolve<'static>> {
        // Every fourth of 27,648 hosts: more than there are questions, from all over the fabric.
        let stride = self.hosts.len().max(1) / 7919 + 1;
        let to = self.hosts.iter().step_by(stride).cycle().skip(1);
        (0..QUERIES)
            .zip(to)
            .map(|(at, dgid)| {
                // Half of what is named is what some rule asks for.
                let (service_id, qos_class) = self.spec.asked(at);
                Resolve {
                    seq: 0,
                    device: DEVICE,
                    port: 1,
                    path_use: PathUse::All,
                    service_id: service_id.map(ServiceId),
                    dgid: Some(*dgid),
                    sgid: Some(self.port.gid),
                    tclass: None,
                    // The default partition, full membership, as rdma_cm has it.
                    pkey: Some(0xffff),
                    qos_class,
                }
            })
            .collect()
    }
}

/// A snapshot that nothing replaces.
///
/// The service asks how old its snapshot is; this one was read when the run began.
struct Unchanged(Instant);

impl Origin for Unchanged {
    fn read_at(&self, _: EpochId) -> Option<Instant> {
        Some(self.0)
    }
}

fn gids(snapshot: &Snapshot) -> Vec<Gid> {
    let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
    let guids = hosts.filter_map(|(_, port)| port.guid());
    guids
        .map(|guid| Gid::unicast(SubnetPrefix::LINK_LOCAL, guid))
        .collect()
}
