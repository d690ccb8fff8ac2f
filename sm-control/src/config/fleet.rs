//! `[fleet]`: one compiled snapshot on many hosts.
//!
//! A **leader** publishes what is in force here, whatever its source. A **follower** has its
//! snapshots from others (`[fabric] source = "fleet"`) and answers only while these say that they
//! are in force; a **relay** is a follower that hands on what it has. `docs/fleet.md` says what
//! each promises.
//!
//! ```toml
//! [fleet]                          # a leader            # a follower
//! role = "leader"                                        # role = "follower"
//! root = "fleet/root"                                    # root = "fleet/root"
//! key = "fleet/leader.key"                               # from = ["http://leader:8042"]
//! listen = "127.0.0.1:8042"
//! ```

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use sa_fleet::address::{Address, is_word};
use sa_local::options::prefix;
use sa_wire::SubnetPrefix;
use serde::Deserialize;
use thiserror::Error;

use super::{Config, Source};

/// What LIDs that move allow: so long may a host that hears nothing be wrong.
const TTL_S: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Five looks a second cost nothing much, and a LID that moved is seen within one.
const LOOK_MS: NonZeroU32 = NonZeroU32::new(200).unwrap();
/// Ten thousand hosts and some that come again, within the descriptors of the unit.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(12_000).unwrap();
/// As etcd's own elections take some seconds.
const LEASE_S: NonZeroU32 = NonZeroU32::new(5).unwrap();
/// The directory of a fleet in that of `[state]`, where none is named.
const DIRECTORY: &str = "fleet";

/// `[fleet]`. Keys of another role are refused: a key that is believed to do something and does not
/// is worse than none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetSection {
    /// What this host does.
    pub role: FleetRole,
    /// The root file that this host is installed with; its signatures lie beside it.
    pub root: PathBuf,
    /// Of a leader: the key that it signs with.
    pub key: Option<PathBuf>,
    /// Of a leader or relay: where others ask. Without TLS anybody who can connect may read the
    /// fabric: an address of a network that strangers are not in.
    pub listen: Option<SocketAddr>,
    /// Whom a relay or follower asks, the one liked best first; of a leader, other leaders, whose
    /// later terms it hears of there.
    #[serde(default)]
    pub from: Vec<String>,
    /// Where snapshots and what was seen are kept; absent: `fleet` in the directory of `[state]`.
    pub directory: Option<PathBuf>,
    /// The subnet whose snapshots these are.
    #[serde(default, deserialize_with = "prefix")]
    pub subnet: SubnetPrefix,
    /// This host's name for its leader; absent: its host name.
    pub node: Option<String>,
    /// Of a leader: how long what it says is good for without a word from it. It is said again in a
    /// third of that. Units: s.
    #[serde(default = "ttl_s")]
    pub ttl_s: NonZeroU32,
    /// How many of `from` are asked at a time; with 2 the newer counts, where relays are not
    /// trusted.
    #[serde(default = "at_once")]
    pub at_once: NonZeroU32,
    /// Of a leader or relay: hosts that may be connected at a time; each takes a file descriptor.
    #[serde(default = "connections")]
    pub connections: NonZeroU32,
    /// How often own ports are looked at. Units: ms.
    #[serde(default = "look_ms")]
    pub look_ms: NonZeroU32,
    /// Of a leader: the etcd that says who leads; absent: this host leads until a person has
    /// another lead.
    pub etcd: Option<EtcdSection>,
    /// How hosts know each other; absent: everybody who can connect may read, in plain.
    pub tls: Option<TlsSection>,
    /// What was issued far from this host's wall clock is refused. For hosts whose clocks are kept
    /// right.
    #[serde(default)]
    pub strict_clock: bool,
    /// Go on when nothing has been heard for too long. Wrong answers are possible then; status and
    /// `/fleet` say that they are.
    #[serde(default)]
    pub serve_stale: bool,
}

/// `[fleet.tls]`: certificates of the site's own authority, which say what each host is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSection {
    /// Whose certificates count. PEM, as all three.
    pub ca: PathBuf,
    /// This host's, with the authorities between.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Of a leader or relay: whether whoever asks must have one; absent: they must.
    pub clients: Option<TlsClients>,
}

/// Who is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsClients {
    /// Who shows a certificate.
    Required,
    /// Who shows none, too; one that is shown has to be good.
    Optional,
}

/// `[fleet.etcd]`: several leaders' hosts, one of which leads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdSection {
    /// Its members, as `http://HOST:PORT`; with `tls` as `https://HOST:PORT`.
    pub endpoints: Vec<String>,
    /// Certificates for it; absent: it is asked in plain.
    pub tls: Option<EtcdTlsSection>,
    /// A leader that is gone is replaced after so long. Units: s.
    #[serde(default = "lease_s")]
    pub lease_s: NonZeroU32,
}

/// `[fleet.etcd.tls]`: files in PEM, read again for each new connection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdTlsSection {
    /// Whose certificates its members show.
    pub ca: PathBuf,
    /// This host's certificate, where members ask for one.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

const fn lease_s() -> NonZeroU32 {
    LEASE_S
}

/// What a host does in its fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetRole {
    /// Publishes what is in force here.
    Leader,
    /// Follows, and hands on.
    Relay,
    /// Follows.
    Follower,
}

impl FleetRole {
    /// As configurations have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Relay => "relay",
            Self::Follower => "follower",
        }
    }
}

const fn ttl_s() -> NonZeroU32 {
    TTL_S
}

const fn at_once() -> NonZeroU32 {
    NonZeroU32::MIN
}

const fn connections() -> NonZeroU32 {
    CONNECTIONS
}

const fn look_ms() -> NonZeroU32 {
    LOOK_MS
}

impl FleetSection {
    /// For how long a word of the leader is good.
    pub fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_s.get().into())
    }

    /// How often it is said again.
    pub fn beat(&self) -> Duration {
        self.ttl() / 3
    }

    /// How often own ports are looked at.
    pub fn look(&self) -> Duration {
        Duration::from_millis(self.look_ms.get().into())
    }

    /// Every file and directory that is named, to be found from where the configuration lies.
    pub(super) fn paths(&mut self) -> Vec<&mut PathBuf> {
        let mut all = vec![&mut self.root];
        all.extend(self.key.as_mut());
        all.extend(self.directory.as_mut());
        if let Some(tls) = &mut self.tls {
            all.extend([&mut tls.ca, &mut tls.cert, &mut tls.key]);
        }
        if let Some(tls) = self.etcd.as_mut().and_then(|etcd| etcd.tls.as_mut()) {
            all.push(&mut tls.ca);
            all.extend(tls.cert.as_mut());
            all.extend(tls.key.as_mut());
        }
        all
    }

    /// Whether it has its snapshots from others.
    pub const fn follows(&self) -> bool {
        matches!(self.role, FleetRole::Relay | FleetRole::Follower)
    }
}

/// A `[fleet]` that cannot be, or does not fit the rest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FleetContradiction {
    /// Snapshots come from nowhere.
    #[error(
        "source = \"fleet\": add a [fleet] section with role = \"follower\" or \"relay\", which says from where"
    )]
    NobodyToFollow,
    /// Two sources.
    #[error(
        "[fleet] role = \"{}\" has its snapshots from others: write [fabric] source = \"fleet\", or role = \"leader\" to publish \
         what this host compiles",
        role.name()
    )]
    TwoSources {
        /// The one that follows.
        role: FleetRole,
    },
    /// Nothing to publish.
    #[error(
        "[fleet] role = \"leader\" publishes what is compiled here, and source = \"{source_name}\" compiles nothing; \
         to hand on what others publish, write role = \"relay\""
    )]
    NothingToLead {
        /// Of `[fabric]`.
        source_name: &'static str,
    },
    /// A key that this role must have.
    #[error("[fleet] role = \"{}\": missing `{key}`: {what}", role.name())]
    Missing {
        /// Of the section.
        role: FleetRole,
        /// Which.
        key: &'static str,
        /// What it would say.
        what: &'static str,
    },
    /// A key that does nothing in this role.
    #[error("[fleet] role = \"{}\" has no use for `{key}`; remove it", role.name())]
    NoUse {
        /// Of the section.
        role: FleetRole,
        /// Which.
        key: &'static str,
    },
    /// No directory.
    #[error(
        "[fleet] keeps what it has seen on the disk, or somebody could replay it: name a `directory`, or one for [state]"
    )]
    NoDirectory,
    /// Not an address to ask.
    #[error(
        "[fleet] from: \"{url}\" is no address to ask; expected http:// or https:// and a host, perhaps with a port, \
         such as \"http://leader:8042\""
    )]
    Url {
        /// As written.
        url: String,
    },
    /// In plain, or not, beside certificates.
    #[error("[fleet] from: \"{url}\": {what}")]
    Scheme {
        /// As written.
        url: String,
        /// What is to be done.
        what: &'static str,
    },
    /// A certificate that nobody could use.
    #[error("[fleet.etcd.tls] has `{has}` without `{lacks}`; a certificate is shown with both")]
    HalfIdentity {
        /// What is there.
        has: &'static str,
        /// What is not.
        lacks: &'static str,
    },
    /// Twice the same.
    #[error("[fleet] from: \"{url}\" is there twice; remove one")]
    SameUrl {
        /// As written.
        url: String,
    },
    /// A name that nobody could show.
    #[error("[fleet] node: expected 1 to 64 letters, digits, `.`, `-`, `_` or `:`, not \"{name}\"")]
    Node {
        /// As written.
        name: String,
    },
}

impl Config {
    /// Where a fleet keeps what it has; none without `[fleet]`.
    pub fn fleet_directory(&self) -> Option<PathBuf> {
        let section = self.fleet.as_ref()?;
        let state = self.state.directory.as_ref();
        let own = section.directory.clone();
        own.or_else(|| state.map(|state| state.join(DIRECTORY)))
    }

    /// Errors: [`FleetContradiction`], the first.
    pub(super) fn can_follow(&self) -> Result<(), FleetContradiction> {
        let source = self.fabric.source;
        let Some(section) = &self.fleet else {
            return match source {
                Source::Fleet => Err(FleetContradiction::NobodyToFollow),
                _ => Ok(()),
            };
        };
        let role = section.role;
        match (section.follows(), source) {
            (true, Source::Fleet) => {}
            (true, _) => return Err(FleetContradiction::TwoSources { role }),
            (false, Source::Fleet) => return Err(nothing("fleet")),
            (false, Source::None) => return Err(nothing("none")),
            (false, _) => {}
        }
        section.keys_fit()?;
        section.urls_are_some()?;
        section.identity_is_whole()?;
        if let Some(name) = section.node.as_ref().filter(|name| !is_word(name)) {
            let name = name.clone();
            return Err(FleetContradiction::Node { name });
        }
        let directory = self.fleet_directory();
        directory.map(drop).ok_or(FleetContradiction::NoDirectory)
    }
}

const fn nothing(source_name: &'static str) -> FleetContradiction {
    FleetContradiction::NothingToLead { source_name }
}

impl FleetSection {
    /// Errors: a key that the role must have, or has no use for.
    fn keys_fit(&self) -> Result<(), FleetContradiction> {
        let role = self.role;
        let (leads, follows) = (role == FleetRole::Leader, self.follows());
        let missing = [
            (
                "key",
                leads && self.key.is_none(),
                "the key that it signs with",
            ),
            (
                "listen",
                role != FleetRole::Follower && self.listen.is_none(),
                "where others ask, such as \"127.0.0.1:8042\"",
            ),
            (
                "from",
                follows && self.from.is_empty(),
                "whom it asks, such as [\"http://leader:8042\"]",
            ),
        ];
        if let Some((key, _, what)) = missing.into_iter().find(|(_, misses, _)| *misses) {
            return Err(FleetContradiction::Missing { role, key, what });
        }
        let no_use = [
            ("key", follows && self.key.is_some()),
            ("etcd", follows && self.etcd.is_some()),
            (
                "listen",
                role == FleetRole::Follower && self.listen.is_some(),
            ),
            ("ttl_s", follows && self.ttl_s != ttl_s()),
            (
                "connections",
                role == FleetRole::Follower && self.connections != connections(),
            ),
            (
                "tls.clients",
                role == FleetRole::Follower && self.names_clients(),
            ),
            ("at_once", leads && self.at_once != at_once()),
            ("strict_clock", leads && self.strict_clock),
            ("serve_stale", leads && self.serve_stale),
        ];
        match no_use.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(FleetContradiction::NoUse { role, key }),
            None => Ok(()),
        }
    }

    /// Errors: a certificate for etcd without its key, or the other way round.
    fn identity_is_whole(&self) -> Result<(), FleetContradiction> {
        let tls = self.etcd.as_ref().and_then(|etcd| etcd.tls.as_ref());
        let half = |has, lacks| Err(FleetContradiction::HalfIdentity { has, lacks });
        match tls.map(|tls| (tls.cert.is_some(), tls.key.is_some())) {
            Some((true, false)) => half("cert", "key"),
            Some((false, true)) => half("key", "cert"),
            _ => Ok(()),
        }
    }

    fn names_clients(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.clients.is_some())
    }

    /// Errors: what is no address, or not of a scheme that fits `tls`, or there twice.
    fn urls_are_some(&self) -> Result<(), FleetContradiction> {
        let mut known: Vec<Address> = Vec::new();
        for url in &self.from {
            let url = url.clone();
            let Ok(address) = url.parse::<Address>() else {
                return Err(FleetContradiction::Url { url });
            };
            if let Some(what) = scheme(address.is_secure(), self.tls.is_some()) {
                return Err(FleetContradiction::Scheme { url, what });
            }
            if known.contains(&address) {
                return Err(FleetContradiction::SameUrl { url });
            }
            known.push(address);
        }
        Ok(())
    }
}

/// What is wrong with a scheme, with certificates or without.
const fn scheme(is_secure: bool, has_tls: bool) -> Option<&'static str> {
    match (is_secure, has_tls) {
        (false, true) => {
            Some("with [fleet.tls] hosts are asked by https://, or anybody could answer")
        }
        (true, false) => {
            Some("https:// takes a [fleet.tls] section, which says whose certificates count")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: &str = "[[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n";

    fn config(fabric: &str, fleet: &str) -> Result<Config, String> {
        let text =
            format!("[fabric]\n{fabric}\n{PORT}[state]\ndirectory = \"state\"\n[fleet]\n{fleet}");
        Config::parse(&text).map_err(|problem| problem.to_string())
    }

    const FILES: &str = "source = \"files\"\npath = \"net\"";
    const FLEET: &str = "source = \"fleet\"";
    const LEADER: &str = "role = \"leader\"\nroot = \"r\"\nkey = \"k\"\nlisten = \"127.0.0.1:0\"\n";
    const FOLLOWER: &str = "role = \"follower\"\nroot = \"r\"\nfrom = [\"http://sm-a:8042\"]\n";

    #[test]
    fn the_shortest_sections_are_enough() {
        let leader = config(FILES, LEADER).unwrap();
        let section = leader.fleet.as_ref().unwrap();
        assert_eq!(
            (section.ttl().as_secs(), section.beat().as_secs()),
            (30, 10)
        );
        assert_eq!(leader.fleet_directory(), Some(PathBuf::from("state/fleet")));
        assert_eq!(section.subnet, SubnetPrefix::LINK_LOCAL);
        let follower = config(FLEET, FOLLOWER).unwrap().fleet.unwrap();
        assert!(follower.follows() && !follower.serve_stale && !follower.strict_clock);
        let relay = FOLLOWER.replace("follower", "relay")
            + "listen = \"127.0.0.1:0\"\nsubnet = \"fec0:0:0:1::/64\"\n";
        let relay = config(FLEET, &relay).unwrap().fleet.unwrap();
        assert_eq!(relay.subnet, SubnetPrefix(0xfec0_0000_0000_0001));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let follower = |more: &str| format!("{FOLLOWER}{more}");
        for (fabric, fleet, expected) in [
            (
                FILES,
                FOLLOWER.to_owned(),
                "write [fabric] source = \"fleet\"",
            ),
            (
                FLEET,
                LEADER.to_owned(),
                "source = \"fleet\" compiles nothing",
            ),
            (FILES, LEADER.replace("key = \"k\"\n", ""), "missing `key`"),
            (
                FILES,
                LEADER.replace("listen = \"127.0.0.1:0\"\n", ""),
                "missing `listen`",
            ),
            (
                FLEET,
                FOLLOWER.replace("\"http://sm-a:8042\"", ""),
                "missing `from`",
            ),
            (FLEET, follower("key = \"k\"\n"), "no use for `key`"),
            (
                FLEET,
                follower("listen = \"127.0.0.1:0\"\n"),
                "no use for `listen`",
            ),
            (FLEET, follower("ttl_s = 31\n"), "no use for `ttl_s`"),
            (
                FLEET,
                FOLLOWER.replace("http:", "https:")
                    + "tls = { ca = \"a\", cert = \"b\", key = \"c\", clients = \"required\" }\n",
                "no use for `tls.clients`",
            ),
            (
                FLEET,
                follower("[fleet.etcd]\nendpoints = []\n"),
                "no use for `etcd`",
            ),
            (
                FILES,
                format!("{LEADER}serve_stale = true\n"),
                "no use for `serve_stale`",
            ),
            (
                FLEET,
                FOLLOWER.replace("http://", "https://"),
                "takes a [fleet.tls] section",
            ),
            (
                FLEET,
                follower("[fleet.tls]\nca = \"a\"\ncert = \"c\"\nkey = \"k\"\n"),
                "are asked by https://",
            ),
            (
                FLEET,
                FOLLOWER.replace("http://", "ftp://"),
                "is no address to ask",
            ),
            (
                FLEET,
                FOLLOWER.replace("sm-a:8042\"", "sm-a/x\""),
                "is no address to ask",
            ),
            (
                FLEET,
                FOLLOWER.replace("8042\"", "8042\", \"http://sm-a:8042\""),
                "is there twice",
            ),
            (
                FLEET,
                follower("node = \"<b>\"\n"),
                "expected 1 to 64 letters",
            ),
            (FLEET, follower("look_ms = 0\n"), "expected 1 to 60000 ms"),
            (
                FILES,
                format!(
                    "{LEADER}[fleet.etcd]\nendpoints = []\ntls = {{ ca = \"a\", key = \"k\" }}\n"
                ),
                "has `key` without `cert`",
            ),
            (FLEET, follower("rot = 1\n"), "unknown field `rot`"),
            (
                FLEET,
                follower("subnet = \"fec0::1\"\n"),
                "a subnet prefix such as",
            ),
        ] {
            let why = config(fabric, &fleet).unwrap_err();
            assert!(why.contains(expected), "{fleet}: {why}");
        }
        let bare = format!("[fabric]\n{FLEET}\n{PORT}");
        let why = Config::parse(&bare).unwrap_err().to_string();
        assert!(
            why.starts_with("2:10: source = \"fleet\": add a [fleet]"),
            "{why}"
        );
        let nowhere = format!("{bare}[fleet]\n{FOLLOWER}");
        let why = Config::parse(&nowhere).unwrap_err().to_string();
        assert!(why.contains("name a `directory`"), "{why}");
        let path = config("source = \"fleet\"\npath = \"net\"", FOLLOWER).unwrap_err();
        assert!(path.contains("`path` contradicts this source"), "{path}");
    }
}
