//! A poll: kept until there is news. What is news, and how long a poll is kept, says
//! `sa_fleet::offer`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sa_fleet::identity::Position;
use sa_fleet::offer::{self, Answer, Poll, Reply as News};

use super::Desk;
use super::reply::{NO_CONTENT, NOT_FOUND, OK, Refusal, Reply};
use crate::clocks;

/// Answers when there is something newer than `after`, or when the time is over.
pub(super) async fn answer(desk: &Desk, prefix: u64, after: Position) -> Reply {
    let Some(mut board) = desk.board.watch(prefix) else {
        desk.counts.refused.fetch_add(1, Ordering::Relaxed);
        return Refusal {
            status: NOT_FOUND,
            words: "no such subnet is announced here\n",
        }
        .into_reply();
    };
    let poll = Poll {
        after,
        arrived: clocks::now(),
    };
    let mut waiting = None;
    loop {
        // Marked as seen before it is judged: what comes in between wakes the wait below.
        let newest = board.borrow_and_update().clone();
        let now = clocks::now();
        let until = match offer::answer(newest.as_ref(), poll, now, desk.spread()) {
            Answer::Reply(news) => {
                desk.counts.news.fetch_add(1, Ordering::Relaxed);
                return of_news(&news);
            }
            Answer::Quiet => break,
            Answer::Wait(until) => until.min(poll.arrived.after(desk.limits.hold)),
        };
        if until <= now {
            break;
        }
        waiting.get_or_insert_with(|| desk.gate.waiting());
        match tokio::time::timeout(until.since(now), board.changed()).await {
            Ok(Ok(())) | Err(_) => {}
            // The board has gone, with the process.
            Ok(Err(_)) => break,
        }
    }
    desk.counts.no_news.fetch_add(1, Ordering::Relaxed);
    Reply::new(NO_CONTENT, 0, &[])
}

/// The reply: bytes as they were signed, and in fields what only the sender knows of them.
fn of_news(news: &News<'_>) -> Reply {
    let fields = [
        ("sapphire-held", milliseconds(news.held)),
        ("sapphire-remaining", milliseconds(news.remaining)),
        ("sapphire-spread", milliseconds(news.spread)),
        ("cache-control", "no-store".to_owned()),
    ];
    Reply::with_body(OK, news.announcement, &fields)
}

/// Down to whole ones: of what remains a moment less is right, and what was held a moment less
/// makes the deadline earlier, too.
fn milliseconds(time: Duration) -> String {
    time.as_millis().to_string()
}
