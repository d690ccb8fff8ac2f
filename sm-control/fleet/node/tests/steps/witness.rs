//! Hears the leader and asks its followers, for the oracle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fleet_transfer::clocks;
use fleet_transfer::fetch::{About, Patience, Upstream};
use sa_fleet::identity::Position;

use crate::oracle::{Asked, Oracle, PREFIX};
use crate::rig::Node;

/// Asks all the time, until it is dropped.
pub(crate) struct Witness {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Witness {
    /// Of the leader at this address and of these followers.
    pub(crate) fn start(oracle: &Arc<Oracle>, url: &str, followers: &Arc<Vec<Node>>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, of, url) = (Arc::clone(&is_over), Arc::clone(oracle), url.to_owned());
        let listens = std::thread::spawn(move || {
            // A leader that stands still must not hold this up for longer than a little.
            let patience = Patience {
                poll: Duration::from_millis(300),
                ..Patience::default()
            };
            let upstream = Upstream::new(&url, patience, None);
            while !over.load(Ordering::SeqCst) {
                let life = of.life();
                let news = upstream.news(PREFIX, Position::default(), &About::default());
                // Between the two it may be of either.
                let is_its = of.life() == life;
                if let Ok(Some(news)) = news {
                    of.hears(&news.bytes, is_its.then_some(life));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let (over, of, followers) = (
            Arc::clone(&is_over),
            Arc::clone(oracle),
            Arc::clone(followers),
        );
        let asks = std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                for (number, follower) in followers.iter().enumerate() {
                    let asked = ask(follower, |bytes| of.hears(bytes, None));
                    of.asked(number, asked);
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        Self {
            is_over,
            threads: vec![listens, asks],
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a witness ended");
        }
    }
}

/// Asks a relay once; `hears` gets what it hands on.
pub(crate) fn ask(follower: &Node, hears: impl Fn(&[u8])) -> Asked {
    let (_, desk) = follower.relay.as_ref().expect("a relay");
    let hands_on = || {
        if let Some(offer) = desk.announced(PREFIX) {
            hears(&offer.announcement);
        }
    };
    hands_on();
    let position = || follower.running.said.read().position;
    let (at, before) = (clocks::both().wall.0, position());
    let answer = follower.stand.answers();
    let asked = Asked {
        at,
        before,
        after: position(),
        answer,
    };
    hands_on();
    asked
}
