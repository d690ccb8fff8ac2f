//! What subscribers hear.

use anyhow::Result;
use sa_service::sa_db::Report;
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::notice::Notice;
use sa_wire::records::{ANY16, ANY24, InformInfo};
use sa_wire::sa::{AttributeId, SaMad};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::fixture::{Fixture, gid_of};

/// A subscription to every generic trap.
pub(crate) fn everything() -> InformInfo {
    let mut info = InformInfo::new_zeroed();
    info.lid_range_begin = ANY16.into();
    info.is_generic = 1;
    info.subscribe = 1;
    info.trap_type = ANY16.into();
    info.trap_number = ANY16.into();
    info.producer_type = ANY24;
    info
}

fn subscribe(fixture: &mut Fixture, guid: u64, info: &InformInfo) {
    fixture.lid = fixture.lid_of(guid);
    let status = fixture.status(AttributeId::INFORM_INFO, method::SET, 0, info.as_bytes());
    assert_eq!(status, Some(0));
}

fn notice(report: &Report) -> Notice {
    let mad = SaMad::from_bytes(&report.mad);
    assert_eq!(mad.mad.method, method::REPORT);
    assert_eq!(mad.attribute_id(), AttributeId::NOTICE);
    assert_eq!((mad.sa.sm_key.get(), mad.sa.attribute_offset.get()), (0, 0));
    Notice::read_from_prefix(&mad.data).map_or_else(|_| Notice::new_zeroed(), |(notice, _)| notice)
}

/// Trap numbers and subjects of what went to a LID.
fn heard(reports: &[Report], lid: u16) -> Vec<(u16, Gid)> {
    let its = reports.iter().filter(|report| report.to.lid.get() == lid);
    its.map(notice)
        .map(|notice| (notice.trap_number.get(), notice.subject()))
        .collect()
}

#[test]
fn ports_that_come_and_go_are_reported_to_those_who_share_a_partition() -> Result<()> {
    let mut fixture = Fixture::new()?;
    for guid in [0x10_0001, 0x10_0021, 0x10_0031] {
        subscribe(&mut fixture, guid, &everything());
    }
    let lids = [0x10_0001, 0x10_0021, 0x10_0031].map(|guid| fixture.lid_of(guid));
    let h2 = Gid(gid_of(0x10_0011));
    for (reports, number) in [(fixture.lose("H2")?, 65), (fixture.regain()?, 64)] {
        assert_eq!(heard(&reports, lids[0]), [(number, h2)], "the SM's host");
        assert_eq!(heard(&reports, lids[1]), [(number, h2)], "blue like H2");
        assert_eq!(heard(&reports, lids[2]), [], "limited as H2 is");
        // The newest subscription first.
        assert_eq!(reports[0].to.lid.get(), lids[1]);
        assert_eq!((reports[0].port, reports[0].to.qpn.get()), (2, 1));
        let notice = notice(&reports[0]);
        assert_eq!(notice.as_bytes()[..4], [0x83, 0, 0, 4]);
        assert_eq!(notice.issuer_lid.get(), lids[0]);
        assert_eq!(notice.issuer_gid, gid_of(0x10_0001));
        assert_eq!(notice.toggle_and_count.get(), 0);
    }
    assert!(fixture.regain()?.is_empty(), "nothing changed");
    Ok(())
}

#[test]
fn only_what_was_asked_for_is_reported() -> Result<()> {
    let sm = gid_of(0x10_0001);
    let other = gid_of(0x10_0021);
    let change = |change: &dyn Fn(&mut InformInfo)| {
        let mut info = everything();
        change(&mut info);
        info
    };
    let issuer = Fixture::new()?.lid_of(0x10_0001);
    let cases = [
        (change(&|info| info.trap_number = 65.into()), true),
        (change(&|info| info.trap_number = 64.into()), false),
        (change(&|info| info.trap_type = 3.into()), true),
        (change(&|info| info.trap_type = 1.into()), false),
        (change(&|info| info.producer_type = [0, 0, 4]), true),
        (change(&|info| info.producer_type = [0, 0, 1]), false),
        (change(&|info| info.is_generic = 0), false),
        (change(&|info| info.gid = sm), true),
        (change(&|info| info.gid = other), false),
        (change(&|info| by_lids(info, issuer, issuer)), true),
        (change(&|info| by_lids(info, 1, 5)), true),
        (change(&|info| by_lids(info, issuer, 0)), false),
        (change(&|info| by_lids(info, issuer + 1, 5)), false),
    ];
    for (info, is_heard) in cases {
        let mut fixture = Fixture::new()?;
        subscribe(&mut fixture, 0x10_0021, &info);
        let reports = fixture.lose("H2")?;
        assert_eq!(!reports.is_empty(), is_heard, "{info:?}");
    }
    Ok(())
}

fn by_lids(info: &mut InformInfo, first: u16, last: u16) {
    info.lid_range_begin = first.into();
    info.lid_range_end = last.into();
}

#[test]
fn who_asked_for_lids_and_may_not_hear_is_subscribed_no_longer() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let issuer = fixture.lid_of(0x10_0001);
    let mut info = everything();
    by_lids(&mut info, issuer, issuer);
    subscribe(&mut fixture, 0x10_0031, &info);
    subscribe(&mut fixture, 0x10_0031, &everything());
    fixture.key = 1;
    let table = AttributeId::INFORM_INFO_RECORD;
    assert_eq!(fixture.records(table, 0, &[], 64).len(), 2);
    // H2 and H4 are limited members of the only partition that they have in common.
    assert_eq!(fixture.lose("H2")?.len(), 0);
    assert_eq!(fixture.records(table, 0, &[], 64).len(), 1);
    fixture.restart()?;
    assert_eq!(fixture.records(table, 0, &[], 64).len(), 1);
    Ok(())
}

#[test]
fn subscriptions_of_ports_that_are_gone_end() -> Result<()> {
    let mut fixture = Fixture::new()?;
    subscribe(&mut fixture, 0x10_0011, &everything());
    assert_eq!(fixture.lose("H2")?.len(), 0);
    assert_eq!(fixture.regain()?.len(), 0);
    fixture.lid = fixture.lid_of(0x10_0001);
    let table = AttributeId::INFORM_INFO_RECORD;
    assert_eq!(fixture.records(table, 0, &[], 64).len(), 0);
    Ok(())
}
