use sa_wire::netlink_ls::kernel::{Answer, read_answer, write_resolve};
use sa_wire::netlink_ls::{Message, Messages, PathFlags};
use sa_wire::path_record::PathRecord;

use super::*;

/// Says what it is told to say.
struct Says(Verdict, Vec<PathFlags>);

impl Resolver for Says {
    fn resolve(&mut self, _: &Resolve<'_>, records: &mut Records) -> Verdict {
        for flags in &self.1 {
            records.push(*flags, PathRecord::default()).unwrap();
        }
        self.0
    }

    fn gid_of(&mut self, _: &IpResolve) -> Result<Gid, Reason> {
        Err(Reason::UnknownAddress)
    }
}

fn question() -> Resolve<'static> {
    Resolve {
        seq: 7,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::Gmp,
        service_id: None,
        dgid: Some(Gid([1; 16])),
        sgid: None,
        tclass: None,
        pkey: None,
        qos_class: None,
    }
}

fn ask(question: &Resolve<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 200];
    let length = write_resolve(&mut bytes, question).unwrap();
    bytes.truncate(length);
    bytes
}

fn only(replies: &Replies) -> Message<'_> {
    let mut messages = Messages::new(replies.as_bytes());
    let first = messages.next().unwrap().unwrap();
    assert_eq!(messages.next(), None);
    first
}

fn kernel_makes_of(verdict: Verdict, flags: &[PathFlags]) -> Answer {
    let mut agent = Agent::new(Says(verdict, flags.to_vec()));
    let mut out = Replies::new();
    agent.turn(&ask(&question()), 0, &mut out);
    read_answer(&only(&out), PathFlags::mask(PathUse::Gmp), 3)
}

#[test]
fn no_success_without_a_record_that_counts() {
    let good = PathFlags::for_main(PathUse::Gmp);
    assert!(matches!(
        kernel_makes_of(Verdict::Resolved, &[good]),
        Answer::Taken(_)
    ));
    for flags in [vec![], vec![PathFlags::PRIMARY], vec![PathFlags(0); 3]] {
        assert_eq!(
            kernel_makes_of(Verdict::Resolved, &flags),
            Answer::AskSa,
            "{flags:?}"
        );
    }
    let refused = Verdict::Unresolved(Reason::NoPath);
    assert_eq!(kernel_makes_of(refused, &[good]), Answer::AskSa);
}

#[test]
fn others_are_never_answered() {
    let mut agent = Agent::new(Says(Verdict::Resolved, vec![PathFlags(0x2b)]));
    let mut out = Replies::new();
    agent.turn(&ask(&question()), 4711, &mut out);
    let mut no_request = ask(&question());
    no_request[6] = 0;
    agent.turn(&no_request, 0, &mut out);
    assert!(out.is_empty());
    assert_eq!(agent.counters().of(Counted::Foreign), 1);
    assert_eq!(agent.counters().of(Counted::Ignored), 1);
}

#[test]
fn a_question_put_off_is_answered_by_its_number() {
    let mut agent = Agent::new(Says(Verdict::Later, vec![]));
    let mut out = Replies::new();
    agent.turn(&ask(&question()), 0, &mut out);
    assert!(out.is_empty());
    let mut records = Records::new();
    records
        .push(PathFlags::for_main(PathUse::Gmp), PathRecord::default())
        .unwrap();
    agent.finish(7, PathUse::Gmp, Ok(&records), &mut out);
    agent.finish(8, PathUse::Gmp, Err(Reason::Budget), &mut out);
    let seqs: Vec<u32> = Messages::new(out.as_bytes())
        .map(|message| message.unwrap().header.seq)
        .collect();
    assert_eq!(seqs, [7, 8]);
    assert_eq!(agent.counters().refused_for(Reason::Budget), 1);
}

#[test]
fn a_fourth_record_is_refused() {
    let mut records = Records::new();
    for _ in 0..3 {
        records
            .push(PathFlags::PRIMARY, PathRecord::default())
            .unwrap();
    }
    assert_eq!(
        records.push(PathFlags::PRIMARY, PathRecord::default()),
        Err(Full)
    );
    assert_eq!(records.as_slice().len(), 3);
}

#[test]
fn datagrams_hold_whole_messages() {
    let mut agent = Agent::new(Says(Verdict::Unresolved(Reason::Stale), vec![]));
    let mut out = Replies::new();
    let two = [ask(&question()), ask(&question())].concat();
    agent.turn(&two, 0, &mut out);
    agent.turn(&two, 0, &mut out);
    assert_eq!(out.len(), 4);
    let lengths = |most| out.datagrams(most).map(<[u8]>::len).collect::<Vec<_>>();
    assert_eq!(lengths(1000), [64]);
    assert_eq!(lengths(48), [48, 16]);
    assert_eq!(lengths(1), [16; 4]);
    assert_eq!(out.messages().map(<[u8]>::len).collect::<Vec<_>>(), [16; 4]);
}

#[test]
fn the_kernels_refusals_of_our_messages_are_told_once() {
    let mut agent = Agent::new(Says(Verdict::Later, vec![]));
    let mut ours = [0; 64];
    let length = sa_wire::netlink_ls::write_set_timeout(&mut ours, 9, 300, true).unwrap();
    let ours = Messages::new(&ours[..length]).next().unwrap().unwrap();
    let mut refusal = [0; 64];
    let length = sa_wire::netlink_ls::kernel::write_ack(&mut refusal, &ours, -1).unwrap();
    let mut out = Replies::new();
    agent.turn(&refusal[..length], 0, &mut out);
    assert!(out.is_empty());
    assert_eq!(agent.take_refusal(), Some(Refusal { seq: 9, errno: 1 }));
    assert_eq!(agent.take_refusal(), None);
}
