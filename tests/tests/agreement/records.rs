//! Records of the fabric's state without a simulator: statuses, shapes of replies, and counts on a
//! torus.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use sa_answer::whole;
use sa_compiler::pipeline::Compiled;
use sa_fabric::sa_records::Records;
use sa_service::{dispatch, records};
use sa_tests::site::Site;
use sa_wire::mad::{Status, method};
use sa_wire::records::{Layout, NodeRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::rmpp::flag;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};
use sa_wire::{Lid, request};
use zerocopy::{FromBytes, IntoBytes};

/// A torus of 5x4x3 with two hosts to a switch.
fn torus() -> Compiled {
    Site::torus([5, 4, 3], 2).compile()
}

const SWITCHES: usize = 5 * 4 * 3;
const HOSTS: usize = 2 * SWITCHES;

fn request(attribute: AttributeId, asked: u8, mask: u64, data: &[u8]) -> Slot {
    request::request(1, asked, attribute, mask, data)
}

fn answer(compiled: &Compiled, slot: &Slot) -> Option<Vec<u8>> {
    dispatch::respond_with(&compiled.snapshot, Some(&compiled.parts), slot)
}

fn status(reply: &[u8]) -> u16 {
    u16::from_be_bytes([reply[4], reply[5]])
}

/// All records of a table.
fn table(compiled: &Compiled, layout: &Layout) -> Result<Vec<Vec<u8>>> {
    let slot = request(layout.attribute, method::GET_TABLE, 0, &[]);
    let reply = answer(compiled, &slot).context("a reply")?;
    ensure!(status(&reply) == 0 && reply[3] == method::GET_TABLE_RESP);
    let offset = u16::from_be_bytes([reply[44], reply[45]]);
    ensure!(offset * 8 == layout.stride, "{}", layout.attribute);
    let records = reply[DATA_OFFSET..].chunks_exact(layout.stride.into());
    ensure!(records.remainder().is_empty(), "{}", layout.attribute);
    Ok(records.map(<[u8]>::to_vec).collect())
}

#[test]
fn there_are_as_many_records_as_there_are_things() -> Result<()> {
    let compiled = torus();
    let parts = &compiled.parts;
    let count = |layout| table(&compiled, layout).map(|all| all.len());
    let topology = &parts.topology;
    let ports: usize = topology
        .switches
        .iter()
        .map(|switch| switch.ports.len())
        .sum();
    let cables: usize = topology
        .switch_ixs()
        .map(|ix| topology.cables(ix).count() + 2 * topology.hosts(ix).count())
        .sum();
    assert_eq!(count(&Layout::NODE)?, HOSTS + SWITCHES);
    assert_eq!(count(&Layout::PORT_INFO)?, HOSTS + ports);
    assert_eq!(count(&Layout::LINK)?, cables);
    assert_eq!(count(&Layout::SWITCH_INFO)?, SWITCHES);
    assert_eq!(count(&Layout::VL_ARBITRATION)?, 4 * (HOSTS + ports));
    assert_eq!(count(&Layout::GUID_INFO)?, 4 * HOSTS + SWITCHES);
    assert_eq!(count(&Layout::SM_INFO)?, 1);
    let pairs: usize = topology
        .switches
        .iter()
        .map(|switch| switch.ports.len().pow(2))
        .sum();
    assert_eq!(count(&Layout::SL_TO_VL)?, HOSTS + pairs);
    Ok(())
}

/// Values that no fabric file says, of one host, its port and its switch.
#[test]
fn records_of_devices_are_what_these_hold() -> Result<()> {
    let mut compiled = torus();
    let guessed = |layout| table(&compiled, layout);
    let (nodes, ports) = (guessed(&Layout::NODE)?, guessed(&Layout::PORT_INFO)?);
    let switches = guessed(&Layout::SWITCH_INFO)?;
    let (mut node, _) =
        NodeRecord::read_from_prefix(&nodes[0]).map_err(|_| anyhow!("a NodeRecord"))?;
    node.partition_cap = 33.into();
    let lid = Lid::new(node.lid.get())?;
    let port = ports.iter().find(|it| it[..2] == lid.get().to_be_bytes());
    let (mut port, _) = PortInfoRecord::read_from_prefix(port.context("its port")?)
        .map_err(|_| anyhow!("a PortInfoRecord"))?;
    (port.guid_cap, port.vl_high_limit) = (8, 77);
    let (mut switch, _) = SwitchInfoRecord::read_from_prefix(&switches[0])
        .map_err(|_| anyhow!("a SwitchInfoRecord"))?;
    switch.linear_cap = 999.into();
    let held = Records {
        nodes: vec![node],
        ports: vec![port],
        switches: vec![switch],
        ..Records::default()
    };
    compiled.parts.devices = Some(Arc::new(held));
    // One of each is other than before, and it is what the device holds.
    let differs = |layout, before: &[Vec<u8>], held: &[u8]| -> Result<()> {
        let now = table(&compiled, layout)?;
        let new: Vec<_> = now.iter().filter(|it| !before.contains(it)).collect();
        ensure!(new.len() == 1 && new[0].starts_with(held), "{new:?}");
        Ok(())
    };
    differs(&Layout::NODE, &nodes, node.as_bytes())?;
    differs(&Layout::PORT_INFO, &ports, port.as_bytes())?;
    differs(&Layout::SWITCH_INFO, &switches, switch.as_bytes())?;
    // Room for eight GUIDs is one block.
    ensure!(table(&compiled, &Layout::GUID_INFO)?.len() == 4 * HOSTS + SWITCHES - 3);
    Ok(())
}

#[test]
fn forwarding_records_hold_the_routes() -> Result<()> {
    let compiled = torus();
    let parts = &compiled.parts;
    let all = table(&compiled, &Layout::LINEAR_FORWARDING)?;
    let blocks = usize::from(parts.topology.max_lid()) / 64 + 1;
    assert_eq!(all.len(), SWITCHES * blocks);
    for (switch, records) in parts.topology.switch_ixs().zip(all.chunks(blocks)) {
        let ports: Vec<u8> = records
            .iter()
            .flat_map(|record| record[8..].to_vec())
            .collect();
        for lid in 1..=parts.topology.max_lid() {
            let given = Some(ports[usize::from(lid)]).filter(|port| *port != 255);
            let lid = Lid::new(lid)?;
            assert_eq!(given, parts.routes.output(switch, lid), "LID {lid}");
        }
        assert_eq!(ports[0], 255, "LID 0 is nobody's");
    }
    Ok(())
}

#[test]
fn refusals_are_opensms() -> Result<()> {
    let compiled = torus();
    let node = AttributeId::NODE_RECORD;
    let refused = |slot: &Slot| answer(&compiled, slot).map(|reply| (reply.len(), status(&reply)));
    let code = |status: Status| Some((MAD_SIZE, status.get()));
    let nobody = [0xbf, 0xff];
    assert_eq!(
        refused(&request(node, method::GET, 1, &nobody)),
        code(Status::NO_RECORDS)
    );
    assert_eq!(
        refused(&request(node, method::GET, 0, &[])),
        code(Status::TOO_MANY_RECORDS)
    );
    for asked in [method::SET, method::DELETE, method::GET_MULTI] {
        assert_eq!(
            refused(&request(node, asked, 0, &[])),
            code(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED)
        );
    }
    let secret = request(AttributeId::PKEY_TABLE_RECORD, method::GET_TABLE, 0, &[]);
    assert_eq!(refused(&secret), code(Status::REQ_INVALID));
    Ok(())
}

#[test]
fn some_get_no_reply() -> Result<()> {
    let compiled = torus();
    let mut stranger = request(AttributeId::NODE_RECORD, method::GET_TABLE, 0, &[]);
    stranger.header.lid = 0xbfff.into();
    assert_eq!(answer(&compiled, &stranger), None);
    let mut wrong_key = request(AttributeId::NODE_RECORD, method::GET_TABLE, 0, &[]);
    SaMad::from_bytes_mut(&mut wrong_key.mad).sa.sm_key = 7.into();
    assert_eq!(answer(&compiled, &wrong_key), None);
    assert_eq!(records::respond(&compiled.parts, &wrong_key), None);
    Ok(())
}

#[test]
fn tables_are_marked_for_rmpp() -> Result<()> {
    let compiled = torus();
    let flags = |mask, data: &[u8]| {
        let slot = request(AttributeId::NODE_RECORD, method::GET_TABLE, mask, data);
        let reply = answer(&compiled, &slot).context("a reply")?;
        Ok::<_, anyhow::Error>((reply.len(), reply[26] & 7))
    };
    assert_eq!(flags(1, &[0xbf, 0xff])?, (DATA_OFFSET, flag::SINGLE));
    assert_eq!(flags(1, &[0, 1])?, (DATA_OFFSET + 112, flag::SINGLE));
    let all = DATA_OFFSET + 112 * (HOSTS + SWITCHES);
    assert_eq!(flags(0, &[])?, (all, flag::ACTIVE));
    Ok(())
}

/// A snapshot alone has no records of the fabric's state.
#[test]
fn without_parts_records_are_refused() -> Result<()> {
    let compiled = torus();
    for layout in Layout::ALL
        .into_iter()
        .filter(|layout| records::serves(layout.attribute))
    {
        let slot = request(layout.attribute, method::GET, 0, &[]);
        let reply = whole::respond(&compiled.snapshot, &slot).context("a reply")?;
        assert_eq!(status(&reply), Status::METHOD_ATTRIBUTE_NOT_SUPPORTED.get());
    }
    Ok(())
}
