//! The agent's rules: which message of a datagram is answered, with what, and which never is.
//!
//! Nothing here opens a socket or reads a clock. What is asked goes to a [`Resolver`]; what is to be
//! sent is collected in [`Replies`]. A request is always answered, by records or by a refusal, after
//! which the kernel asks the SA; what is no request of the kernel's is never answered.

mod counters;
mod reason;
mod records;
mod replies;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sa_wire::Gid;
use sa_wire::netlink_ls::{
    Heard, IpResolve, Malformed, PathUse, Question, Resolve, heard, kind, write_error, write_gid,
    write_records,
};

pub use self::counters::{Counted, Counters};
pub use self::reason::Reason;
pub use self::records::{Full, Records};
pub use self::replies::Replies;

/// What a resolver says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The records are the answer.
    Resolved,
    /// It will be answered by [`Agent::finish`], within the resolver's own deadline.
    Later,
    /// The kernel shall ask the SA.
    Unresolved(Reason),
}

/// Who knows the paths.
pub trait Resolver {
    /// Puts up to three records into `records`, which is empty before, the main one first.
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict;

    /// The GID behind an IP address. Errors: why it is unknown.
    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason>;
}

/// The kernel refused a message of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// nlmsg_seq of that message.
    pub seq: u32,
    /// errno, positive.
    pub errno: i32,
}

/// Hears datagrams, asks its resolver, and writes replies.
#[derive(Debug)]
pub struct Agent<R> {
    resolver: R,
    counters: Arc<Counters>,
    refusal: Option<Refusal>,
}

impl<R: Resolver> Agent<R> {
    /// Asks this resolver.
    pub fn new(resolver: R) -> Self {
        Self {
            resolver,
            counters: Arc::default(),
            refusal: None,
        }
    }

    /// Who knows the paths.
    pub const fn resolver(&mut self) -> &mut R {
        &mut self.resolver
    }

    /// What was heard and answered; shared, so that others can read it.
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The last refusal of a message of ours, once.
    pub const fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Handles a datagram whose sender has this netlink address (`nl_pid`; 0 is the kernel's).
    /// Replies are added to `out`; they go to the kernel, never to the group. Total: any bytes.
    pub fn turn(&mut self, datagram: &[u8], sender_pid: u32, out: &mut Replies) {
        if sender_pid != 0 {
            self.counters.count(Counted::Foreign);
            return;
        }
        for message in heard(datagram) {
            self.hear(message, out);
        }
    }

    /// Answers a question that was put off.
    pub fn finish(
        &mut self,
        seq: u32,
        path_use: PathUse,
        answer: Result<&Records, Reason>,
        out: &mut Replies,
    ) {
        self.answer(seq, path_use, answer, out);
    }

    fn hear(&mut self, message: Heard<'_>, out: &mut Replies) {
        match message {
            Heard::Question(Question::Resolve(question)) => self.resolve(&question, out),
            Heard::Question(Question::IpResolve(question)) => self.ip_resolve(&question, out),
            Heard::Malformed { kind, seq, why } => self.refuse(kind, seq, reason_of(why), out),
            Heard::Ack { seq, code } => self.acknowledged(seq, code),
            Heard::NotForUs(_) => self.counters.count(Counted::Ignored),
        }
    }

    fn resolve(&mut self, question: &Resolve<'_>, out: &mut Replies) {
        // Without a destination the SA would list the whole subnet.
        if question.dgid.is_none() {
            return self.refuse(kind::RESOLVE, question.seq, Reason::NoDestination, out);
        }
        let mut records = Records::new();
        let answer = match self.resolver.resolve(question, &mut records) {
            Verdict::Later => return self.counters.count(Counted::Later),
            Verdict::Resolved => Ok(&records),
            Verdict::Unresolved(reason) => Err(reason),
        };
        self.answer(question.seq, question.path_use, answer, out);
    }

    /// A success without a record that the kernel takes would fail the query for good.
    fn answer(
        &self,
        seq: u32,
        path_use: PathUse,
        answer: Result<&Records, Reason>,
        out: &mut Replies,
    ) {
        let records = answer.and_then(|it| it.taken_by(path_use).ok_or(Reason::NoRecord));
        let written = records.and_then(|records| {
            let written = out.add(|room| write_records(room, seq, records));
            written.map_err(|_| Reason::NoRecord)
        });
        match written {
            Ok(()) => self.counters.count(Counted::Resolved),
            Err(reason) => self.refuse(kind::RESOLVE, seq, reason, out),
        }
    }

    fn ip_resolve(&mut self, question: &IpResolve, out: &mut Replies) {
        let seq = question.seq;
        let written = self.resolver.gid_of(question).and_then(|gid| {
            let written = out.add(|room| write_gid(room, seq, gid));
            written.map_err(|_| Reason::NoRecord)
        });
        match written {
            Ok(()) => self.counters.count(Counted::ResolvedAddress),
            Err(reason) => self.refuse(kind::IP_RESOLVE, seq, reason, out),
        }
    }

    fn refuse(&self, kind: u16, seq: u32, reason: Reason, out: &mut Replies) {
        self.counters.refused(reason);
        if out.add(|room| write_error(room, kind, seq)).is_err() {
            self.counters.count(Counted::Unwritten);
        }
    }

    fn acknowledged(&mut self, seq: u32, code: i32) {
        // Kernels before 5.6 confirm with a length.
        if code >= 0 {
            return self.counters.count(Counted::Acknowledged);
        }
        self.counters.count(Counted::AcknowledgedRefused);
        self.refusal = Some(Refusal {
            seq,
            errno: code.saturating_abs(),
        });
    }
}

const fn reason_of(why: Malformed) -> Reason {
    match why {
        Malformed::Operation(_) | Malformed::UnknownMandatory(_) => Reason::Unsupported,
        Malformed::Empty => Reason::NoDestination,
        _ => Reason::Malformed,
    }
}
