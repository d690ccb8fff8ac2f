//! File descriptors: as many as the configuration may need, so that full rings do not keep the
//! daemon from its own files.
//!
//! What a configuration may need is bounded and known before the start: clients of rings,
//! connections of operators, ports. So the limit is raised once, and a configuration that could run
//! out is refused, with the number to set. Running out later would show as a reload that cannot
//! open its files.
//!
//! ```text
//!  one umad port and a control socket: 96 + 16 + 80 = 192 descriptors
//!  each ring port                      what its clients may need besides, by `ring::descriptors`
//! ```

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sa_port::ring;
use thiserror::Error;
use tracing::info;

use crate::config::{Config, FleetSection};
use crate::server::operators::{control, http};

/// For the daemon's own work: its streams and threads, what a load reads and writes. A load has a
/// handful of files open at a time.
const RESERVE: u64 = 96;

/// A port of the fabric: its handles, and those of its replies.
const PORT: u64 = 16;

/// Answering this host's kernel, and asking the SA for it.
const LOCAL: u64 = 64;

/// Files and an engine of a host of a fleet.
const FLEET: u64 = 32;

/// Files that are sent at a time, and connections that are closed as there are too many.
const FLEET_FILES: u64 = 128;

/// What may be open at a time, at most.
fn needed(config: &Config) -> u64 {
    let ports = config.ports.iter().map(|port| match port.ring() {
        Some(ring) => count(ring::descriptors(ring.clients.into())),
        None => PORT,
    });
    let control = config.control.as_ref().map(|_| count(control::CONNECTIONS));
    let http = config.http.as_ref().map(|_| count(http::CONNECTIONS));
    let local = config.local_service.as_ref().map(|_| LOCAL);
    let fleet = config.fleet.as_ref().map(of_fleet);
    let operators = [control, http, local, fleet].into_iter().flatten();
    RESERVE + ports.sum::<u64>() + operators.sum::<u64>()
}

/// Hosts that are connected, files that are sent to them, and whom this host asks.
fn of_fleet(section: &FleetSection) -> u64 {
    let asked = FLEET + 4 * count(section.from.len());
    let served = section
        .listen
        .map(|_| FLEET_FILES + u64::from(section.connections.get()));
    asked + served.unwrap_or(0)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// This process cannot have as many descriptors as the configuration may need.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// It may not have so many.
    #[error(
        "this configuration may need {needed} file descriptors at a time, and this process may have \
         {most}: give it more (LimitNOFILE={needed} in the systemd unit, `ulimit -n {needed}` in a \
         shell), or lower `clients` of the [[port]] sections of rings, or `connections` of [fleet]"
    )]
    TooFew {
        /// What the configuration may need.
        needed: u64,
        /// The hard limit, RLIMIT_NOFILE.
        most: u64,
    },
    /// It may, and the system does not give them.
    #[error(
        "the limit of file descriptors stays at {before}, and {needed} may be needed ({source}): set \
         LimitNOFILE={needed} in the systemd unit"
    )]
    NotRaised {
        /// The soft limit.
        before: u64,
        /// What the configuration may need.
        needed: u64,
        /// Why not.
        source: Errno,
    },
}

/// Whether this process may have as many descriptors as the configuration may need. Errors:
/// [`DescriptorError::TooFew`].
pub(in crate::server) fn check(config: &Config) -> Result<(), DescriptorError> {
    judge(needed(config), getrlimit(Resource::Nofile).maximum)
}

/// Shape: none of `most` is any number.
const fn judge(needed: u64, most: Option<u64>) -> Result<(), DescriptorError> {
    match most {
        Some(most) if most < needed => Err(DescriptorError::TooFew { needed, most }),
        _ => Ok(()),
    }
}

/// Takes as many as may be needed. Errors: [`DescriptorError`].
pub(in crate::server) fn raise(config: &Config) -> Result<(), DescriptorError> {
    check(config)?;
    let needed = needed(config);
    let limit = getrlimit(Resource::Nofile);
    // No limit, or one that is enough: nothing to raise.
    let Some(before) = limit.current.filter(|current| *current < needed) else {
        return Ok(());
    };
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|source| DescriptorError::NotRaised {
        before,
        needed,
        source,
    })?;
    info!(before, now = needed, "limit of file descriptors raised");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &str) -> Config {
        let text = format!("[fabric]\nsource = \"files\"\npath = \"net\"\n{more}");
        Config::parse(&text).unwrap()
    }

    #[test]
    fn every_section_counts() {
        let ring = "[[port]]\ntransport = \"ring\"\npath = \"ring\"\n";
        let one = needed(&config(ring));
        let many = needed(&config(&format!("{ring}clients = 1024\n")));
        assert_eq!(many - one, 1024 - 64);
        let two = needed(&config(&format!("{ring}{ring}")));
        assert_eq!(two - one, one - RESERVE);
        let http = needed(&config(&format!(
            "{ring}[http]\nlisten = \"127.0.0.1:0\"\n"
        )));
        assert!(http - one >= 128, "{http}");
        let control = needed(&config(&format!("{ring}[control]\npath = \"control\"\n")));
        assert!(control - one >= 80, "{control}");
    }

    #[test]
    fn too_few_are_refused_with_the_number_that_it_takes() {
        judge(1000, Some(1000)).unwrap();
        judge(1000, None).unwrap();
        let said = judge(1000, Some(999)).unwrap_err().to_string();
        assert!(
            said.contains("LimitNOFILE=1000") && said.contains("`ulimit -n 1000`"),
            "{said}"
        );
    }
}
