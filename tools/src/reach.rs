//! How a running SA is reached.

use std::fmt::Display;

use sa_fastpath::port::ibsim;
use sa_fastpath::port::umad::{ClientPort, Destination, Patience, Reply, UmadClient};
use sa_wire::{Lid, Sl};

use crate::failure::{Failure, Outcome};

/// A handle to ask with.
pub(crate) struct Client {
    /// The handle.
    pub(crate) port: Box<dyn ClientPort>,
    /// The SA.
    pub(crate) to: Destination,
    /// What requests come from.
    pub(crate) lid: u16,
}

impl Client {
    /// Opens it. Errors: no such port; an SM has not been there yet.
    pub(crate) fn open(via: &str, sa_lid: Option<u16>) -> Outcome<Self> {
        let words: Vec<&str> = via.split(':').collect();
        match words.as_slice() {
            ["ibsim", node] => ibsim_client(node, sa_lid),
            ["umad"] => umad_client(None, None, sa_lid),
            ["umad", device] => umad_client(Some(device), None, sa_lid),
            ["umad", device, port] => {
                let port = port.parse().map_err(|_| {
                    Failure::Usage(format!("--via {via:?}: expected a port number at the end"))
                })?;
                umad_client(Some(device), Some(port), sa_lid)
            }
            ["ring"] => Err(Failure::Usage(
                "--via ring: a ring lies inside one process, and no running SA offers one; \
                 `sapphire bench --layer ring` measures it"
                    .to_owned(),
            )),
            _ => Err(Failure::Usage(format!(
                "--via {via:?}: expected ibsim:NODE, umad, umad:DEVICE or umad:DEVICE:PORT"
            ))),
        }
    }

    /// The reply to one request, headers included. Errors: nobody answers.
    pub(crate) fn ask(&mut self, mad: &[u8], patience: Patience) -> Outcome<Vec<u8>> {
        let mut reply = Reply::default();
        self.port
            .ask(&self.to, mad, patience, &mut reply)
            .map_err(unreachable)?;
        Ok(reply.mad)
    }
}

fn ibsim_client(node: &str, sa_lid: Option<u16>) -> Outcome<Client> {
    let options = ibsim::Options::on(node);
    let mut attachment = ibsim::Attachment::new(&options).map_err(unreachable)?;
    let facts = attachment.port().map_err(unreachable)?;
    let port = attachment.client().map_err(unreachable)?;
    Ok(Client {
        port: Box::new(port),
        to: destination(sa_lid.unwrap_or(facts.sm_lid), Sl::default())?,
        lid: facts.lid,
    })
}

fn umad_client(device: Option<&str>, port: Option<u8>, sa_lid: Option<u16>) -> Outcome<Client> {
    let port = UmadClient::open(device, port).map_err(unreachable)?;
    let state = port.name().state();
    // The SL of the SM's own SA; for another it is the best guess.
    let sl = port.sa().map_or_else(Sl::default, |sa| sa.sl);
    Ok(Client {
        to: destination(sa_lid.unwrap_or(state.sm_lid), sl)?,
        lid: state.lid,
        port: Box::new(port),
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
