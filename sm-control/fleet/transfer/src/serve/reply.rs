//! Bodies of answers, and the heads that all have.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::{Response, StatusCode};

use super::blobs::Sending;

/// A body.
#[derive(Debug)]
pub(super) enum Reply {
    /// Bytes that are there; none once they are sent.
    Bytes(Option<Bytes>),
    /// A part of a file.
    File(Sending),
}

/// A request that is not answered as it was meant.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// A line for who reads it.
    pub(super) words: &'static str,
}

impl Reply {
    pub(super) fn bytes(bytes: Bytes) -> Self {
        Self::Bytes(Some(bytes))
    }

    pub(super) const fn empty() -> Self {
        Self::Bytes(None)
    }

    /// An answer with this status.
    pub(super) fn head(status: StatusCode, body: Self) -> Response<Self> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response
    }
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<Reply> {
        Reply::head(
            self.status,
            Reply::bytes(Bytes::from_static(self.words.as_bytes())),
        )
    }
}

impl Body for Reply {
    type Data = Bytes;
    // A file that cannot be read to its end ends too early, which the receiver sees by its length.
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut *self {
            Self::Bytes(bytes) => bytes.take(),
            Self::File(sending) => sending.next(),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_none(),
            Self::File(sending) => sending.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Bytes(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Self::File(sending) => sending.left(),
        })
    }
}
