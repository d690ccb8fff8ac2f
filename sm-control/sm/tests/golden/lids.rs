//! LIDs of fresh subnets, and of one subnet in five starts of OpenSM.

use std::collections::BTreeMap;

use sa_fabric::PortRef;
use sa_sm::lids::{LidFinding, LidOptions, Range, Reason, Remembered, assign};
use sa_sm::model::Subnet;
use sa_wire::{Guid, Lid, Lmc};

use sm_recordings::{guid, read, subnet};

/// First sweeps, with LMC and `lmc_esp0` of their `opensm.conf`.
const FRESH: [(&str, u8, bool); 9] = [
    ("g01-star", 0, false),
    ("g02-line", 0, false),
    ("g03-ftree", 0, false),
    ("g04-ftree-lmc1", 1, false),
    ("g05-torus444-minhop", 0, false),
    ("g07-torus444-2qos", 0, false),
    ("g08-ftree-qos", 0, false),
    ("g11-parallel", 0, false),
    ("g12-router-esp0-lmc1", 1, true),
];

const CASE: &str = "g10-guid2lid";

fn options(lmc: u8) -> LidOptions {
    LidOptions {
        lmc: Lmc::new(lmc).unwrap(),
        ..LidOptions::default()
    }
}

/// Base LID and LMC of each end port, as they stand in a model.
fn told(subnet: &Subnet) -> BTreeMap<PortRef, (u16, u8)> {
    let ports = subnet.end_ports().map(|(at, port)| {
        let info = port.info.unwrap();
        (at, (info.base_lid.get(), info.m_key_protect_and_lmc & 7))
    });
    ports.collect()
}

fn planned(
    subnet: &Subnet,
    options: LidOptions,
    table: &mut Remembered,
) -> BTreeMap<PortRef, (u16, u8)> {
    let plan = assign(subnet, options, table);
    let ports = plan.ports.iter();
    ports
        .map(|(at, lids)| (*at, (lids.lid.get(), lids.lmc.get())))
        .collect()
}

fn without_lids(mut subnet: Subnet) -> Subnet {
    let ports: Vec<PortRef> = subnet.end_ports().map(|(at, _)| at).collect();
    for at in ports {
        let info = subnet.port_mut(at).unwrap().info.as_mut().unwrap();
        info.base_lid = 0.into();
        info.m_key_protect_and_lmc = 0;
    }
    subnet
}

#[test]
fn fresh_subnets_are_numbered_as_opensm_does() {
    for (case, lmc, lmc_esp0) in FRESH {
        let opensm = subnet(&read(case, "state-0-up.txt"));
        let expected = told(&opensm);
        assert!(expected.len() > 3, "{case}");
        let options = LidOptions {
            lmc_esp0,
            ..options(lmc)
        };
        let mut table = Remembered::default();
        assert_eq!(
            planned(&without_lids(opensm), options, &mut table),
            expected,
            "{case}"
        );
        assert_eq!(table.entries().count(), expected.len(), "{case}");
    }
}

#[test]
fn a_second_start_changes_nothing() {
    for (case, lmc, lmc_esp0) in FRESH {
        let opensm = subnet(&read(case, "state-0-up.txt"));
        let options = LidOptions {
            lmc_esp0,
            ..options(lmc)
        };
        let mut table = Remembered::default();
        let plan = assign(&opensm, options, &mut table);
        assert_eq!(
            (&plan.findings[..], told(&opensm).len()),
            (&[][..], plan.ports.len()),
            "{case}"
        );
        let file = table.render();
        let (mut again, dropped) = Remembered::parse(file.as_bytes(), options.lmc, Lid::MAX);
        assert_eq!(dropped, [], "{case}");
        assert_eq!(
            planned(&without_lids(opensm.clone()), options, &mut again),
            told(&opensm),
            "{case}"
        );
        assert_eq!(again.render(), file, "{case}");
    }
}

/// A file of the recording. Shape: base LID and last LID by port GUID.
fn file(name: &str) -> BTreeMap<Guid, (u16, u16)> {
    let text = read(CASE, name);
    let lines = text.lines().filter(|line| !line.is_empty());
    let entries = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let lid = |word: &str| u16::from_str_radix(&word[2..], 16).unwrap();
        (guid(words[0]), (lid(words[1]), lid(words[2])))
    });
    entries.collect()
}

fn entries(table: &Remembered) -> BTreeMap<Guid, (u16, u16)> {
    let pair = |range: Range| (range.first.get(), range.last.get());
    table
        .entries()
        .map(|(guid, range)| (guid, pair(range)))
        .collect()
}

fn state(number: usize) -> Subnet {
    let labels = ["preset", "from-fabric", "reassigned", "lmc2", "duplid"];
    subnet(&read(
        CASE,
        &format!("state-{number}-{}.txt", labels[number]),
    ))
}

#[test]
fn a_file_with_errors_is_followed_where_it_can_be() {
    let preset = read(CASE, "sm-a-cache-guid2lid");
    let (mut table, dropped) = Remembered::parse(preset.as_bytes(), Lmc::default(), Lid::MAX);
    let owner = guid("0x100011");
    let reasons: Vec<Reason> = dropped.iter().map(|it| it.reason).collect();
    assert_eq!(reasons, [Reason::Taken(owner), Reason::Range]);
    let found = planned(&without_lids(state(0)), options(0), &mut table);
    assert_eq!(found, told(&state(0)));
    assert_eq!(entries(&table), file("guid2lid-after-preset"));
}

#[test]
fn lids_of_the_fabric_are_kept_without_a_file() {
    let mut table = Remembered::default();
    assert_eq!(planned(&state(0), options(0), &mut table), told(&state(1)));
    assert_eq!(entries(&table), file("guid2lid-from-fabric"));
}

#[test]
fn reassign_numbers_anew() {
    let mut table = Remembered::default();
    let options = LidOptions {
        reassign: true,
        ..options(0)
    };
    assert_eq!(planned(&state(1), options, &mut table), told(&state(2)));
    assert_eq!(entries(&table), file("guid2lid-reassigned"));
}

#[test]
fn a_larger_lmc_moves_what_does_not_fit() {
    let text = read(CASE, "guid2lid-reassigned");
    let (mut table, dropped) = Remembered::parse(text.as_bytes(), Lmc::new(2).unwrap(), Lid::MAX);
    assert_eq!(dropped, []);
    assert_eq!(planned(&state(2), options(2), &mut table), told(&state(3)));
    assert_eq!(entries(&table), file("guid2lid-lmc2"));
}

#[test]
fn two_ports_with_the_lid_of_a_third_get_others() {
    let mut fabric = state(3);
    let ports: Vec<(PortRef, u64)> = fabric
        .end_ports()
        .map(|(at, port)| (at, port.guid.unwrap().get()))
        .collect();
    for (at, _) in ports
        .iter()
        .filter(|(_, guid)| [0x100111, 0x100211].contains(guid))
    {
        fabric
            .port_mut(*at)
            .unwrap()
            .info
            .as_mut()
            .unwrap()
            .base_lid = 12.into();
    }
    let mut table = Remembered::default();
    let plan = assign(&fabric, options(0), &mut table);
    let found: BTreeMap<_, _> = plan
        .ports
        .iter()
        .map(|(at, lids)| (*at, (lids.lid.get(), lids.lmc.get())))
        .collect();
    assert_eq!(found, told(&state(4)));
    let moved = plan
        .findings
        .iter()
        .filter(|it| matches!(it, LidFinding::Moved { from, .. } if from.get() == 12));
    assert_eq!(moved.count(), 2);
}

#[test]
fn a_switch_with_a_small_table_limits_all() {
    let mut fabric = without_lids(state(0));
    let switch = fabric.by_guid(guid("0x200001")).unwrap();
    let other = fabric.by_guid(guid("0x200000")).unwrap();
    fabric
        .node_mut(switch)
        .unwrap()
        .switch_info
        .as_mut()
        .unwrap()
        .linear_cap = 10.into();
    fabric
        .node_mut(other)
        .unwrap()
        .switch_info
        .as_mut()
        .unwrap()
        .linear_cap = 0.into();
    let mut table = Remembered::default();
    let plan = assign(&fabric, options(0), &mut table);
    assert_eq!((plan.ports.len(), plan.top().map(Lid::get)), (9, Some(9)));
    let ran_out = plan
        .findings
        .iter()
        .filter(|it| matches!(it, LidFinding::RanOut { count: 1, last, .. } if last.get() == 9));
    assert_eq!(ran_out.count(), 2);
    assert!(
        plan.findings
            .contains(&LidFinding::NoTable(guid("0x200000")))
    );
    assert_eq!(
        table.entries().count(),
        9,
        "who got none is not remembered with one"
    );
}
