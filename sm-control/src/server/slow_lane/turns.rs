//! What waits for the slow lane, in the order in which it is looked at: requesters take turns, so
//! that one with a thousand requests delays another by one of them.
//!
//! The queue of the workers is emptied into here at each look, because it is in the order of
//! arrival and turns need to see who waits. What lies here still counts against the bounds of that
//! queue, by requester, until it is taken: a flood is refused where it comes in.
//!
//! ```text
//!  A: a1 a2 a3 a4    B: b1    C: c1 c2       short ones, in the order of arrival of each
//!  looked at:  a1 b1 c1 a2 c2 a3 a4          and after every 8 of them one table
//! ```

use std::collections::{HashMap, VecDeque};

use sa_fastpath::punt::{PuntReceiver, Punted, Requester, is_short};

/// After so many short requests a table has its turn, if one waits: short ones come first, but who
/// floods with them must not keep tables out.
const SHORT_RUN: usize = 8;

/// Requests by requester, of one kind. Each requester with some is once in the order.
#[derive(Debug, Default)]
struct Turns {
    waiting: HashMap<Requester, VecDeque<Punted>>,
    /// Whoever has some waiting, once.
    order: VecDeque<Requester>,
}

impl Turns {
    /// A requester that had none joins the order at its end.
    fn push(&mut self, who: Requester, punted: Punted) {
        let waiting = self.waiting.entry(who).or_default();
        if waiting.is_empty() {
            self.order.push_back(who);
        }
        waiting.push_back(punted);
    }

    /// The oldest request of whose turn it is.
    fn next(&mut self) -> Option<(Requester, Punted)> {
        let who = self.order.pop_front()?;
        let waiting = self.waiting.get_mut(&who)?;
        let punted = waiting.pop_front()?;
        if waiting.is_empty() {
            // Who has nothing waiting is forgotten, so the map is as large as the queue at most.
            self.waiting.remove(&who);
        } else {
            self.order.push_back(who);
        }
        Some((who, punted))
    }

    /// True when another than this one waits.
    fn others(&self, who: Requester) -> bool {
        self.order.len() > usize::from(self.waiting.contains_key(&who))
    }
}

/// What workers gave away and was not looked at yet. Bounded as their queue is: what lies here
/// counts there.
pub(super) struct Backlog {
    punted: PuntReceiver,
    short: Turns,
    long: Turns,
    /// Short ones since the last table.
    run: usize,
}

impl Backlog {
    /// Takes the only receiving end of the workers' queue.
    pub(super) fn new(punted: PuntReceiver) -> Self {
        Self {
            punted,
            short: Turns::default(),
            long: Turns::default(),
            run: 0,
        }
    }

    /// The next request and who sent it: a short one, unless it is a table's turn. O(1) but for
    /// what has just come.
    pub(super) fn next(&mut self) -> Option<(Requester, Punted)> {
        while let Some(punted) = self.punted.take() {
            let who = self.punted.requester(&punted);
            match is_short(&punted.request) {
                true => self.short.push(who, punted),
                false => self.long.push(who, punted),
            }
        }
        let is_tables_turn = self.run >= SHORT_RUN;
        let table = if is_tables_turn {
            self.long.next()
        } else {
            None
        };
        let next = match table {
            Some(table) => Some(table),
            None => self.short.next().inspect(|_| self.run += 1),
        };
        let next = next.or_else(|| self.long.next())?;
        if !is_short(&next.1.request) {
            self.run = 0;
        }
        // Only now its place in the queue is free again.
        self.punted.done(&next.1);
        Some(next)
    }

    /// True when somebody else has requests here.
    pub(super) fn others(&self, who: Requester) -> bool {
        self.short.others(who) || self.long.others(who)
    }
}

#[cfg(test)]
mod tests {
    use sa_fastpath::punt::punt_queue;
    use sa_wire::mad::method;
    use sa_wire::umad::Slot;

    use super::*;

    const fn from(port: usize, who: u32) -> Requester {
        Requester { port, who }
    }

    fn punted(asked: u8, lid: u32) -> Punted {
        let mut request = Slot::EMPTY;
        request.mad[3] = asked;
        Punted {
            port: 0,
            at: std::time::Instant::now(),
            request: {
                request.header.timeout_ms = lid;
                request
            },
        }
    }

    /// Who is next, time after time.
    fn order(backlog: &mut Backlog) -> Vec<(u8, u32)> {
        let all = core::iter::from_fn(|| backlog.next());
        all.map(|(who, punted)| (punted.request.mad[3], who.who))
            .collect()
    }

    #[test]
    fn requesters_take_turns_whoever_has_how_many() {
        let mut turns = Turns::default();
        for _ in 0..3 {
            turns.push(from(0, 1), punted(method::GET_TABLE, 1));
        }
        turns.push(from(0, 2), punted(method::GET_TABLE, 2));
        turns.push(from(1, 1), punted(method::GET_TABLE, 1));
        assert!(turns.others(from(0, 1)) && turns.others(from(9, 9)));
        let order: Vec<Requester> = core::iter::from_fn(|| turns.next())
            .map(|(who, _)| who)
            .collect();
        let expected = [from(0, 1), from(0, 2), from(1, 1), from(0, 1), from(0, 1)];
        assert_eq!(order, expected);
        assert!(turns.waiting.is_empty() && turns.order.is_empty());
        turns.push(from(0, 1), punted(method::GET_TABLE, 1));
        assert!(!turns.others(from(0, 1)));
    }

    #[test]
    fn short_requests_come_first_and_do_not_keep_tables_out() {
        let (receiver, _sender) = punt_queue(4);
        let mut backlog = Backlog::new(receiver);
        for _ in 0..20 {
            backlog.short.push(from(0, 1), punted(method::GET, 1));
        }
        for _ in 0..2 {
            backlog.long.push(from(0, 2), punted(method::GET_TABLE, 2));
        }
        let order = order(&mut backlog);
        let tables: Vec<usize> = (0..order.len())
            .filter(|at| order[*at].0 == method::GET_TABLE)
            .collect();
        assert_eq!(tables, [SHORT_RUN, 2 * SHORT_RUN + 1]);
        assert_eq!(order.len(), 22);
    }
}
