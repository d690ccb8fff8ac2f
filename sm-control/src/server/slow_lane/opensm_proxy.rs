//! What OpenSM answers, asked on behalf of our clients.
//!
//! Beside an OpenSM the reads are ours and what clients set is OpenSM's. Requests for that are
//! handed to it over its socket as if they had come to its own port, and its replies leave by ours,
//! so that a client cannot tell. The thread does not wait: a reply that comes is matched by its
//! number, and a request that is not answered in a few seconds is forgotten, as its client has
//! asked again.
//!
//! ```text
//!  client ──Get MCMemberRecord──> worker ──punt──> here ──Request(n)──> OpenSM
//!  client <──────────────────────── port <──────── here <──Reply(n)──── OpenSM
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_port::PortError;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use super::super::opensm::{Answer, Link};
use super::port::Port;

/// Requests that may wait for OpenSM.
const MOST: usize = 1024;

/// After so long nobody waits for a reply any more: clients have asked again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The requests that OpenSM has, and where its replies come in.
pub(in crate::server) struct OpenSmProxy {
    link: Arc<Link>,
    to: Sender<Answer>,
    answers: Receiver<Answer>,
    /// By number, which grows with time.
    waiting: BTreeMap<u64, Waiting>,
}

/// A request that OpenSM has.
struct Waiting {
    port: usize,
    request: Slot,
    /// By the lane's clock.
    until: Duration,
}

impl OpenSmProxy {
    /// Nothing asked yet.
    pub(in crate::server) fn new(link: Arc<Link>) -> Self {
        let (to, answers) = bounded(MOST);
        Self {
            link,
            to,
            answers,
            waiting: BTreeMap::new(),
        }
    }

    /// True for requests that [`Self::ask`] is for: OpenSM's own, by their attribute.
    pub(super) fn serves(request: &Slot) -> bool {
        belongs_to_opensm(request)
    }

    /// Has OpenSM answer it. Silence, where OpenSM is away or has too much to do: its client asks
    /// again.
    pub(super) fn ask(&mut self, port: usize, request: &Slot, now: Duration) {
        // Judged before OpenSM is asked: work whose answer would find nobody is not begun.
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

    /// Sends the replies that have come, and forgets requests that were not answered in time. Gives
    /// what became of each reply.
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
            // Numbers grow with time, so the first that is not over ends the search.
            && oldest.get().until < now
        {
            self.link.forget(*oldest.key());
            oldest.remove();
        }
        sent
    }
}

/// What OpenSM alone knows, or is the one to keep: what clients have set.
fn belongs_to_opensm(request: &Slot) -> bool {
    let mad = SaMad::from_bytes(&request.mad);
    match mad.attribute_id() {
        AttributeId::MC_MEMBER_RECORD
        | AttributeId::SERVICE_RECORD
        | AttributeId::INFORM_INFO_RECORD
        | AttributeId::GUID_INFO_RECORD
        | AttributeId::SM_INFO_RECORD => true,
        AttributeId::PATH_RECORD => {
            let mask = PathCompMask(mad.sa.component_mask.get());
            let record = PathRecord::ref_from_prefix(&mad.data);
            let is_group = record.is_ok_and(|(record, _)| record.dgid().is_multicast());
            // A group's parameters are OpenSM's; the snapshot has those of `partitions.conf` at
            // most.
            mask.has(PathCompMask::DGID) && is_group
        }
        _ => false,
    }
}
