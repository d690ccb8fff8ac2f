//! Who may read a page by which name, and what the browser may do with it.
//!
//! A page of any site may have a browser ask `http://its.name/` and give that name the address of
//! this listener: then its script could read what is here (DNS rebinding). A request carries the
//! name that was asked for, so names that are not this listener's are refused: an address,
//! `localhost`, and on a listener for other machines the name of this one pass.
//!
//! ```text
//!  Host: 127.0.0.1:9090     served        Host: evil.example:9090     421
//! ```
//!
//! What is sent by POST has to come from a page of this listener: browsers say with each which site
//! it is from (`Origin`), also where a page of another site sends a form here. A program says
//! nothing and is let through: what changes something needs a token besides.
//!
//! `/metrics`, `/health` and `/ready` are not guarded: they had no such rule before, and monitors
//! use names of their own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Page;

/// What browsers are told with everything that is here. Nothing but what comes from here, and
/// nothing that stands in a document itself, is run or loaded; nobody may put a page into a frame;
/// nothing is kept.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` browsers would call the origin of our own forms `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Names that this listener goes by.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Of this machine, where others may come.
    own: Option<String>,
}

impl Hosts {
    /// Of a listener.
    pub(super) fn of(listen: SocketAddr) -> Self {
        // What the kernel calls this machine; without it only addresses pass.
        let name = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let own = (!listen.ip().is_loopback()).then(name).flatten();
        Self {
            own: own.map(|name| name.trim().to_ascii_lowercase()),
        }
    }

    /// Whether a `Host` header names it. Shape: `name`, `name:port`, `[address]:port`.
    fn has(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_own = |own: &String| {
            let name = name.to_ascii_lowercase();
            // With a domain behind it, too.
            name.strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self
                .own
                .as_ref()
                .filter(|own| !own.is_empty())
                .is_some_and(is_own)
    }

    /// The same of all headers of a request: exactly one names a host.
    fn allow(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        host.to_str().is_ok_and(|host| self.has(host))
    }
}

/// Whether a browser sends this from a page of this listener, or no browser does. The host was
/// judged before.
fn is_own_form(headers: &HeaderMap) -> bool {
    let of = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = of(header::HOST).unwrap_or_default();
    // Behind a proxy that has the certificate it is https.
    let is_own = |origin: &str| {
        let site = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    };
    // `none`: the user's own doing, as from a bookmark.
    let site = of(HeaderName::from_static("sec-fetch-site"));
    let is_near = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    is_near && of(header::ORIGIN).is_none_or(is_own)
}

/// Around all addresses of the page.
pub(super) async fn guard(State(page): State<Arc<Page>>, request: Request, next: Next) -> Response {
    let is_safe = request.method().is_safe();
    let mut response = match page.hosts.allow(request.headers()) {
        true if is_safe || is_own_form(request.headers()) => next.run(request).await,
        true => {
            let words = "this form is of another site; use the page's own\n";
            (StatusCode::FORBIDDEN, words).into_response()
        }
        false => {
            let words = "this is not the host that was asked for; use its address or localhost\n";
            (StatusCode::MISDIRECTED_REQUEST, words).into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_refused() {
        let loopback = Hosts::of("127.0.0.1:1".parse().unwrap());
        for host in [
            "127.0.0.1",
            "127.0.0.1:9090",
            "[::1]:9090",
            "localhost:1",
            "LOCALHOST",
            "10.1.2.3",
        ] {
            assert!(loopback.has(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:1",
            "127.0.0.1.evil.example",
            "",
            "[evil]",
            "x@127.0.0.1",
        ] {
            assert!(!loopback.has(host), "{host}");
        }
        let open = Hosts {
            own: Some("sm1".to_owned()),
        };
        for (host, passes) in [
            ("sm1", true),
            ("SM1.site:9090", true),
            ("sm10", false),
            ("evil.example", false),
        ] {
            assert_eq!(open.has(host), passes, "{host}");
        }
        let nameless = Hosts {
            own: Some(String::new()),
        };
        assert!(!nameless.has("evil.example") && !nameless.has(".evil"));
    }

    #[test]
    fn forms_of_other_sites_are_refused() {
        for (origin, site, passes) in [
            (None, None, true),
            (Some("http://localhost:9090"), Some("same-origin"), true),
            (Some("https://LOCALHOST:9090"), None, true),
            (Some("null"), None, false),
            (Some("http://localhost:9091"), None, false),
            (Some("http://evil.example"), None, false),
            (Some("localhost:9090"), None, false),
            (None, Some("cross-site"), false),
            (None, Some("same-site"), false),
            (Some("http://localhost:9090"), Some("cross-site"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost:9090"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            if let Some(site) = site {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            }
            assert_eq!(is_own_form(&headers), passes, "{origin:?} {site:?}");
        }
    }

    #[test]
    fn one_header_names_the_host() {
        let hosts = Hosts::of("127.0.0.1:1".parse().unwrap());
        let mut headers = HeaderMap::new();
        assert!(!hosts.allow(&headers));
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(hosts.allow(&headers));
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(!hosts.allow(&headers));
    }
}
