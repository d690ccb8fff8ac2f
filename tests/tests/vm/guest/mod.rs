//! What this program does in a VM.

mod compare;
mod paths;
mod rmpp;

use anyhow::{Result, bail};

/// `compare LID DEVICE...` asks OpenSM and the SA at a LID from these devices; `rmpp SERVER CLIENT`
/// segments and puts together against the kernel.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["compare", lid, devices @ ..] if !devices.is_empty() => {
            compare::run(sa_wire::Lid::new(lid.parse()?)?, devices)
        }
        ["rmpp", server, client] => rmpp::run(server, client),
        _ => bail!("guest {words:?}: no such thing to do"),
    }
}
