//! Newer root files: asked for, checked, kept.

use std::io;
use std::path::PathBuf;
use std::thread;

use crossbeam_channel::Sender;
use fleet_transfer::fetch::Upstream;
use fleet_transfer::serve::Desk;

use super::Input;
use crate::roots::Held;

/// Asks one upstream after the other until one has it, in a thread of its own. The machine asks
/// once a minute, and each upstream has some seconds, so few are on their way at once. Errors: no
/// thread.
pub(super) fn fetch<L: Send + 'static>(
    version: u32,
    upstreams: &[Upstream],
    (held, directory): &(Held, PathBuf),
    told: &Sender<Input<L>>,
) -> io::Result<()> {
    let (upstreams, told) = (upstreams.to_vec(), told.clone());
    let (held, directory) = (held.clone(), directory.clone());
    let thread = thread::Builder::new().name("sa-fleet-root".into());
    thread.spawn(move || {
        let found = newer(version, &upstreams, &held);
        let input = match found {
            Ok(newer) => {
                // Where it cannot be kept it counts all the same, and is asked for again after a restart.
                if let Err(why) = newer.keep(&directory) {
                    tracing::warn!("fleet: the newer root file cannot be kept: {why}");
                }
                Input::Root(Box::new(newer))
            }
            Err(why) => Input::NoRoot(why),
        };
        let _ = told.send(input);
    })?;
    Ok(())
}

/// The first that is believed. Errors: why the last was not.
fn newer(version: u32, upstreams: &[Upstream], held: &Held) -> Result<Held, String> {
    let mut last = "nobody can be asked for a root file".to_owned();
    for upstream in upstreams {
        let file = match upstream.root(version) {
            Ok(file) => file,
            Err(why) => {
                last = why.to_string();
                continue;
            }
        };
        match held.succeeded_by(file) {
            Ok(newer) => return Ok(newer),
            Err(why) => last = format!("{}: its root file {version}: {why}", upstream.url()),
        }
    }
    Err(last)
}

/// Others get it here from now on.
pub(super) fn hand_on(desk: Option<&Desk>, held: &Held) {
    if let Some(desk) = desk {
        desk.has_root(held.root.version(), held.file.pack().into());
    }
}
