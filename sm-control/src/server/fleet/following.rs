//! A follower's host: loads what is announced, hands it to the thread that loads, opens the gate,
//! and looks at own ports.
//!
//! Three questions are asked of a snapshot before it is in service, beside those of its own
//! verification: is it of the subnet that is followed, does it know a port of this host, and has that
//! port the LID there that the kernel says it has? A fleet that announces the snapshot of another
//! fabric, signed by the right key, fails at one of them.
//!
//! Afterwards the ports are looked at again and again (`look_ms`). A LID that differs shuts the gate
//! until it fits. Another SM does too, as it may have given other LIDs anywhere: until two more
//! announcements have come, the second of which was asked for when this SM was there already.
//!
//! A host without the driver, as in tests, has no ports, and nothing to compare.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use fleet_node::host::{Host, Unusable};
use sa_fastpath::publish::Reader;
use sa_fleet::announcement::Blob;
use sa_fleet::identity::Token;
use sa_fleet::verdict::{Gate, Ports};
use sa_local::ports::{Host as _, HostPort, Sysfs};
use sa_snapshot::Snapshot;
use sa_wire::{Lid, SubnetPrefix};

use super::Followed;
use crate::config::{Config, LocalServiceSection};
use crate::server::reload::reading::Readings;

/// After another SM was seen: the first may have been on its way then, the second was asked for
/// after it. Who announces that either knows of the SM and still says the same, or has withdrawn
/// it.
const ANNOUNCEMENTS: u8 = 2;

/// See the module.
pub(super) struct Follower {
    gate: Option<Arc<sa_fastpath::gate::Gate>>,
    subnet: SubnetPrefix,
    sysfs: Sysfs,
    give: Sender<Followed>,
    /// To take back what was not taken yet, for something newer.
    given: Receiver<Followed>,
    own: Mutex<Own>,
    in_service: Mutex<(Reader, Readings)>,
}

/// Own ports, as the snapshot in service and the last look have them.
#[derive(Default)]
struct Own {
    /// LIDs of own ports by GUID in the snapshot that was given last. None before the first.
    lids: Option<BTreeMap<u64, Option<Lid>>>,
    /// LID of the SM by port, as of the last look.
    managers: BTreeMap<u64, Option<Lid>>,
    /// It has changed since: so many announcements have to come until it is taken for known.
    open: u8,
}

/// A snapshot with what it says of own ports.
pub(super) struct Loaded {
    snapshot: Box<Snapshot>,
    lids: BTreeMap<u64, Option<Lid>>,
}

impl Follower {
    /// And where the thread that loads gets snapshots. `in_service`: a reader of the publisher, and
    /// where ages are noted.
    pub(super) fn new(
        config: &Config,
        subnet: SubnetPrefix,
        gate: Option<Arc<sa_fastpath::gate::Gate>>,
        in_service: (Reader, Readings),
    ) -> (Self, Receiver<Followed>) {
        // The newest alone: what nobody has taken yet is replaced.
        let (give, given) = bounded(1);
        let section = config.local_service.as_ref();
        let class = section.map_or_else(
            || LocalServiceSection::default().class,
            |section| section.class.clone(),
        );
        let host = Self {
            gate,
            subnet,
            sysfs: Sysfs::at(class),
            give,
            given: given.clone(),
            own: Mutex::default(),
            in_service: Mutex::new(in_service),
        };
        (host, given)
    }

    /// Ports of this host in the subnet, by GUID. Empty on a host without the driver.
    fn own_ports(&self) -> Vec<(u64, HostPort)> {
        let ports = self.sysfs.ports().into_iter();
        let ports = ports.filter(|port| port.is_active && port.gid.prefix() == self.subnet);
        ports.map(|port| (port.gid.interface_id(), port)).collect()
    }

    /// What a snapshot says of own ports. Errors: it says something else than the kernel, or knows
    /// none of them.
    fn lids(&self, snapshot: &Snapshot) -> Result<BTreeMap<u64, Option<Lid>>, String> {
        let own = self.own_ports();
        let mut lids = BTreeMap::new();
        for (guid, port) in &own {
            let known = snapshot.port_by_guid(*guid);
            let Some(known) = known else { continue };
            let lid = Lid::new(snapshot.port(known).lid).ok();
            if lid != port.lid {
                return Err(format!(
                    "{port} has LID {}, and the snapshot says {}: it is of another fabric, or LIDs have changed since",
                    Lid::raw(port.lid),
                    Lid::raw(lid)
                ));
            }
            lids.insert(*guid, lid);
        }
        match own.first() {
            Some((_, port)) if lids.is_empty() => Err(format!(
                "the snapshot knows no port of this host, not even {port}: it is of another fabric"
            )),
            _ => Ok(lids),
        }
    }

    /// The snapshot in service is as young as what was announced now.
    fn confirm(&self) {
        let mut in_service = self
            .in_service
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (reader, readings) = &mut *in_service;
        if let Some(epoch) = reader.refresh().map(|published| published.epoch) {
            readings.began(epoch, Instant::now());
        }
    }
}

impl Host for Follower {
    type Loaded = Loaded;

    fn load(&self, mut file: File, blob: Blob) -> Result<Loaded, Unusable> {
        let snapshot = Snapshot::read(&mut file, blob.size);
        let snapshot = Box::new(snapshot.map_err(|why| Unusable::Ever(why.to_string()))?);
        let prefix = SubnetPrefix(u64::from_be_bytes(snapshot.subnet().prefix));
        if prefix != self.subnet {
            let why = format!(
                "the snapshot is of subnet {prefix}, and [fleet] follows {}",
                self.subnet
            );
            return Err(Unusable::Ever(why));
        }
        let lids = self.lids(&snapshot).map_err(Unusable::Ever)?;
        Ok(Loaded { snapshot, lids })
    }

    fn swap(&self, loaded: Loaded, generation: Token) {
        let Loaded { snapshot, lids } = loaded;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.lids = Some(lids);
        drop(own);
        let mut followed = Followed {
            snapshot,
            generation: generation.0,
        };
        // The thread that loads may be at a disk: what waits for it is replaced, never queued.
        while let Err(TrySendError::Full(back)) = self.give.try_send(followed) {
            let _ = self.given.try_recv();
            followed = back;
        }
    }

    fn gate(&self, gate: Gate) {
        if let Some(workers) = &self.gate {
            workers.set(gate.until.0, gate.generation.0);
        }
    }

    fn ports(&self, said: bool) -> Ports {
        let now = self.own_ports();
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lids) = &own.lids else {
            return Ports::Changed;
        };
        let is_other =
            |(guid, port): &(u64, HostPort)| lids.get(guid).is_some_and(|lid| *lid != port.lid);
        if now.iter().any(is_other) {
            return Ports::Changed;
        }
        let managers: BTreeMap<_, _> = now
            .iter()
            .map(|(guid, port)| (*guid, port.sm_lid))
            .collect();
        let is_first = own.managers.is_empty();
        if managers != own.managers && !is_first {
            own.managers = managers;
            own.open = ANNOUNCEMENTS;
            return Ports::Changed;
        }
        own.open = own.open.saturating_sub(said.into());
        if own.open > 0 {
            return Ports::Changed;
        }
        own.managers = managers;
        drop(own);
        if said {
            self.confirm();
        }
        Ports::Confirmed
    }
}
