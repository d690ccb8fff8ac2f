//! A worker and the lane behind it, of a daemon that keeps what clients set, on a ring: whatever is
//! sent there, a client that goes by the rules of RMPP is done at some time.

use std::fs;
use std::sync::OnceLock;

use proptest::prelude::*;
use sa_answer::access::Access;
use sa_answer::rmpp::{Allowance, Arrival, Class, Receivers, classify, turn_acknowledgement};
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::Worker;
use sa_port::ring::{RingClient, RingServer, reply_length, ring};
use sa_service::sa_db::{Now, SaDatabase};
use sa_snapshot::Snapshot;
use sa_wire::mad::{Status, method};
use sa_wire::request;
use sa_wire::rmpp::{RmppHeader, flag, packet_type};
use sa_wire::sa::{AttributeId, DATA_OFFSET};

use super::*;

mod gated;

/// H1 with the SM, H2, H3 and H4 on a switch.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\" # \"S1\" base port 0 lid 5 lmc 0\n\
[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"H3\"[1]\n[4] \"H4\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1] # lid 1 lmc 0\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2] # lid 2 lmc 0\n\n\
caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[3] # lid 3 lmc 0\n\n\
caguid=0x100030\nHca 1 \"H4\"\n[1] \"S1\"[4] # lid 4 lmc 0\n\n";

/// The Default partition with the groups of IPoIB.
const PARTITIONS: &str = "Default=0x7fff, ipoib : ALL=full ;\n\
blue=0x0001, ipoib : ALL=full ;\nred=0x0002, ipoib : ALL=full ;\n\
green=0x0003, ipoib : ALL=full ;\ngrey=0x0004, ipoib : ALL=full ;\n";

/// Far more than any exchange on this fabric takes. Units: packets in both directions.
const ENDLESS: usize = 2000;

const CLIENT: u16 = 2;

/// The daemon's side, and the ring to it.
struct Bed {
    publisher: Publisher,
    worker: Worker<RingServer>,
    lane: SlowLane,
    client: RingClient,
    receivers: Receivers,
}

/// What came of sending one packet.
#[derive(Default)]
struct Exchange {
    packets: usize,
    /// The last reply: 56 header bytes, then its records.
    reply: Option<Vec<u8>>,
}

fn compiled() -> &'static (Arc<FabricState>, Vec<u8>) {
    static COMPILED: OnceLock<(Arc<FabricState>, Vec<u8>)> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let inputs = Inputs {
            fabric: file("net", NET),
            partitions: Some(file("partitions.conf", PARTITIONS)),
            ..Inputs::default()
        };
        let compiled = pipeline::compile(&inputs, Stamp::default()).unwrap();
        let Compiled {
            snapshot, parts, ..
        } = compiled;
        (Arc::new(parts), snapshot.as_bytes().to_vec())
    })
}

impl Bed {
    fn new() -> Self {
        Self::behind(None)
    }

    /// Of a host that follows a fleet: the gate is open. The worker looks at none, so what it gives
    /// away comes to the lane whatever the gate is like by then.
    fn behind(gate: Option<Arc<Gate>>) -> Self {
        let (parts, bytes) = compiled();
        let mut publisher = Publisher::new();
        let epoch = publisher.publish_as(Snapshot::from_bytes(bytes).unwrap(), gated::OLD);
        let (client, server, replies) = ring(64);
        let (punted, sender) = punt_queue(64);
        let reader = publisher.reader().unwrap();
        let worker = Worker::new(server, reader, sender(0), Arc::<WorkerStats>::default());
        let state = State {
            epoch,
            parts: Arc::clone(parts),
        };
        let supply = Supply {
            punted,
            reader: publisher.reader().unwrap(),
            newest: Arc::new(StateInService::from_pointee(state)),
            muted: Arc::default(),
            gate,
            tally: Arc::default(),
        };
        let start = Now {
            steady: Duration::ZERO,
            unix: 1_000_000_000,
        };
        let database = SaDatabase::open(None, start).unwrap();
        let state_store = StateStore::new(database, Arc::default(), Arc::default(), Arc::default());
        let rules = Rules {
            access: Access::OpenSm,
            oldest: None,
            each: None,
            busy_reply: false,
        };
        let lane = SlowLane::new(
            supply,
            vec![Box::new(replies)],
            rules,
            (Some(state_store), None),
        );
        let mut bed = Self {
            publisher,
            worker,
            lane,
            client,
            receivers: Receivers::new(16, Allowance::for_messages_of(1 << 20)),
        };
        bed.fill();
        bed
    }

    /// Has clients set so much that every table takes more than one segment.
    fn fill(&mut self) {
        for lid in 1..=4 {
            let mut service = [0; 176];
            service[7] = lid;
            service[8..24].copy_from_slice(&gid(lid));
            let set = asked(
                lid.into(),
                method::SET,
                AttributeId::SERVICE_RECORD,
                3,
                &service,
            );
            self.succeeds(&set);
            let mut inform = [0; 36];
            inform[16..18].fill(0xff);
            inform[22] = 1;
            inform[23] = 1;
            inform[24..28].fill(0xff);
            inform[30] = 1;
            let set = asked(
                lid.into(),
                method::SET,
                AttributeId::INFORM_INFO,
                0,
                &inform,
            );
            self.succeeds(&set);
        }
    }

    fn succeeds(&mut self, request: &Slot) {
        let reply = self.exchange(request).reply.unwrap();
        assert_eq!(reply[4..6], [0, 0], "{:02x?}", &reply[..DATA_OFFSET]);
    }

    /// Sends a packet and answers whatever comes back, until nothing comes and no timer runs.
    fn exchange(&mut self, first: &Slot) -> Exchange {
        let mut exchange = Exchange::default();
        self.talk(vec![*first], &mut exchange);
        // Longer than any timer of a transfer, one retry after the other.
        for _ in 0..40 {
            self.lane.started -= Duration::from_secs(3);
            self.talk(Vec::new(), &mut exchange);
        }
        exchange
    }

    /// The same while the clock stands still.
    fn talk(&mut self, mut to_send: Vec<Slot>, exchange: &mut Exchange) {
        while exchange.packets < ENDLESS {
            let came = self.carry(&to_send, exchange);
            if came.is_empty() && to_send.is_empty() {
                return;
            }
            let answers = came.iter();
            let answers = answers.filter_map(|packet| self.client_answers(packet, exchange));
            to_send = answers.collect();
        }
    }

    /// Carries packets to the daemon, and gives what it sends in turn.
    fn carry(&mut self, packets: &[Slot], exchange: &mut Exchange) -> Vec<Slot> {
        let mut came = Vec::new();
        for packet in packets {
            self.client.claim(1)[0] = *packet;
            self.client.publish(1);
            self.worker.turn().unwrap();
            let replies = self.client.replies();
            let count = replies.len();
            came.extend(replies.iter().filter(|slot| reply_length(slot).is_some()));
            self.client.release(count);
        }
        while self.lane.turn() {}
        came.extend(core::iter::from_fn(|| self.client.late_reply()));
        exchange.packets += packets.len() + came.len();
        came
    }

    /// What a client sends back, by IBA vol. 1, 13.6, and to a Report.
    fn client_answers(&mut self, packet: &Slot, exchange: &mut Exchange) -> Option<Slot> {
        let mad = SaMad::from_bytes(&packet.mad);
        let mut out = *packet;
        match classify(mad) {
            Class::Plain if mad.mad.method == method::REPORT => {
                SaMad::from_bytes_mut(&mut out.mad).mad.method = method::REPORT_RESP;
                Some(out)
            }
            Class::Plain => {
                exchange.reply = Some(packet.mad.to_vec());
                None
            }
            Class::Segment => {
                let now = self.lane.started.elapsed();
                match self.receivers.receive(packet, now, &mut out) {
                    Arrival::Quiet => return None,
                    Arrival::Answer => {}
                    Arrival::Message(message) => exchange.reply = Some(message),
                }
                Some(out)
            }
            // The end of our half of a double-sided exchange.
            Class::Control if mad.rmpp.packet_type == packet_type::ACK => {
                out.mad = turn_acknowledgement(mad, 64);
                (mad.mad.method == method::GET_MULTI_RESP).then_some(out)
            }
            Class::Control => {
                self.receivers.abort(packet);
                None
            }
        }
    }

    /// The records of a whole table. Shape: bytes, without the headers.
    fn table(&mut self, attribute: AttributeId) -> Vec<u8> {
        let request = asked(CLIENT, method::GET_TABLE, attribute, 0, &[]);
        let exchange = self.exchange(&request);
        assert!(
            exchange.packets < ENDLESS,
            "{attribute:?} takes {} packets",
            exchange.packets
        );
        let reply = exchange.reply.unwrap();
        assert_eq!(
            reply[4..6],
            [0, 0],
            "{attribute:?}: {:02x?}",
            &reply[..DATA_OFFSET]
        );
        reply[DATA_OFFSET..].to_vec()
    }
}

fn gid(lid: u8) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..2].copy_from_slice(&[0xfe, 0x80]);
    gid[13..].copy_from_slice(&[0x10, 0, 0x10 * (lid - 1) + 1]);
    gid
}

/// A request under a transaction of its own.
fn asked(lid: u16, asks: u8, attribute: AttributeId, mask: u64, data: &[u8]) -> Slot {
    static TRANSACTION: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(1);
    let mut slot = request::request(lid, asks, attribute, mask, data);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.transaction_id = TRANSACTION.fetch_add(1, Ordering::Relaxed).into();
    slot
}

#[test]
fn tables_of_what_clients_set_end_with_their_last_segment() {
    let mut bed = Bed::new();
    let least = [
        (AttributeId::SERVICE_RECORD, 4 * 176),
        (AttributeId::INFORM_INFO_RECORD, 4 * 64),
        (AttributeId::MC_MEMBER_RECORD, 5 * 56),
        (AttributeId::GUID_INFO_RECORD, 5 * 72),
    ];
    for (attribute, bytes) in least {
        let records = bed.table(attribute);
        assert!(
            records.len() >= bytes,
            "{attribute:?}: {} bytes",
            records.len()
        );
        assert_eq!(records, bed.table(attribute), "the same again");
    }
}

#[test]
fn an_acknowledgement_for_no_transfer_gets_no_reply() {
    let mut bed = Bed::new();
    for attribute in ATTRIBUTES {
        for kind in [packet_type::ACK, packet_type::STOP, packet_type::ABORT, 9] {
            let mut packet = asked(CLIENT, method::GET_TABLE, attribute, 0, &[]);
            let rmpp = &mut SaMad::from_bytes_mut(&mut packet.mad).rmpp;
            *rmpp = RmppHeader::data(flag::ACTIVE, 1, 64);
            rmpp.packet_type = kind;
            let packets = bed.exchange(&packet).packets;
            assert_eq!(packets, 1, "{attribute:?}, RMPP type {kind}");
        }
    }
}

#[test]
fn a_request_of_two_segments_is_answered_whatever_it_asks_for() {
    let mut bed = Bed::new();
    for attribute in [AttributeId::SERVICE_RECORD, AttributeId::NODE_RECORD] {
        let mut first = asked(CLIENT, method::GET_TABLE, attribute, 0, &[]);
        let mut last = first;
        let rmpp = |packet: &mut Slot, flags, number, length| {
            let mad = SaMad::from_bytes_mut(&mut packet.mad);
            mad.rmpp = RmppHeader::data(flag::ACTIVE | flags, number, length);
        };
        rmpp(&mut first, flag::FIRST, 1, 240);
        rmpp(&mut last, flag::LAST, 2, 20);
        let mut exchange = Exchange::default();
        bed.talk(vec![first], &mut exchange);
        assert_eq!(exchange.packets, 2, "an acknowledgement");
        bed.talk(vec![last], &mut exchange);
        let reply = exchange.reply.unwrap();
        assert_eq!(reply[4..6], Status::OK.get().to_be_bytes());
        assert_eq!(reply[DATA_OFFSET..], bed.table(attribute), "{attribute:?}");
    }
}

const ATTRIBUTES: [AttributeId; 11] = [
    AttributeId::PATH_RECORD,
    AttributeId::MULTI_PATH_RECORD,
    AttributeId::MC_MEMBER_RECORD,
    AttributeId::SERVICE_RECORD,
    AttributeId::INFORM_INFO,
    AttributeId::INFORM_INFO_RECORD,
    AttributeId::GUID_INFO_RECORD,
    AttributeId::NODE_RECORD,
    AttributeId::PORT_INFO_RECORD,
    AttributeId::CLASS_PORT_INFO,
    AttributeId::SERVED_SNAPSHOT,
];

/// Heads as they are seen, and heads as nobody would write them.
fn packets() -> impl Strategy<Value = Slot> {
    let methods = prop_oneof![
        4 => prop::sample::select(vec![
            method::GET, method::SET, method::GET_TABLE, method::GET_MULTI, method::DELETE,
            method::REPORT, method::REPORT_RESP, method::GET_TABLE_RESP,
        ]),
        1 => any::<u8>(),
    ];
    let attributes = prop_oneof![
        8 => prop::sample::select(ATTRIBUTES.map(AttributeId::get).to_vec()),
        1 => any::<u16>(),
    ];
    let rmpp = prop_oneof![
        1 => Just(RmppHeader::INACTIVE),
        6 => (0..=5u8, 0..=7u8, prop_oneof![4 => Just(0u8), 1 => any::<u8>()],
              0..=4u32, prop_oneof![Just(0u32), 0..=700u32, any::<u32>()]).prop_map(
            |(kind, flags, status, segment, length)| {
                let mut rmpp = RmppHeader::data(flags, segment, length);
                (rmpp.packet_type, rmpp.status) = (kind, status);
                rmpp
            },
        ),
    ];
    let masks = prop_oneof![3 => Just(0u64), 1 => any::<u64>(), 2 => 0..=0xffu64];
    let keys = prop_oneof![3 => Just(0u64), 2 => Just(1u64), 1 => any::<u64>()];
    let data = prop_oneof![1 => Just(vec![0; 200]), 1 => prop::collection::vec(any::<u8>(), 200)];
    let strange = prop::option::weighted(0.1, (0..24usize, any::<u8>()));
    (
        methods,
        attributes,
        rmpp,
        masks,
        keys,
        data,
        0..=6u16,
        strange,
    )
        .prop_map(|(asks, attribute, rmpp, mask, key, data, lid, strange)| {
            let mut slot = asked(lid, asks, AttributeId::PATH_RECORD, mask, &data);
            let mad = SaMad::from_bytes_mut(&mut slot.mad);
            mad.mad.attribute_id = attribute.into();
            (mad.rmpp, mad.sa.sm_key) = (rmpp, key.into());
            if let Some((place, byte)) = strange {
                slot.mad[place] = byte;
            }
            slot
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_packet_begins_an_endless_exchange(packets in prop::collection::vec(packets(), 1..4)) {
        let mut bed = Bed::new();
        for packet in &packets {
            let exchange = bed.exchange(packet);
            prop_assert!(exchange.packets < ENDLESS, "{:02x?}", &packet.mad[..DATA_OFFSET]);
        }
    }
}
