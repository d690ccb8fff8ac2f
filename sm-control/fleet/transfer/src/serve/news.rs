//! A poll: kept until there is news.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use tokio::time::Instant;

use super::Desk;
use super::board::Offer;
use super::reply::{Refusal, Reply};
use crate::boot;
use crate::position::Position;

/// Answers when there is something newer than `after`, or when the time is over.
pub(super) async fn answer(desk: &Desk, prefix: u64, after: Option<Position>) -> Response<Reply> {
    let Some(mut board) = desk.board.watch(prefix) else {
        desk.counts.refused.fetch_add(1, Ordering::Relaxed);
        return Refusal {
            status: StatusCode::NOT_FOUND,
            words: "no such subnet is announced here\n",
        }
        .into_response();
    };
    let came = boot::now();
    let until = Instant::now() + desk.limits.wait;
    let mut waiting = None;
    let offer = loop {
        // Marked as seen before it is judged: what comes in between wakes the wait below.
        let offer = board.borrow_and_update().clone();
        let is_news = |offer: &Offer| after.is_none_or(|after| offer.position > after);
        if let Some(offer) = offer.filter(is_news)
            && let Some(remaining) = offer.remaining(boot::now())
        {
            break Some((offer, remaining));
        }
        waiting.get_or_insert_with(|| desk.gate.waiting());
        match tokio::time::timeout_at(until, board.changed()).await {
            Ok(Ok(())) => {}
            // The time is over; or the board has gone, with the process.
            Err(_) | Ok(Err(_)) => break None,
        }
    };
    drop(waiting);
    match offer {
        Some((offer, remaining)) => {
            desk.counts.news.fetch_add(1, Ordering::Relaxed);
            news(offer, boot::now().saturating_sub(came), remaining)
        }
        None => {
            desk.counts.no_news.fetch_add(1, Ordering::Relaxed);
            Reply::head(StatusCode::NO_CONTENT, Reply::empty())
        }
    }
}

fn news(offer: Offer, held: Duration, remaining: Duration) -> Response<Reply> {
    let mut response = Reply::head(StatusCode::OK, Reply::bytes(offer.bytes));
    let headers = response.headers_mut();
    // Down to whole milliseconds: who believes it for a moment less is right.
    let milliseconds =
        |time: Duration| HeaderValue::from(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    headers.insert("sapphire-held", milliseconds(held));
    headers.insert("sapphire-remaining", milliseconds(remaining));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}
