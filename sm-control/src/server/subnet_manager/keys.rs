//! M_Keys that outlive the process: `guid2mkey`, `neighbors` and `guid2mkey.before` in the
//! `[state]` directory.
//!
//! ```text
//!  first sweep: read ──> Keys ──> finding ──> plan ──> does a port get another key? ── yes ──> before, guid2mkey: written, synced
//!                          ^                                                                    │              │ cannot be written
//!                          └── what ports answered to <── writing <── Sets that give keys <─────┘              v
//!                                       │                                                    ports keep the keys that they have
//!                                       └──> guid2mkey, neighbors, before: written where they say something else
//! ```
//!
//! The first two have OpenSM's names and format, so that who changes over puts its files there
//! once. All are for their owner alone. A subnet without any key has none of them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use sa_fabric::options::ManagerOptions;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_sm::keys::{Keys, Unconfirmed, files};
use sa_sm::model::Subnet;
use sa_sm::writing::Wanted;
use tracing::warn;

/// Keys, and where they are kept.
#[derive(Debug, Default)]
pub(super) struct KeyRing {
    keys: Arc<Keys>,
    is_read: bool,
    /// The last attempt to write failed.
    is_behind: bool,
    /// A lease that never ends was warned of.
    has_warned: bool,
}

impl KeyRing {
    /// The keys for what is asked next, with the configuration of now. What an earlier process left
    /// is read once.
    pub(super) fn follow(
        &mut self,
        directory: Option<&Path>,
        options: &ManagerOptions,
    ) -> Arc<Keys> {
        if !core::mem::replace(&mut self.is_read, true) {
            self.keys = Arc::new(directory.map(read).unwrap_or_default());
        }
        Arc::make_mut(&mut self.keys).configure(options.m_key, options.m_key_lookup);
        self.warn_of_lease(options);
        Arc::clone(&self.keys)
    }

    /// Before the first Set of a sweep: what is to be written down is, or else no port is given
    /// another key. True where keys stay.
    pub(super) fn before_sets(&mut self, directory: Option<&Path>, found: &Subnet) -> bool {
        // Without a directory nothing outlives the process, which the start has said.
        let Some(directory) = directory else {
            return false;
        };
        if !Arc::make_mut(&mut self.keys).give(found) {
            return false;
        }
        // A process that is killed from here on leaves both keys of each port.
        self.write(directory);
        self.is_behind
    }

    /// After a sweep, whole or not.
    pub(super) fn after_sets(&mut self, directory: Option<&Path>, swept: &Subnet) {
        Arc::make_mut(&mut self.keys).learn(swept);
        if let Some(directory) = directory {
            self.write(directory);
        }
    }

    /// What ports hold is not written down, so that keys wait.
    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Findings: ports that do not hold the configured key.
    pub(super) fn findings(&self, swept: &Subnet) -> Vec<String> {
        let Unconfirmed { there, away } = self.keys.unconfirmed(swept);
        let behind = "M_Keys cannot be written down, so no port is given another one";
        let behind = self.is_behind.then(|| behind.to_owned());
        let all = [
            sentence(
                &there,
                "do not hold the configured M_Key yet; they are given it in the next sweep",
            ),
            sentence(
                &away,
                "were away when the M_Key changed; they are asked by the one before when they are back",
            ),
        ];
        all.into_iter().flatten().chain(behind).collect()
    }

    fn write(&mut self, directory: &Path) {
        let written = write(directory, &self.keys);
        if let Err(error) = &written {
            warn!("{error}; M_Keys are written down in the next sweep");
        }
        self.is_behind = written.is_err();
    }

    fn warn_of_lease(&mut self, options: &ManagerOptions) {
        let is_for_ever = options.m_key != 0
            && options.m_key_lease_period == 0
            && options.m_key_protection_level >= 2;
        if is_for_ever && !self.has_warned {
            warn!(
                "m_key_protection_level {} with m_key_lease_period 0: a port whose M_Key is lost answers nobody until it is switched off \
                 and on; give m_key_lease_period some seconds",
                options.m_key_protection_level
            );
        }
        self.has_warned = is_for_ever;
    }
}

/// How many, and the first of them: a list of all would be as long as the subnet.
fn sentence(ports: &[sa_wire::Guid], what: &str) -> Option<String> {
    if ports.is_empty() {
        return None;
    }
    let names: Vec<String> = ports.iter().take(NAMED).map(ToString::to_string).collect();
    let rest = ports.len().saturating_sub(NAMED);
    let rest = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    Some(format!(
        "{} ports {what}: {}{rest}",
        ports.len(),
        names.join(", ")
    ))
}

/// A port whose key does not change keeps level and lease too: they mean nothing without it.
pub(super) fn keep_keys(wanted: &mut Wanted, found: &Subnet) {
    for (at, port) in found.end_ports() {
        if let (Some(wanted), Some(held)) = (wanted.ports.get_mut(&at), port.info) {
            wanted.m_key = held.m_key;
            wanted.m_key_lease_period = held.m_key_lease_period;
            let lmc = wanted.m_key_protect_and_lmc & 0x3f;
            wanted.m_key_protect_and_lmc = (held.m_key_protect_and_lmc & 0xc0) | lmc;
        }
    }
}

fn read(directory: &Path) -> Keys {
    let keys = |name: &str| {
        let path = directory.join(name);
        let (keys, dropped) = files::keys(&bytes(&path));
        tell(&path, &dropped);
        keys
    };
    let path = directory.join(NEIGHBORS);
    let (neighbors, dropped) = files::neighbors(&bytes(&path));
    tell(&path, &dropped);
    Keys::remembered(keys(HELD), keys(BEFORE), neighbors)
}

/// Nothing of a file that is not there or cannot be read: then likely keys are tried.
fn bytes(path: &Path) -> Vec<u8> {
    match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            warn!(
                "{}: {error}; ports are asked by the configured M_Key",
                path.display()
            );
            Vec::new()
        }
    }
}

fn tell(path: &Path, dropped: &[files::Dropped]) {
    for line in dropped {
        warn!("{}: {line}", path.display());
    }
}

/// What says something else than the files, the old keys first.
fn write(directory: &Path, keys: &Keys) -> Result<(), WriteError> {
    let neighbors = match keys.matter() {
        true => files::render_neighbors(keys.neighbors()),
        false => String::new(),
    };
    let all = [
        (BEFORE, files::render_keys(keys.before())),
        (HELD, files::render_keys(keys.held())),
        (NEIGHBORS, neighbors),
    ];
    for (name, text) in all {
        let old = fs::read(directory.join(name)).unwrap_or_default();
        if old != text.as_bytes() {
            let folder = Folder::open(directory)?;
            folder.write(name, Readers::Owner, text.as_bytes())?;
        }
    }
    Ok(())
}

/// OpenSM's names.
const HELD: &str = "guid2mkey";
const NEIGHBORS: &str = "neighbors";
/// Ours.
const BEFORE: &str = "guid2mkey.before";
/// Ports that a finding names.
const NAMED: usize = 16;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sa_sm::model::{Node, Route, attributes};
    use sa_wire::Guid;
    use sa_wire::records::PortInfoRecord;

    use super::*;

    /// A host whose port holds this key.
    fn found(key: u64) -> Subnet {
        let mut data = [0; 64];
        (data[2], data[3], data[19]) = (1, 1, 0x10);
        let mut node = Node::new(attributes::node_record(&data)).unwrap();
        let port = node.port_mut(1).unwrap();
        let info = PortInfoRecord {
            m_key: key.into(),
            ..PortInfoRecord::default()
        };
        (port.guid, port.info) = (Guid::new(0x11).ok(), Some(info));
        port.route = Some(Route::default());
        let mut subnet = Subnet::default();
        subnet.add(node);
        subnet
    }

    #[test]
    fn a_key_is_written_down_before_it_is_given_and_else_not_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = Some(directory.path());
        let options = ManagerOptions {
            m_key: 7,
            ..ManagerOptions::default()
        };
        let mut ring = KeyRing::default();
        ring.follow(path, &options);
        assert!(!ring.before_sets(path, &found(5)));
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read(HELD), "0x0000000000000011 0x0000000000000007\n\n");
        assert_eq!(read(BEFORE), "0x0000000000000011 0x0000000000000005\n\n");
        let mode = fs::metadata(directory.path().join(HELD))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        // Killed here, with another key afterwards: both are tried.
        let mut next = KeyRing::default();
        let keys = next.follow(
            path,
            &ManagerOptions {
                m_key: 9,
                ..options.clone()
            },
        );
        assert_eq!(keys.candidates(Guid::new(0x11).ok(), None, &[]), [7, 5, 9]);
        // It has answered.
        ring.after_sets(path, &found(7));
        assert_eq!(
            (read(BEFORE).as_str(), ring.findings(&found(7)).len()),
            ("", 0)
        );
        assert_eq!(ring.findings(&found(5)).len(), 1);

        let gone = directory.path().join("gone");
        let mut ring = KeyRing::default();
        ring.follow(Some(&gone), &options);
        assert!(
            ring.before_sets(Some(&gone), &found(5)),
            "ports keep their keys"
        );
        assert!(ring.is_behind());
        let mut wanted = Wanted::default();
        let at = sa_fabric::PortRef {
            node: sa_fabric::NodeIx(0),
            port: 1,
        };
        let mut info = PortInfoRecord::default();
        (info.m_key, info.m_key_protect_and_lmc) = (7.into(), 0x82);
        wanted.ports.insert(at, info);
        keep_keys(&mut wanted, &found(5));
        let kept = wanted.ports[&at];
        assert_eq!((kept.m_key.get(), kept.m_key_protect_and_lmc), (5, 2));
    }

    #[test]
    fn a_long_list_is_cut() {
        let guids: Vec<_> = (1..=20).map(|raw| Guid::new(raw).unwrap()).collect();
        let words = sentence(&guids, "x").unwrap();
        assert!(
            words.starts_with("20 ports x: 0x0000000000000001, "),
            "{words}"
        );
        assert!(words.ends_with("0x0000000000000010 and 4 more"), "{words}");
        assert_eq!(sentence(&[], "x"), None);
    }
}
