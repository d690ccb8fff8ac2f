use std::time::Duration;

use proptest::prelude::*;
use sa_local::agent::{Agent, Counted, Reason, Records, Replies, Resolver, Verdict};
use sa_local::socket::{Channel, Received};
use sa_wire::netlink_ls::{
    Header, Heard, PathFlags, PathUse, heard, write_error, write_gid, write_records,
    write_set_timeout,
};
use sa_wire::path_record::PathRecord;
use sa_wire::{Gid, ServiceId};

use super::link::pair;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn query(path_use: PathUse) -> Resolve<'static> {
    Resolve {
        seq: 0,
        device: b"mlx5_0",
        port: 1,
        path_use,
        service_id: None,
        dgid: Some(Gid([1; 16])),
        sgid: Some(Gid([2; 16])),
        tclass: None,
        pkey: Some(0xffff),
        qos_class: None,
    }
}

fn records(seq: u32, flags: &[u32]) -> Vec<u8> {
    let records: Vec<_> = flags
        .iter()
        .map(|flags| (PathFlags(*flags), PathRecord::default()))
        .collect();
    let mut bytes = vec![0; 300];
    let length = write_records(&mut bytes, seq, &records).unwrap();
    bytes.truncate(length);
    bytes
}

fn word(flavour: Flavour, path_use: PathUse, reply: impl Fn(u32) -> Vec<u8>) -> &'static str {
    let now = Instant::now();
    let mut kernel = Kernel::new(flavour, Queue::default());
    let Asked::Waiting(seq) = kernel.ask(&query(path_use), now) else {
        panic!()
    };
    kernel.receive(&reply(seq), Sender::Privileged, now);
    kernel.tick(now + 2 * SECOND);
    kernel.finished().unwrap().outcome.word()
}

fn acks<L>(kernel: &mut Kernel<L>, mut next: impl FnMut(&mut L) -> Next) -> Vec<i32> {
    let mut codes = Vec::new();
    while let Next::Datagram(bytes) = next(&mut kernel.listener) {
        codes.extend(heard(&bytes).filter_map(|heard| match heard {
            Heard::Ack { code, .. } => Some(code),
            _ => None,
        }));
    }
    codes
}

#[test]
fn masks_differ_by_kernel() {
    use Flavour::{V4_3, V6_1, V6_3};
    let with = |flags: u32| move |seq| records(seq, &[flags]);
    assert_eq!(word(V6_1, PathUse::All, with(0x02)), "accepted");
    assert_eq!(word(V6_1, PathUse::Gmp, with(0x02)), "failed-eio");
    assert_eq!(word(V4_3, PathUse::All, with(0x02)), "failed-eio");
    assert_eq!(word(V6_3, PathUse::All, with(0x02)), "failed-route");
    for flavour in Flavour::ALL {
        for path_use in [PathUse::All, PathUse::Gmp, PathUse::Unidirectional] {
            assert_eq!(word(flavour, path_use, with(0x2b)), "accepted");
            let right = PathFlags::for_main(path_use).0;
            assert_eq!(word(flavour, path_use, with(right)), "accepted");
        }
        assert_eq!(
            word(flavour, PathUse::Unidirectional, with(0x02)),
            "failed-eio"
        );
    }
}

#[test]
fn three_records_are_taken_from_6_1_on() {
    for (flavour, taken) in [(Flavour::V4_3, 1), (Flavour::V6_1, 3), (Flavour::V6_3, 3)] {
        let now = Instant::now();
        let mut kernel = Kernel::new(flavour, Queue::default());
        let path_use = flavour.path_use(true);
        let Asked::Waiting(seq) = kernel.ask(&query(path_use), now) else {
            panic!()
        };
        let reply = records(seq, &[0x2b, 0x12, 0x0a]);
        kernel.receive(&reply, Sender::Privileged, now + millis(3));
        let finished = kernel.finished().unwrap();
        let Outcome::Accepted(records) = finished.outcome else {
            panic!()
        };
        assert_eq!(records.records().len(), taken);
        assert_eq!(finished.waited, millis(3));
    }
}

#[test]
fn deadlines_move_by_jiffies_and_values_are_clamped() {
    let start = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::default());
    let set = |kernel: &mut Kernel<Queue>, ms| {
        let mut bytes = [0; 24];
        write_set_timeout(&mut bytes, 1, ms, true).unwrap();
        kernel.receive(&bytes, Sender::Privileged, start);
    };
    for (asked, kept) in [(1, 100), (300_000, 200_000), (300, 300)] {
        set(&mut kernel, asked);
        assert_eq!(kernel.timeout_ms(), kept);
    }
    kernel.ask(&query(PathUse::All), start);
    assert_eq!(kernel.next_deadline(), Some(start + millis(300)));
    set(&mut kernel, 1000);
    assert_eq!(kernel.next_deadline(), Some(start + millis(3100)));
    kernel.tick(start + millis(3099));
    assert_eq!(kernel.finished(), None);
    kernel.tick(start + millis(3100));
    assert_eq!(kernel.finished().unwrap().outcome, Outcome::TimedOut);
}

#[test]
fn wrong_senders_and_operations_are_refused() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::default());
    let mut set = [0; 24];
    write_set_timeout(&mut set, 1, 500, true).unwrap();
    kernel.receive(&set, Sender::Unprivileged, now);
    set[6] = 0;
    kernel.receive(&set, Sender::Privileged, now);
    let mut unknown = [0; 16];
    write_error(&mut unknown, 0x1003, 1).unwrap();
    kernel.receive(&unknown, Sender::Privileged, now);
    // A reply that nobody waits for is swallowed.
    kernel.receive(&records(77, &[0x2b]), Sender::Privileged, now);
    assert_eq!(acks(&mut kernel, Queue::receive), [-1, -1, -22]);
    assert_eq!(kernel.timeout_ms(), 2000);
}

#[test]
fn old_kernels_confirm_everything() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V4_3, Queue::default());
    let reply = records(77, &[0x2b]);
    kernel.receive(&reply, Sender::Privileged, now);
    assert_eq!(acks(&mut kernel, Queue::receive), [92]);
}

#[test]
fn a_full_buffer_sends_queries_to_the_sa() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::new(2));
    let asked: Vec<Asked> = (0..3)
        .map(|_| kernel.ask(&query(PathUse::All), now))
        .collect();
    assert_eq!(asked, [Asked::Waiting(1), Asked::Waiting(2), Asked::NoRoom]);
    assert_eq!(kernel.waiting(), 2);
    assert_eq!(kernel.listener().receive(), Next::Overrun);
    assert!(matches!(kernel.listener().receive(), Next::Datagram(_)));
    kernel.listener().close();
    assert_eq!(kernel.ask(&query(PathUse::All), now), Asked::NobodyListens);
    let nothing = Resolve {
        dgid: None,
        sgid: None,
        pkey: None,
        ..query(PathUse::All)
    };
    assert_eq!(kernel.ask(&nothing, now), Asked::NothingToAsk);
}

#[test]
fn the_first_reply_wins_and_a_cancelled_query_is_the_clocks() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::default());
    kernel.ask(&query(PathUse::All), now);
    kernel.ask(&query(PathUse::All), now);
    kernel.cancel(2, now);
    let both = [records(1, &[0x2b]), records(1, &[0]), records(2, &[0x2b])].concat();
    kernel.receive(&both, Sender::Privileged, now);
    kernel.tick(now);
    let words: Vec<_> = core::iter::from_fn(|| kernel.finished())
        .map(|finished| (finished.seq, finished.outcome.word()))
        .collect();
    assert_eq!(words, [(1, "accepted"), (2, "cancelled")]);
}

#[test]
fn addresses_have_their_own_numbers() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::default());
    kernel.ask(&query(PathUse::All), now);
    let address = "10.20.0.5".parse().unwrap();
    assert_eq!(kernel.ask_ip(7, address, now), Asked::Waiting(1));
    let mut reply = [0; 36];
    write_gid(&mut reply, 1, Gid([7; 16])).unwrap();
    kernel.receive(&reply, Sender::Privileged, now);
    assert_eq!(
        kernel.finished().unwrap().outcome,
        Outcome::Gid(Gid([7; 16]))
    );
    kernel.receive(&reply, Sender::Privileged, now);
    assert_eq!((kernel.finished(), kernel.unknown_gids()), (None, 1));
    assert_eq!(kernel.waiting(), 1);
}

#[test]
fn numbers_wrap() {
    let now = Instant::now();
    let mut kernel = Kernel::new(Flavour::V6_1, Queue::default());
    kernel.continue_after(u32::MAX - 1);
    assert_eq!(
        kernel.ask(&query(PathUse::All), now),
        Asked::Waiting(u32::MAX)
    );
    assert_eq!(kernel.ask(&query(PathUse::All), now), Asked::Waiting(0));
}

/// Grants by the last byte of the DGID: some verdicts are wrong on purpose.
struct Fickle;

impl Resolver for Fickle {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        let [.., last] = question.dgid.unwrap_or(Gid([0; 16])).0;
        for at in 0..last % 5 {
            let flags = if at == 0 {
                PathFlags(u32::from(last))
            } else {
                PathFlags(0x0a)
            };
            let _ = records.push(flags, PathRecord::default());
        }
        if last & 0x80 == 0 {
            Verdict::Resolved
        } else {
            Verdict::Unresolved(Reason::NoPath)
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        if question.ifindex & 1 == 0 {
            Ok(Gid([9; 16]))
        } else {
            Err(Reason::UnknownAddress)
        }
    }
}

fn flavour() -> impl Strategy<Value = Flavour> {
    prop::sample::select(&Flavour::ALL[..])
}

prop_compose! {
    fn any_query()(
        path_use in prop::sample::select(vec![PathUse::All, PathUse::Gmp, PathUse::Unidirectional]),
        service_id: Option<u64>,
        dgid: Option<[u8; 16]>,
        sgid: Option<[u8; 16]>,
        tclass: Option<u8>,
        pkey: Option<u16>,
        qos_class: Option<u16>,
        port in 1..=u8::MAX,
    ) -> Resolve<'static> {
        Resolve {
            seq: 0,
            device: b"mlx5_0",
            port,
            path_use,
            service_id: service_id.map(ServiceId),
            dgid: dgid.map(Gid),
            sgid: sgid.map(Gid),
            tclass,
            pkey,
            qos_class,
        }
    }
}

/// Any message with a right length.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![0x1000..0x1006_u16, 0..16_u16, any::<u16>()];
    let body = prop::collection::vec(any::<u8>(), 0..120);
    (kind, any::<u16>(), any::<u32>(), body).prop_map(|(kind, flags, seq, mut body)| {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = u32::try_from(16 + body.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(seq.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes
    })
}

fn headers(bytes: &[u8]) -> Vec<Header> {
    Messages::new(bytes)
        .map(|message| message.unwrap().header)
        .collect()
}

proptest! {
    /// Whatever a resolver does, a query of the kernel's ends at once and never fails.
    #[test]
    fn no_question_is_left_in_silence_and_none_fails(
        flavour in flavour(),
        queries in prop::collection::vec(any_query(), 1..20),
    ) {
        let now = Instant::now();
        let mut kernel = Kernel::new(flavour, Queue::default());
        let mut agent = Agent::new(Fickle);
        let mut out = Replies::new();
        let asked = queries.iter().filter(|query| {
            matches!(kernel.ask(query, now), Asked::Waiting(_))
        }).count();
        while let Next::Datagram(bytes) = kernel.listener().receive() {
            agent.turn(&bytes, 0, &mut out);
        }
        for datagram in out.datagrams(4096) {
            kernel.receive(datagram, Sender::Privileged, now);
        }
        prop_assert_eq!(kernel.waiting(), 0);
        let ended: Vec<_> = core::iter::from_fn(|| kernel.finished()).collect();
        prop_assert_eq!(ended.len(), asked);
        for Finished { outcome, .. } in ended {
            let words = ["accepted", "fallback-to-sa"];
            prop_assert!(words.contains(&outcome.word()), "{:?}", outcome);
            if let Outcome::Accepted(taken) = outcome {
                prop_assert!(!taken.overread);
            }
        }
    }

    /// One reply for each request of the client, with its type and number; none for anything else.
    #[test]
    fn each_request_is_answered_once_and_nothing_else_is(
        messages in prop::collection::vec(message(), 0..8),
        sender in prop_oneof![4 => Just(0), 1 => any::<u32>()],
    ) {
        let mut agent = Agent::new(Fickle);
        let mut out = Replies::new();
        let datagram = messages.concat();
        agent.turn(&datagram, sender, &mut out);
        let expected: Vec<_> = headers(&datagram)
            .into_iter()
            .filter(|header| sender == 0 && header.flags & 1 == 1 && header.kind >> 10 == 4)
            .map(|header| (header.kind, header.seq))
            .collect();
        let replies = headers(out.as_bytes());
        let got: Vec<_> = replies.iter().map(|header| (header.kind, header.seq)).collect();
        prop_assert_eq!(got, expected);
        // No reply is a request, and an empty one is a refusal.
        for (reply, bytes) in replies.iter().zip(out.messages()) {
            prop_assert_eq!(reply.flags & 1, 0);
            prop_assert_eq!(reply.flags == 0x0100, bytes.len() == 16);
            let lengths = [16, 36, 92, 168, 244];
            prop_assert!(lengths.contains(&bytes.len()));
        }
    }

    /// Two agents hear each other's replies and say nothing.
    #[test]
    fn agents_do_not_answer_each_other(
        messages in prop::collection::vec(message(), 0..8),
        pid: u32,
    ) {
        let (mut one, mut other) = (Agent::new(Fickle), Agent::new(Fickle));
        let (mut out, mut echo) = (Replies::new(), Replies::new());
        one.turn(&messages.concat(), 0, &mut out);
        other.turn(out.as_bytes(), 0, &mut echo);
        other.turn(out.as_bytes(), pid, &mut echo);
        prop_assert!(echo.is_empty());
    }

    #[test]
    fn any_bytes_are_heard_by_both(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        flavour in flavour(),
    ) {
        let now = Instant::now();
        let mut out = Replies::new();
        Agent::new(Fickle).turn(&bytes, 0, &mut out);
        let mut kernel = Kernel::new(flavour, Queue::default());
        kernel.receive(&bytes, Sender::Privileged, now);
    }
}

#[test]
fn over_a_socket_pair_it_is_the_same() {
    let now = Instant::now();
    let (kernel_end, mut agent_end) = pair().unwrap();
    let mut kernel = Kernel::new(Flavour::V6_1, kernel_end);
    let mut agent = Agent::new(Fickle);
    let granted = Gid([0x2b; 16]);
    let mut asked = 0;
    loop {
        match kernel.ask(
            &Resolve {
                dgid: Some(granted),
                ..query(PathUse::All)
            },
            now,
        ) {
            Asked::Waiting(_) => asked += 1,
            Asked::NoRoom => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(asked > 100, "{asked}");
    let (mut buffer, mut out, mut overruns) = ([0; 4096], Replies::new(), 0);
    loop {
        match agent_end.receive(&mut buffer).unwrap() {
            Received::Datagram { length, sender } => {
                agent.turn(&buffer[..length], sender, &mut out)
            }
            Received::Overrun => overruns += 1,
            Received::Nothing => break,
            Received::TooLong => panic!("too long"),
        }
    }
    assert_eq!(overruns, 1);
    assert_eq!(out.len(), asked);
    for datagram in out.datagrams(8192) {
        agent_end.send(datagram).unwrap();
        kernel.drain(|| now).unwrap();
    }
    assert_eq!(kernel.waiting(), 0);
    let ended = core::iter::from_fn(|| kernel.finished());
    assert!(
        ended
            .into_iter()
            .all(|finished| finished.outcome.word() == "accepted")
    );
    assert_eq!(
        agent.counters().of(Counted::Resolved),
        u64::try_from(asked).unwrap()
    );
    drop(agent_end);
    assert_eq!(kernel.ask(&query(PathUse::All), now), Asked::NobodyListens);
    assert!(kernel.drain(|| now).is_err());
}
