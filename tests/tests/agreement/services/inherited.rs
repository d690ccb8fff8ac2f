//! What another SA has set goes on in this one, as far as its records tell it.

use anyhow::{Context, Result};
use sa_service::sa_db::{ClientRecords, Inherited};
use sa_tests::rng::Rng;
use sa_wire::mad::method;
use sa_wire::records::{
    GuidInfoRecord, InformInfo, InformInfoRecord, McMemberCompMask, McMemberRecord, ServiceRecord,
};
use sa_wire::sa::AttributeId;
use zerocopy::{FromBytes, IntoBytes};

use super::fixture::{Fixture, gid_of};
use super::reports;

/// The SM, which is a full member of the partition of all, so that nothing is hidden from it.
const SM: u64 = 0x10_0001;
const GROUP: [u8; 16] = [0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

/// All that this SA tells the SM of its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    members: Vec<McMemberRecord>,
    services: Vec<ServiceRecord>,
    subscriptions: Vec<InformInfoRecord>,
    guids: Vec<GuidInfoRecord>,
}

fn read<T: FromBytes>(fixture: &mut Fixture, attribute: AttributeId, stride: usize) -> Vec<T> {
    let records = fixture.records(attribute, 0, &[], stride);
    let read = records
        .iter()
        .filter_map(|bytes| T::read_from_prefix(bytes).ok());
    read.map(|(record, _)| record).collect()
}

fn told(fixture: &mut Fixture) -> Told {
    (fixture.lid, fixture.key) = (fixture.lid_of(SM), 1);
    Told {
        members: read(fixture, AttributeId::MC_MEMBER_RECORD, 56),
        services: read(fixture, AttributeId::SERVICE_RECORD, 176),
        subscriptions: read(fixture, AttributeId::INFORM_INFO_RECORD, 64),
        guids: read(fixture, AttributeId::GUID_INFO_RECORD, 72),
    }
}

fn join(fixture: &mut Fixture, guid: u64, port: u64, states: u8) {
    (fixture.lid, fixture.key) = (fixture.lid_of(port), 0);
    let record = McMemberRecord {
        mgid: GROUP,
        port_gid: gid_of(guid),
        pkey: 0x7fff.into(),
        q_key: 9.into(),
        scope_and_state: 0x20 | states,
        ..McMemberRecord::default()
    };
    let mask = McMemberCompMask::CREATE.0;
    let data = &record.as_bytes()[..McMemberRecord::SIZE];
    fixture.reply(AttributeId::MC_MEMBER_RECORD, method::SET, mask, data);
}

fn inherit(from: &Told, into: &mut Fixture) -> Result<()> {
    let records = ClientRecords {
        members: &from.members,
        services: &from.services,
        subscriptions: &from.subscriptions,
        guids: &from.guids,
    };
    let copy = Inherited::of(&records, 2, into.now).map_err(anyhow::Error::msg)?;
    into.database.inherit(copy, into.now);
    Ok(())
}

/// Random clients of one, and of the other that is to forget its own; and what the other tells afterwards, after a restart too.
#[test]
fn what_one_tells_the_next_tells() -> Result<()> {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (mut first, mut next) = (Fixture::new()?, Fixture::new()?);
        for fixture in [&mut first, &mut next] {
            fixture.database.fabric_changed(None, &fixture.parts);
            for nth in 0..60 {
                fixture.random(&mut rng);
                if nth % 9 == 0 {
                    let port = [SM, 0x10_0011, 0x10_0021][rng.below(3)];
                    let alias = first_alias(fixture, port).filter(|_| rng.below(2) == 0);
                    let states = [1, 2, 4, 8][rng.below(4)];
                    join(fixture, alias.unwrap_or(port), port, states);
                }
            }
        }
        // Time goes by, and only what is left of a lease goes on.
        (first.now.steady, first.now.unix) = (std::time::Duration::from_secs(50), 1_000_000_050);
        let before = told(&mut first);
        assert!(!before.services.is_empty() && !before.subscriptions.is_empty());
        assert!(before.services.iter().all(|it| {
            let lease = it.lease.get();
            lease == u32::MAX || lease <= 150
        }));
        inherit(&before, &mut next)?;
        next.database.fabric_changed(None, &next.parts);
        assert_eq!(told(&mut next), before, "seed {seed}");
        next.restart()?;
        assert_eq!(told(&mut next), before, "seed {seed}, after a restart");
        // The same again changes nothing, and so costs no disk.
        let lines = next.journal_lines()?;
        inherit(&before, &mut next)?;
        next.database.fabric_changed(None, &next.parts);
        next.database.commit()?;
        let more = next.journal_lines()? - lines;
        // But for groups of the file and the addresses of subscribers, which another fabric may have changed.
        assert!(more <= 2 * before.subscriptions.len() + 2, "{more} lines");
    }
    Ok(())
}

fn first_alias(fixture: &mut Fixture, port: u64) -> Option<u64> {
    let all = fixture.database.aliases();
    all.iter()
        .find(|(_, of)| of.get() == port)
        .map(|(alias, _)| alias.get())
}

/// A lease ends when it would have ended.
#[test]
fn a_lease_goes_on() -> Result<()> {
    let (mut first, mut next) = (Fixture::new()?, Fixture::new()?);
    first.lid = first.lid_of(SM);
    let mut service = super::service(1, "a.service");
    service.lease = 100.into();
    let mask = 0b1_0011;
    first.reply(
        AttributeId::SERVICE_RECORD,
        method::SET,
        mask,
        service.as_bytes(),
    );
    first.now = super::fixture::at(60_000);
    let before = told(&mut first);
    assert_eq!(before.services[0].lease.get(), 40);
    next.database.fabric_changed(None, &next.parts);
    inherit(&before, &mut next)?;
    next.now = super::fixture::at(39_000);
    assert_eq!(told(&mut next).services.len(), 1);
    next.now = super::fixture::at(41_000);
    assert_eq!(told(&mut next).services.len(), 0);
    Ok(())
}

/// The address of a subscriber is a guess until it asks again; then Reports go where it says, and there is one of them.
#[test]
fn a_subscriber_that_asks_again_is_no_second_one() -> Result<()> {
    let (mut first, mut next) = (Fixture::new()?, Fixture::new()?);
    let everything = reports::everything();
    first.lid = first.lid_of(0x10_0021);
    let set = |fixture: &mut Fixture, info: &InformInfo| {
        let mut slot = fixture.slot(AttributeId::INFORM_INFO, method::SET, 0, info.as_bytes());
        (slot.header.sl, slot.header.path_bits) = (3, 1);
        let responded = fixture
            .database
            .respond(&fixture.parts, &slot, 2, fixture.now);
        responded.reply.map(|reply| reply[5])
    };
    assert_eq!(set(&mut first, &everything), Some(0));
    let before = told(&mut first);
    next.database.fabric_changed(None, &next.parts);
    inherit(&before, &mut next)?;
    next.database.fabric_changed(None, &next.parts);
    let lid = next.lid_of(0x10_0021);
    let heard = |fixture: &mut Fixture| -> Result<Vec<_>> {
        fixture.lose("H1")?;
        let heard = fixture.regain()?;
        Ok(heard.iter().map(|report| report.to).collect())
    };
    let to = heard(&mut next)?;
    let guess = to.first().context("a Report")?;
    assert_eq!((to.len(), guess.lid.get(), guess.sl), (1, lid, 0));
    next.lid = lid;
    assert_eq!(set(&mut next, &everything), Some(0));
    let to = heard(&mut next)?;
    let known = to.first().context("a Report")?;
    assert_eq!((to.len(), known.lid.get(), known.sl), (1, lid, 3));
    assert_eq!(told(&mut next).subscriptions.len(), 1);
    Ok(())
}

/// One bad record, and nothing of it counts.
#[test]
fn records_that_cannot_be_are_refused() {
    let good = McMemberRecord {
        mgid: GROUP,
        port_gid: gid_of(SM),
        mlid: 0xc001.into(),
        scope_and_state: 0x21,
        ..McMemberRecord::default()
    };
    let is_refused = |record: McMemberRecord| {
        let records = ClientRecords {
            members: &[good, record],
            ..ClientRecords::default()
        };
        Inherited::of(&records, 0, super::fixture::at(0)).is_err()
    };
    assert!(!is_refused(good));
    let with = |change: fn(&mut McMemberRecord)| {
        let mut record = good;
        change(&mut record);
        is_refused(record)
    };
    assert!(with(|it| it.port_gid = [0; 16]), "hidden");
    assert!(with(|it| it.mgid = [0xfe; 16]));
    assert!(with(|it| it.mlid = 0x1234.into()));
    assert!(with(|it| it.scope_and_state = 0x20));
    let many = vec![super::service(1, ""); 70_000];
    let records = ClientRecords {
        services: &many,
        ..ClientRecords::default()
    };
    assert!(Inherited::of(&records, 0, super::fixture::at(0)).is_err());
}
