//! A configuration file that is not any more what the daemon was started with: sections are read at
//! the start alone, and whoever has changed one should hear of it.
//!
//! Sections are not applied at a reload because half of them could not be: ports, threads and
//! sockets are made at the start. Which half would be a rule to remember; that a restart applies
//! them all is none.
//!
//! ```text
//!  sapphired.toml has changed; restart sapphired to apply it
//!  a restart would fail: sapphired.toml:3:1: ..; what the daemon was started with stays in force
//! ```

use tracing::{info, warn};

use crate::config::{Config, Written};
use crate::server::operators::status::Status;

/// Reads the file again and says what differs from what it was at the start; comments do not.
/// Each difference is logged once; the status shows it until it is gone.
pub(in crate::server) fn look(config: &Config, status: &Status) {
    let difference = difference(config);
    let before = status.reconfigured();
    if before.as_deref() != difference.as_ref() {
        match &difference {
            Some(what) => warn!("{what}"),
            None => info!(
                "{} is again as the daemon was started with",
                config.written.path.display()
            ),
        }
    }
    status.reconfigure(difference);
}

/// What differs, in a sentence.
pub(super) fn difference(config: &Config) -> Option<String> {
    // A configuration that never was a file, as in tests.
    if config.written.path.as_os_str().is_empty() {
        return None;
    }
    let path = config.written.path.display();
    match Config::read(&config.written.path) {
        Ok(now) if is_as_read(config, &now) => None,
        Ok(_) => Some(format!("{path} has changed; restart sapphired to apply it")),
        Err(error) => Some(format!(
            "a restart would fail: {error}; what the daemon was started with stays in force"
        )),
    }
}

/// Not by the configuration in force, which has more than the file: the Subnet Manager's device, if
/// nobody named it.
fn is_as_read(config: &Config, now: &Config) -> bool {
    let read = Config::parse_at(&config.written.path, &config.written.text);
    read.is_ok_and(|read| says(&read) == says(now))
}

/// Every key and its value; not how it was written. Two configurations that mean the same have the
/// same words.
fn says(config: &Config) -> String {
    let bare = Config {
        written: Written::default(),
        ..config.clone()
    };
    format!("{bare:?}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::server::subnet_manager::with_its_port;

    const SM: &str =
        "[fabric]\nsource = \"sweep\"\n[[port]]\ntransport = \"umad\"\ndevice = \"mlx5_0\"\n";

    #[test]
    fn what_a_subnet_manager_adds_to_its_port_is_no_change() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sapphired.toml");
        fs::write(&path, SM).unwrap();
        let config = with_its_port(Config::read(&path).unwrap());
        let status = Status::new(&config, vec![(Arc::default(), Arc::default())]);
        look(&config, &status);
        assert_eq!(status.reconfigured(), None);
        fs::write(&path, SM.replace("mlx5_0", "mlx5_1")).unwrap();
        look(&config, &status);
        let told = status.reconfigured().unwrap();
        assert!(told.contains("restart sapphired to apply it"), "{told}");
    }
}
