//! What cannot be a fabric is refused in words.

use std::ops::Range;
use std::sync::Arc;

use routing::EngineKind;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_wire::Lid;
use sa_wire::mad::Status;
use sa_wire::sa::{AttributeId, DATA_OFFSET};

use super::fake::{Fake, Site};
use crate::{AskError, OnDifference, SaReadError, SaReader, Wants, When, compile_from_sa, read};

const WANTS: Wants = Wants {
    sa_key: 1,
    qos: None,
};

fn refused(mut fake: Fake) -> String {
    read(&mut fake, &WANTS).unwrap_err().to_string()
}

#[test]
fn half_a_record_is_cut_off() {
    let served = Site::tree().compiled();
    let error = refused(Fake::spoilt(&served, |request, mut reply| {
        if request.attribute_id() == AttributeId::LINK_RECORD {
            reply.truncate(reply.len() - 3);
        }
        reply
    }));
    assert!(
        error.starts_with("LinkRecord: the reply is cut off"),
        "{error}"
    );
}

#[test]
fn tables_without_some_record_are_no_fabric() {
    let served = Site::tree().compiled();
    let cases = [
        (
            AttributeId::LINEAR_FORWARDING_TABLE_RECORD,
            "forwarding tables are not whole: L0, L1",
        ),
        (AttributeId::NODE_RECORD, "but no NodeRecord"),
        (AttributeId::LINK_RECORD, "LinkRecords one way only"),
        (AttributeId::SWITCH_INFO_RECORD, "no SwitchInfoRecord for"),
    ];
    for (kind, expected) in cases {
        let error = refused(Fake::with_records(&served, kind, |records| {
            records.pop();
        }));
        assert!(
            error.starts_with("the fabric did not settle in 5 readings"),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    }
    // The first port is that of a host.
    let error = refused(Fake::with_records(
        &served,
        AttributeId::PORT_INFO_RECORD,
        |records| records.retain(|record| record[..2] != [0, 1]),
    ));
    assert!(
        error.contains("there is no PortInfoRecord for H00 port 1"),
        "{error}"
    );
}

#[test]
fn a_lid_twice_is_no_fabric() {
    let served = Site::tree().compiled();
    let error = refused(Fake::with_records(
        &served,
        AttributeId::NODE_RECORD,
        |records| {
            let lid = records[0][..2].to_vec();
            records[1][..2].copy_from_slice(&lid);
        },
    ));
    assert!(error.contains(" belongs to "), "{error}");
}

#[test]
fn lids_that_overlap_by_their_lmc_are_no_fabric() {
    let served = Site::tree().compiled();
    let error = refused(Fake::with_records(
        &served,
        AttributeId::PORT_INFO_RECORD,
        |records| records.iter_mut().for_each(|record| record[4 + 34] |= 1),
    ));
    assert!(error.contains(" belongs to "), "{error}");
}

/// What is said where PortInfo of the port with LID 2 has these bytes.
fn with_port_info<const N: usize>(place: Range<usize>, bytes: [u8; N]) -> String {
    let served = Site::tree().compiled();
    refused(Fake::with_records(
        &served,
        AttributeId::PORT_INFO_RECORD,
        move |records| {
            let end = records.iter_mut().find(|record| record[..2] == [0, 2]);
            let port_info = &mut end.unwrap()[4..];
            port_info[place.clone()].copy_from_slice(&bytes);
        },
    ))
}

#[test]
fn two_sms_are_a_handover() {
    let error = with_port_info(18..20, [0, 9]);
    assert!(
        error.contains("ports name different SMs, at LIDs [1, 9]"),
        "{error}"
    );
}

#[test]
fn numbers_beyond_what_a_subnet_has_are_told() {
    let served = Site::tree().compiled();
    let told = |place: Range<usize>, value: &'static [u8]| {
        refused(Fake::with_records(
            &served,
            AttributeId::NODE_RECORD,
            move |records| {
                let last = records.last_mut().unwrap();
                last.get_mut(place.clone()).unwrap().copy_from_slice(value);
            },
        ))
    };
    let error = told(0..2, &[0xc0, 0]);
    assert!(
        error.contains("has LID 49152; unicast LIDs end at 49151"),
        "{error}"
    );
    // NumPorts of the NodeInfo.
    let error = told(4 + 3..4 + 4, &[255]);
    assert!(error.contains("255 ports; a node has 1 to 254"), "{error}");
}

#[test]
fn ports_of_two_subnets_are_no_fabric() {
    let error = with_port_info(8..16, 0xfec0_0000_0000_0007_u64.to_be_bytes());
    assert!(
        error.contains("ports have different GID prefixes (")
            && error.contains(": 0xfec0000000000007"),
        "{error}"
    );
}

#[test]
fn a_refusal_is_told_with_its_status() {
    let served = Site::tree().compiled();
    let error = refused(Fake::spoilt(&served, |request, mut reply| {
        if request.attribute_id() == AttributeId::NODE_RECORD {
            reply.truncate(DATA_OFFSET);
            reply[4..6].copy_from_slice(&Status::NO_RESOURCES.get().to_be_bytes());
        }
        reply
    }));
    assert_eq!(
        error,
        "NodeRecord: the SA refuses with status 0x0100 (no resources)"
    );
}

#[test]
fn a_busy_sa_is_asked_again() {
    let served = Site::tree().compiled();
    let mut left = 2;
    let mut fake = Fake::spoilt(&served, move |_, mut reply| {
        if left > 0 {
            left -= 1;
            reply[4..6].copy_from_slice(&Status::BUSY.get().to_be_bytes());
        }
        reply
    });
    assert!(read(&mut fake, &WANTS).is_ok());
}

#[test]
fn without_the_key_partitions_come_from_elsewhere() {
    let served = Site::tree().compiled();
    let wants = Wants { sa_key: 7, ..WANTS };
    let live = read(&mut Fake::of(&served), &wants).unwrap();
    assert!(live.pkeys().is_none());
    let [note] = live.notes() else {
        panic!("{:?}", live.notes());
    };
    assert!(
        note.message
            .contains("does not show P_Key tables (silence)"),
        "{note}"
    );
}

#[test]
fn an_sa_that_says_nothing_is_an_error() {
    struct Dead;
    impl crate::Ask for Dead {
        fn ask(&mut self, _: &[u8; 256]) -> Result<Vec<u8>, AskError> {
            Err(AskError::Gone("no device".to_owned()))
        }
        fn lid(&self) -> Option<Lid> {
            None
        }
        fn whom(&self) -> String {
            String::new()
        }
    }
    let error = read(&mut Dead, &WANTS).unwrap_err();
    assert!(
        matches!(error, SaReadError::Ask(AskError::Gone(_))),
        "{error}"
    );
}

/// Somewhere between the two readings a switch goes; what is served is one fabric or the other.
#[test]
fn a_change_while_it_is_read_is_noticed() {
    let site = Site::torus([3, 3, 3]);
    let before = site.compiled();
    let inputs = Inputs {
        failed: vec!["S1_1_1".to_owned()],
        ..site.inputs
    };
    let after = Arc::new(pipeline::compile(&inputs, Stamp::default()).unwrap());
    let mut whole = Fake::of(&before);
    let was = read(&mut whole, &WANTS).unwrap();
    let is = read(&mut Fake::of(&after), &WANTS).unwrap();
    let (mut old, mut new) = (0, 0);
    for at in (0..=whole.asked).step_by(7) {
        let mut fake = Fake {
            then: Some((at, Arc::clone(&after))),
            ..Fake::of(&before)
        };
        let read = read(&mut fake, &WANTS).unwrap();
        old += usize::from(read == was);
        new += usize::from(read == is);
    }
    assert_eq!(old + new, whole.asked / 7 + 1);
    assert!(new > 5, "{old} {new}");
}

#[test]
fn a_fabric_that_never_lies_still_is_given_up() {
    let served = Site::tree().compiled();
    let mut count = 0u8;
    let error = refused(Fake::with_records(
        &served,
        AttributeId::NODE_RECORD,
        move |records| {
            count += 1;
            records[0][44] = count;
        },
    ));
    assert_eq!(
        error,
        "the fabric did not settle in 5 readings; the last time: nodes, links or switches changed"
    );
}

/// The switches hold other tables than the engine makes: those are served, and the operator hears
/// of it.
#[test]
fn tables_that_differ_from_the_engines_are_served_as_they_are() {
    let site = Site::torus([3, 3, 3]);
    let served = site.compiled();
    let kind = AttributeId::LINEAR_FORWARDING_TABLE_RECORD;
    let first = served.parts.topology.switch_ixs().next().unwrap();
    let output = |lid: &Lid| served.parts.routes.output(first, *lid);
    let mut lids = (1..).map(|lid| Lid::new(lid).unwrap());
    let dlid = lids.find(|lid| output(lid).is_some_and(|port| port > 2));
    let dlid = dlid.unwrap().index();
    let switch_lid = served.parts.topology.switch(first).port0;
    let switch_lid = served.parts.topology.end_port(switch_lid).lid.get();
    let fake = Fake::with_records(&served, kind, move |records| {
        let block = records
            .iter_mut()
            .find(|record| record[..2] == switch_lid.to_be_bytes());
        if let Some(block) = block {
            block[8 + dlid] = 1;
        }
    });
    let mut source = SaReader::new(Box::new(fake), 64, OnDifference::Refuse);
    let inputs = site.without_fabric();
    let compiled = compile_from_sa(&inputs, &mut source, When::Changed, Stamp::default(), None);
    let compiled = compiled.unwrap().unwrap().compiled;
    assert_eq!(compiled.parts.routes.engine(), EngineKind::Files);
    assert_eq!(compiled.parts.routes.lft(first)[dlid], 1);
    let said = lines(&compiled);
    assert!(
        said.starts_with(
            "1 of 27 switches forward 1 (switch, LID) pairs differently from torus-2QoS"
        ),
        "{said}"
    );
    assert!(
        said.contains(&format!("LID {dlid} by port 1, not port")),
        "{said}"
    );
}

fn lines(compiled: &Compiled) -> String {
    let remarks = compiled.parts.programmed.iter();
    let lines: Vec<String> = remarks.map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn sl2vl_tables_that_differ_are_told() {
    let site = Site::torus([3, 3, 3]);
    let served = site.compiled();
    let fake = Fake::with_records(&served, AttributeId::SL_TO_VL_RECORD, |records| {
        for record in records
            .iter_mut()
            .filter(|record| record[2] == 1 && record[3] == 2)
        {
            record[8] ^= 0x10;
        }
    });
    let mut source = SaReader::new(Box::new(fake), 64, OnDifference::Refuse);
    let inputs = site.without_fabric();
    let compiled = compile_from_sa(&inputs, &mut source, When::Changed, Stamp::default(), None);
    let said = lines(&compiled.unwrap().unwrap().compiled);
    assert!(
        said.starts_with("27 SL2VL tables are not those of torus-2QoS"),
        "{said}"
    );
}
