//! How a running SA is reached.

use std::fmt::Display;

use sa_fastpath::port::ibsim;
use sa_fastpath::port::umad::{ClientPort, Destination, Patience, Reply, UmadClient};
use sa_wire::{Lid, Sl};

use crate::failure::{Failure, Outcome};

/// A handle to ask with.
pub(crate) struct Client {
    /// The handle.
    pub(crate) way: Way,
    /// What requests come from; 0: the port of the daemon that is asked through a ring.
    pub(crate) lid: u16,
}

/// How the SA is reached.
pub(crate) enum Way {
    /// Through the fabric.
    Fabric {
        /// The handle.
        port: Box<dyn ClientPort>,
        /// The SA.
        to: Destination,
    },
    /// Through memory shared with the daemon of this node.
    Ring(Box<sa_client::Client>),
}

impl Client {
    /// Opens it. Errors: no such port; an SM has not been there yet.
    pub(crate) fn open(via: &str, sa_lid: Option<u16>) -> Outcome<Self> {
        if let Some(path) = via.strip_prefix("ring:") {
            return ring_client(path, sa_lid);
        }
        let words: Vec<&str> = via.split(':').collect();
        match words.as_slice() {
            ["ibsim", node] => ibsim_client(node, sa_lid),
            ["umad"] => umad_client(None, None, sa_lid),
            ["umad", device] => umad_client(Some(device), None, sa_lid),
            ["umad", device, port] => {
                umad_client(Some(device), Some(port_number(via, port)?), sa_lid)
            }
            ["ring"] => Err(Failure::Usage(
                "--via ring: give the socket of a [[port]] of sapphired, as in \
                 ring:/run/sapphire/ring; a ring inside one process is what \
                 `sapphire bench --layer ring` measures"
                    .to_owned(),
            )),
            _ => Err(Failure::Usage(format!(
                "--via {via:?}: expected ibsim:NODE, umad, umad:DEVICE, umad:DEVICE:PORT, or \
                 ring:PATH with the socket of a [[port]] of sapphired"
            ))),
        }
    }

    /// Opens it to ask I/O units of device management. Errors: no such port; a ring leads to an
    /// SA only.
    pub(crate) fn open_for_devices(via: &str) -> Outcome<Self> {
        let words: Vec<&str> = via.split(':').collect();
        let (device, port) = match words.as_slice() {
            ["umad"] => (None, None),
            ["umad", device] => (Some(*device), None),
            ["umad", device, port] => (Some(*device), Some(port_number(via, port)?)),
            ["ring", ..] => {
                return Err(Failure::Usage(format!(
                    "--via {via:?}: a ring leads to the SA of this node; I/O units are asked \
                     through the fabric"
                )));
            }
            // The simulator's handles are for every class.
            _ => return Self::open(via, Some(1)),
        };
        let port = UmadClient::open_for_devices(device, port).map_err(unreachable)?;
        let state = port.name().state();
        Ok(Self {
            lid: state.lid,
            way: Way::Fabric {
                to: destination(1, Sl::from_low_bits(state.sm_sl))?,
                port: Box::new(port),
            },
        })
    }

    /// From now on this port is asked; through a ring it stays the SA. Errors: no unicast LID.
    pub(crate) fn turn_to(&mut self, lid: u16, sl: Option<Sl>) -> Outcome {
        let lid = Lid::new(lid).map_err(|error| Failure::Usage(error.to_string()))?;
        if let Way::Fabric { to, .. } = &mut self.way {
            to.lid = lid;
            to.sl = sl.unwrap_or(to.sl);
        }
        Ok(())
    }

    /// The reply to one request, headers included. Errors: nobody answers.
    pub(crate) fn ask(&mut self, mad: &[u8], patience: Patience) -> Outcome<Vec<u8>> {
        match &mut self.way {
            Way::Fabric { port, to } => {
                let mut reply = Reply::default();
                port.ask(to, mad, patience, &mut reply)
                    .map_err(unreachable)?;
                Ok(reply.mad)
            }
            Way::Ring(client) => ask_ring(client, mad, patience),
        }
    }

    /// Whose answers these are, for people.
    pub(crate) fn whom(&self) -> String {
        match &self.way {
            Way::Fabric { to, .. } => format!("the SA at LID {}", to.lid),
            Way::Ring(_) => "the SA of this node".to_owned(),
        }
    }

    /// LID of the SA; none where it is not reached by one.
    pub(crate) const fn sa_lid(&self) -> Option<u16> {
        match &self.way {
            Way::Fabric { to, .. } => Some(to.lid.get()),
            Way::Ring(_) => None,
        }
    }
}

fn port_number(via: &str, port: &str) -> Outcome<u8> {
    port.parse()
        .map_err(|_| Failure::Usage(format!("--via {via:?}: expected a port number at the end")))
}

fn ring_client(path: &str, sa_lid: Option<u16>) -> Outcome<Client> {
    if sa_lid.is_some() {
        return Err(Failure::Usage(
            "--sa-lid: through a ring it is the SA of this node that is asked".to_owned(),
        ));
    }
    let client = sa_client::Client::connect(path.as_ref()).map_err(unreachable)?;
    Ok(Client {
        way: Way::Ring(Box::new(client)),
        lid: 0,
    })
}

fn ask_ring(client: &mut sa_client::Client, mad: &[u8], patience: Patience) -> Outcome<Vec<u8>> {
    client.set_timeout(patience.timeout);
    let mut tries = patience.retries;
    loop {
        match client.ask(0, mad) {
            Err(sa_client::Error::TimedOut) if tries > 0 => tries -= 1,
            answer => return answer.map_err(unreachable),
        }
    }
}

fn ibsim_client(node: &str, sa_lid: Option<u16>) -> Outcome<Client> {
    let options = ibsim::Options::on(node);
    let mut attachment = ibsim::Attachment::new(&options).map_err(unreachable)?;
    let facts = attachment.port().map_err(unreachable)?;
    let port = attachment.client().map_err(unreachable)?;
    Ok(Client {
        way: Way::Fabric {
            port: Box::new(port),
            to: destination(sa_lid.unwrap_or(facts.sm_lid), Sl::default())?,
        },
        lid: facts.lid,
    })
}

fn umad_client(device: Option<&str>, port: Option<u8>, sa_lid: Option<u16>) -> Outcome<Client> {
    let port = UmadClient::open(device, port).map_err(unreachable)?;
    let state = port.name().state();
    // The SL of the SM's own SA; for another it is the best guess.
    let sl = port.sa().map_or_else(Sl::default, |sa| sa.sl);
    Ok(Client {
        lid: state.lid,
        way: Way::Fabric {
            to: destination(sa_lid.unwrap_or(state.sm_lid), sl)?,
            port: Box::new(port),
        },
    })
}

fn destination(lid: u16, sl: Sl) -> Outcome<Destination> {
    let lid = Lid::new(lid)
        .map_err(|_| Failure::Unreachable("the port knows no SM yet; give --sa-lid".to_owned()))?;
    Ok(Destination {
        sl,
        ..Destination::sa(lid)
    })
}

fn unreachable(error: impl Display) -> Failure {
    Failure::Unreachable(error.to_string())
}
