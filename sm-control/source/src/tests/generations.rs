//! Many changes one after the other: each state is made from the one before, and comes out as from nothing.
//!
//! A daemon lives for months, and every state that it serves goes on from one that went on from another. What a
//! single change leaves wrong in what is kept (a shared table, a proof, a record) shows one or two changes later.
//!
//! ```text
//! records ── change ──> records ── change ──> ..            as the SA would tell them
//!    └─ words ──> records_after(records before)            equal to these
//!                       └──> compile_after(state before)   equal, byte by byte, to compile_after(none)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use routing::EngineKind;
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile_after};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{FatTreeSpec, RandomSpec, fat_tree, random};
use sa_fabric::sa_records::{Records, SaFabric};
use sa_wire::records::LinkRecord;

use super::fake::{Fake, Site};
use crate::written::Written;
use crate::written::sweep::Sweep;
use crate::{Wants, read};

const NO_PATH: u8 = 0xff;

/// What happens to a fabric. Numbers choose, whatever their size.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A cable between switches fails; entries that lead there take another port, or none for 0.
    Cut { cable: usize, instead: u8 },
    /// Everything is as at the beginning.
    Repaired,
    /// One entry of a table is another.
    Entry { switch: usize, lid: u16, port: u8 },
    /// All switches lose their way to a LID, so that every table is another.
    Forgotten { lid: u16 },
    /// Half of a block is written, as in the middle of a sweep.
    Half {
        switch: usize,
        block: usize,
        port: u8,
    },
    /// A node gets another description.
    Renamed { node: usize, letter: u8 },
    /// An SL goes to another VL somewhere.
    Vl { row: usize, vls: u8 },
}

fn change() -> impl Strategy<Value = Change> {
    let (any, port) = (0..10_000_usize, 0..12_u8);
    prop_oneof![
        3 => (any.clone(), port.clone()).prop_map(|(cable, instead)| Change::Cut { cable, instead }),
        1 => Just(Change::Repaired),
        3 => (any.clone(), 1..80_u16, port.clone())
            .prop_map(|(switch, lid, port)| Change::Entry { switch, lid, port }),
        1 => (1..80_u16).prop_map(|lid| Change::Forgotten { lid }),
        2 => (any.clone(), 0..2_usize, port)
            .prop_map(|(switch, block, port)| Change::Half { switch, block, port }),
        1 => (any.clone(), b'a'..=b'z').prop_map(|(node, letter)| Change::Renamed { node, letter }),
        1 => (any, 0..8_u8).prop_map(|(row, vls)| Change::Vl { row, vls }),
    ]
}

/// The files of a fabric: a fat tree with more or fewer hosts, or a random graph.
fn net() -> impl Strategy<Value = String> {
    let tree = (1..4_u8, prop_oneof![Just(4_u8), Just(8)]).prop_map(|(hosts, radix)| {
        let spec = FatTreeSpec {
            oversubscription: (hosts, 1),
            ..FatTreeSpec::new(2, radix)
        };
        fat_tree(&spec).unwrap().net()
    });
    let graph = (6..14_u16, 1..4_u8, any::<u64>()).prop_map(|(switches, hosts, seed)| {
        let spec = RandomSpec {
            switches,
            degree: 4,
            hosts,
            seed,
        };
        random(&spec).unwrap().net()
    });
    prop_oneof![tree, graph]
}

/// Records as an SA tells them of updn's tables, and the LID of its SM.
fn told(net: &str) -> (Records, u16) {
    let mut site = Site::new(tempfile::tempdir().unwrap(), net);
    // Loops of hosts would keep the proof from being gone on from.
    site.inputs.engine = Some(EngineKind::UpDown);
    let fabric = read(&mut Fake::of(&site.compiled()), &Wants::default()).unwrap();
    let sm = fabric.fabric().sm().unwrap();
    let lid = fabric.fabric().port(sm).lid.unwrap().get();
    (fabric.records().clone(), lid)
}

impl Change {
    fn apply(self, records: &mut Records, healthy: &Records) {
        match self {
            Self::Cut { cable, instead } => cut(records, cable, instead),
            Self::Repaired => *records = healthy.clone(),
            Self::Entry { switch, lid, port } => set_entries(records, Some(switch), lid, port),
            Self::Forgotten { lid } => set_entries(records, None, lid, NO_PATH),
            Self::Half {
                switch,
                block,
                port,
            } => {
                let nth = switch % records.lfts.len();
                let table = records.lfts.values_mut().nth(nth).unwrap();
                let count = table.len();
                let block = &mut Arc::make_mut(table)[block % count];
                block.ports[32..].fill(port);
            }
            Self::Renamed { node, letter } => {
                let count = records.nodes.len();
                records.nodes[node % count].description[0] = letter;
            }
            Self::Vl { row, vls } => {
                let count = records.sl2vl.len().max(1);
                if let Some(table) = records.sl2vl.get_mut(row % count) {
                    table.vls[usize::from(vls)] = vls;
                }
            }
        }
    }
}

/// In one switch's table or in all of them.
fn set_entries(records: &mut Records, switch: Option<usize>, lid: u16, port: u8) {
    let only = switch.map(|nth| nth % records.lfts.len());
    let tables = records.lfts.values_mut().enumerate();
    for (_, table) in tables.filter(|(nth, _)| only.is_none_or(|only| only == *nth)) {
        if let Some(block) = Arc::make_mut(table).get_mut(usize::from(lid / 64)) {
            block.ports[usize::from(lid % 64)] = port;
        }
    }
}

/// Nothing where that would cut a node off: an SM forgets it then, and all of its records.
fn cut(records: &mut Records, nth: usize, instead: u8) {
    let is_switch = |lid: u16| records.lfts.contains_key(&lid);
    let links = records.links.iter();
    let cables: Vec<LinkRecord> = links
        .filter(|it| is_switch(it.from_lid.get()) && is_switch(it.to_lid.get()))
        .copied()
        .collect();
    let Some(cable) = cables.get(nth % cables.len().max(1)) else {
        return;
    };
    let from = (cable.from_lid.get(), cable.from_port);
    let to = (cable.to_lid.get(), cable.to_port);
    let is_of = |lid: u16, port: u8| (lid, port) == from || (lid, port) == to;
    let mut left = records.links.clone();
    left.retain(|it| !is_of(it.from_lid.get(), it.from_port));
    if reached(&left) != reached(&records.links) {
        return;
    }
    records.links = left;
    for port in &mut records.ports {
        if is_of(port.lid.get(), port.port_num) {
            port.speed_supported_and_state = port.speed_supported_and_state & 0xf0 | 1;
            port.physical_state_and_down_default =
                port.physical_state_and_down_default & 0xf | 0x20;
        }
    }
    let instead = if instead == 0 { NO_PATH } else { instead };
    for (lid, port) in [from, to] {
        let table = Arc::make_mut(records.lfts.get_mut(&lid).unwrap());
        for entry in table.iter_mut().flat_map(|block| &mut block.ports) {
            *entry = if *entry == port { instead } else { *entry };
        }
    }
}

/// LIDs that links lead to from the first.
fn reached(links: &[LinkRecord]) -> BTreeSet<u16> {
    let mut by_lid: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
    for link in links {
        by_lid
            .entry(link.from_lid.get())
            .or_default()
            .push(link.to_lid.get());
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<u16> = by_lid.keys().next().copied().into_iter().collect();
    while let Some(lid) = next.pop() {
        if found.insert(lid) {
            next.extend(by_lid.get(&lid).into_iter().flatten());
        }
    }
    found
}

fn compiled(
    fabric: &Arc<SaFabric>,
    before: Option<&FabricState>,
) -> Result<Compiled, PipelineError> {
    let inputs = Inputs {
        from_sa: Some(Arc::clone(fabric)),
        ..Inputs::default()
    };
    compile_after(&inputs, Stamp::default(), before)
}

/// Snapshot, proof and tables. Errors: where they differ.
fn assert_same(quick: &Compiled, full: &Compiled) {
    assert!(
        quick.snapshot.as_bytes() == full.snapshot.as_bytes(),
        "other bytes"
    );
    assert_eq!(format!("{:?}", quick.proof), format!("{:?}", full.proof));
    for switch in full.parts.topology.switch_ixs() {
        let (one, other) = (
            quick.parts.routes.lft(switch),
            full.parts.routes.lft(switch),
        );
        assert_eq!(one, other, "{switch:?}");
    }
}

/// One that was begun with these records, after a sweep of them was heard.
fn begun(records: &Records, sm: u16) -> (Written, Sweep) {
    let (mut written, mut sweep) = (Written::new(), Sweep::default());
    written.hear(&sweep.discovery(records, sm).0, 0);
    written.begin_reading();
    written.adopt(records, records.qos);
    (written, sweep)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn states_that_go_on_from_one_another_are_those_from_nothing(
        net in net(),
        steps in proptest::collection::vec(proptest::collection::vec(change(), 1..4), 3..8),
    ) {
        let (healthy, sm) = told(&net);
        let (mut written, mut sweep) = begun(&healthy, sm);
        let mut now = healthy.clone();
        let mut records = written.records().unwrap();
        let mut before = None;
        for changes in steps {
            for change in changes {
                change.apply(&mut now, &healthy);
            }
            written.hear(&sweep.whole(&now, sm), 0);
            records = written.records_after(&records, written.made()).unwrap();
            prop_assert!(records == now, "what was heard is not what the SM wrote");
            let fabric = SaFabric::from_records(records.clone(), "an SA".to_owned()).unwrap();
            let fabric = Arc::new(fabric);
            let full = compiled(&fabric, None);
            let quick = compiled(&fabric, before.as_ref());
            match (quick, full) {
                (Ok(quick), Ok(full)) => {
                    assert_same(&quick, &full);
                    before = Some(quick.parts);
                }
                // A refusal is one from nothing too, and what was before stays.
                (quick, full) => {
                    let said = |it: Result<Compiled, PipelineError>| it.map_err(|it| it.to_string()).err();
                    prop_assert_eq!(said(quick), said(full));
                }
            }
        }
    }
}
