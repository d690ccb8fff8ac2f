//! Answers that nobody honest gives: whatever they say, the questions are bounded and nothing panics.

use std::time::Duration;

use proptest::prelude::*;
use sa_sm::discovery::{Discovery, Options};
use sa_sm::executor::{Executor, Limits};
use sa_wire::mad::method;
use sa_wire::smp::Smp;
use zerocopy::{FromBytes, IntoBytes};

const MOST_NODES: usize = 6;
/// Of a node: NodeDescription, SwitchInfo, PortInfo and NodeInfo through each port, 64 blocks of P_Keys for each.
const MOST_OF_A_NODE: u64 = 2 + 255 * 66;

/// What a liar does with a request.
#[derive(Debug, Clone)]
enum Lie {
    /// These bytes as the attribute.
    Data(Vec<u8>),
    /// Bytes that look like a switch with so many ports.
    Switch {
        guid: u8,
        ports: u8,
        entered: u8,
    },
    /// Another transaction, attribute or modifier.
    Wrong(u8),
    /// Bytes that are no answer.
    Noise(Vec<u8>),
    Status(u16),
    Silence,
}

fn lie() -> impl Strategy<Value = Lie> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 64).prop_map(Lie::Data),
        6 => (1u8..20, any::<u8>(), any::<u8>())
            .prop_map(|(guid, ports, entered)| Lie::Switch { guid, ports, entered }),
        1 => any::<u8>().prop_map(Lie::Wrong),
        1 => prop::collection::vec(any::<u8>(), 256).prop_map(Lie::Noise),
        1 => any::<u16>().prop_map(Lie::Status),
        1 => Just(Lie::Silence),
    ]
}

/// What comes back.
fn told(request: &[u8; 256], lie: &Lie) -> Option<[u8; 256]> {
    let mut smp = Smp::read_from_bytes(request).unwrap();
    smp.header.method = method::GET_RESP;
    match lie {
        Lie::Data(data) => smp.data.copy_from_slice(data),
        Lie::Switch {
            guid,
            ports,
            entered,
        } => {
            smp.data[2] = 2;
            smp.data[3] = *ports;
            smp.data[19] = *guid;
            smp.data[36] = *entered;
            // The same bytes as PortInfo: a link that is up. As SwitchInfo: 0xffff P_Keys.
            smp.data[32] = 4;
            smp.data[14] = 0xff;
        }
        Lie::Wrong(which) => match which % 3 {
            0 => smp.header.transaction_id = (smp.header.transaction_id.get() ^ 1).into(),
            1 => smp.header.attribute_id = 0x15.into(),
            _ => smp.header.attribute_modifier = 0x7f.into(),
        },
        Lie::Noise(bytes) => return bytes.as_slice().try_into().ok(),
        Lie::Status(status) => smp.header.status = (*status).into(),
        Lie::Silence => return None,
    }
    let mut bytes = [0; 256];
    bytes.copy_from_slice(smp.as_bytes());
    Some(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn lies_are_bounded(lies in prop::collection::vec(lie(), 1..200)) {
        let options = Options { most_nodes: MOST_NODES, ..Options::default() };
        let mut discovery = Discovery::new(options);
        let mut executor = Executor::new(Limits { retries: 1, ..Limits::default() }, 7);
        let mut lies = lies.iter().cycle();
        let mut now = Duration::ZERO;
        let most = 2 * (1 + MOST_OF_A_NODE * u64::try_from(MOST_NODES).unwrap());
        loop {
            while let Some((request, question)) = discovery.next_question() {
                executor.ask(request, question);
            }
            if executor.is_idle() {
                break;
            }
            while let Some(request) = executor.send(now) {
                let answer = lies.next().and_then(|lie| told(&request, lie));
                let outcome = answer.and_then(|answer| executor.received(&answer, now));
                if let Some(ended) = outcome {
                    discovery.answered(ended);
                }
            }
            now = executor.wakes_at().map_or(now, |at| now.max(at));
            while let Some(ended) = executor.expired(now) {
                discovery.answered(ended);
            }
            prop_assert!(executor.counts().sent <= most);
        }
        let subnet = discovery.into_subnet();
        prop_assert!(subnet.nodes().len() <= MOST_NODES);
        for finding in subnet.findings() {
            prop_assert!(!finding.to_string().is_empty());
        }
    }
}
