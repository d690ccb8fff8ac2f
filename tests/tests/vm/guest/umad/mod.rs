//! The umad port on a kernel: what goes right, what goes wrong, and what it costs.

mod asker;
mod bad;
mod cost;
mod daemon;
mod odd_file;
mod ports;
mod removal;
mod responder;

use anyhow::{Context, Result};
use sa_port::Destination;
use sa_port::umad::UmadClient;
use sa_wire::Lid;

pub(super) use cost::{ask, echo};
pub(super) use daemon::{get, run as daemon};
pub(super) use ports::run as ports;
pub(super) use removal::run as removal;

/// The place of a device's port.
fn at(device: &str) -> Result<Destination> {
    let port = UmadClient::open(Some(device), Some(1))?;
    Ok(Destination::sa(lid_of(&port)?))
}

fn lid_of(port: &UmadClient) -> Result<Lid> {
    port.name()
        .state()
        .lid
        .context("no SM has configured the port")
}
