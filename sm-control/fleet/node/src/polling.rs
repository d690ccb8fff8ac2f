//! Polls: a thread for each upstream, which asks it one thing at a time.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use fleet_transfer::fetch::{About, FetchError, News, Upstream};
use sa_fleet::identity::Position;

/// A poll to be made.
#[derive(Debug)]
pub(crate) struct Poll {
    /// Its number.
    pub(crate) ask: u64,
    /// What is known.
    pub(crate) after: Position,
    /// What this host says of itself.
    pub(crate) about: About,
}

/// How a poll has ended.
#[derive(Debug)]
pub(crate) struct Polled {
    /// Its number.
    pub(crate) ask: u64,
    /// None: nothing is newer.
    pub(crate) news: Result<Option<News>, FetchError>,
}

/// The threads. They end when this is dropped, each once its poll is over.
#[derive(Debug)]
pub(crate) struct Polls {
    upstreams: Vec<Sender<Poll>>,
}

impl Polls {
    /// Starts them. `told` gets the end of each poll. Errors: no thread.
    pub(crate) fn start<T: Send + 'static>(
        upstreams: &[Upstream],
        prefix: u64,
        told: &Sender<T>,
        tell: fn(Polled) -> T,
    ) -> io::Result<Self> {
        let mut senders = Vec::new();
        for (number, upstream) in upstreams.iter().enumerate() {
            // One waits at most: an upstream is not asked twice at a time.
            let (sender, polls) = bounded(1);
            let (upstream, told) = (upstream.clone(), told.clone());
            let name = format!("sa-fleet-ask-{number}");
            thread::Builder::new()
                .name(name)
                .spawn(move || ask_on(&upstream, prefix, &polls, &told, tell))?;
            senders.push(sender);
        }
        Ok(Self { upstreams: senders })
    }

    /// Has it asked. False: that upstream is still at the poll before, and this one is none.
    pub(crate) fn ask(&self, upstream: usize, poll: Poll) -> bool {
        let sender = self.upstreams.get(upstream);
        sender.is_some_and(|it| it.try_send(poll).is_ok())
    }
}

fn ask_on<T>(
    upstream: &Upstream,
    prefix: u64,
    polls: &Receiver<Poll>,
    told: &Sender<T>,
    tell: fn(Polled) -> T,
) {
    for Poll { ask, after, about } in polls {
        let news = upstream.news(prefix, after, &about);
        // Nobody follows any more.
        if told.send(tell(Polled { ask, news })).is_err() {
            return;
        }
    }
}
