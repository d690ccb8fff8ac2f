//! Who this SM is, whose commands it follows, and when clients get no answer.

use sa_sm::model::Subnet;
use sa_wire::mad::method;
use sa_wire::smp::{MGMT_CLASS_LID, attribute};

use super::commands::MOST_KEPT;
use super::noted::PORT_GUID;
use super::*;

fn told(path: &[u8], attribute: u16) -> [u8; 256] {
    let mut answer = Smp::directed(method::GET_RESP, attribute, 1, path).unwrap();
    answer.header.status = Smp::RETURNING.into();
    answer.data[PORT_GUID..PORT_GUID + 8].copy_from_slice(&0x10_0001_u64.to_be_bytes());
    zerocopy::transmute!(answer)
}

fn identity() -> Identity {
    Identity::new(Arc::default(), Arc::default())
}

#[test]
fn the_guid_is_that_of_the_own_node_s_port() {
    let identity = identity();
    for other in [
        told(&[1], attribute::NODE_INFO),
        told(&[], attribute::PORT_INFO),
    ] {
        identity.learn(&other);
        assert_eq!(identity.now().info.guid, None);
    }
    identity.learn(&told(&[], attribute::NODE_INFO));
    assert_eq!(identity.now().info.guid, Guid::new(0x10_0001).ok());
}

#[test]
fn options_that_are_read_anew_count_at_once() {
    let identity = identity();
    let mut options = ManagerOptions::default();
    (options.mastership.priority, options.m_key) = (9, 3);
    assert!(identity.follow(5, &options));
    assert!(!identity.follow(5, &options), "the same");
    let own = identity.now();
    assert_eq!((own.info.sm_key, own.info.priority, own.m_key), (5, 9, 3));
}

/// HANDOVER of a master that nobody has found.
fn command(sm_key: u64, guid: u64) -> Smp {
    let sender = SmInfo {
        guid: Guid::new(guid).ok(),
        sm_key,
        act_count: 0,
        priority: 15,
        state: SmState::Master,
    };
    let mut smp = Smp::directed(method::SET, attribute::SM_INFO, 1, &[]).unwrap();
    smp.header.mgmt_class = MGMT_CLASS_LID;
    smp.header.attribute_modifier = 1.into();
    smp.data = sender.data();
    smp
}

/// Alone in the subnet: it is the master once it has a plan, and not before.
fn alone(identity: &Identity) {
    let mut nobody = Others::of(&Subnet::default(), false);
    let action = identity.found(Senders::default(), false, &mut nobody);
    assert_eq!(
        (action, identity.state()),
        (Action::Manage, SmState::Discovering)
    );
    identity.manages();
    assert_eq!(identity.state(), SmState::Master);
}

#[test]
fn a_handover_of_nobody_changes_nothing_and_is_told() {
    let identity = identity();
    identity.follow(1, &ManagerOptions::default());
    assert!(
        identity.command(9, &command(1, 7)).is_some(),
        "it may be found yet"
    );
    assert_eq!(identity.state(), SmState::Discovering);
    alone(&identity);
    assert_eq!(identity.refused().len(), 1);
    // By now everybody is known.
    assert_eq!(identity.command(9, &command(1, 8)), None);
    assert_eq!(identity.command(9, &command(2, 8)), None);
    assert!(!identity.is_called(), "it was looked for a moment ago");
    for guid in 1..50 {
        assert_eq!(identity.command(9, &command(1, guid)), None);
    }
    assert_eq!(identity.refused().len(), MOST_KEPT);
}

#[test]
fn clients_get_no_answer_while_another_has_the_subnet() {
    let muted = Arc::new(AtomicBool::new(false));
    let identity = Identity::new(Arc::clone(&muted), Arc::default());
    alone(&identity);
    identity.serves();
    assert!(!muted.load(Ordering::SeqCst));
    identity.step(Event::TakenOver);
    assert!(muted.load(Ordering::SeqCst));
    identity.serves();
    assert!(muted.load(Ordering::SeqCst), "it stands by");
    identity.step(Event::Silent);
    assert!(muted.load(Ordering::SeqCst), "what is in service is old");
    identity.serves();
    assert!(!muted.load(Ordering::SeqCst));
}
