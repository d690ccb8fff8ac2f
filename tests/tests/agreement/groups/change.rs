//! What a changed fabric and a restart do.

use anyhow::Result;
use sa_service::sa_db::SaDatabase;
use sa_wire::mad::method;
use sa_wire::records::{McMemberCompMask as Mask, join_state};

use super::sa::*;

#[test]
fn ports_that_are_gone_are_in_no_group() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    for guid in [H1, H2] {
        assert_eq!(sa.join(guid, BROADCAST, join_state::FULL), OK);
    }
    assert_eq!(sa.join(H2, OWN, join_state::FULL), OK);
    assert_eq!(sa.join(H1, OWN, join_state::NON_MEMBER), OK);
    let net = NET
        .replace("[2] \"H2\"[1]\n", "")
        .replace("[1] \"S1\"[2]\n", "");
    let smaller = compile(&format!("{net}{SLOW}"), PARTITIONS)?;
    sa.database
        .fabric_changed(Some(&sa.compiled.parts), &smaller.parts);
    sa.compiled = smaller;
    let members: Vec<_> = sa.members(H1).iter().map(|one| one.port_gid).collect();
    assert_eq!(members, [gid(H1)], "the other group went with H2");
    assert_eq!(sa.groups(H1).len(), 2);
    Ok(())
}

/// A group that is listed no more lives on while somebody keeps it alive.
#[test]
fn partitions_may_change_under_members() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    assert_eq!(sa.join(H1, BLUE, join_state::FULL), OK);
    assert_eq!(sa.join(H1, OWN, join_state::FULL), OK);
    let plain = PARTITIONS.replace("0x0001, ipoib", "0x0001");
    let other = compile(&format!("{NET}{SLOW}"), &plain)?;
    sa.database
        .fabric_changed(Some(&sa.compiled.parts), &other.parts);
    let old = core::mem::replace(&mut sa.compiled, other);
    assert_eq!((sa.groups(H1).len(), sa.members(H1).len()), (3, 2));
    assert_eq!(sa.leave(H1, BLUE, join_state::FULL), OK);
    assert_eq!(sa.groups(H1).len(), 2);
    // And one that a client made may come to be listed.
    assert_eq!(sa.join(H1, BLUE, join_state::FULL), OK);
    sa.database
        .fabric_changed(Some(&sa.compiled.parts), &old.parts);
    sa.compiled = old;
    assert_eq!(sa.leave(H1, BLUE, join_state::FULL), OK);
    assert_eq!(sa.groups(H1).len(), 3);
    Ok(())
}

/// After a restart everything is as it was, down to the next address that is made up.
#[test]
fn groups_outlive_a_restart() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("sa.journal");
    let mut sa = Sa::new(usual()?)?;
    sa.database = SaDatabase::open(Some(&path), NOW)?;
    sa.database.fabric_changed(None, &sa.compiled.parts);
    let unnamed = member(H1, 0, join_state::FULL);
    for _ in 0..3 {
        assert_eq!(sa.ask(H1, method::SET, Mask::CREATE, &unnamed).status(), OK);
    }
    for guid in [H1, H2] {
        assert_eq!(sa.join(guid, BROADCAST, join_state::FULL), OK);
        assert_eq!(
            sa.join(guid, OWN, join_state::FULL | join_state::NON_MEMBER),
            OK
        );
    }
    assert_eq!(sa.leave(H1, 0xff12_a01b_fe80 << 80, join_state::FULL), OK);
    assert_eq!(sa.leave(H2, OWN, join_state::FULL), OK);
    sa.database.commit()?;
    let before = (sa.groups(H1), sa.members(H1));
    sa.database = SaDatabase::open(Some(&path), NOW)?;
    sa.database.fabric_changed(None, &sa.compiled.parts);
    assert_eq!((sa.groups(H1), sa.members(H1)), before);
    let next = sa.ask(H1, method::SET, Mask::CREATE, &unnamed).record()?;
    assert_eq!(next.mgid().to_string(), "ff12:a01b:fe80::300:0:0");
    assert_eq!(next.mlid.get(), 0xc002);
    // Without the partition nobody knows what its group was.
    sa.database.commit()?;
    sa.database = SaDatabase::open(Some(&path), NOW)?;
    let other = compile(&format!("{NET}{SLOW}"), "Default=0x7fff : ALL=full ;\n")?;
    sa.database.fabric_changed(None, &other.parts);
    sa.compiled = other;
    assert_eq!(sa.members(H1).len(), before.1.len() - 2 + 1);
    Ok(())
}
