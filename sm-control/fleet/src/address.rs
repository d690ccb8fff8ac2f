//! Addresses of leaders and relays, and names of hosts, as people write them.

use std::net::Ipv6Addr;
use std::str::FromStr;

use thiserror::Error;

/// Where a leader or relay is asked: a scheme and a host, perhaps with a port, and no path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    url: String,
    is_secure: bool,
}

/// No address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected http:// or https:// and a host, perhaps with a port, such as http://leader:8042")]
pub struct NoAddress;

impl Address {
    /// As it is asked for, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Whether it is asked under TLS.
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl FromStr for Address {
    type Err = NoAddress;

    /// One slash at the end is taken and left out.
    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let url = text.strip_suffix('/').unwrap_or(text);
        let (is_secure, place) = match url.strip_prefix("https://") {
            Some(place) => (true, place),
            None => (false, url.strip_prefix("http://").ok_or(NoAddress)?),
        };
        match is_place(place) {
            true => Ok(Self {
                url: url.to_owned(),
                is_secure,
            }),
            false => Err(NoAddress),
        }
    }
}

/// `HOST`, `HOST:PORT`, and the same with an IPv6 address in brackets.
fn is_place(text: &str) -> bool {
    let (is_good, rest) = match text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (is_host(host), rest)
        }
    };
    is_good && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// A name, or an IPv4 address; the resolver has the last word.
fn is_host(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Digits alone: `parse` would take a sign.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Whether a host's name or a word of it can be shown as it is, in a log, a page or a metric: 1 to
/// 64 letters, digits, `.`, `-`, `_` or `:`.
pub fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<(String, bool)> {
        let address: Address = text.parse().ok()?;
        Some((address.as_str().to_owned(), address.is_secure()))
    }

    #[test]
    fn addresses_have_a_scheme_and_a_host() {
        for (text, url, is_secure) in [
            ("http://leader:8042", "http://leader:8042", false),
            ("http://leader/", "http://leader", false),
            ("https://10.0.0.1:443", "https://10.0.0.1:443", true),
            ("http://[fe80::1]:8042", "http://[fe80::1]:8042", false),
            ("https://[::1]", "https://[::1]", true),
        ] {
            assert_eq!(address(text), Some((url.to_owned(), is_secure)), "{text}");
        }
    }

    #[test]
    fn all_else_is_refused() {
        for text in [
            "",
            "leader:8042",
            "ftp://leader",
            "http://",
            "http:///",
            "http://:80",
            "http://a:",
            "http://a:0",
            "http://a:+80",
            "http://a:65536",
            "http://a:80:90",
            "http://a/b",
            "http://a//",
            "http://a b",
            "http://a\"",
            "http://user@a",
            "http://[::1",
            "http://[a]",
            "http://[::1]80",
            "http://[::1]x",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn words_have_no_spaces_and_an_end() {
        assert!(is_word("node-1.rack:2_a"));
        for text in ["", "a b", "a\n", "é", &"a".repeat(65)] {
            assert!(!is_word(text), "{text}");
        }
    }
}
