//! Which member of etcd is asked.
//!
//! One at a time, by a client that knows no other: the client crate picks among all that it was
//! given, and goes on picking the dead. After an error or no answer in time the next one is asked,
//! by a new client, since nobody knows what the old connection is good for. A new client counts
//! when it has brought one answer, so that what changes anything is sent to a member that was well
//! a moment ago.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Error, GetOptions, TlsOptions};
use tokio::time::timeout;

use crate::certificates::EtcdTls;
use crate::settings::host;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_millis(500);

/// How etcd, and the client for an answer without a word, end what they say of a lease that is not
/// there.
const GONE: &str = "lease not found";

/// See the module.
pub(crate) struct Members {
    endpoints: Vec<String>,
    tls: Option<EtcdTls>,
    /// Which is asked, modulo their number.
    at: usize,
    client: Option<Client>,
    /// So long a member may take for one answer. Half a call, so that another one can be asked
    /// within it.
    patience: Duration,
    /// Any key: a read of it needs a majority of the members.
    key: String,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The lease is gone, by the word of etcd.
    LeaseGone,
    /// What was asked may have been done or not. Why, for people.
    Unclear(String),
}

impl Members {
    /// `endpoints`: as they were checked, with certificates where these are asked for.
    pub(crate) fn new(
        (endpoints, tls): (Vec<String>, Option<EtcdTls>),
        patience: Duration,
        key: String,
    ) -> Self {
        Self {
            endpoints,
            tls,
            at: 0,
            client: None,
            patience,
            key,
        }
    }

    /// Asks one member, once: for what changes something.
    pub(crate) async fn ask<T, F>(&mut self, ask: impl FnOnce(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let client = self.reached().await?;
        match self.answer(ask(client)).await {
            Err(Failure::Unclear(trouble)) => {
                self.turn();
                Err(Failure::Unclear(trouble))
            }
            ended => ended,
        }
    }

    /// Asks another one where the first did not answer: for what may be done twice.
    pub(crate) async fn ask_again<T, F>(&mut self, ask: impl Fn(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match self.ask(&ask).await {
            Err(Failure::Unclear(_)) => self.ask(&ask).await,
            ended => ended,
        }
    }

    /// The next member is asked from now on.
    pub(crate) fn turn(&mut self) {
        self.client = None;
        self.at = (self.at + 1) % self.endpoints.len().max(1);
    }

    /// A client of a member that is well, of all from this one on.
    async fn reached(&mut self) -> Result<Client, Failure> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let mut troubles = Vec::new();
        for _ in 0..self.endpoints.len() {
            match self.try_one().await {
                Ok(client) => {
                    self.client = Some(client.clone());
                    return Ok(client);
                }
                Err(Failure::Unclear(trouble)) => troubles.push(trouble),
                Err(Failure::LeaseGone) => {}
            }
            self.turn();
        }
        Err(Failure::Unclear(troubles.join("; ")))
    }

    async fn try_one(&self) -> Result<Client, Failure> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECT)
            // A member that is cut off says so, and does not wait for who never comes.
            .with_require_leader(true);
        if let Some(tls) = self.certificates()? {
            options = options.with_tls(tls);
        }
        let endpoints = [self.endpoint()];
        let client = self
            .answer(Client::connect(endpoints, Some(options)))
            .await?;
        let mut asked = client.clone();
        let only = GetOptions::new().with_keys_only();
        self.answer(asked.get(self.key.as_str(), Some(only)))
            .await?;
        Ok(client)
    }

    /// As the files have them now. Errors: a file that cannot be used any more.
    fn certificates(&self) -> Result<Option<TlsOptions>, Failure> {
        let endpoint = self.endpoint();
        let unclear = |why: String| Failure::Unclear(format!("{endpoint}: {why}"));
        let Some(tls) = &self.tls else {
            return Ok(None);
        };
        let host = host(endpoint, true).map_err(|what| unclear(what.to_owned()))?;
        let options = tls.options(host).map_err(|why| unclear(why.to_string()))?;
        Ok(Some(options))
    }

    async fn answer<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        let endpoint = self.endpoint();
        match timeout(self.patience, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explained(Failure::of(endpoint, &error))),
            Err(_) => {
                let trouble = format!("{endpoint}: no answer within {:?}", self.patience);
                Err(Failure::Unclear(trouble))
            }
        }
    }

    /// With what a person would look at. A member that refuses a certificate says so, but by TLS 1.3
    /// its client hears of it after the handshake, and often hears only that the connection is gone.
    fn explained(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Unclear(trouble) if self.tls.is_some() && is_cut(&trouble) => {
                Failure::Unclear(format!(
                    "{trouble}; so it is where a member does not take this host's certificate"
                ))
            }
            other => other,
        }
    }

    fn endpoint(&self) -> &str {
        self.endpoints.get(self.at).map_or("", String::as_str)
    }
}

impl Failure {
    fn of(endpoint: &str, error: &Error) -> Self {
        let trouble = match error {
            Error::LeaseKeepAliveError(text) if text == GONE => return Self::LeaseGone,
            Error::GRpcStatus(status) if status.message().ends_with(GONE) => {
                return Self::LeaseGone;
            }
            // Its own words without those of the client around them.
            Error::GRpcStatus(status) => with_root(status.message(), status.source()),
            other => with_root(&other.to_string(), other.source()),
        };
        Self::Unclear(format!("{endpoint}: {trouble}"))
    }
}

/// A connection that was there and is not any more.
fn is_cut(trouble: &str) -> bool {
    let words = ["connection closed", "connection reset", "broken pipe"];
    let trouble = trouble.to_ascii_lowercase();
    words.iter().any(|word| trouble.contains(word))
}

/// "tcp connect error" alone leaves open whether nobody listens or no way leads there.
fn with_root(what: &str, source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let mut root = source;
    while let Some(deeper) = root.and_then(std::error::Error::source) {
        root = Some(deeper);
    }
    match root.map(ToString::to_string) {
        Some(root) if root != what => format!("{what}: {root}"),
        _ => what.to_owned(),
    }
}
