//! A change that an SA tells is compiled from what was there before, and comes out as from nothing.

use std::sync::Arc;

use routing::{EngineKind, SwitchIx};
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, compile_after};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{FatTreeSpec, fat_tree};
use sa_fabric::sa_records::{Records, SaFabric};

use super::fake::{Fake, Site};
use crate::{Wants, read};

const LEAF: &str = "L3";
/// The first of its ports to a spine.
const UP: u8 = 9;
const NO_PATH: u8 = 0xff;

/// Leaves and spines of 16 ports: 24 switches.
fn tree() -> Records {
    let net = fat_tree(&FatTreeSpec::new(2, 16)).unwrap().net();
    let mut site = Site::new(tempfile::tempdir().unwrap(), &net);
    // Of others' tables packets between switches themselves close loops, and no proof is gone on from.
    site.inputs.engine = Some(EngineKind::UpDown);
    let told = read(&mut Fake::of(&site.compiled()), &Wants::default()).unwrap();
    told.records().clone()
}

fn compiled(records: Records, before: Option<&FabricState>) -> Compiled {
    let fabric = SaFabric::from_records(records, "an SA".to_owned()).unwrap();
    let inputs = Inputs {
        from_sa: Some(Arc::new(fabric)),
        ..Inputs::default()
    };
    compile_after(&inputs, Stamp::default(), before).unwrap()
}

/// Without a leaf's first cable up. The leaf takes the next one instead; its spine has no way to the leaf any
/// more, and some pairs are lost until the SM has gone further.
fn cut(records: &Records) -> (Records, [u16; 2]) {
    let mut after = records.clone();
    let leaf = after.nodes.iter().find(|it| {
        let name: Vec<u8> = it
            .description
            .into_iter()
            .take_while(|it| *it != 0)
            .collect();
        name == LEAF.as_bytes()
    });
    let leaf = leaf.unwrap().lid.get();
    let is_cable =
        |it: &&sa_wire::records::LinkRecord| (it.from_lid.get(), it.from_port) == (leaf, UP);
    let cable = *after.links.iter().find(is_cable).unwrap();
    let (spine, far) = (cable.to_lid.get(), cable.to_port);
    let is_end = |lid: u16, port: u8| (lid, port) == (leaf, UP) || (lid, port) == (spine, far);
    after
        .links
        .retain(|it| !is_end(it.from_lid.get(), it.from_port));
    for port in &mut after.ports {
        if is_end(port.lid.get(), port.port_num) {
            port.speed_supported_and_state = port.speed_supported_and_state & 0xf0 | 1;
        }
    }
    for (lid, was, is) in [(leaf, UP, UP + 1), (spine, far, NO_PATH)] {
        let table = Arc::make_mut(after.lfts.get_mut(&lid).unwrap());
        for entry in table.iter_mut().flat_map(|block| &mut block.ports) {
            *entry = if *entry == was { is } else { *entry };
        }
    }
    (after, [leaf, spine])
}

#[test]
fn a_change_that_is_told_comes_out_as_from_nothing() {
    let healthy = tree();
    let (after, changed) = cut(&healthy);
    let before = compiled(healthy, None);
    let quick = compiled(after.clone(), Some(&before.parts));
    let full = compiled(after, None);
    assert_eq!(quick.snapshot.as_bytes(), full.snapshot.as_bytes());
    assert_eq!(format!("{:?}", quick.proof), format!("{:?}", full.proof));
    assert!(full.proof.reachability.lost > 0, "some pairs are lost");
    let proven = |compiled: &Compiled| compiled.parts.proven.as_ref().map(Arc::as_ptr);
    assert!(proven(&before).is_some() && proven(&quick) == proven(&before));
    let mut kept = 0;
    for switch in full.parts.topology.switch_ixs() {
        let table = |compiled: &Compiled| compiled.parts.routes.lft(switch).to_vec();
        assert_eq!(table(&quick), table(&full), "{switch:?}");
        let is_same = place(&quick, switch) == place(&before, switch);
        let port0 = full.parts.topology.switch(switch).port0;
        let lid = full.parts.topology.end_port(port0).lid.get();
        // Those that stay lie where they lay.
        assert_eq!(is_same, !changed.contains(&lid), "{switch:?}");
        kept += usize::from(is_same);
    }
    assert_eq!(kept, 22);
}

fn place(compiled: &Compiled, switch: SwitchIx) -> *const u8 {
    compiled.parts.routes.lft(switch).as_ptr()
}

#[test]
fn where_most_tables_change_all_are_written_anew() {
    let healthy = tree();
    let before = compiled(healthy.clone(), None);
    // A path that is gone, in every table: that to LID 1 is not.
    let mut after = healthy;
    let last = after.nodes.iter().map(|it| it.lid.get()).max().unwrap();
    for table in after.lfts.values_mut() {
        let table = Arc::make_mut(table);
        let block = &mut table[usize::from(last / 64)];
        block.ports[usize::from(last % 64)] = NO_PATH;
    }
    let quick = compiled(after.clone(), Some(&before.parts));
    let full = compiled(after, None);
    assert_eq!(quick.snapshot.as_bytes(), full.snapshot.as_bytes());
    assert_eq!(format!("{:?}", quick.proof), format!("{:?}", full.proof));
    for switch in full.parts.topology.switch_ixs() {
        let (one, other) = (
            quick.parts.routes.lft(switch),
            full.parts.routes.lft(switch),
        );
        assert_eq!(one, other, "{switch:?}");
    }
}
