//! Services, subscriptions and alias GUIDs without a simulator: leases, restarts, Reports, and
//! requests that make no sense.

mod fixture;
mod inherited;
mod reports;

use anyhow::Result;
use sa_service::sa_db::SaDatabase;
use sa_wire::mad::{Status, method};
use sa_wire::records::{GuidInfoRecord, InformInfo, InformInfoRecord, Layout, ServiceRecord};
use sa_wire::sa::AttributeId;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use fixture::{Fixture, SERVICE_KEY, at, gid_of, mask};
use sa_tests::rng::Rng;

const SERVICE: AttributeId = AttributeId::SERVICE_RECORD;
const OK: Option<u16> = Some(0);

fn service(id: u64, name: &str) -> ServiceRecord {
    let mut record = ServiceRecord::new_zeroed();
    record.id = id.into();
    record.gid = gid_of(0x10_0001);
    record.name[..name.len()].copy_from_slice(name.as_bytes());
    record.key = SERVICE_KEY;
    record
}

fn set(fixture: &mut Fixture, record: &ServiceRecord, components: &[&str]) -> Option<u16> {
    let all = [&["service_id", "service_gid"], components].concat();
    let mask = mask(&Layout::SERVICE, &all);
    fixture.status(SERVICE, method::SET, mask, record.as_bytes())
}

/// How many there are by these components.
fn count(fixture: &mut Fixture, record: &ServiceRecord, components: &[&str]) -> usize {
    let mask = mask(&Layout::SERVICE, components);
    let all = fixture.records(SERVICE, mask, record.as_bytes(), 176);
    all.len()
}

#[test]
fn a_service_lives_as_long_as_its_lease() -> Result<()> {
    let mut fixture = Fixture::new()?;
    for (id, lease) in [(1, 10), (2, 0), (3, u32::MAX)] {
        let mut record = service(id, "x");
        record.lease = lease.into();
        assert_eq!(set(&mut fixture, &record, &["service_lease"]), OK);
    }
    // No lease is an infinite one.
    assert_eq!(set(&mut fixture, &service(4, "x"), &[]), OK);
    let any = service(0, "");
    let mut left = |millis| {
        fixture.now = at(millis);
        count(&mut fixture, &any, &[])
    };
    assert_eq!([0, 999, 1000, 9999, 10_000].map(&mut left), [4, 4, 3, 3, 2]);
    assert_eq!(left(u64::from(u32::MAX) * 2000), 2);
    Ok(())
}

#[test]
fn an_announcement_made_anew_has_a_new_lease() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let mut record = service(1, "x");
    record.lease = 10.into();
    assert_eq!(set(&mut fixture, &record, &["service_lease"]), OK);
    fixture.now = at(9000);
    assert_eq!(set(&mut fixture, &record, &["service_lease"]), OK);
    fixture.now = at(18_999);
    assert_eq!(count(&mut fixture, &record, &["service_id"]), 1);
    fixture.now = at(19_000);
    fixture.expire()?;
    assert_eq!(count(&mut fixture, &record, &["service_id"]), 0);
    Ok(())
}

#[test]
fn a_lease_goes_on_after_a_restart_and_clocks_do_not_lengthen_it() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let mut record = service(1, "x");
    record.lease = 100.into();
    assert_eq!(set(&mut fixture, &record, &["service_lease"]), OK);
    fixture.now = at(40_000);
    fixture.restart()?;
    fixture.now.steady = at(59_999).steady;
    assert_eq!(count(&mut fixture, &record, &[]), 1);
    // The clock was set back by a day while nobody ran: not more than the whole lease is left.
    fixture.now.unix -= 86_400;
    fixture.restart()?;
    fixture.now.steady = at(99_999).steady;
    assert_eq!(count(&mut fixture, &record, &[]), 1);
    fixture.now.steady = at(100_000).steady;
    assert_eq!(count(&mut fixture, &record, &[]), 0);
    // Set forward: it is over.
    assert_eq!(set(&mut fixture, &record, &["service_lease"]), OK);
    fixture.now.unix += 200;
    fixture.restart()?;
    assert_eq!(count(&mut fixture, &record, &[]), 0);
    Ok(())
}

/// The order of osmtest's flow of services.
#[test]
fn services_are_found_by_id_name_and_key() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let key = ["service_name", "service_key", "service_pkey"];
    let mut named = service(1, "osmt.srvc.1");
    named.pkey = 0xffff.into();
    assert_eq!(set(&mut fixture, &named, &key[..1]), OK);
    let mut keyed = service(5, "osmt.srvc.1");
    keyed.pkey = 0xffff.into();
    keyed.key = [7; 16];
    assert_eq!(set(&mut fixture, &keyed, &key), OK);
    assert_eq!(set(&mut fixture, &keyed, &key), OK, "twice is once");
    assert_eq!(count(&mut fixture, &named, &["service_name"]), 2);
    assert_eq!(count(&mut fixture, &named, &["service_id"]), 1);
    assert_eq!(count(&mut fixture, &service(9, ""), &["service_id"]), 0);
    let by_both = ["service_id", "service_name"];
    assert_eq!(count(&mut fixture, &keyed, &by_both), 1);
    assert_eq!(count(&mut fixture, &service(5, "other"), &by_both), 0);
    assert_eq!(count(&mut fixture, &keyed, &key[..2]), 1);
    assert_eq!(
        count(&mut fixture, &service(5, "osmt.srvc.1"), &key[..2]),
        1
    );
    // The newest comes first; keys are for those who are trusted.
    for (trust, shown) in [(0, [0; 16]), (1, [7; 16])] {
        fixture.key = trust;
        let all = fixture.records(SERVICE, 0, &[], 176);
        let first = ServiceRecord::read_from_bytes(&all[0]).ok();
        let first = first.map(|record| (record.id.get(), record.key));
        assert_eq!(first, Some((5, shown)));
    }
    let by_name = mask(&Layout::SERVICE, &["service_name"]);
    let mut delete = |record: &ServiceRecord| {
        fixture.status(SERVICE, method::DELETE, by_name, record.as_bytes())
    };
    assert_eq!(delete(&keyed), OK);
    assert_eq!(delete(&keyed), Some(Status::NO_RECORDS.get()));
    assert_eq!(delete(&named), OK);
    assert_eq!(count(&mut fixture, &named, &["service_name"]), 0);
    Ok(())
}

/// The order of osmtest's flow of events.
#[test]
fn what_is_not_subscribed_cannot_be_ended() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let mut info = reports::everything();
    let mut ask = |info: &InformInfo| {
        let reply = fixture.reply(AttributeId::INFORM_INFO, method::SET, 0, info.as_bytes())?;
        let told = InformInfo::read_from_bytes(&reply[56..92]).ok()?;
        Some((u16::from_be_bytes([reply[4], reply[5]]), told.subscribe))
    };
    info.subscribe = 0;
    info.set_qpn(1);
    let refused = Some((Status::REQ_INVALID.get(), 0));
    assert_eq!(ask(&info), refused);
    info.subscribe = 1;
    assert_eq!(ask(&info), Some((0, 1)));
    assert_eq!(ask(&info), Some((0, 1)), "twice is once");
    info.subscribe = 2;
    assert_eq!(ask(&info), Some((Status::REQ_INVALID.get(), 2)));
    info.subscribe = 0;
    info.set_qpn(2);
    assert_eq!(ask(&info), refused, "another queue pair");
    info.set_qpn(1);
    assert_eq!(ask(&info), Some((0, 0)));
    assert_eq!(ask(&info), refused);
    let all = fixture.records(AttributeId::INFORM_INFO_RECORD, 0, &[], 64);
    assert_eq!(all, Vec::<Vec<u8>>::new());
    Ok(())
}

#[test]
fn guids_that_this_sa_gives_are_given_again() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let layout = Layout::GUID_INFO;
    let asked = mask(&layout, &["lid", "block_num", "guid1", "guid2"]);
    let record_of = |lid: u16| GuidInfoRecord {
        lid: lid.into(),
        ..GuidInfoRecord::default()
    };
    let record = record_of(fixture.lid_of(0x10_0011));
    let change_of = |fixture: &mut Fixture, record: &GuidInfoRecord, method| {
        let attribute = AttributeId::GUID_INFO_RECORD;
        let reply = fixture.reply(attribute, method, asked, record.as_bytes())?;
        let told = GuidInfoRecord::read_from_bytes(&reply[56..128]).ok()?;
        Some(told.guids.map(|guid| guid.get()))
    };
    let change = |fixture: &mut Fixture, method| change_of(fixture, &record, method);
    let given = [0x10_0011, 0x0014_0500_0000_0001, 0x0014_0500_0000_0002];
    let all = |guids: [u64; 3]| {
        let mut all = [0; 8];
        all[..3].copy_from_slice(&guids);
        Some(all)
    };
    assert_eq!(change(&mut fixture, method::SET), all(given));
    assert_eq!(change(&mut fixture, method::DELETE), all([given[0], 0, 0]));
    fixture.restart()?;
    assert_eq!(change(&mut fixture, method::SET), all(given));
    let shown = fixture.records(layout.attribute, 1, record.as_bytes(), 72);
    assert_eq!(shown.len(), 4, "of one port, in blocks");
    assert_eq!(shown[0][8..32], given.map(u64::to_be_bytes).concat());
    // A port that goes loses them; what was thought of is not thought of again.
    fixture.lose("H2")?;
    let other = record_of(fixture.lid_of(0x10_0021));
    let guids = change_of(&mut fixture, &other, method::SET);
    assert_eq!(guids.map(|guids| guids[1]), Some(given[2] + 1));
    Ok(())
}

#[test]
fn a_restart_gives_the_same_answers() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let mut rng = Rng::new(5);
    for _ in 0..2000 {
        fixture.random(&mut rng);
    }
    fixture.key = 1;
    let state = |fixture: &mut Fixture| {
        let all = [
            (SERVICE, size_of::<ServiceRecord>()),
            (
                AttributeId::INFORM_INFO_RECORD,
                size_of::<InformInfoRecord>(),
            ),
            (AttributeId::GUID_INFO_RECORD, size_of::<GuidInfoRecord>()),
        ];
        all.map(|(attribute, size)| fixture.records(attribute, 0, &[], size))
    };
    let before = state(&mut fixture);
    assert!(before.iter().all(|records| records.len() > 5));
    fixture.restart()?;
    assert_eq!(state(&mut fixture), before);
    Ok(())
}

#[test]
fn requests_that_make_no_sense_do_no_harm() -> Result<()> {
    let mut fixture = Fixture::new()?;
    let mut rng = Rng::new(6);
    let attributes = [
        SERVICE,
        AttributeId::INFORM_INFO,
        AttributeId::INFORM_INFO_RECORD,
        AttributeId::GUID_INFO_RECORD,
    ];
    for _ in 0..20_000 {
        let data: Vec<u8> = (0..25).flat_map(|_| rng.number().to_be_bytes()).collect();
        let method = u8::try_from(rng.below(256)).unwrap_or(0);
        let attribute = attributes[rng.below(attributes.len())];
        fixture.lid = u16::try_from(rng.below(20)).unwrap_or(0);
        let mask = rng.number() & rng.number();
        let reply = fixture.reply(attribute, method, mask, &data);
        let is_request = matches!(method, 1 | 2 | 0x12..=0x15);
        assert!(is_request || reply.is_none(), "method {method:#x}");
    }
    fixture.restart()?;
    assert!(SaDatabase::serves(sa_wire::sa::SaMad::from_bytes(
        &fixture.slot(SERVICE, method::GET, 0, &[]).mad
    )));
    Ok(())
}
