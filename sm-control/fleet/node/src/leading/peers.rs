//! What other leaders announce: whoever sees a later term of another leads no longer.

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::Sender;
use fleet_transfer::fetch::{About, Upstream};
use sa_fleet::announcement::claimed_position;
use sa_fleet::identity::Position;
use sa_wire::SubnetPrefix;

use super::Input;

/// Another who is not there is asked again after that.
const AGAIN: Duration = Duration::from_secs(2);

/// A thread for each, which ends with the leader, at its next word. Errors: no thread.
pub(super) fn start(
    peers: &[Upstream],
    subnet: SubnetPrefix,
    told: &Sender<Input>,
) -> io::Result<()> {
    let prefix = subnet.0;
    for peer in peers {
        let (peer, told) = (peer.clone(), told.clone());
        let thread = thread::Builder::new().name("sa-fleet-peer".into());
        thread.spawn(move || listen(&peer, prefix, &told))?;
    }
    Ok(())
}

fn listen(peer: &Upstream, prefix: u64, told: &Sender<Input>) {
    let mut after = Position::default();
    loop {
        match peer.news(prefix, after, &About::default()) {
            Ok(Some(news)) => {
                // Believed by the machine alone; here it is only not asked for again.
                after = claimed_position(&news.bytes).unwrap_or(after);
                if told.send(Input::Saw(news.bytes)).is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(_) => thread::sleep(AGAIN),
        }
    }
}
