//! The side that asks: a follower or a relay, one thread that may block.
//!
//! An [`Upstream`] is one address to ask. Which of several is asked, when, and what is believed, is
//! not decided here.
//!
//! Redirections are not followed and proxies of the environment are not used: an upstream is who it
//! was configured to be. No answer is longer than what was announced, and none is waited for
//! without end.

mod partial;
mod secure;

use std::io::{self, Read};
use std::time::Duration;

use fleet_tls::{Refused, Tls};
use sa_fleet::identity::{Digest, Position};
use sa_fleet::time::Boot;
use thiserror::Error;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::clocks;
use crate::roots::{MAX_PACKED, RootFile};

pub use self::partial::Partial;

/// The largest announcement.
pub const MOST_OF_ANNOUNCEMENT: u64 = 1024;

/// Of a connection. The client would take 128 kB each way and clear them: requests are some hundred
/// bytes, and of a file no more is taken at once. Units: bytes.
const BUFFERS: (usize, usize) = (64 << 10, 8 << 10);

/// For a root file, beside the connection.
const ROOT_PATIENCE: Duration = Duration::from_secs(10);

/// For how long what is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// A connection.
    pub connect: Duration,
    /// A poll: longer than who is asked keeps one, or each would be asked twice.
    pub poll: Duration,
    /// A blob gets a second for so many bytes, and [`Self::connect`] beside that.
    pub least_rate: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            poll: Duration::from_secs(35),
            least_rate: 32 << 10,
        }
    }
}

/// One address to ask.
#[derive(Debug, Clone)]
pub struct Upstream {
    url: String,
    agent: Agent,
    patience: Patience,
}

/// What who asks tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub node: String,
    /// What it does with path queries now: a word.
    pub state: &'static str,
    /// The blob that it answers from.
    pub blob: Option<Digest>,
    /// Of a relay: hosts that ask there, and those of them that answer from the newest.
    pub below: Option<(u64, u64)>,
}

/// An announcement that came, for who judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// The signed bytes.
    pub bytes: Vec<u8>,
    /// When it was asked for, by [`clocks::now`], before anything was sent.
    pub asked: Boot,
    /// How long the request was kept, by the word of who was asked.
    pub held: Duration,
    /// How long it may be believed, by the same word.
    pub remaining: Duration,
    /// Over how long a fetch of a large file is to be spread.
    pub spread: Duration,
}

/// Nothing came, or nothing that is of use.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FetchError {
    /// No connection, a broken one, or no answer in time.
    #[error("{url}: {why}")]
    Transport {
        /// Who was asked.
        url: String,
        /// What went wrong.
        why: ureq::Error,
    },
    /// One of the two does not take the other's certificate, or the other speaks no TLS.
    #[error("{url}: {why}")]
    Refused {
        /// Who was asked.
        url: String,
        /// Why.
        why: Refused,
    },
    /// It has something else to say.
    #[error("{url}: answers with status {status}")]
    Status {
        /// Who was asked.
        url: String,
        /// Of HTTP.
        status: u16,
    },
    /// It answers, and not as a leader or relay does.
    #[error("{url}: {what}")]
    Odd {
        /// Who was asked.
        url: String,
        /// What is odd.
        what: &'static str,
    },
    /// It ended before all was there. What came is kept.
    #[error("{url}: the connection broke after {came} bytes: {why}")]
    Cut {
        /// Who was asked.
        url: String,
        /// Bytes that are there now.
        came: u64,
        /// Why.
        why: io::Error,
    },
    /// There is no room for it here.
    #[error("there is no room for what came: {0}")]
    Write(io::Error),
}

impl Upstream {
    /// `url`: such as `https://leader:8042`, with `tls`; its host is the name for which the
    /// certificate has to be. `http://` is asked without TLS, and `https://` without `tls` gets no
    /// answer. Nothing is asked yet.
    pub fn new(url: &str, patience: Patience, tls: Option<&Tls>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(patience.connect))
            .timeout_global(Some(patience.poll))
            .input_buffer_size(BUFFERS.0)
            .output_buffer_size(BUFFERS.1)
            .user_agent(concat!("sapphired/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = match tls {
            Some(tls) => secure::agent(config, tls),
            None => config.into(),
        };
        Self {
            url: url.trim_end_matches('/').to_owned(),
            agent,
            patience,
        }
    }

    /// Who is asked.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks for what is newer than `after`, and waits for it. None: there is none yet. Errors:
    /// [`FetchError`].
    pub fn news(
        &self,
        prefix: u64,
        after: Position,
        about: &About,
    ) -> Result<Option<News>, FetchError> {
        let url = format!(
            "{}/fleet/1/{prefix:016x}/announcement?after={after}",
            self.url
        );
        let mut request = self.agent.get(&url);
        for (name, value) in about.headers() {
            request = request.header(name, value);
        }
        // Before anything is sent: what the network takes is taken off, never added.
        let asked = clocks::now();
        let mut response = request.call().map_err(|why| self.transport(why))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NO_CONTENT => return Ok(None),
            status => return Err(self.status(status)),
        }
        let held = self.milliseconds(&response, "sapphire-held")?;
        let remaining = self.milliseconds(&response, "sapphire-remaining")?;
        let spread = self.milliseconds(&response, "sapphire-spread")?;
        let mut bytes = Vec::new();
        let body = response.body_mut().as_reader();
        let read = body.take(MOST_OF_ANNOUNCEMENT + 1).read_to_end(&mut bytes);
        read.map_err(|why| self.cut(bytes.len() as u64, why))?;
        if bytes.len() as u64 > MOST_OF_ANNOUNCEMENT {
            return Err(self.odd("its announcement is too long to be one"));
        }
        Ok(Some(News {
            bytes,
            asked,
            held,
            remaining,
            spread,
        }))
    }

    /// Takes what `partial` has not yet. What has come stays in it, and goes on from another
    /// upstream.
    ///
    /// `most`: more bytes are not taken. Errors: [`FetchError`].
    pub fn download(&self, partial: &mut Partial, most: u64) -> Result<(), FetchError> {
        let name = partial.item.path_name();
        let url = format!("{}/fleet/1/blob/{name}", self.url);
        let begun = partial.came;
        let seconds = most.saturating_sub(begun) / self.patience.least_rate.max(1);
        let time = self.patience.connect + Duration::from_secs(seconds + 5);
        let config = self.agent.get(&url).config().timeout_global(Some(time));
        let mut request = config.build();
        if begun > 0 {
            request = request.header("range", format!("bytes={begun}-"));
            // Of another thing under this name, were there one, all is sent, and it is begun anew.
            request = request.header("if-range", format!("\"{name}\""));
        }
        let mut response = request.call().map_err(|why| self.transport(why))?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if begins_at(&response, begun) => {}
            StatusCode::OK => partial.restart().map_err(FetchError::Write)?,
            // All was there already.
            StatusCode::RANGE_NOT_SATISFIABLE if begun > 0 => return Ok(()),
            StatusCode::PARTIAL_CONTENT => {
                return Err(self.odd("it sends another part than was asked for"));
            }
            status => return Err(self.status(status)),
        }
        self.take(partial, response.body_mut(), most)
    }

    /// Asks for the root file of a version. What comes is not believed here. Errors:
    /// [`FetchError`].
    pub fn root(&self, version: u32) -> Result<RootFile, FetchError> {
        let url = format!("{}/fleet/1/root/{version}", self.url);
        let time = self.patience.connect + ROOT_PATIENCE;
        let config = self.agent.get(&url).config().timeout_global(Some(time));
        let mut response = config.build().call().map_err(|why| self.transport(why))?;
        match response.status() {
            StatusCode::OK => {}
            status => return Err(self.status(status)),
        }
        let mut packed = Vec::new();
        let body = response.body_mut().as_reader();
        let read = body.take(MAX_PACKED as u64 + 1).read_to_end(&mut packed);
        read.map_err(|why| self.cut(packed.len() as u64, why))?;
        RootFile::unpack(&packed).ok_or_else(|| self.odd("what it sends is no root file"))
    }

    fn take(&self, partial: &mut Partial, body: &mut Body, most: u64) -> Result<(), FetchError> {
        let mut body = body.as_reader();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match body.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(self.cut(partial.came, why)),
            };
            let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
                return Ok(());
            };
            if partial.came + part.len() as u64 > most {
                return Err(self.odd("it sends more than was announced"));
            }
            partial.add(part).map_err(FetchError::Write)?;
        }
    }

    fn milliseconds(&self, response: &Response<Body>, name: &str) -> Result<Duration, FetchError> {
        let value = response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok());
        let number = value.and_then(|value| value.parse().ok());
        let number =
            number.ok_or_else(|| self.odd("its announcement does not say for how long it holds"));
        number.map(Duration::from_millis)
    }

    fn transport(&self, why: ureq::Error) -> FetchError {
        let url = self.url.clone();
        match secure::refused(why) {
            Ok(why) => FetchError::Refused { url, why },
            Err(why) => FetchError::Transport { url, why },
        }
    }

    fn status(&self, status: StatusCode) -> FetchError {
        FetchError::Status {
            url: self.url.clone(),
            status: status.as_u16(),
        }
    }

    fn odd(&self, what: &'static str) -> FetchError {
        FetchError::Odd {
            url: self.url.clone(),
            what,
        }
    }

    fn cut(&self, came: u64, why: io::Error) -> FetchError {
        FetchError::Cut {
            url: self.url.clone(),
            came,
            why,
        }
    }
}

impl About {
    fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let below = self.below.map(|(all, fresh)| format!("{all} {fresh}"));
        let headers = [
            ("sapphire-node", Some(self.node.clone())),
            ("sapphire-state", Some(self.state.to_owned())),
            ("sapphire-blob", self.blob.map(|blob| blob.to_string())),
            ("sapphire-below", below),
        ];
        let headers = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        headers.filter(|(_, value)| !value.is_empty())
    }
}

/// Whether it is the part that was asked for.
fn begins_at(response: &Response<Body>, at: u64) -> bool {
    let range = response
        .headers()
        .get("content-range")
        .and_then(|value| value.to_str().ok());
    let first = range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next());
    first.and_then(|first| first.parse().ok()) == Some(at)
}
