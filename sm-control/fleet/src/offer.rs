//! What a leader or a relay hands to those who ask: the newest announcement and how long it is good
//! still.
//!
//! Nobody waits in here. A server keeps the newest offer where its connections see it (one value,
//! exchanged), and each connection asks [`answer`] when it begins, when the offer changes, and when
//! the time has come that it was told.

use core::time::Duration;
use std::sync::Arc;

use crate::identity::Position;
use crate::time::Boot;

/// A request is answered after this at the latest, so that both sides know that the other is there.
pub const LONGEST_HOLD: Duration = Duration::from_secs(25);
/// What is good for less than this is not handed out: it would be over before anybody used it.
pub const LEAST_REMAINING: Duration = Duration::from_secs(1);

/// The newest announcement of a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// As it was signed.
    pub announcement: Arc<[u8]>,
    /// Among all others.
    pub position: Position,
    /// Until when it is good, by the sender's clock.
    pub until: Boot,
}

/// A request for what is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    /// The newest that the asker has.
    pub after: Position,
    /// When the request was there, by the sender's clock.
    pub arrived: Boot,
}

/// The reply to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// As it was signed.
    pub announcement: &'a [u8],
    /// How long the sender kept the request.
    pub held: Duration,
    /// How long the announcement is good from the moment of the reply on.
    pub remaining: Duration,
    /// The longest that children of this sender should wait before they fetch a large file, so that
    /// they do not all come at once.
    pub spread: Duration,
}

/// What to do with a poll now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Send this.
    Reply(Reply<'a>),
    /// Look again when the offer changes, and then at the latest.
    Wait(Boot),
    /// Say that there is nothing new.
    Quiet,
}

/// What to do with a poll now. `spread` is handed on in the reply.
pub fn answer<'a>(offer: Option<&'a Offer>, poll: Poll, now: Boot, spread: Duration) -> Answer<'a> {
    let held = now.since(poll.arrived);
    let news = offer.filter(|offer| offer.position > poll.after);
    let news = news.map(|offer| (offer, offer.until.since(now)));
    if let Some((offer, remaining)) = news.filter(|(_, remaining)| *remaining >= LEAST_REMAINING) {
        let announcement = &offer.announcement;
        return Answer::Reply(Reply {
            announcement,
            held,
            remaining,
            spread,
        });
    }
    if held >= LONGEST_HOLD {
        return Answer::Quiet;
    }
    Answer::Wait(poll.arrived.after(LONGEST_HOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(beat: u64, until: u64) -> Offer {
        let position = Position {
            beat,
            ..Position::default()
        };
        Offer {
            announcement: [1, 2].into(),
            position,
            until: seconds(until),
        }
    }

    fn seconds(seconds: u64) -> Boot {
        Boot::NEVER.after(Duration::from_secs(seconds))
    }

    fn ask(offer: Option<&Offer>, beat: u64, now: u64) -> Answer<'_> {
        let after = Position {
            beat,
            ..Position::default()
        };
        answer(
            offer,
            Poll {
                after,
                arrived: seconds(100),
            },
            seconds(now),
            Duration::ZERO,
        )
    }

    #[test]
    fn news_come_with_what_was_held_and_what_remains() {
        let offer = offer(2, 130);
        let Answer::Reply(reply) = ask(Some(&offer), 1, 105) else {
            panic!("no reply")
        };
        assert_eq!((reply.held.as_secs(), reply.remaining.as_secs()), (5, 25));
    }

    #[test]
    fn what_is_known_or_nearly_over_is_not_handed_out() {
        let waiting = Answer::Wait(seconds(125));
        assert_eq!(ask(Some(&offer(2, 130)), 2, 105), waiting);
        assert_eq!(ask(Some(&offer(2, 130)), 1, 130), Answer::Quiet);
        assert_eq!(
            ask(Some(&offer(2, 106)), 1, 105),
            ask(Some(&offer(2, 106)), 1, 105)
        );
        let over = Offer {
            until: seconds(106).before(Duration::from_nanos(1)),
            ..offer(2, 0)
        };
        assert_eq!(ask(Some(&over), 1, 105), waiting);
        assert_eq!(ask(None, 0, 105), waiting);
    }

    #[test]
    fn no_poll_is_held_longer_than_it_may() {
        assert_eq!(ask(None, 0, 124), Answer::Wait(seconds(125)));
        assert_eq!(ask(None, 0, 125), Answer::Quiet);
    }
}
