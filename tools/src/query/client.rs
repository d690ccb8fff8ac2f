//! How an SA is asked.
//!
//! A client is opened for each question and closed after it, as a verb asks once; only the walk
//! through I/O units keeps one open.

use std::time::Duration;

use clap::Args;
use sa_port::Patience;
use sa_source::Client;
use sa_wire::umad::Slot;

use crate::failure::Outcome;
use crate::reach;
use crate::time;

/// What all queries share.
#[derive(Debug, Args)]
pub(super) struct Way {
    /// How to reach the SA: ibsim:NODE (with IBSIM_SOCKNAME), umad, umad:DEVICE, umad:DEVICE:PORT,
    /// or ring:PATH of a sapphired on this node
    #[arg(long, value_name = "VIA", default_value = "umad")]
    via: String,
    /// LID of the SA [default: what the SM wrote into the port]
    #[arg(long, value_name = "LID")]
    sa_lid: Option<u16>,
    /// Wait so long for each try; a number alone counts ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time::milliseconds)]
    timeout: Duration,
    /// Tries after the first
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Way {
    /// The reply, headers included. Errors: nobody can be asked, or nobody answers.
    ///
    /// Writes the transaction id over that of `request`: the process id, so that two calls at the
    /// same time on the same port do not take each other's replies, with the number of the
    /// question, so that what comes late is never taken for the answer to the next one.
    pub(super) fn ask(&self, request: &Slot) -> Outcome<Vec<u8>> {
        let mut client = reach::open(&self.via, self.sa_lid, self.patience())?;
        let mut mad = request.mad;
        // Process ids have 22 bits at most; umad needs the upper half of the word for itself.
        let number = sa_source::next_transaction() & 0x3ff;
        let transaction = u64::from(std::process::id() << 10 | number);
        if let Some(place) = mad.get_mut(8..16) {
            place.copy_from_slice(&transaction.to_be_bytes());
        }
        reach::ask(&mut client, &mad)
    }

    /// A handle to ask I/O units with.
    pub(super) fn open_for_devices(&self) -> Outcome<Client> {
        reach::open_for_devices(&self.via, self.patience())
    }

    const fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout,
            retries: self.retries,
        }
    }
}
