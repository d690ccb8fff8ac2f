//! A poll: kept until there is news. What is news, and how long a poll is kept, says `sa_fleet::offer`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use sa_fleet::identity::Position;
use sa_fleet::offer::{self, Answer, Poll, Reply as News};

use super::Desk;
use super::reply::{Refusal, Reply};
use crate::clocks;

/// Answers when there is something newer than `after`, or when the time is over.
pub(super) async fn answer(desk: &Desk, prefix: u64, after: Position) -> Response<Reply> {
    let Some(mut board) = desk.board.watch(prefix) else {
        desk.counts.refused.fetch_add(1, Ordering::Relaxed);
        return Refusal {
            status: StatusCode::NOT_FOUND,
            words: "no such subnet is announced here\n",
        }
        .into_response();
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
                drop(waiting);
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
    Reply::head(StatusCode::NO_CONTENT, Reply::empty())
}

fn of_news(news: &News<'_>) -> Response<Reply> {
    let bytes = Bytes::copy_from_slice(news.announcement);
    let mut response = Reply::head(StatusCode::OK, Reply::bytes(bytes));
    let headers = response.headers_mut();
    headers.insert("sapphire-held", milliseconds(news.held));
    headers.insert("sapphire-remaining", milliseconds(news.remaining));
    headers.insert("sapphire-spread", milliseconds(news.spread));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

/// Down to whole ones: of what remains a moment less is right, and what was held a moment less makes the deadline earlier, too.
fn milliseconds(time: Duration) -> HeaderValue {
    HeaderValue::from(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
