//! The agent's rules: which message of a datagram is answered, with what, and which never is.
//!
//! Nothing here opens a socket or reads a clock. What is asked goes to a [`Resolver`]; what is to
//! be sent is collected in [`Replies`]. So the same rules run against a kernel, the emulator and a
//! fuzzer.
//!
//! | heard | answer |
//! |---|---|
//! | RESOLVE with a destination | records, or F_ERR |
//! | RESOLVE without one, damaged, or with what must be understood and is not | F_ERR |
//! | IP_RESOLVE | a GID, or F_ERR |
//! | another operation of this client | F_ERR |
//! | no request, another client, another sender | nothing |
//! | acknowledgement | nothing |
//!
//! F_ERR is the flag 0x0100 on a message without attributes. On it the kernel sends its request to
//! the SA at once. The proposal of 2015 used the same bit for success, which is why its codec is
//! never spoken to a kernel.
//!
//! Two promises follow, and the property tests of `kernel-emulator` hold them: a well-formed
//! question never meets silence, and a success always has a record that this query takes. The
//! kernel compares nothing of it with the question, so a wrong record is believed.

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

/// What a resolver says to a question. It decides when the kernel is answered, never in which
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The records are the answer.
    Resolved,
    /// It will be answered by [`Agent::finish`], within the resolver's own deadline. Whoever says
    /// this must keep `seq` and `path_use` of the question; the agent keeps nothing.
    Later,
    /// The kernel shall ask the SA.
    Unresolved(Reason),
}

/// Who knows the paths. The agent trusts it with the content of a record, and not with the form of
/// a reply.
pub trait Resolver {
    /// Puts up to three records into `records`, which is empty before, the main one first.
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict;

    /// The GID behind an IP address. Errors: why it is unknown.
    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason>;
}

/// The kernel refused a message of ours by NLMSG_ERROR, mostly EPERM where CAP_NET_ADMIN is
/// missing. It is no answer to anybody: it is for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// nlmsg_seq of that message.
    pub seq: u32,
    /// errno, positive.
    pub errno: i32,
}

/// Hears datagrams, asks its resolver, and writes replies. It has no memory of questions; those
/// that were put off are the resolver's.
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

    /// The last refusal of a message of ours, once. Earlier ones that nobody took are lost, but
    /// counted.
    pub const fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Handles a datagram whose sender has this netlink address (`nl_pid`; 0 is the kernel's).
    /// Replies are added to `out`; they go to the kernel, never to the group. Total: any bytes.
    pub fn turn(&mut self, datagram: &[u8], sender_pid: u32, out: &mut Replies) {
        // Only the kernel has address 0. Any process with CAP_NET_ADMIN can write to this socket,
        // and an ibacm beside us sends its replies to the whole group.
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

    /// One message. What each kind means was decided by the parser, which is total; here it only
    /// gets its counter and its reply.
    fn hear(&mut self, message: Heard<'_>, out: &mut Replies) {
        match message {
            Heard::Question(Question::Resolve(question)) => self.resolve(&question, out),
            Heard::Question(Question::IpResolve(question)) => self.ip_resolve(&question, out),
            Heard::Malformed { kind, seq, why } => self.refuse(kind, seq, reason_of(why), out),
            Heard::Ack { seq, code } => self.acknowledged(seq, code),
            Heard::NotForUs(_) => self.counters.count(Counted::Ignored),
        }
    }

    /// A question for a path: refused, put off or answered.
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

    /// Writes the records, or a refusal where the kernel would take none of them: a success without
    /// a record that counts fails the query for good, with no way back to the SA. All successes
    /// pass through here.
    fn answer(
        &self,
        seq: u32,
        path_use: PathUse,
        answer: Result<&Records, Reason>,
        out: &mut Replies,
    ) {
        // Judged again though the resolver said "resolved": one forgotten flag would break
        // connections, and the check is three comparisons.
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

    /// A question for the GID behind an IP address beyond a router. The kernel ignores a refusal of
    /// these in silence; it is sent all the same, for kernels that may not.
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

    /// Counts the reason and tells the kernel to ask the SA. No reason goes into the message: the
    /// protocol has no place for one.
    fn refuse(&self, kind: u16, seq: u32, reason: Reason, out: &mut Replies) {
        self.counters.refused(reason);
        if out.add(|room| write_error(room, kind, seq)).is_err() {
            self.counters.count(Counted::Unwritten);
        }
    }

    /// The kernel's word on a message of ours.
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

/// What the parser found, in the words of the counters. What this agent is too old to understand is
/// apart from what is damaged: the first calls for an update.
const fn reason_of(why: Malformed) -> Reason {
    match why {
        Malformed::Operation(_) | Malformed::UnknownMandatory(_) => Reason::Unsupported,
        Malformed::Empty => Reason::NoDestination,
        _ => Reason::Malformed,
    }
}
