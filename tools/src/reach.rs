//! Which SA a verb asks: `--via` and `--sa-lid`, and what goes wrong in words of the command line.
//!
//! Used by the verbs that ask a running SA: `query`, `compare` and `load`. What lies below
//! (`sa_source::Client`) speaks of ports and sockets; here its errors get the name of the option
//! that mends them. An SA that is not reached is exit status 4, a `--via` that cannot be meant is
//! 2: a script that waits for an SM to come up tells them apart.

use std::fmt::Display;

use sa_port::Patience;
use sa_source::{Ask, AskError, Client, SaTransport, TransportError};
use sa_wire::umad::MAD_SIZE;

use crate::failure::{Failure, Outcome};

/// Opens the SA that `--via` and `--sa-lid` name. Errors: no such port; an SM has not been there
/// yet.
pub(crate) fn open(via: &str, sa_lid: Option<u16>, patience: Patience) -> Outcome<Client> {
    let transport = transport(via)?;
    // Refused and not ignored: a request through a ring carries no destination, so whoever gives a
    // LID would believe that another SA had answered.
    if sa_lid.is_some() && matches!(transport, SaTransport::Ring { .. }) {
        return Err(Failure::usage(
            "--sa-lid: through a ring it is the SA of this node that is asked".to_owned(),
        ));
    }
    Client::open(&transport, sa_lid, patience).map_err(unanswered)
}

/// Opens a port to ask I/O units for device management. Errors: no such port; a ring leads to an
/// SA only.
pub(crate) fn open_for_devices(via: &str, patience: Patience) -> Outcome<Client> {
    if via.split(':').next() == Some("ring") {
        return Err(Failure::usage(format!(
            "--via {via:?}: a ring leads to the SA of this node; I/O units are asked through the \
             fabric"
        )));
    }
    Client::open_for_devices(&transport(via)?, patience).map_err(unanswered)
}

/// The reply to one request, headers included. Errors: nobody answers.
pub(crate) fn ask(client: &mut Client, mad: &[u8; MAD_SIZE]) -> Outcome<Vec<u8>> {
    client.ask(mad).map_err(unanswered)
}

/// The words of `--via`. Errors: those of [`TransportError`], with an example for each, because the
/// kinds of ports look alike on a command line.
fn transport(via: &str) -> Outcome<SaTransport> {
    via.parse().map_err(|error| {
        Failure::usage(match error {
            TransportError::NoSocket => format!(
                "--via {via}: give the socket of a [[port]] of sapphired, as in \
                 ring:/run/sapphire/ring; a ring inside one process is what \
                 `sapphire bench --layer ring` measures"
            ),
            TransportError::NoPortNumber => format!("--via {via:?}: {error}"),
            TransportError::Unknown => format!(
                "--via {via:?}: expected ibsim:NODE, umad, umad:DEVICE, umad:DEVICE:PORT, or \
                 ring:PATH with the socket of a [[port]] of sapphired"
            ),
        })
    })
}

/// NoSm has words of its own: it is the one case that an option mends.
fn unanswered(error: AskError) -> Failure {
    match error {
        // The SM writes its LID into the port when it has configured it.
        AskError::NoSm => unreachable("the port knows no SM yet; give --sa-lid"),
        other => unreachable(other),
    }
}

fn unreachable(error: impl Display) -> Failure {
    Failure::unreachable(error.to_string())
}
