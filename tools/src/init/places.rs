//! Where the daemon keeps its sockets and its state.
//!
//! A configuration to try has them beside itself. Those below `/etc/sapphire` are read by a service
//! that may write nothing there: they have what systemd makes for it, and what `sapphire status`
//! and OpenSM's preload library expect.

use std::path::{Path, PathBuf};

use super::Source;

/// Paths as they stand in the configuration.
#[derive(Debug)]
pub(super) struct Places {
    /// A service reads it, as the user and group `sapphire`.
    pub(super) is_of_service: bool,
    /// The unit lets it listen at an address; that of hosts does not.
    pub(super) may_listen: bool,
    /// What `systemctl enable --now` takes, where a unit reads just this file.
    pub(super) units: Option<&'static str>,
    pub(super) control: PathBuf,
    pub(super) opensm: PathBuf,
    pub(super) ring: PathBuf,
    pub(super) state: PathBuf,
}

/// Where the units look for configurations.
const OF_SERVICES: &str = "/etc/sapphire";

/// The directory of a configuration, in full.
pub(super) fn directory(output: &Path) -> PathBuf {
    let output = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
    output.parent().unwrap_or_else(|| Path::new("/")).to_owned()
}

impl Places {
    /// For a configuration that is written to `output`.
    pub(super) fn of(source: Source, output: &Path) -> Self {
        if directory(output) != Path::new(OF_SERVICES) {
            return Self {
                is_of_service: false,
                may_listen: true,
                units: None,
                control: PathBuf::from("control"),
                opensm: PathBuf::from("opensm.sock"),
                ring: PathBuf::from("ring"),
                state: PathBuf::from("state"),
            };
        }
        let (run, file, units) = match source {
            Source::Snapshot => (
                "/run/sapphire-local",
                "sapphired-local.toml",
                "sapphired-local.socket sapphired-local",
            ),
            _ => ("/run/sapphire", "sapphired.toml", "sapphired"),
        };
        let run = Path::new(run);
        let is_read = output.file_name().is_some_and(|name| name == file);
        Self {
            is_of_service: true,
            may_listen: source != Source::Snapshot,
            units: is_read.then_some(units),
            control: run.join("control.sock"),
            opensm: run.join("opensm.sock"),
            ring: run.join("ring"),
            state: PathBuf::from("/var/lib/sapphire"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::{Wanted, text};

    fn written(source: Source, output: &str) -> String {
        text::of(&Wanted {
            source,
            fabric: None,
            torus_conf: None,
            opensm_conf: None,
            partitions: None,
            policy: None,
            via: source.usual_via(Path::new(output)),
            output: PathBuf::from(output),
        })
    }

    /// The units may write below `/run` and `/var/lib` alone, and `sapphire status` looks there.
    #[test]
    fn a_service_has_its_sockets_and_its_state_where_it_may_write() {
        for (source, file, lines) in [
            (
                Source::Opensm,
                "sapphired.toml",
                &[
                    "socket = \"/run/sapphire/opensm.sock\"",
                    "path = \"/run/sapphire/control.sock\"",
                ][..],
            ),
            (
                Source::Sweep,
                "sapphired.toml",
                &["directory = \"/var/lib/sapphire\""],
            ),
            (
                Source::Files,
                "sapphired.toml",
                &["path = \"/run/sapphire/ring\"", "group = \"sapphire\""],
            ),
            (
                Source::Snapshot,
                "sapphired-local.toml",
                &["path = \"/run/sapphire-local/control.sock\""],
            ),
        ] {
            let output = format!("/etc/sapphire/{file}");
            let text = written(source, &output);
            for line in lines {
                assert!(text.contains(line), "{line}: {text}");
            }
            assert_eq!(text.contains("[http]"), source != Source::Snapshot);
            for key in ["path", "directory", "socket"] {
                let name = format!("\n{key} = \"");
                let mut values = text.split(&name).skip(1);
                assert!(values.all(|it| it.starts_with('/')), "{text}");
            }
            assert!(Places::of(source, Path::new(&output)).units.is_some());
            let other = Places::of(source, Path::new("/etc/sapphire/other.toml"));
            assert!(other.is_of_service && other.units.is_none());
        }
    }

    #[test]
    fn one_to_try_has_them_beside_itself() {
        let text = written(Source::Sweep, "tried/sapphired.toml");
        assert!(!text.contains("/run") && !text.contains("/var"), "{text}");
        assert!(text.contains("path = \"control\"") && text.contains("directory = \"state\""));
    }
}
