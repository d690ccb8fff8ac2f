//! Answers: a head, and bytes that are there.

use std::fmt::Write as _;

/// An answer but for a file behind it.
#[derive(Debug)]
pub(super) struct Reply {
    /// The first line and all fields, with the empty line behind them.
    head: String,
    pub(super) body: Vec<u8>,
}

/// Status and its words.
pub(super) type Status = (u16, &'static str);

pub(super) const OK: Status = (200, "OK");
pub(super) const NO_CONTENT: Status = (204, "No Content");
pub(super) const PARTIAL_CONTENT: Status = (206, "Partial Content");
pub(super) const BAD_REQUEST: Status = (400, "Bad Request");
pub(super) const NOT_FOUND: Status = (404, "Not Found");
pub(super) const METHOD_NOT_ALLOWED: Status = (405, "Method Not Allowed");
pub(super) const RANGE_NOT_SATISFIABLE: Status = (416, "Range Not Satisfiable");
pub(super) const SERVICE_UNAVAILABLE: Status = (503, "Service Unavailable");

/// A request that is not answered as it was meant.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Status,
    /// A line for who reads it.
    pub(super) words: &'static str,
}

impl Reply {
    /// With `length` bytes behind it, which may be a file's. Fields are ours: nothing in them comes
    /// from who asks.
    pub(super) fn new((code, words): Status, length: u64, fields: &[(&str, String)]) -> Self {
        let mut head = format!("HTTP/1.1 {code} {words}\r\n");
        if code != NO_CONTENT.0 {
            // Writing to a string does not fail.
            let _ = write!(head, "content-length: {length}\r\n");
        }
        for (name, value) in fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        Self {
            head,
            body: Vec::new(),
        }
    }

    /// With these bytes.
    pub(super) fn with_body(status: Status, body: &[u8], fields: &[(&str, String)]) -> Self {
        Self {
            body: body.to_vec(),
            ..Self::new(status, body.len() as u64, fields)
        }
    }

    /// Says that no other request is taken on this connection.
    pub(super) fn closing(mut self) -> Self {
        self.head.truncate(self.head.len() - 2);
        self.head.push_str("connection: close\r\n\r\n");
        self
    }

    /// As it goes out: in one piece, so that it is one packet.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head.into_bytes();
        bytes.extend(self.body);
        bytes
    }
}

impl Refusal {
    pub(super) fn into_reply(self) -> Reply {
        Reply::with_body(self.status, self.words.as_bytes(), &[])
    }
}
