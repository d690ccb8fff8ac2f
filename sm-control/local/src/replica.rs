//! Answers from the snapshot in service here.
//!
//! A question becomes the Get(PathRecord) that the kernel would send, and the engine of the fast
//! path answers it in place, as a worker of the SA does. So an answer here is the SA's answer by
//! construction. What the engine punts, such as alias GUIDs and paths beyond a router, goes to the
//! functions of the slow lane, in this thread.
//!
//! Before that comes the one thing that an SA need not ask itself: is this snapshot true of the
//! fabric that the port is in *now*? It is when
//!
//! 1. the port is active,
//! 2. the snapshot knows its LID, and as the LID of this very GUID,
//! 3. no other SM has come since the sources of the snapshot were read, and
//! 4. with `follow_sa`, the SA serves a snapshot with the same digest,
//! 5. where the host follows a fleet, the [`Gate`] is open for its generation.
//!
//! Else the kernel is told to ask the SA ([`Reason::Stale`]).

use std::sync::Arc;
use std::time::Instant;

use sa_answer::whole;
use sa_answer::{Outcome, answer};
use sa_fastpath::gate::Gate;
use sa_fastpath::publish::{Published, Reader};
use sa_wire::netlink_ls::{IpResolve, Resolve};
use sa_wire::path_record::PathRecord;
use sa_wire::umad::Slot;
use sa_wire::{Gid, Lid};

use super::addresses::Addresses;
use super::agent::{Reason, Records, Resolver, Verdict};
use super::far;
use super::origin::Origin;
use super::request::{path_get, record_in, record_of};
use super::watch::Seen;
use super::{Late, Paths};
use crate::options::FarSubnet;

/// Resolves by the snapshot in service, where it is that of the fabric the port is in now. It
/// answers at once or not at all: nothing is put off, and nothing is kept.
pub struct Replica {
    /// Its view of the publisher's slot. Refreshed for each question; the publisher frees no
    /// snapshot that this one still holds.
    reader: Reader,
    origin: Box<dyn Origin>,
    addresses: Addresses,
    far: Vec<FarSubnet>,
    /// As of the last look.
    ports: Vec<Seen>,
    /// Whether the SA has to serve the same snapshot.
    follow_sa: bool,
    /// Of the fleet that this host follows.
    gate: Option<Arc<Gate>>,
}

impl Replica {
    /// Without ports until it is told of some: until then every question is refused.
    pub fn new(
        reader: Reader,
        origin: Box<dyn Origin>,
        addresses: Addresses,
        far: Vec<FarSubnet>,
        follow_sa: bool,
    ) -> Self {
        Self {
            reader,
            origin,
            addresses,
            far,
            ports: Vec::new(),
            follow_sa,
            gate: None,
        }
    }

    /// The same, which sends the kernel to the SA unless `gate` is open for the snapshot in service. None: of no fleet.
    #[must_use]
    pub fn gated_by(self, gate: Option<Arc<Gate>>) -> Self {
        Self { gate, ..self }
    }

    /// The record for a question. Errors: the first of the reasons that applies, in the order
    /// unknown port, no snapshot, stale, a question that no MAD can say, no path.
    fn find(&mut self, question: &Resolve<'_>) -> Result<PathRecord, Reason> {
        // A host has a handful of ports, so a list is searched faster than a map.
        let meant = |seen: &&Seen| seen.port.is_meant(question);
        let seen = self.ports.iter().find(meant).ok_or(Reason::UnknownPort)?;
        let published = self.reader.refresh().ok_or(Reason::NoSnapshot)?;
        let read_at = self.origin.read_at(published.epoch);
        if !fits(seen, published, read_at) || self.follow_sa && !follows(seen, published) {
            return Err(Reason::Stale);
        }
        // Last, as it may shut by itself at any moment.
        if let Some(gate) = &self.gate
            && !gate.may_answer(published.generation)
        {
            return Err(Reason::Stale);
        }
        let request = path_get(seen.port.lid, question)?;
        // The engine writes its reply over the request; the slow functions need the request as it
        // was.
        let mut slot = request;
        match answer(&published.snapshot, &mut slot) {
            Outcome::Answered(_) => record_in(&slot),
            Outcome::Punt(_) => slowly(published, &request),
            Outcome::Refused(..) | Outcome::Dropped(_) => Err(Reason::NoPath),
        }
    }
}

/// Answers as the slow lane does: alias GUIDs, and what is beyond a router. Allocates.
fn slowly(published: &Published, request: &Slot) -> Result<PathRecord, Reason> {
    let reply = whole::respond(&published.snapshot, request);
    record_of(&reply.ok_or(Reason::NoPath)?)
}

impl Resolver for Replica {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        match self.find(question) {
            Ok(record) => {
                far::fill(records, question.path_use, record, &self.far);
                Verdict::Resolved
            }
            Err(reason) => Verdict::Unresolved(reason),
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.addresses.resolve(question)
    }
}

impl Paths for Replica {
    fn look(&mut self, ports: &[Seen]) {
        self.ports = ports.to_vec();
    }

    fn late(&mut self, _: Instant) -> Vec<Late> {
        Vec::new()
    }

    fn next(&self) -> Option<Instant> {
        None
    }

    fn kept(&self) -> usize {
        0
    }
}

/// Whether the snapshot describes the fabric as the port is in it: the LID is that of this port,
/// and no other SM, which could have given other LIDs, has come since its sources were read. A
/// snapshot of unknown age fits nothing.
fn fits(seen: &Seen, published: &Published, read_at: Option<Instant>) -> bool {
    let port = &seen.port;
    let lid = Lid::raw(port.lid);
    let known = published.snapshot.port_by_lid(lid);
    let guid = known.map(|known| published.snapshot.port(known).guid);
    let by_this_sm = read_at.is_some_and(|read| seen.sm_since.is_none_or(|since| since <= read));
    // The GUID too: after a renumbering the LID may belong to another port of the old fabric.
    port.is_active && by_this_sm && guid == Some(port.gid.interface_id().to_be_bytes())
}

/// Whether the SA said last that it serves this very snapshot. An SA that says nothing is not
/// followed: better one request to the SA than an answer of another generation.
fn follows(seen: &Seen, published: &Published) -> bool {
    let served = seen.served.map(|served| served.digest);
    served == Some(published.snapshot.public_digest())
}
