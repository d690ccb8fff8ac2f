//! Whether the files that `[local_service]` names can be used.

use sa_fabric::intake::Intake;
use sa_local::addresses::Addresses;
use tracing::warn;

use crate::config::{Config, LocalServiceSection};

/// Whether the files that `[local_service]` names can be used. Errors: in words.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    match &config.local_service {
        None => Ok(()),
        Some(section) => addresses(config, section).map(drop),
    }
}

/// The addresses that IP_RESOLVE is answered from. Errors: in words.
pub(crate) fn addresses(
    config: &Config,
    section: &LocalServiceSection,
) -> Result<Addresses, String> {
    let Some(path) = &section.addresses else {
        return Ok(Addresses::default());
    };
    let intake = Intake::new(config.limits);
    let addresses = Addresses::read(&intake, path).map_err(|error| error.to_string())?;
    if addresses.is_empty() {
        warn!("{}: no address, IP_RESOLVE is refused", path.display());
    }
    Ok(addresses)
}
