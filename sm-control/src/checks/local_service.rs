//! Whether the files that `[local_service]` names can be used.
//!
//! The check and the start read the address file by the same function. It is read at the start
//! alone: a host's routers do not change while it runs, and a reload is about the fabric.

use sa_fabric::intake::Intake;
use sa_local::addresses::{Addresses, AddressesError};
use tracing::warn;

use crate::config::{Config, LocalServiceSection};

/// Reads the files that `[local_service]` names. Errors: the first that cannot be used.
pub(crate) fn check(config: &Config) -> Result<(), AddressesError> {
    match &config.local_service {
        None => Ok(()),
        Some(section) => addresses(config, section).map(drop),
    }
}

/// The addresses that IP_RESOLVE is answered from. Errors: they cannot be read.
pub(crate) fn addresses(
    config: &Config,
    section: &LocalServiceSection,
) -> Result<Addresses, AddressesError> {
    let Some(path) = &section.addresses else {
        return Ok(Addresses::default());
    };
    let intake = Intake::new(config.limits);
    let addresses = Addresses::read(&intake, path)?;
    if addresses.is_empty() {
        warn!("{}: no address, IP_RESOLVE is refused", path.display());
    }
    Ok(addresses)
}
