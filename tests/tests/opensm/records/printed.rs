//! What clients print.

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, records};
use sa_wire::mad::method;
use sa_wire::records::{Field, Form, Layout};
use sa_wire::sa::DATA_OFFSET;
use serde_json::Value;

use super::bench::Bench;
use super::site::Site;
use sa_tests::cli::sapphire_on;
use sa_tests::records::{Request, key};
use sa_tests::skip;

/// What is asked of saquery, by which values of the key, and its names of our components.
type Printed = (
    &'static [&'static str],
    Layout,
    &'static [u64],
    &'static [(&'static str, &'static str)],
);

const PRINTED: [Printed; 11] = [
    (&["NR", "4"], Layout::NODE, &[4], NODE_NAMES),
    (&["NR", "8"], Layout::NODE, &[8], NODE_NAMES),
    (
        &["PIR", "2/1"],
        Layout::PORT_INFO,
        &[2, 1],
        &[
            ("port_num", "PortNum"),
            ("gid_prefix", "GidPrefix:"),
            ("base_lid", "Lid:"),
            ("capability_mask", "CapMask:"),
            ("m_key_lease_period", "MkeyLeasePeriod:"),
            ("lmc", "LMC:"),
            ("vl_stall_count", "VLStallCount:"),
            ("guid_cap", "GuidCap:"),
            ("subnet_timeout", "SubnetTimeout:"),
            ("capability_mask2", "CapabilityMask2:"),
        ],
    ),
    (
        &["SWIR", "5"],
        Layout::SWITCH_INFO,
        &[5],
        &[
            ("lid", "LID"),
            ("linear_fdb_cap", "LinearFDBCap"),
            ("multicast_fdb_cap", "MulticastFDBCap"),
            ("linear_fdb_top", "LinearFDBTop"),
            ("partition_enforcement_cap", "PartitionEnforcementCap"),
        ],
    ),
    (
        &["LR", "2"],
        Layout::LINK,
        &[2, 1],
        &[
            ("from_lid", "FromLID"),
            ("from_port", "FromPort"),
            ("to_port", "ToPort"),
            ("to_lid", "ToLID"),
        ],
    ),
    (
        &["LFTR", "4/0"],
        Layout::LINEAR_FORWARDING,
        &[4, 0],
        BLOCK_NAMES,
    ),
    (
        &["SL2VL", "2"],
        Layout::SL_TO_VL,
        &[2, 0, 0],
        &[
            ("lid", "LID"),
            ("input_port", "InPort"),
            ("output_port", "OutPort"),
        ],
    ),
    (
        &["VLAR", "2/1/1"],
        Layout::VL_ARBITRATION,
        &[2, 1, 1],
        BLOCK_NAMES,
    ),
    (
        &["--smkey", "1", "PKTR", "2/1/0"],
        Layout::PKEY_TABLE,
        &[2, 0, 1],
        BLOCK_NAMES,
    ),
    (
        &["GIR", "2/0"],
        Layout::GUID_INFO,
        &[2, 0],
        &[("lid", "LID"), ("guid0", "GUID 0"), ("guid1", "GUID 1")],
    ),
    (
        &["SMIR"],
        Layout::SM_INFO,
        &[2],
        &[
            ("lid", "LID"),
            ("guid", "GUID"),
            ("priority", "Priority"),
            ("sm_state", "SMState"),
        ],
    ),
];

const NODE_NAMES: &[(&str, &str)] = &[
    ("lid", "lid"),
    ("base_version", "base_version"),
    ("num_ports", "num_ports"),
    ("system_image_guid", "sys_guid"),
    ("node_guid", "node_guid"),
    ("port_guid", "port_guid"),
    ("partition_cap", "partition_cap"),
    ("device_id", "device_id"),
    ("revision", "revision"),
    ("local_port_num", "port_num"),
    ("vendor_id", "vendor_id"),
];

const BLOCK_NAMES: &[(&str, &str)] = &[("lid", "LID"), ("block_num", "Block")];

/// Our record with this key.
fn record(bench: &Bench, layout: &Layout, keys: &[u64]) -> Result<Vec<u8>> {
    let mut data = vec![0; layout.stride.into()];
    for (field, value) in keyed(layout).zip(keys) {
        field.set(&mut data, *value);
    }
    let get = Request::new(layout, method::GET, key(layout), &data);
    let reply = bench.ours(&get.slot(2, 1)).context("a reply")?;
    Ok(reply.get(DATA_OFFSET..).context("a record")?.to_vec())
}

/// The components that make up the key.
fn keyed(layout: &Layout) -> impl Iterator<Item = &'static Field> {
    let mask = key(layout);
    let fields = layout.fields.iter();
    fields.filter(move |field| field.mask() & mask != 0)
}

#[test]
fn saquery_prints_what_the_records_say() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (bench, fabric, _opensm) = Bench::start(&Site::new())?;
    for (arguments, layout, keys, names) in PRINTED {
        let ours = record(&bench, &layout, keys)?;
        let printed = fabric.saquery("H1", arguments)?;
        // Attributes inside records have headings of their own.
        let parts = records(&printed);
        for (name, its_name) in names {
            let ours = layout.field(name).context(*name)?.value(&ours);
            let theirs = parts.iter().find_map(|part| part.get(its_name));
            ensure!(
                theirs.and_then(number) == Some(ours),
                "{arguments:?}: {name} is {ours:#x}, saquery prints {theirs:?}"
            );
        }
    }
    Ok(())
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches('.');
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `sapphire query` asks OpenSM for the same records, and prints every component of them.
#[test]
fn query_asks_for_every_kind() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (bench, fabric, _opensm) = Bench::start(&Site::new())?;
    for (_, layout, keys, _) in PRINTED {
        let ours = record(&bench, &layout, keys)?;
        let short = layout.short.to_lowercase();
        let mut arguments = vec!["query".to_owned(), short, "--get".to_owned()];
        arguments.extend(["--via", "ibsim:H1", "--sa-key", "1"].map(str::to_owned));
        for (field, value) in keyed(&layout).zip(keys) {
            arguments.push(format!("--{}={value}", field.name.replace('_', "-")));
        }
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let text = sapphire_on(&fabric, &words)?;
        ensure!(text.status.success(), "{words:?}: {text:?}");
        let text = String::from_utf8(text.stdout)?;
        ensure!(text.lines().count() == layout.fields.len() + 1, "{text}");
        let output = sapphire_on(&fabric, &[&words[..], &["--json"]].concat())?;
        let printed: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(
            printed["records"].as_array().map(Vec::len) == Some(1),
            "{printed}"
        );
        let printed = &printed["records"][0];
        let explained = |field: &&Field| field.name != "act_count";
        let fields = layout.fields.iter().filter(explained);
        for field in fields.filter(|field| matches!(field.form, Form::Decimal | Form::Hex)) {
            let shown = match &printed[field.name] {
                Value::String(text) => number(text),
                value => value.as_u64(),
            };
            ensure!(
                shown == Some(field.value(&ours)),
                "{words:?}: {} in {printed}",
                field.name
            );
        }
    }
    Ok(())
}
