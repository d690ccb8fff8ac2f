//! Whatever is asked, everybody can leave.

use anyhow::{Result, ensure};
use proptest::prelude::*;
use sa_compiler::pipeline::Compiled;
use sa_service::sa_db::SaDatabase;
use sa_wire::mad::method;
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord};
use zerocopy::FromBytes;

use super::sa::*;

/// A request of which some is good.
#[derive(Debug, Clone)]
struct Step {
    from: u64,
    asked: u8,
    mask: Mask,
    record: McMemberRecord,
    key: u64,
}

fn step() -> impl Strategy<Value = Step> {
    let port = prop::sample::select(vec![H1, H2, H3, 0x20_0000]);
    let mgid = prop::sample::select(vec![BROADCAST, BLUE, OWN, OWN + 1, 0, BROADCAST - 1]);
    let asked = prop::sample::select(vec![2, 2, 2, 2, 0x15, 0x15, 0x15, 1, 0x12, 0x14, 3]);
    let mask = prop_oneof![
        4 => Just(Mask::CREATE),
        4 => Just(Mask::JOIN),
        1 => any::<u64>().prop_map(Mask),
    ];
    let noise = prop::option::weighted(0.2, any::<[u8; 56]>());
    (
        port.clone(),
        port,
        mgid,
        0u8..16,
        asked,
        mask,
        noise,
        any::<bool>(),
    )
        .prop_map(|(from, guid, mgid, states, asked, mask, noise, is_own)| {
            let good = member(if is_own { from } else { guid }, mgid, states);
            let record = match noise {
                Some(noise) => McMemberRecord {
                    mgid: good.mgid,
                    port_gid: good.port_gid,
                    ..McMemberRecord::read_from_bytes(&noise).unwrap_or(good)
                },
                None => good,
            };
            Step {
                from,
                asked,
                mask,
                record,
                key: u64::from(mask.0 & 4 == 4),
            }
        })
}

/// Takes everybody out of every group; what is left are the groups of the partitions.
fn empty(sa: &mut Sa) -> Result<()> {
    let mut last = usize::MAX;
    loop {
        let members = sa.members(H1);
        ensure!(
            members.len() < last || members.is_empty(),
            "nobody leaves: {members:?}"
        );
        last = members.len();
        let Some(one) = members.first() else {
            break;
        };
        let own = one.port_gid().interface_id();
        let by = if one.is_proxy_join() { H1 } else { own };
        let reply = sa.ask(by, method::DELETE, Mask::JOIN, one);
        ensure!(reply.status() == 0, "{:#06x} for {one:?}", reply.status());
    }
    ensure!(
        sa.groups(H1).len() == 2,
        "groups are left: {:?}",
        sa.groups(H1)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever was asked, everybody can leave, and then no group is left but the listed ones; and
    /// a restart changes nothing.
    #[test]
    fn nobody_is_caught_in_a_group(steps in prop::collection::vec(step(), 1..150)) {
        thread_local! {
            static FABRIC: std::cell::RefCell<Option<Compiled>> = const {
                std::cell::RefCell::new(None)
            };
        }
        let compiled = FABRIC.with_borrow_mut(Option::take);
        let compiled = compiled.map_or_else(usual, Ok);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sa.journal");
        let mut sa = Sa::new(compiled.unwrap()).unwrap();
        sa.database = SaDatabase::open(Some(&path), NOW).unwrap();
        sa.database.fabric_changed(None, &sa.compiled.parts);
        for step in &steps {
            let reply = sa.ask_with(step.from, step.asked, step.mask, &step.record, step.key);
            prop_assert!(reply.status() != 0xffff || step.asked == 3);
        }
        sa.database.commit().unwrap();
        let before = (sa.groups(H1), sa.members(H1));
        sa.database = SaDatabase::open(Some(&path), NOW).unwrap();
        sa.database.fabric_changed(None, &sa.compiled.parts);
        prop_assert_eq!(before, (sa.groups(H1), sa.members(H1)));
        let emptied = empty(&mut sa);
        prop_assert!(emptied.is_ok(), "{:?}", emptied);
        FABRIC.with_borrow_mut(|place| *place = Some(sa.compiled));
    }
}
