//! The port by which SMPs leave.
//!
//! | `[[port]]` | SMPs | who else has it |
//! |---|---|---|
//! | ibsim | a client of its own beside that of the SA | ten clients at most |
//! | umad | queue pair 0 of the device, an agent of its own | one Subnet Manager a port |
//! | ring | none: it leads to programs of this host | |
//!
//! A umad device that nobody names is chosen once, at the start ([`with_its_port`]): SMPs and the
//! SA's answers must leave by one port, while which port is the first active one changes with the
//! first sweep.
//!
//! | ports of the host, in the order of their umad numbers | taken |
//! |---|---|
//! | Init, Down | the first |
//! | Down, Init | the second: nobody is behind the first |
//! | Init, Active | the second: an SM was there already, maybe this one before a restart |
//! | Down, Down | the first; its sweep finds one node, until a link comes up |
//!
//! The section that names a device keeps it, whatever its state; a device that is not there ends
//! the start, as it does without an SM. The name that was chosen is what the log, `sapphire status`
//! and the placement of workers say and go by.
//!
//! Attached at the first sweep and again after it failed: a device may come later than the daemon.
//!
//! What others send to the SM comes by another way ([`Way::listen`]): a file of its own on umad,
//! the SA's client on ibsim. On umad IsSM is set with that file open, and goes with it.

use std::time::Duration;

use sa_port::{ibsim, umad};
use sa_source::SaTransport;
use sm_port::{OverIbsim, OverRelay, OverUmad, SmpPort};
use thiserror::Error;

use crate::config::{Config, PortSection, Source};

/// The first `[[port]]` that leads to the fabric: its queue pair 0.
pub(super) struct Way {
    transport: SaTransport,
    /// Its place among all of them.
    number: usize,
    /// IsSM is set where SMPs of others come in.
    announces: bool,
    /// What comes to the SA's client of ibsim, until somebody listens there.
    relayed: Option<OverRelay>,
}

/// Errors of attaching, each with a next step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(in crate::server) enum WayError {
    /// The simulator.
    #[error("the SM's port: {0}")]
    Ibsim(#[from] ibsim::AttachError),
    /// The device.
    #[error("the SM's port: {0}")]
    Umad(#[from] umad::UmadError),
    /// A thread.
    #[error("the system has no thread for SMPs of others: {0}")]
    Thread(std::io::Error),
    /// Rings lead to programs of this host.
    #[error("a ring leads to no fabric; add a [[port]] with transport = \"umad\"")]
    Ring,
}

/// A configuration in which the Subnet Manager's umad port has its device's name, and IsSM where
/// nobody said otherwise. Without a device on this host, or where this process is no Subnet
/// Manager, nothing is named.
pub(in crate::server) fn with_its_port(mut config: Config) -> Config {
    if config.fabric.source != Source::Sweep {
        return config;
    }
    let mut sections = config.ports.iter_mut();
    let first = sections.find(|section| section.way_to_fabric().is_some());
    if let Some(PortSection::Umad {
        device,
        port,
        announce_sm,
        ..
    }) = first
    {
        // What is wrong with a device is said by who opens it.
        let found = || umad::find(None, Some(*port)).ok();
        *device = device.take().or_else(|| Some(found()?.device));
        announce_sm.get_or_insert(true);
    }
    config
}

impl Way {
    /// None where this process is not the Subnet Manager.
    pub(super) fn of(config: &Config, relayed: Option<OverRelay>) -> Option<Self> {
        let mut ports = config.ports.iter().enumerate();
        let first = ports.find_map(|(number, port)| Some((number, port.way_to_fabric()?)));
        let (number, transport) = first.filter(|_| config.fabric.source == Source::Sweep)?;
        let announces = |section: &PortSection| {
            matches!(
                section,
                PortSection::Umad {
                    announce_sm: Some(true),
                    ..
                }
            )
        };
        Some(Self {
            transport,
            number,
            announces: config.ports.get(number).is_some_and(announces),
            relayed,
        })
    }

    /// Through what other SAs are asked.
    pub(super) const fn transport(&self) -> &SaTransport {
        &self.transport
    }

    /// The number of its port, as the slow lane counts them.
    pub(super) const fn number(&self) -> usize {
        self.number
    }

    /// Where SMPs of others come in; none where nobody hands them on. Errors: [`WayError`], also
    /// where another SM is on the device.
    pub(super) fn listen(&mut self) -> Result<Option<Box<dyn SmpPort + Send>>, WayError> {
        match &self.transport {
            SaTransport::Umad { device, port } => {
                // A second file: the first one's reader is away between two sweeps.
                let mut port = OverUmad::serving(device.as_deref(), *port)?;
                // Not before: who finds an SM by it and gets no answer takes it for dead.
                if self.announces {
                    port = port.announced()?;
                }
                Ok(Some(Box::new(port)))
            }
            SaTransport::Ibsim { .. } | SaTransport::Ring { .. } => {
                let relayed = self.relayed.take();
                Ok(relayed.map(|port| Box::new(port) as Box<_>))
            }
        }
    }

    /// Errors: [`WayError`].
    pub(super) fn attach(&self, repeats_after: Duration) -> Result<Box<dyn SmpPort>, WayError> {
        match &self.transport {
            SaTransport::Ibsim { node, sockname } => {
                // A plain client: requests to the node go to the worker of the same section.
                let mut options = ibsim::Options::on(node);
                if let Some(sockname) = sockname {
                    sockname.clone_into(&mut options.base);
                }
                Ok(Box::new(OverIbsim::attach(&options)?))
            }
            SaTransport::Umad { device, port } => {
                let device = device.as_deref();
                Ok(Box::new(OverUmad::open(device, *port, repeats_after)?))
            }
            // No section of a ring is a way to the fabric, but the type has it.
            SaTransport::Ring { .. } => Err(WayError::Ring),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(source: &str, port: &str) -> Option<bool> {
        let text = format!(
            "[fabric]\n{source}\n[[port]]\ntransport = \"ring\"\npath = \"x\"\n[[port]]\ntransport = \"umad\"\n{port}\n\
             [[port]]\ntransport = \"umad\"\ndevice = \"other\"\n"
        );
        let config = with_its_port(Config::parse(&text).unwrap());
        match config.ports.as_slice() {
            [
                PortSection::Ring(_),
                PortSection::Umad { announce_sm, .. },
                PortSection::Umad {
                    announce_sm: None, ..
                },
            ] => *announce_sm,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_sms_port_announces_it_unless_somebody_says_otherwise() {
        let files = "source = \"files\"\npath = \"net\"";
        assert_eq!(announced("source = \"sweep\"", ""), Some(true));
        let silent = "announce_sm = false\ndevice = \"mlx5_0\"";
        assert_eq!(announced("source = \"sweep\"", silent), Some(false));
        assert_eq!(announced(files, ""), None);
    }

    #[test]
    fn the_sm_itself_sets_issm_where_it_answers() {
        let way = |port: &str| {
            let text =
                format!("[fabric]\nsource = \"sweep\"\n[[port]]\ntransport = \"umad\"\n{port}\n");
            Way::of(&with_its_port(Config::parse(&text).unwrap()), None).unwrap()
        };
        assert!(way("").announces);
        assert!(!way("announce_sm = false").announces);
    }
}
