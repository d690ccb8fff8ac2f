//! Heads of requests: read, within a size and a time, and parsed.
//!
//! A request here is one of GET without a body, so that is all that is taken. What has a body, or
//! says so, is refused and the connection closed: two readings of where a request ends are how one
//! hides another.

use std::time::Duration;

use httparse::{Request, Status};

use super::wire::Wire;

/// A head is no longer: names and digests are what is in it.
const LONGEST: usize = 4 << 10;
/// Nor has it more fields.
const FIELDS: usize = 32;

/// What a request says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Path and query.
    pub(super) target: String,
    pub(super) is_get: bool,
    /// Whether another request may follow on the connection.
    pub(super) stays: bool,
    pub(super) range: Option<String>,
    pub(super) if_range: Option<String>,
    /// What who asks tells of itself, in the order of [`TOLD`].
    pub(super) told: [Option<String>; TOLD.len()],
}

/// Fields of a poll; see `children`.
pub(super) const TOLD: [&str; 4] = [
    "sapphire-node",
    "sapphire-state",
    "sapphire-blob",
    "sapphire-below",
];

/// Why there is no request.
#[derive(Debug)]
pub(super) enum NoHead {
    /// The other side is through, too slow, or gone.
    Over,
    /// What came is no request that is taken here.
    Odd,
}

/// Reads the next head. `rest`: what has come behind the one before; what comes behind this one is
/// left there.
///
/// Memory: some hundred bytes while nothing comes, as thousands wait.
pub(super) async fn next(
    stream: &mut impl Wire,
    rest: &mut Vec<u8>,
    within: Duration,
) -> Result<Head, NoHead> {
    let read = tokio::time::timeout(within, read(stream, rest));
    read.await.unwrap_or(Err(NoHead::Over))
}

/// Reads until a head is whole. Errors: the connection has ended, or what came is too long or no
/// request.
async fn read(stream: &mut impl Wire, rest: &mut Vec<u8>) -> Result<Head, NoHead> {
    loop {
        if let Some((head, length)) = parsed(rest)? {
            rest.drain(..length);
            // A connection that waits keeps no more than it needs.
            rest.shrink_to_fit();
            return Ok(head);
        }
        if rest.len() >= LONGEST {
            return Err(NoHead::Odd);
        }
        match stream.more(rest).await {
            Ok(0) | Err(_) => return Err(NoHead::Over),
            Ok(_) => {}
        }
    }
}

/// A head and its length; none where it is not whole yet.
fn parsed(bytes: &[u8]) -> Result<Option<(Head, usize)>, NoHead> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(_) => return Err(NoHead::Odd),
    };
    let mut head = Head {
        target: request.path.unwrap_or_default().to_owned(),
        is_get: request.method == Some("GET"),
        stays: request.version == Some(1),
        ..Head::default()
    };
    for field in request.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let text = || std::str::from_utf8(field.value).ok().map(str::to_owned);
        if is("content-length") || is("transfer-encoding") {
            return Err(NoHead::Odd);
        }
        if is("connection") {
            head.stays &= !field.value.eq_ignore_ascii_case(b"close");
        }
        if is("range") {
            head.range = text();
        }
        if is("if-range") {
            // One that cannot be read is one that is not met.
            head.if_range = Some(text().unwrap_or_default());
        }
        for (name, told) in TOLD.iter().zip(&mut head.told) {
            if is(name) {
                *told = text();
            }
        }
    }
    Ok(Some((head, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<(Head, usize)>, ()> {
        parsed(text.as_bytes()).map_err(|_| ())
    }

    #[test]
    fn a_head_is_taken_when_it_is_whole_and_no_further() {
        let text = "GET /fleet/1/x HTTP/1.1\r\nHost: l\r\nRange: bytes=5-\r\nSapphire-Node: n1\r\n\r\nGET /next";
        let (head, length) = of(text).unwrap().unwrap();
        assert_eq!(&text[length..], "GET /next");
        assert_eq!(
            (head.target.as_str(), head.is_get, head.stays),
            ("/fleet/1/x", true, true)
        );
        assert_eq!(
            (head.range.as_deref(), head.told[0].as_deref()),
            (Some("bytes=5-"), Some("n1"))
        );
        assert_eq!(of(&text[..length - 1]), Ok(None));
    }

    #[test]
    fn a_request_with_a_body_is_refused() {
        for field in [
            "Content-Length: 0",
            "content-length: 5",
            "Transfer-Encoding: chunked",
        ] {
            assert_eq!(
                of(&format!("GET / HTTP/1.1\r\n{field}\r\n\r\n")),
                Err(()),
                "{field}"
            );
        }
    }

    #[test]
    fn a_connection_stays_as_both_sides_say() {
        let stays = |text: &str| of(text).unwrap().unwrap().0.stays;
        assert!(stays("GET / HTTP/1.1\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.0\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
    }

    #[test]
    fn what_is_no_http_is_refused() {
        for text in [
            "\u{0}\u{1}\u{2}",
            "SSH-2.0-x\r\n\r\n",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nno field\r\n\r\n",
        ] {
            assert_eq!(of(text), Err(()), "{text:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS + 1));
        assert_eq!(of(&many), Err(()));
    }
}
