//! How groups come and go.

use anyhow::{Context, Result};
use sa_service::sa_db::SaDatabase;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord, join_state};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use zerocopy::{FromBytes, IntoBytes};

use super::sa::*;

#[test]
fn a_group_lives_as_long_as_somebody_keeps_it() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let before = sa.groups(H1);
    assert_eq!(before.len(), 2, "those of the partitions");
    assert_eq!(sa.join(H1, OWN, join_state::FULL), OK);
    assert_eq!(sa.join(H2, OWN, join_state::SEND_ONLY_FULL), OK);
    assert_eq!(sa.leave(H1, OWN, join_state::FULL), OK);
    assert_eq!(sa.groups(H1).len(), 3);
    assert_eq!(sa.join(H1, OWN, join_state::NON_MEMBER), OK);
    assert_eq!(sa.leave(H2, OWN, join_state::SEND_ONLY_FULL), OK);
    assert_eq!(sa.groups(H1), before);
    assert_eq!(
        sa.leave(H1, OWN, join_state::NON_MEMBER),
        INVALID,
        "it went with the group"
    );
    // A group of the partitions loses its members, but stays.
    assert_eq!(sa.join(H1, BLUE, join_state::FULL), OK);
    let left = member(H3, BLUE, join_state::SEND_ONLY_NON_MEMBER);
    assert_eq!(
        sa.ask(H3, method::SET, Mask::JOIN, &left).status(),
        INVALID,
        "a slow port"
    );
    assert_eq!(sa.members(H1).len(), 1);
    assert_eq!(sa.leave(H1, BLUE, join_state::FULL), OK);
    assert_eq!(sa.members(H1), []);
    assert_eq!(sa.groups(H1), before);
    assert_eq!(sa.groups(H2).len(), 1, "H2 is not in blue");
    Ok(())
}

/// Switches are programmed by MLID, and what is proved of its tree goes by the SLs of its groups.
#[test]
fn members_are_told_with_the_sls_of_their_groups() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let record = McMemberRecord {
        sl_flow_hop: (3 << 28).into(),
        ..member(H1, OWN, join_state::FULL)
    };
    let made = sa.ask(H1, method::SET, Mask::CREATE, &record).record()?;
    assert_eq!(sa.join(H1, BLUE, join_state::FULL), OK);
    let told = sa.database.memberships();
    let sls: Vec<u16> = told.values().map(|(sls, _)| sls.0).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(sls.iter().fold(0, |all, sls| all | sls), 1 | 1 << 3);
    let own = told.iter().find(|(mlid, _)| mlid.get() == made.mlid.get());
    let (sls, ports) = own.context("its MLID")?.1;
    assert_eq!((sls.0, ports.len()), (1 << 3, 1));
    // Of an MLID whose groups have nobody any more nothing is told.
    assert_eq!(sa.leave(H1, OWN, join_state::FULL), OK);
    assert_eq!(sa.database.memberships().len(), 1);
    Ok(())
}

/// OpenSM keeps such a group, with nobody in it, for ever.
#[test]
fn who_was_both_and_is_one_leaves_no_group_behind() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let both = join_state::FULL | join_state::SEND_ONLY_FULL;
    assert_eq!(sa.join(H1, OWN, both), OK);
    let record = member(H1, OWN, join_state::FULL);
    let reply = sa.ask(H1, method::DELETE, Mask::JOIN, &record).record()?;
    assert_eq!(reply.scope_and_state, 0x20, "nothing is left");
    assert_eq!((sa.groups(H1).len(), sa.members(H1).len()), (2, 0));
    Ok(())
}

#[test]
fn addresses_are_made_up_and_mlids_used_again() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let unnamed = member(H1, 0, join_state::FULL);
    let made = sa.ask(H1, method::SET, Mask::CREATE, &unnamed).record()?;
    assert_eq!(made.mgid().to_string(), "ff12:a01b:fe80::");
    let next = sa.ask(H1, method::SET, Mask::CREATE, &unnamed).record()?;
    assert_eq!(next.mgid().to_string(), "ff12:a01b:fe80::100:0:0");
    assert_eq!((made.mlid.get(), next.mlid.get()), (0xc002, 0xc003));
    assert_eq!((made.mtu.0, made.rate.0), (0x84, 0x83), "those of the port");
    assert_eq!(
        sa.leave(H1, u128::from_be_bytes(made.mgid), join_state::FULL),
        OK
    );
    let third = sa.ask(H1, method::SET, Mask::CREATE, &unnamed).record()?;
    assert_eq!(third.mgid().to_string(), "ff12:a01b:fe80::200:0:0");
    assert_eq!(third.mlid.get(), 0xc002);
    Ok(())
}

#[test]
fn paths_lead_to_groups_and_from_their_members() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let path = |sa: &mut Sa, mgid: u128, mask: PathCompMask, from: u64| -> Option<PathRecord> {
        let mut slot = request(
            sa.lid(H2),
            method::GET,
            Mask(0),
            &McMemberRecord::default(),
            0,
        );
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
        mad.sa.component_mask = (mask.0 | PathCompMask::DGID.0).into();
        let record = PathRecord {
            dgid: mgid.to_be_bytes(),
            sgid: gid(from),
            slid: sa.lid(from).into(),
            preference: 7,
            ..PathRecord::default()
        };
        mad.data[..PathRecord::SIZE].copy_from_slice(record.as_bytes());
        assert!(SaDatabase::serves(SaMad::from_bytes(&slot.mad)));
        let reply = sa
            .database
            .respond(&sa.compiled.parts, &slot, 0, NOW)
            .reply?;
        let record = PathRecord::read_from_prefix(&reply[DATA_OFFSET..]).ok()?.0;
        (reply[4..6] == [0, 0]).then_some(record)
    };
    let record = McMemberRecord {
        sl_flow_hop: 0x3123_4503.into(),
        ..member(H1, OWN, join_state::FULL)
    };
    let made = sa.ask(H1, method::SET, Mask::CREATE, &record).record()?;
    let found = path(&mut sa, OWN, PathCompMask(0), H2).context("a path")?;
    assert_eq!((found.dlid, found.preference), (made.mlid, 7));
    assert_eq!(
        (found.flow.flow_label(), found.flow.hop_limit()),
        (0x12345, 3)
    );
    assert_eq!((found.mtu, found.rate), (made.mtu, made.rate));
    for mask in [PathCompMask::SGID, PathCompMask::SLID] {
        assert!(path(&mut sa, OWN, mask, H1).is_some());
        assert!(path(&mut sa, OWN, mask, H2).is_none(), "no member");
    }
    assert!(path(&mut sa, BROADCAST, PathCompMask(0), H2).is_some());
    assert!(path(&mut sa, OWN + 1, PathCompMask(0), H2).is_none());
    Ok(())
}
