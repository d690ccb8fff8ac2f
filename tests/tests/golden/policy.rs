//! What OpenSM answered in `golden/policy`, asked of the product: through the library as
//! `sapphire answer` does, and of `sapphire answer` itself.
//!
//! Cases that differ on purpose are listed in `golden/policy-waivers.txt`. The list can only
//! shrink: any other difference fails, and so does a listed case that has become equal. Those
//! whose SL is the routing engine's are compared with what PathRecord gets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sa_answer::whole;
use sa_compiler::path_json;
use sa_compiler::pipeline::{self, Compiled, Inputs, OnPolicyError, Stamp};
use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, existing, golden, name, text};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::path_record::{PathCompMask, PathRecord, QosClassSl};
use sa_wire::rmpp::{RmppHeader, flag};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Sl, request};
use serde_json::Value;

#[test]
fn every_recorded_answer_is_ours() {
    let mut tally = Tally {
        waived: waived(),
        ..Tally::default()
    };
    for step in steps() {
        let compiled = pipeline::compile(&step.inputs(), Stamp::default()).unwrap();
        assert_eq!(
            compiled.snapshot.has_policy(),
            step.in_force,
            "{}",
            step.name()
        );
        for case in &step.cases {
            tally.add(&compiled, case, ask(&compiled, case));
        }
    }
    println!("{}", tally.figures());
    tally.judge();
}

#[test]
fn the_tool_prints_the_recorded_answers() {
    let mut tally = Tally {
        waived: waived(),
        ..Tally::default()
    };
    for step in steps() {
        let compiled = pipeline::compile(&step.inputs(), Stamp::default()).unwrap();
        let lines: Vec<String> = step.cases.iter().map(ToString::to_string).collect();
        let arguments = step.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = sapphire(&arguments, &(lines.join("\n") + "\n"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", step.name());
        let printed = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Value> = printed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            answers.len(),
            step.cases.len(),
            "{}: a line per request",
            step.name()
        );
        for (case, answer) in step.cases.iter().zip(answers) {
            assert_eq!(case["id"], answer["id"]);
            tally.add(&compiled, case, answer);
        }
    }
    println!("{}", tally.figures());
    tally.judge();
}

/// Cases by kind, and what became of them.
#[derive(Default)]
struct Tally {
    /// Id and reason.
    waived: BTreeMap<String, String>,
    /// By kind of request: cases, and how many of them are equal.
    kinds: BTreeMap<String, (usize, usize)>,
    was_waived: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, compiled: &Compiled, case: &Value, answer: Value) {
        let query = &case["query"];
        let kind = format!("{} {}", query["attr"], query["method"]).replace('"', "");
        let (cases, equal) = self.kinds.entry(kind).or_default();
        *cases += 1;
        let id = case["id"].as_str().unwrap();
        let is_equal = is_as_expected(&case["expect"], &answer);
        *equal += usize::from(is_equal);
        match (is_equal, self.waived.get(id)) {
            (true, None) => {}
            (false, Some(reason)) => {
                *self.was_waived.entry(id.to_owned()).or_default() += 1;
                let is_engine = reason.ends_with(ENGINE_SL);
                if is_engine && !is_as_expected(&with_engine_sl(compiled, case), &answer) {
                    self.wrong
                        .push(format!("{case}\n  got {answer}, and not PathRecord's SL"));
                }
            }
            (false, None) => self.wrong.push(format!("{case}\n  got {answer}")),
            (true, Some(_)) => self
                .wrong
                .push(format!("{id} is equal now: take it off the list")),
        }
    }

    fn figures(&self) -> String {
        let kinds = self.kinds.iter();
        let kinds: Vec<_> = kinds
            .map(|(kind, (cases, equal))| format!("{kind}: {equal} of {cases} equal"))
            .collect();
        format!("{}; {} waived", kinds.join(", "), self.was_waived.len())
    }

    fn judge(&self) {
        assert!(
            self.wrong.is_empty(),
            "{} differ:\n{}",
            self.wrong.len(),
            self.wrong.join("\n")
        );
        let unknown: Vec<_> = self
            .waived
            .keys()
            .filter(|id| !self.was_waived.contains_key(*id))
            .collect();
        assert!(
            unknown.is_empty(),
            "waived, but not among the cases: {unknown:?}"
        );
        let cases = |kind: &str| self.kinds.get(kind).map_or(0, |(cases, _)| *cases);
        assert_eq!(
            ["pr get", "pr table", "mpr getmulti"].map(cases),
            [1369, 5, 368],
            "a part of the corpus is missing"
        );
        let all: usize = self.kinds.values().map(|(cases, _)| cases).sum();
        let waived: usize = self.was_waived.values().sum();
        assert!(waived * 100 < all * 8, "{waived} of {all} are waived");
    }
}

/// How the reason ends where MultiPathRecord must get the SL that PathRecord gets.
const ENGINE_SL: &str = "(docs/deviations.md row 19)";

/// What was recorded, but with the SLs of Get(PathRecord) for the same ends and wishes.
fn with_engine_sl(compiled: &Compiled, case: &Value) -> Value {
    let mut expected = case["expect"].clone();
    for record in expected["records"].as_array_mut().unwrap() {
        let slot = path_request(compiled, case, record);
        let reply = whole::respond(&compiled.snapshot, &slot).unwrap();
        let (_, records) = request::parse(&reply).unwrap();
        record["sl"] = path_json::in_words(&records[0])["sl"].clone();
    }
    expected
}

/// Get(PathRecord) for the ends of a record, with what the case's request says else.
fn path_request(compiled: &Compiled, case: &Value, record: &Value) -> Slot {
    let gid = |name: &str| {
        let address: std::net::Ipv6Addr = record[name].as_str().unwrap().parse().unwrap();
        Gid(address.octets()).0
    };
    let mut wanted = PathRecord {
        sgid: gid("sgid"),
        dgid: gid("dgid"),
        ..PathRecord::default()
    };
    let mut mask = PathCompMask::SGID | PathCompMask::DGID;
    for (name, value) in case["query"]["fields"].as_object().unwrap() {
        let number = || u16::try_from(value.as_u64().unwrap()).unwrap();
        let bits = match name.as_str() {
            "sgids" | "dgids" | "numb_path" => PathCompMask(0),
            "qos_class" => {
                wanted.qos_class_sl = QosClassSl::new(number(), Sl::from_low_bits(0));
                PathCompMask::QOS_CLASS
            }
            "pkey" => {
                wanted.pkey = number().into();
                PathCompMask::PKEY
            }
            "service_id" => {
                wanted.service_id = value.as_u64().unwrap().into();
                PathCompMask::SERVICE_ID
            }
            other => panic!("{other} is not carried over yet"),
        };
        mask = mask | bits;
    }
    let requester = compiled
        .parts
        .subnet
        .find(case["from"].as_str().unwrap())
        .unwrap();
    let lid = compiled.parts.subnet.end_ports()[requester].lid.get();
    request::path_request(lid, method::GET, mask, &wanted)
}

/// Of a long reply only the first records were recorded.
fn is_as_expected(expected: &Value, answer: &Value) -> bool {
    let records = |of: &Value| of["records"].as_array().cloned().unwrap_or_default();
    let (wanted, got) = (records(expected), records(answer));
    let is_cut = expected["truncated"] == true;
    let compared = if is_cut { wanted.len() } else { got.len() };
    let is_error = expected["status"] != "0x0000";
    let is_whole = !is_cut || is_error || !wanted.is_empty();
    expected["status"] == answer["status"] && is_whole && got.get(..compared) == Some(&wanted[..])
}

/// Ids and reasons.
fn waived() -> BTreeMap<String, String> {
    let list = text(&golden(""), "policy-waivers.txt").unwrap();
    let lines = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let split = |line: &str| {
        let (id, reason) = line.split_once(' ').expect("an id and a reason");
        (id.to_owned(), reason.trim().to_owned())
    };
    lines.map(split).collect()
}

/// A scenario with one of its policies in force.
struct Step {
    directory: PathBuf,
    about: Value,
    policy: Option<PathBuf>,
    in_force: bool,
    cases: Vec<Value>,
}

fn steps() -> Vec<Step> {
    entries(&golden("policy/scenarios"))
        .iter()
        .flat_map(|directory| steps_of(directory))
        .collect()
}

fn steps_of(directory: &Path) -> Vec<Step> {
    let about: Value = serde_json::from_str(&text(directory, "scenario.json").unwrap()).unwrap();
    let lines = text(directory, "cases.jsonl").unwrap();
    let cases: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let steps = (0_u64..).zip(about["steps"].as_array().unwrap());
    let of = |number: u64| {
        let is_mine = move |case: &&Value| case["step"].as_u64().unwrap_or(0) == number;
        cases.iter().filter(is_mine).cloned().collect()
    };
    let step = |(number, step): (u64, &Value)| Step {
        directory: directory.to_owned(),
        about: about.clone(),
        policy: step["policy"].as_str().map(|file| directory.join(file)),
        in_force: step["policy_in_force"] == true,
        cases: of(number),
    };
    steps.map(step).collect()
}

impl Step {
    fn name(&self) -> String {
        let policy = self.policy.as_deref().map(name);
        format!(
            "{} {}",
            name(&self.directory),
            policy.unwrap_or("without policy")
        )
    }

    fn inputs(&self) -> Inputs {
        Inputs {
            fabric: self.fabric(),
            lids: Some(self.lids()),
            lmc: self
                .option("-l")
                .map(|lmc| sa_wire::Lmc::new(lmc.parse().unwrap()).unwrap()),
            sm_node: self.about["sm_node"].as_str().map(str::to_owned),
            torus_conf: self
                .option("--torus_config")
                .map(|file| self.directory.join(file)),
            policy: self.policy.clone(),
            on_policy_error: OnPolicyError::None,
            partitions: existing(&self.directory, "partitions.conf"),
            opensm_conf: existing(&self.directory, "opensm.conf"),
            qos: (self.about["qos_enabled"] == false).then_some(false),
            is_q_given: true,
            ..Inputs::default()
        }
    }

    /// The same as [`Self::inputs`], for the command line.
    fn arguments(&self) -> Vec<String> {
        let inputs = self.inputs();
        let mut all = vec![
            "answer".to_owned(),
            "--on-policy-error".to_owned(),
            "none".to_owned(),
        ];
        let files = [
            ("--fabric", Some(inputs.fabric)),
            ("--lids", inputs.lids),
            ("--torus-conf", inputs.torus_conf),
            ("--policy", inputs.policy),
            ("--partitions", inputs.partitions),
            ("--opensm-conf", inputs.opensm_conf),
        ];
        for (option, file) in files {
            all.extend(
                file.into_iter()
                    .flat_map(|file| [option.to_owned(), file.display().to_string()]),
            );
        }
        all.extend(
            inputs
                .sm_node
                .into_iter()
                .flat_map(|node| ["--sm-node".to_owned(), node]),
        );
        all.extend(
            inputs
                .lmc
                .iter()
                .flat_map(|lmc| ["--lmc".to_owned(), lmc.get().to_string()]),
        );
        all.extend(inputs.qos.map(|_| "--no-qos".to_owned()));
        all
    }

    fn fabric(&self) -> PathBuf {
        golden("policy").join(self.about["fabric"].as_str().unwrap())
    }

    /// OpenSM's own list for the fabric, and for LMC 1 another.
    fn lids(&self) -> PathBuf {
        let suffix = self
            .option("-l")
            .map_or_else(String::new, |lmc| format!("-lmc{lmc}"));
        let fabric = self.fabric();
        fabric.with_file_name(format!(
            "{}{suffix}.subnet.lst",
            fabric.file_stem().unwrap().display()
        ))
    }

    /// What stands behind an option of OpenSM's command line.
    fn option(&self, name: &str) -> Option<String> {
        let mut words = self.about["extra_options"].as_array().unwrap().iter();
        words.find(|word| *word == name)?;
        words.next()?.as_str().map(str::to_owned)
    }
}

/// The answer in the words of the corpus.
fn ask(compiled: &Compiled, case: &Value) -> Value {
    let subnet = &compiled.parts.subnet;
    let requester = subnet.find(case["from"].as_str().unwrap()).unwrap();
    let slot = slot(subnet.end_ports()[requester].lid.get(), case);
    let Some(reply) = whole::respond(&compiled.snapshot, &slot) else {
        return serde_json::json!({ "status": "drop" });
    };
    let (status, records) = request::parse(&reply).unwrap();
    let records: Vec<Value> = records.iter().map(path_json::in_words).collect();
    serde_json::json!({ "status": format!("0x{status:04x}"), "records": records })
}

/// The whole request as the client sends it.
fn slot(lid: u16, case: &Value) -> Slot {
    let query = &case["query"];
    let mut slot = Slot::EMPTY;
    slot.header.lid = lid.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    let is_multi = query["attr"] == "mpr";
    mad.mad.method = match query["method"].as_str() {
        Some("get") => method::GET,
        Some("table") => method::GET_TABLE,
        Some("getmulti") => method::GET_MULTI,
        other => panic!("{other:?}"),
    };
    let attribute = if is_multi {
        AttributeId::MULTI_PATH_RECORD
    } else {
        AttributeId::PATH_RECORD
    };
    mad.mad.attribute_id = attribute.get().into();
    if is_multi {
        mad.rmpp = RmppHeader::data(flag::SINGLE, 1, 0);
    }
    let mask = query["comp_mask"]
        .as_str()
        .unwrap()
        .trim_start_matches("0x");
    mad.sa.component_mask = u64::from_str_radix(mask, 16).unwrap().into();
    let data = case["request_hex"].as_str().unwrap();
    for (at, byte) in (0..data.len()).step_by(2).zip(&mut mad.data) {
        *byte = u8::from_str_radix(&data[at..at + 2], 16).unwrap();
    }
    slot
}
