//! Which engine says who leads: two files of this host, or etcd, for several hosts.

use std::path::Path;

use fleet_engine::{Embedded, Engine};
use sa_fleet::identity::FleetId;

use super::FleetError;
#[cfg(feature = "engine-etcd")]
use crate::config::EtcdTlsSection;
use crate::config::{EtcdSection, FleetSection};

/// As configured. Errors: [`FleetError::Engine`], [`FleetError::Etcd`].
pub(super) fn open(
    section: &FleetSection,
    fleet: &FleetId,
    directory: &Path,
) -> Result<Box<dyn Engine>, FleetError> {
    match &section.etcd {
        Some(etcd) => of_etcd(section, etcd, fleet),
        None => Ok(Box::new(Embedded::open(directory)?)),
    }
}

#[cfg(feature = "engine-etcd")]
fn of_etcd(
    section: &FleetSection,
    etcd: &EtcdSection,
    fleet: &FleetId,
) -> Result<Box<dyn Engine>, FleetError> {
    use std::time::Duration;

    let lease = Duration::from_secs(etcd.lease_s.get().into());
    let mut settings = fleet_etcd::EtcdSettings::new(etcd.endpoints.clone(), fleet, section.subnet);
    // Two tries of a renewal in a lease.
    settings.timeout = settings.timeout.min(lease / 3);
    settings.lease = lease;
    settings.tls = etcd.tls.as_ref().map(certificates);
    let engine = fleet_etcd::Etcd::start(settings);
    let engine = engine.map_err(|why| FleetError::Etcd(why.to_string()))?;
    Ok(Box::new(engine))
}

/// `[fleet.etcd.tls]`, which has a certificate and its key, or neither.
#[cfg(feature = "engine-etcd")]
fn certificates(section: &EtcdTlsSection) -> fleet_etcd::EtcdTls {
    let own = section.cert.clone().zip(section.key.clone());
    fleet_etcd::EtcdTls {
        ca: section.ca.clone(),
        own: own.map(|(cert, key)| fleet_etcd::EtcdIdentity { cert, key }),
    }
}

#[cfg(not(feature = "engine-etcd"))]
fn of_etcd(_: &FleetSection, _: &EtcdSection, _: &FleetId) -> Result<Box<dyn Engine>, FleetError> {
    let words = "this sapphired was built without etcd; build it with `--features engine-etcd`, or remove the section";
    Err(FleetError::Etcd(words.to_owned()))
}
