//! The multicast groups that partitions make are those that OpenSM makes and saquery finds; what it
//! refuses of partitions and policies is refused.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use policy::{ParseOptions, PartitionsConfig};
use sa_rig::{Fabric, Record, TWO_HOSTS, records};
use sa_tests::cli::program;
use sa_tests::skip;
use serde_json::Value;

/// Every flag, several scopes, listed groups of both kinds, and a partition without IPoIB.
const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=full ;
plain=0x0001, sl=3 : ALL=full ;
storage=0x0123, ipoib, sl=2, mtu=4, rate=3, Q_Key=0xDEAD, TClass=7, FlowLabel=9 : ALL=full ;
wide=0x0200, ipoib, scope=5, scope=2 :
    mgid=ff12:401b::1,sl=1
    mgid=ff12:601b::2
    mgid=ff12:401b:8200::3
    mgid=ff15:1234::4,Q_Key=77,mtu=2,rate=2,TClass=9,scope=14
    ALL=full ;
listed=0x0300 :
    mgid=ff12:401b:ffff::16,sl=4
    mgid=ff12:a01b::7
    mgid=ff18:beef::1,sl=5
    ALL=full ;
";

/// Addresses that the file names, or that follow from it, whether or not they become groups.
const CANDIDATES: [&str; 15] = [
    "ff12:401b:ffff::ffff:ffff",
    "ff12:401b:8001::ffff:ffff",
    "ff12:401b:8123::ffff:ffff",
    "ff12:401b:8200::ffff:ffff",
    "ff15:401b:8200::ffff:ffff",
    "ff12:401b:8200::1",
    "ff12:601b:8200::2",
    "ff12:401b:8200::3",
    "ff12:1234::4",
    "ff15:1234::4",
    "ff1e:1234::4",
    "ff12:401b:ffff::16",
    "ff12:a01b::7",
    "ff18:beef::1",
    "ff12:beef::1",
];

/// Names of saquery's, and ours.
type Fields = BTreeMap<&'static str, String>;

const NUMBERS: [(&str, &str); 5] = [
    ("SL", "sl"),
    ("TClass", "tclass"),
    ("FlowLabel", "flow_label"),
    ("Scope", "scope"),
    ("HopLimit", "hop_limit"),
];

fn ours(group: &Value) -> Option<(String, Fields)> {
    let mut fields: Fields = NUMBERS
        .iter()
        .map(|(name, ours)| (*name, group[*ours].to_string()))
        .collect();
    fields.insert("pkey", group["pkey"].as_str()?.to_owned());
    let q_key = group["q_key"].as_str()?.strip_prefix("0x")?;
    let q_key = u32::from_str_radix(q_key, 16).ok()?;
    fields.insert("qkey", format!("0x{q_key:x}"));
    let mtu = sa_wire::Mtu::from_bytes(u32::try_from(group["mtu_bytes"].as_u64()?).ok()?)?;
    fields.insert("mtu", format!("0x{:x}", 0x80 | mtu.code()));
    let rate = (2..=24)
        .filter_map(|code| sa_wire::Rate::from_code(code).ok())
        .find(|rate| Some(rate.to_string().as_str()) == group["rate"].as_str())?;
    fields.insert("rate", format!("0x{:x}", 0x80 | rate.code()));
    Some((group["mgid"].as_str()?.to_owned(), fields))
}

fn theirs(record: &Record) -> Option<Fields> {
    let mut fields = Fields::new();
    for name in ["pkey", "qkey", "mtu", "rate"] {
        fields.insert(name, record.get(name)?.to_owned());
    }
    for (name, _) in NUMBERS {
        let number = record.get(name)?.strip_prefix("0x")?;
        let number = u32::from_str_radix(number, 16).ok()?;
        fields.insert(name, number.to_string());
    }
    Some(fields)
}

#[test]
fn ipoib_finds_the_groups_that_are_foretold() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let partitions = fabric.dir().join("partitions.conf");
    fs::write(&partitions, PARTITIONS)?;
    let partitions = partitions.to_str().context("a name")?;
    let _opensm = fabric.opensm("H1", &["-Q", "-P", partitions])?;

    let list = fabric.dir().join("opensm-subnet.lst");
    let output = Command::new(program("sapphire")?)
        .args(["policy", "partitions", "--json", "--partitions", partitions])
        .arg("--fabric")
        .arg(&list)
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    let foretold: Value = serde_json::from_slice(&output.stdout)?;
    let groups = foretold["groups"].as_array().context("groups")?;
    let mut groups: BTreeMap<String, Fields> = groups.iter().filter_map(ours).collect();
    ensure!(groups.len() == 10, "{foretold}");

    for mgid in CANDIDATES {
        let printed = fabric.saquery("H2", &["MCMR", "--mgid", mgid])?;
        let found = records(&printed);
        let found = found
            .first()
            .map(|record| theirs(record).with_context(|| format!("fields in {printed}")));
        let found = found.transpose()?;
        let expected = groups.remove(mgid);
        ensure!(
            found == expected,
            "{mgid}: {found:?}, foretold {expected:?}"
        );
    }
    ensure!(
        groups.is_empty(),
        "groups that nobody asked for: {groups:?}"
    );
    Ok(())
}

/// A section of `qos-ulps` with this line.
fn ulp(line: &str) -> String {
    format!("qos-ulps\ndefault: 0\n{line}\nend-qos-ulps\n")
}

const LEVEL: &str = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nend-qos-levels\n";

/// A rule with this line.
fn rule(line: &str) -> String {
    format!(
        "{LEVEL}qos-match-rules\nqos-match-rule\n{line}\nqos-level-name: DEFAULT\n\
         end-qos-match-rule\nend-qos-match-rules\n"
    )
}

/// A group with this line.
fn group(line: &str) -> String {
    format!("port-groups\nport-group\nname: g\n{line}\nend-port-group\nend-port-groups\n{LEVEL}")
}

/// Lists with nothing between commas or behind the last one, and what stands there else.
fn policies() -> Vec<String> {
    let ulps = [
        "rds, : 3",
        "rds : 3",
        "rds,: 3",
        "sdp,: 3",
        "iser , :3",
        "ipoib, : 3",
        "any, : 3",
        "srp, : 3",
        "rds,, : 3",
        "rds, port-num : 3",
        "sdp, port-num 1, : 3",
        "sdp, port-num 1,,2 : 3",
        "sdp, port-num ,1 : 3",
        "sdp, port-num 1 2 : 3",
        "any, service-id 1-, : 3",
        "any, service-id 1,2-3 : 3",
        "any, pkey 1, : 3",
        "any, target-port-guid 1-2, : 3",
        "ipoib, pkey , : 3",
    ];
    let rules = [
        "service-id: 1",
        "service-id: 1,",
        "service-id: 1,,2",
        "service-id: 1-",
        "service-id: ,1",
        "service-id: 1-2-3",
        "service-id: 1 2",
        "qos-class: 1,",
        "qos-class: 1-2,3",
        "pkey: 0x1,",
        "source: a,",
        "source: ,a",
    ];
    let groups = [
        "port-guid: 0x1,0x2-0x3",
        "port-guid: 0x1,",
        "port-guid: 0x1,,0x2",
        "node-type: CA,",
        "node-type: CA,,ROUTER",
        "node-type: CA, ROUTER",
        "pkey: 0x7fff,",
        "port-name: H1/P1,",
        "port-name: H1/P1,,H2/P1",
        "partition: Default,",
    ];
    let all = [
        ulps.map(ulp).to_vec(),
        rules.map(rule).to_vec(),
        groups.map(group).to_vec(),
    ];
    all.concat()
}

const PARTITION_FILES: [&str; 12] = [
    "Default=0x7fff: ALL=full, ;",
    "Default=0x7fff: ALL=full,,SELF=full ;",
    "Default=0x7fff: ,ALL=full ;",
    "Default=0x7fff,: ALL=full ;",
    "Default=0x7fff,,ipoib: ALL=full ;",
    "Default=0x7fff,ipoib,: ALL=full ;",
    "Default=0x7fff : ;",
    "Default=0x7fff;",
    "Default=0x7fff: ALL= ;",
    "Default=0x7fff: ALL=full; P=0x1: 0x100011=full, ;",
    "P=0x1: 0x100011-0x100021 ;",
    "P=0x1 : 0x100011 0x100021;",
];

/// What OpenSM says of a file, asked with this option.
fn is_refused(fabric: &Fabric, option: &str, text: &str) -> Result<bool> {
    let file = fabric.dir().join("asked.conf");
    fs::write(&file, text)?;
    let file = file.to_str().context("a path")?;
    // Over ibsim this takes a tenth of a second.
    fabric.configure("H1", &["-Q", option, file])?;
    let log = fs::read_to_string(fabric.dir().join("opensm.log"))?;
    Ok(log.contains("yyerror") || log.contains("PARSE ERROR"))
}

#[test]
fn lists_are_refused_where_opensm_refuses_them() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let (mut refused, mut different) = (0, Vec::new());
    for text in policies() {
        let theirs = is_refused(&fabric, "-Y", &text)?;
        let ours = policy::parse(&text, &ParseOptions::default()).is_err();
        refused += u32::from(theirs);
        different.extend((ours != theirs).then_some((text, theirs)));
    }
    for text in PARTITION_FILES {
        let text = format!("{text}\n");
        let theirs = is_refused(&fabric, "-P", &text)?;
        let ours = PartitionsConfig::parse(&text).is_err();
        refused += u32::from(theirs);
        different.extend((ours != theirs).then_some((text, theirs)));
    }
    ensure!(
        different.is_empty(),
        "refused by OpenSM alone or not: {different:#?}"
    );
    ensure!(refused > 25, "{refused}");
    Ok(())
}
