//! Keys and root file of the fleet, as an operator makes them and a host has them installed.
//!
//! `sapphire fleet init` writes the same files. Here the leader's process makes them, keeps both
//! secrets in its memory, and writes what every host has:
//!
//! ```text
//!  root                   fleet, era, one root key, one leader's key that ends after two days
//!  root.root-1.minisig    signed by the root key
//! ```
//!
//! Both processes then read them as a host does at its start, signature and all.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fleet_keys::secret::random;
use fleet_keys::{Day, LeaderLine, RootLine, RootText, SecretKey};
use fleet_node::roots::Held;
use fleet_transfer::clocks;
use sa_fleet::announcement::LeaderKey;
use sa_fleet::identity::FleetId;
use sa_fleet::judge::{Judge, WallRule};
use sa_wire::SubnetPrefix;

use crate::Failure;
use crate::follower::PREFIX;

/// What every host gets, in the directory of the run.
const ROOT: &str = "root";

/// Makes a fleet with one root key and one leader, and writes what its hosts believe. The secrets
/// stay in this process. Errors: no randomness; the disk.
pub(super) fn make(folder: &Path) -> Result<LeaderKey, Failure> {
    let (root, leader) = (SecretKey::generate()?, SecretKey::generate()?);
    let mut fleet = [0; 16];
    random(&mut fleet)?;
    let text = RootText {
        fleet: FleetId(fleet),
        version: 1,
        era: 1,
        threshold: 1,
        roots: vec![RootLine {
            key: root.public(),
            name: "root-1".to_owned(),
        }],
        leaders: vec![LeaderLine {
            key: leader.public(),
            expires: Day::of(clocks::both().wall).after(2),
            name: "leader-1".to_owned(),
        }],
    };
    let text = text.judged().map_err(|why| why.to_string())?;
    let signature = RootText::sign(text.as_bytes(), &root).map_err(|why| why.to_string())?;
    fs::write(folder.join("root.root-1.minisig"), signature)?;
    fs::write(folder.join(ROOT), text)?;
    Ok(leader.leader())
}

/// As a host reads it at its start. Errors: it is not believed.
pub(super) fn read(folder: &Path) -> Result<Held, Failure> {
    let (held, _) = Held::open(&folder.join(ROOT), &folder.join("roots"))?;
    Ok(held)
}

/// As the daemon judges by default: the wall clock is looked at and counted, and nobody may say
/// that a word is good for longer than five minutes.
pub(super) fn judge(root: &Held) -> Judge {
    Judge {
        trust: root.root.trust(),
        subnet: SubnetPrefix(PREFIX),
        max_ttl: Duration::from_secs(300),
        wall: WallRule::Counted,
    }
}
