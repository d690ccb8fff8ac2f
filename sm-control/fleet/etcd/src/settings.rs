//! What an operator says, and what is wrong with it.

use std::time::Duration;

use sa_fleet::identity::FleetId;
use sa_wire::SubnetPrefix;
use thiserror::Error;

use crate::certificates::{EtcdTls, FileError};

/// Without a word about it a lease is as long as this. A leader that is gone is replaced within it
/// and a second.
const LEASE: Duration = Duration::from_secs(5);
/// Likewise, a call. Shorter than a third of the lease and it would be given up for nothing on a
/// busy host; longer, and a renewal that failed had no second try.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Below, a busy host gives up what would have been done.
const SHORTEST: Duration = Duration::from_millis(100);

/// Which etcd, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdSettings {
    /// The members, as `http://HOST:PORT`, or `https://HOST:PORT` with `tls`. One is asked at a
    /// time, the first one first.
    pub endpoints: Vec<String>,
    /// Certificates; none where members are asked in plain.
    pub tls: Option<EtcdTls>,
    /// How long a leader leads that says nothing. Whole seconds; etcd makes more of what is shorter
    /// than it takes to choose its own leader.
    pub lease: Duration,
    /// Of all keys, with a slash at both ends.
    pub prefix: String,
    /// After this a call is given up. Less than the lease.
    pub timeout: Duration,
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No member is named.
    #[error("no member of etcd is named; name each as http://HOST:PORT")]
    NoEndpoint,
    /// It is no address of a member.
    #[error(
        "member of etcd \"{endpoint}\": {what}; write http://HOST:PORT or https://HOST:PORT, such as http://sm-a:2379"
    )]
    Endpoint {
        /// As it was written.
        endpoint: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A lease that etcd has not.
    #[error("a lease of {0:?}; it is 1 to 3600 seconds, and no part of one")]
    Lease(Duration),
    /// A call that would outlast its lease, or end before it begins.
    #[error(
        "a call of {0:?}; it is at least 0.1 s and shorter than the lease, or a renewal would come too late"
    )]
    Timeout(Duration),
    /// A file of certificates.
    #[error(transparent)]
    File(#[from] FileError),
    /// Keys of others could be among ours.
    #[error("the prefix \"{0}\" of keys begins and ends with a slash, and has more between them")]
    Prefix(String),
}

impl EtcdSettings {
    /// For a subnet of a fleet, with a lease of 5 s and calls of at most 2 s.
    pub fn new(endpoints: Vec<String>, fleet: &FleetId, subnet: SubnetPrefix) -> Self {
        let fleet: String = fleet.0.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            endpoints,
            tls: None,
            lease: LEASE,
            prefix: format!("/sapphire/{fleet}/{:016x}/", subnet.0),
            timeout: TIMEOUT,
        }
    }

    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        if self.endpoints.is_empty() {
            return Err(SettingsError::NoEndpoint);
        }
        for endpoint in &self.endpoints {
            let refused = |what| SettingsError::Endpoint {
                endpoint: endpoint.clone(),
                what,
            };
            let host = host(endpoint, self.tls.is_some()).map_err(refused)?;
            // Read now so that a missing file is told at the start, not when it is needed.
            self.tls.as_ref().map(|tls| tls.options(host)).transpose()?;
        }
        let is_whole = self.lease.subsec_nanos() == 0;
        if !is_whole || !(1..=3600).contains(&self.lease.as_secs()) {
            return Err(SettingsError::Lease(self.lease));
        }
        if self.timeout < SHORTEST || self.timeout >= self.lease {
            return Err(SettingsError::Timeout(self.timeout));
        }
        let between = self.prefix.strip_prefix('/');
        let between = between.and_then(|rest| rest.strip_suffix('/'));
        match between {
            Some(between) if !between.is_empty() => Ok(()),
            _ => Err(SettingsError::Prefix(self.prefix.clone())),
        }
    }
}

/// The host of a member, without brackets.
///
/// By hand, as the client would say "transport error" of what is wrong, and not before the first
/// call. Errors: what it is that is wrong.
pub(crate) fn host(endpoint: &str, has_tls: bool) -> Result<&str, &'static str> {
    let secure = endpoint.strip_prefix("https://");
    let address = match (secure, endpoint.strip_prefix("http://")) {
        (Some(address), _) if has_tls => address,
        (None, Some(address)) if !has_tls => address,
        (Some(_), _) => return Err("https:// takes certificates ([fleet.etcd.tls])"),
        (None, Some(_)) => return Err("with certificates it begins with https://"),
        (None, None) => return Err("it does not begin with http:// or https://"),
    };
    let (host, port) = address.rsplit_once(':').ok_or("it has no port")?;
    let is_port = port.bytes().all(|it| it.is_ascii_digit()) && port.parse() != Ok(0_u16);
    if !is_port || port.parse::<u16>().is_err() {
        return Err("its port is no number from 1 to 65535");
    }
    let is_name = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_');
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_host = match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    is_host
        .then_some(bare.unwrap_or(host))
        .ok_or("its host is neither a name nor an address (IPv6 in brackets)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: &str) -> EtcdSettings {
        let subnet = SubnetPrefix::LINK_LOCAL;
        EtcdSettings::new(vec![endpoint.to_owned()], &FleetId([0xab; 16]), subnet)
    }

    #[test]
    fn keys_are_of_one_subnet_of_one_fleet() {
        let prefix = "/sapphire/abababababababababababababababab/fe80000000000000/";
        assert_eq!(settings("http://a:1").prefix, prefix);
    }

    #[test]
    fn a_member_is_a_host_and_a_port() {
        for good in [
            "http://sm-a:2379",
            "http://10.0.0.1:1",
            "http://[fe80::1]:65535",
        ] {
            assert_eq!(settings(good).check(), Ok(()), "{good}");
        }
        for (bad, what) in [
            ("", "begin with http:// or https://"),
            ("sm-a:2379", "begin with http://"),
            ("https://sm-a:2379", "takes certificates"),
            ("http://sm-a", "no port"),
            ("http://:2379", "its host"),
            ("http://sm a:2379", "its host"),
            ("http://u@sm-a:2379", "its host"),
            ("http://fe80::1:2379", "its host"),
            ("http://sm-a:0", "its port"),
            ("http://sm-a:+1", "its port"),
            ("http://sm-a:65536", "its port"),
            ("http://sm-a:2379/", "its port"),
        ] {
            let said = settings(bad).check().unwrap_err().to_string();
            assert!(said.contains(&format!("\"{bad}\"")), "{said}");
            assert!(said.contains(what), "{bad}: {said}");
        }
        assert_eq!(host("https://[::1]:1", true), Ok("::1"));
        assert!(
            host("http://sm-a:1", true)
                .unwrap_err()
                .contains("https://")
        );
        let none = EtcdSettings {
            endpoints: Vec::new(),
            ..settings("")
        };
        assert_eq!(none.check(), Err(SettingsError::NoEndpoint));
    }

    #[test]
    fn a_lease_outlasts_a_call() {
        let good = settings("http://a:1");
        for lease in [0, 500, 1500, 3_601_000] {
            let lease = Duration::from_millis(lease);
            let bad = EtcdSettings {
                lease,
                ..good.clone()
            };
            assert_eq!(bad.check(), Err(SettingsError::Lease(lease)));
        }
        for timeout in [0, 99, 5000] {
            let timeout = Duration::from_millis(timeout);
            let bad = EtcdSettings {
                timeout,
                ..good.clone()
            };
            assert_eq!(bad.check(), Err(SettingsError::Timeout(timeout)));
        }
        for prefix in ["", "/", "//", "a/", "/a"] {
            let prefix = prefix.to_owned();
            let bad = EtcdSettings {
                prefix: prefix.clone(),
                ..good.clone()
            };
            assert_eq!(bad.check(), Err(SettingsError::Prefix(prefix)));
        }
    }
}
