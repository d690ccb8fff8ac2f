//! Sections for who operates the daemon: `[control]`, `[http]`, `[log]`.
//!
//! ```toml
//! [control]
//! path = "/run/sapphire/control.sock"
//! mode = "0660"                  # "0600"
//! group = "sapphire"             # the daemon's
//!
//! [http]
//! listen = "127.0.0.1:9090"      # another machine's address needs allow_remote = true
//! ui = true                      # false: no page for people
//! token_file = "http-token"      # without: the page orders nothing
//!
//! [log]
//! format = "text"                # or "json"
//! per_second = 10                # 0: any
//! ```
//!
//! Behind a `#` what holds without the key, or what else it may be.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use sa_source::SaSource;
use serde::Deserialize;
use thiserror::Error;

use super::{Config, Mode, PortSection, Role};

/// `[control]`: where operators ask and command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlSection {
    /// The Unix socket where `sapphire status`, `reload` and `rollback` connect.
    pub path: PathBuf,
    /// Who may: the mode of the socket. What changes something is for root and the daemon's user
    /// alone.
    #[serde(default)]
    pub mode: Mode,
    /// Group of the socket; absent: the daemon's.
    pub group: Option<String>,
}

/// `[http]`: pages for monitors. Loopback, unless `allow_remote` says otherwise: there is no
/// password for what is shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "HttpAsWritten")]
pub struct HttpSection {
    /// Where `/metrics`, `/health` and `/ready` are.
    pub listen: SocketAddr,
    /// Whether the page for people is there too.
    pub ui: bool,
    /// File of the token that an order on the page has to bring; none: nothing can be ordered
    /// there.
    pub token_file: Option<PathBuf>,
}

/// The keys as they are written; what they come to has one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpAsWritten {
    listen: SocketAddr,
    #[serde(default)]
    allow_remote: bool,
    #[serde(default)]
    ui: bool,
    token_file: Option<PathBuf>,
}

/// An address that other machines reach, without a word that they may. An error and no warning:
/// what is open by mistake is found by others first.
#[derive(Debug, Error)]
#[error("listen = \"{listen}\" lets other machines in; use 127.0.0.1, or say allow_remote = true")]
struct Remote {
    listen: SocketAddr,
}

/// Keys of `[http]` that do not go together.
#[derive(Debug, Error)]
enum HttpProblem {
    #[error(transparent)]
    Remote(#[from] Remote),
    /// A token for a page that is not there.
    #[error(
        "token_file is for orders on the page, and there is none; say ui = true, or leave it out"
    )]
    TokenWithoutPage,
}

impl TryFrom<HttpAsWritten> for HttpSection {
    type Error = HttpProblem;

    fn try_from(written: HttpAsWritten) -> Result<Self, HttpProblem> {
        let HttpAsWritten {
            listen,
            allow_remote,
            ui,
            token_file,
        } = written;
        if !allow_remote && !listen.ip().is_loopback() {
            return Err(Remote { listen }.into());
        }
        if token_file.is_some() && !ui {
            return Err(HttpProblem::TokenWithoutPage);
        }
        Ok(Self {
            listen,
            ui,
            token_file,
        })
    }
}

/// `[log]`: what log lines look like, and how many there may be.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// How lines look.
    pub format: LogFormat,
    /// Lines per second from one place of the program, and as many at once; what is beyond that is
    /// counted, and the count logged; 0: any.
    pub per_second: u32,
}

impl Default for LogSection {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            per_second: 10,
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// One a second.
pub(super) const fn shadow_pairs() -> NonZeroU32 {
    match NonZeroU32::new(60) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

impl Config {
    /// The SA that a shadow compares with; none in another role.
    pub fn shadowed(&self) -> Option<SaSource> {
        if self.role() != Role::Shadow {
            return None;
        }
        let transport = self.ports.iter().find_map(PortSection::way_to_fabric)?;
        Some(SaSource::over(transport))
    }

    /// A shadow needs an SA to ask, and an SA that answers in its place. Errors:
    /// [`ShadowContradiction`].
    pub(super) fn can_shadow(&self) -> Result<(), ShadowContradiction> {
        if self.role() != Role::Shadow {
            return Ok(());
        }
        if self.opensm.is_some() {
            return Err(ShadowContradiction::BesideOpenSm);
        }
        match self.shadowed() {
            Some(_) => Ok(()),
            None => Err(ShadowContradiction::NobodyToAsk),
        }
    }
}

/// A shadow that would have nobody to compare with, or leave requests to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShadowContradiction {
    /// OpenSM would leave the reads to it.
    #[error("role = \"shadow\" answers nobody, so OpenSM must go on answering: remove [opensm]")]
    BesideOpenSm,
    /// No port leads to an SA.
    #[error(
        "role = \"shadow\" asks the SA through a [[port]] of transport \"umad\" or \"ibsim\", and \
         there is none"
    )]
    NobodyToAsk,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const MINIMAL: &str = "[fabric]\nsource = \"files\"\npath = \"net\"\n[[port]]\n\
                           transport = \"ibsim\"\nnode = \"H1\"\n";

    #[test]
    fn nothing_listens_unless_told_to() {
        let config = Config::parse(MINIMAL).unwrap();
        assert!(config.control.is_none() && config.http.is_none());
        assert_eq!(config.log.format, LogFormat::Text);
        assert_eq!(config.log.per_second, 10);
    }

    #[test]
    fn sections_are_read() {
        let text = format!(
            "{MINIMAL}[control]\npath = \"c\"\nmode = \"0660\"\ngroup = \"ops\"\n[http]\n\
             listen = \"127.0.0.1:9415\"\n[log]\nformat = \"json\"\n"
        );
        let config = Config::parse(&text).unwrap();
        let control = config.control.unwrap();
        assert_eq!(
            (control.mode, control.group.as_deref()),
            (Mode(0o660), Some("ops"))
        );
        let http = config.http.unwrap();
        assert_eq!((http.listen.port(), http.ui), (9415, false));
        let text = text.replace("9415\"", "9415\"\nui = true");
        assert!(Config::parse(&text).unwrap().http.unwrap().ui);
        let token = text.replace("ui = true", "token_file = \"t\"");
        let error = Config::parse(&token).unwrap_err().to_string();
        assert!(error.contains("say ui = true"), "{error}");
        let token = text.replace("ui = true", "ui = true\ntoken_file = \"t\"");
        let http = Config::parse_at(std::path::Path::new("/etc/x.toml"), &token)
            .unwrap()
            .http;
        assert_eq!(http.unwrap().token_file, Some(PathBuf::from("/etc/t")));
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn other_machines_are_let_in_only_when_told_to() {
        for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            let text = format!("{MINIMAL}[http]\nlisten = \"{address}\"\n");
            let error = Config::parse(&text).unwrap_err().to_string();
            assert!(
                error.starts_with("8:10: ") && error.contains("allow_remote"),
                "{error}"
            );
            let text = format!("{text}allow_remote = true\n");
            assert!(Config::parse(&text).is_ok());
        }
        let text = format!("{MINIMAL}[http]\nlisten = \"[::1]:1\"\n");
        assert!(Config::parse(&text).is_ok());
    }
}
