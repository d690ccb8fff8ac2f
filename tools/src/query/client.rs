//! How an SA is reached, and asked.

use std::time::Duration;

use clap::Args;
use sa_fastpath::port::ibsim;
use sa_fastpath::port::umad::{self, ClientPort, Destination, Patience, Reply};
use sa_wire::Lid;
use sa_wire::umad::Slot;

use crate::failure::{Failure, Outcome};

/// What all queries share.
#[derive(Debug, Args)]
pub(super) struct Way {
    /// How to reach the SA: ibsim:NODE (with IBSIM_SOCKNAME), or umad, umad:DEVICE, umad:DEVICE:PORT
    #[arg(long, value_name = "VIA", default_value = "umad")]
    via: String,
    /// LID of the SA [default: what the SM wrote into the port]
    #[arg(long, value_name = "LID")]
    sa_lid: Option<u16>,
    /// Wait so long for each try. Units: ms
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    timeout: u64,
    /// Tries after the first
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Way {
    /// The reply, headers included. Errors: nobody can be asked, or nobody answers.
    pub(super) fn ask(&self, request: &Slot) -> Outcome<Vec<u8>> {
        let mut client = client(&self.via)?;
        let lid = Lid::new(self.sa_lid.unwrap_or(client.sm_lid)).map_err(|_| {
            Failure::Unreachable("the port knows no SM yet; give --sa-lid".to_owned())
        })?;
        let mut mad = request.mad;
        let transaction = u64::from(std::process::id());
        if let Some(place) = mad.get_mut(8..16) {
            place.copy_from_slice(&transaction.to_be_bytes());
        }
        let patience = Patience {
            timeout: Duration::from_millis(self.timeout),
            retries: self.retries,
        };
        let mut reply = Reply::default();
        client
            .port
            .ask(&Destination::sa(lid), &mad, patience, &mut reply)
            .map_err(|error| Failure::Unreachable(error.to_string()))?;
        Ok(reply.mad)
    }
}

/// A client handle and the SM's LID as the port knows it.
struct Client {
    port: Box<dyn ClientPort>,
    sm_lid: u16,
}

fn client(via: &str) -> Outcome<Client> {
    let mut words = via.split(':');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("ibsim"), Some(node), None, None) => {
            let unreachable =
                |error: &dyn std::fmt::Display| Failure::Unreachable(error.to_string());
            let options = ibsim::Options::on(node);
            let mut attachment =
                ibsim::Attachment::new(&options).map_err(|error| unreachable(&error))?;
            let facts = attachment.port().map_err(|error| unreachable(&error))?;
            let port = attachment.client().map_err(|error| unreachable(&error))?;
            Ok(Client {
                port: Box::new(port),
                sm_lid: facts.sm_lid,
            })
        }
        (Some("umad"), device, port, None) => {
            let number = port.map(str::parse).transpose();
            let number = number.map_err(|_| Failure::Usage(format!("--via {:?}: port", via)))?;
            let client = umad::UmadClient::open(device, number)
                .map_err(|error| Failure::Unreachable(error.to_string()))?;
            let sm_lid = client.sa().map_or(0, |sa| sa.lid.get());
            Ok(Client {
                port: Box::new(client),
                sm_lid,
            })
        }
        _ => Err(Failure::Usage(format!(
            "--via {:?}: expected ibsim:NODE, umad, umad:DEVICE or umad:DEVICE:PORT",
            via
        ))),
    }
}
