//! What nodes hold is read back in rounds, and what is other than it was written is written again.

use std::collections::BTreeMap;
use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::PortRef;
use sa_sm::audit::{Audit, Differing, share};
use sa_sm::executor::Limits;
use sa_sm::model::attributes::{port_info, port_info_data};
use sa_sm::sweep::{Sweep, Swept};
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use zerocopy::FromBytes;

use crate::golden::{self, CASES};
use crate::reading::{a_switch, ask};
use crate::rig;
use crate::sweep::sweep;

/// A round that is over: what was read, by place, and what was other.
struct Read {
    swept: Swept,
    places: Vec<(Vec<u8>, u16, u32)>,
    read: u64,
    differing: Vec<Differing>,
}

fn round(
    simulator: &mut Simulator,
    sm: PortRef,
    before: Swept,
    audit: &mut Audit,
    most: usize,
) -> Read {
    let round = audit.round(&before.subnet, most);
    let mut sweep = Sweep::of_audit(Limits::default(), 7, before, round);
    let (mut places, mut now) = (Vec::new(), Duration::ZERO);
    loop {
        while let Some(bytes) = sweep.send(now) {
            let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
            assert_eq!(smp.header.method, method::GET);
            let header = &smp.header;
            places.push((
                smp.path().unwrap().to_vec(),
                header.attribute_id.get(),
                header.attribute_modifier.get(),
            ));
            simulator.post(sm, 0xffff, &bytes, now);
        }
        if sweep.is_over() {
            break;
        }
        let wakes = [simulator.next_at(), sweep.wakes_at()];
        now = now.max(wakes.into_iter().flatten().min().unwrap());
        match simulator.next(now) {
            Some((_, _, bytes)) => sweep.received(&bytes, now),
            None => sweep.wake(now),
        }
    }
    let mut swept = sweep.finish();
    let audited = swept.audited.take().unwrap();
    Read {
        read: audited.read(),
        differing: audited.differing().iter().copied().collect(),
        places,
        swept,
    }
}

fn up(case: &str) -> (Simulator, PortRef, Swept) {
    let (fabric, sm) = golden::fabric(case);
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let first = sweep(&mut simulator, sm, Swept::default());
    (simulator, sm, first.swept)
}

/// What a round has found other than it was known.
fn differing(read: &Read) -> Vec<(Guid, u16, u32)> {
    let differing = read.differing.iter();
    differing
        .map(|it| (it.node, it.attribute, it.modifier))
        .collect()
}

/// How many Sets a sweep needs to mend what a round has found. Afterwards nothing differs.
fn sets_of_mending(simulator: &mut Simulator, sm: PortRef, read: Read) -> u64 {
    let mended = sweep(simulator, sm, read.swept);
    let again = round(
        simulator,
        sm,
        mended.swept,
        &mut Audit::default(),
        usize::MAX,
    );
    assert_eq!(again.differing, []);
    mended.counts.sets
}

/// Whatever the size of the rounds, each thing is read as often as any other, and a subnet that nobody touched is as known.
#[test]
fn rounds_read_everything_in_turn() {
    for case in CASES {
        let (mut simulator, sm, mut swept) = up(case);
        let all = round(&mut simulator, sm, swept, &mut Audit::default(), usize::MAX);
        assert_eq!(all.differing, [], "{case}");
        assert_eq!(all.read, all.places.len() as u64, "{case}");
        assert!(all.read > 20, "{case}: {}", all.read);
        swept = all.swept;
        let mut audit = Audit::default();
        let mut times: BTreeMap<_, usize> = BTreeMap::new();
        let most = 7;
        let rounds = 3 * all.places.len();
        for _ in 0..rounds {
            let read = round(&mut simulator, sm, swept, &mut audit, most);
            assert_eq!(
                (read.places.len(), read.differing.len()),
                (most.min(all.places.len()), 0)
            );
            read.places
                .into_iter()
                .for_each(|place| *times.entry(place).or_default() += 1);
            swept = read.swept;
        }
        assert_eq!(times.len(), all.places.len(), "{case}");
        let (least, most) = (times.values().min().unwrap(), times.values().max().unwrap());
        assert!(most - least <= 1, "{case}: {least} to {most}");
    }
}

#[test]
fn a_share_covers_all_in_time() {
    let (mut simulator, sm, swept) = up("g03-ftree");
    let all = round(&mut simulator, sm, swept, &mut Audit::default(), usize::MAX);
    let share = share(&all.swept.subnet, 10, 3600);
    assert!(
        share * 360 >= all.places.len() && share <= all.places.len() / 100 + 2,
        "{share}"
    );
}

/// A forwarding entry, a multicast entry and a port that somebody else has written: found, and written again by the next sweep.
#[test]
fn what_somebody_else_wrote_is_found_and_mended() {
    let (mut simulator, sm, swept) = up("g03-ftree");
    let switch = a_switch(&swept.subnet);
    let held = rig::facts(&rig::discover_over(&mut simulator, sm, Limits::default()).subnet);
    for (attribute, modifier, byte) in [
        (attribute::PORT_INFO, 1, 0),
        (attribute::LINEAR_TABLE, 0, 3),
        (attribute::MULTICAST_TABLE, 1, 9),
    ] {
        let mut smp = Smp::directed(method::GET, attribute, 0, &[]).unwrap();
        smp.header.attribute_modifier = modifier.into();
        let mut smp = ask(&mut simulator, sm, &swept.subnet, switch, smp);
        smp.header.method = method::SET;
        smp.header.status = 0.into();
        match attribute {
            attribute::PORT_INFO => {
                let mut info = port_info(&smp.data);
                info.vl_stall_and_hoq_life ^= 1;
                // No change of the link.
                info.speed_supported_and_state &= 0xf0;
                info.physical_state_and_down_default &= 0x0f;
                smp.data = port_info_data(&info);
            }
            _ => smp.data[byte] ^= 1,
        }
        let answer = ask(&mut simulator, sm, &swept.subnet, switch, smp);
        assert_eq!(answer.status().get(), 0);
    }
    let read = round(&mut simulator, sm, swept, &mut Audit::default(), usize::MAX);
    let found = differing(&read);
    assert_eq!(
        found,
        [
            (switch, attribute::PORT_INFO, 1),
            (switch, attribute::LINEAR_TABLE, 0),
            (switch, attribute::MULTICAST_TABLE, 1),
        ]
    );
    assert_eq!(sets_of_mending(&mut simulator, sm, read), 3);
    let now = rig::facts(&rig::discover_over(&mut simulator, sm, Limits::default()).subnet);
    assert_eq!(now, held);
}

/// A sweep of a new master reads the blocks of multicast tables that are used; what lies far above them is found here.
#[test]
fn an_entry_where_no_sweep_has_looked_is_found_and_cleared() {
    let (mut simulator, sm, swept) = up("g03-ftree");
    let switch = a_switch(&swept.subnet);
    let mut stale = Smp::directed(method::SET, attribute::MULTICAST_TABLE, 0, &[]).unwrap();
    stale.header.attribute_modifier = 31.into();
    stale.data = [7; 64];
    ask(&mut simulator, sm, &swept.subnet, switch, stale);
    let restarted = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(restarted.counts.sets, 0);
    let read = round(
        &mut simulator,
        sm,
        restarted.swept,
        &mut Audit::default(),
        usize::MAX,
    );
    let found = differing(&read);
    assert_eq!(found, [(switch, attribute::MULTICAST_TABLE, 31)]);
    assert_eq!(sets_of_mending(&mut simulator, sm, read), 1);
}

/// A mute node costs one request, and is as known.
#[test]
fn a_mute_node_is_asked_once() {
    let (mut simulator, sm, swept) = up("g03-ftree");
    let switch = a_switch(&swept.subnet);
    simulator.add_rule(Rule {
        node: Some(switch),
        ..Rule::always(Effect::Lost)
    });
    let all = round(&mut simulator, sm, swept, &mut Audit::default(), usize::MAX);
    assert_eq!(all.differing, []);
    let route = all.swept.subnet.route(PortRef {
        node: all.swept.subnet.by_guid(switch).unwrap(),
        port: 0,
    });
    let asked = all
        .places
        .iter()
        .filter(|(path, ..)| path == route.unwrap().ports());
    // Four requests at a time, each with its tries.
    assert!(asked.count() <= 16);
}
