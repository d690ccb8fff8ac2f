//! What OpenSM answers, asked on behalf of our clients.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fastpath::port::PortError;
use sa_wire::umad::Slot;

use super::super::opensm::{Answer, Link, belongs_to_opensm};
use super::port::Port;

/// Requests that may wait for OpenSM.
const MOST: usize = 1024;

/// After so long nobody waits for a reply any more: clients have asked again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The requests that OpenSM has.
pub(in crate::server) struct Owner {
    link: Arc<Link>,
    to: Sender<Answer>,
    answers: Receiver<Answer>,
    /// By number, which grows with time.
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    port: usize,
    request: Slot,
    until: Duration,
}

impl Owner {
    pub(in crate::server) fn new(link: Arc<Link>) -> Self {
        let (to, answers) = bounded(MOST);
        Self {
            link,
            to,
            answers,
            waiting: BTreeMap::new(),
        }
    }

    /// True for requests that [`Self::ask`] is for.
    pub(super) fn serves(request: &Slot) -> bool {
        belongs_to_opensm(request)
    }

    /// Has OpenSM answer it. Silence, where OpenSM is away or has too much to do.
    pub(super) fn ask(&mut self, port: usize, request: &Slot, now: Duration) {
        if self.waiting.len() >= MOST {
            return;
        }
        if let Some(number) = self.link.ask(request, &self.to) {
            self.waiting.insert(
                number,
                Waiting {
                    port,
                    request: *request,
                    until: now + PATIENCE,
                },
            );
        }
    }

    /// Sends the replies that have come. Gives what became of each.
    pub(super) fn settle(
        &mut self,
        ports: &mut [Port],
        now: Duration,
    ) -> Vec<Result<(), PortError>> {
        let mut sent = Vec::new();
        while let Ok((number, reply)) = self.answers.try_recv() {
            if let Some(waiting) = self.waiting.remove(&number)
                && let Some(port) = ports.get_mut(waiting.port)
            {
                sent.push(port.send(&waiting.request, reply, now));
            }
        }
        while let Some(oldest) = self.waiting.first_entry()
            && oldest.get().until < now
        {
            self.link.forget(*oldest.key());
            oldest.remove();
        }
        sent
    }
}
