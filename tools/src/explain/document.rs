//! What `sapphire explain --json` prints, and what its text is made from.
//!
//! Both are made from one value, so that people and programs are told the same.
//!
//! Names of fields are an interface (`docs/schemas`); their order here is that of the document.
//! What a fabric or a policy does not have is null and not left out, but for [`Chosen`], whose
//! fields stand beside the engine's name or not at all.
//!
//! With a record the document has `record` and `no_record` is null; without one it is the other way
//! round. `hops` is an array of hops, or an object with `no_path`, which says where the tables end:
//!
//! ```text
//! {"schema":"sapphire.explain/1","source":{..},"destination":{..},"service":null,"status":"0x0000",
//!  "record":{..},"policy":{..},"no_record":null,"engine":{"name":"torus-2qos",..},"hops":[..],"job":null}
//! ```

use serde::Serialize;

use crate::json::Document;
use crate::services::Asked;

/// Why a pair gets the answer it gets, in the order in which the answer comes about.
/// Made by `account`, printed and dropped.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    /// Who asks, and whose path it is.
    pub(super) source: End,
    pub(super) destination: End,
    /// None where the request names no service id.
    pub(super) service: Option<Asked>,
    /// `0x0000` with a record.
    pub(super) status: String,
    /// None where the SA refuses.
    pub(super) record: Option<Record>,
    /// None without a policy.
    pub(super) policy: Option<Rules>,
    /// Why there is no record; none where there is one.
    pub(super) no_record: Option<Obstacle>,
    pub(super) engine: Engine,
    /// By the tables, whether or not the SA gives a record.
    pub(super) hops: Hops,
    /// None for services that ask.
    pub(super) job: Option<Job>,
}

impl Document for Account {
    const SCHEMA: &'static str = "sapphire.explain/1";
}

/// A port.
/// Source or destination, as found by what the operator wrote.
#[derive(Debug, Serialize)]
pub(super) struct End {
    pub(super) name: Option<String>,
    /// Of the port.
    pub(super) guid: String,
    pub(super) lid: u16,
    /// The port's P_Key table.
    pub(super) pkeys: Vec<String>,
    /// Its place, as x,y,z; none outside a torus.
    pub(super) torus: Option<String>,
}

/// A PathRecord, codes in words.
/// The fields that applications use; the whole record is what `sapphire query` shows.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) dlid: u16,
    pub(super) qos_class: u16,
    pub(super) tclass: u8,
    pub(super) sl: u8,
    pub(super) pkey: String,
    /// None for a code that means none.
    pub(super) mtu_bytes: Option<u32>,
    pub(super) rate: Option<String>,
    /// Shape: the code.
    pub(super) packet_life: u8,
    pub(super) reversible: bool,
    /// 0 for none.
    pub(super) flow_label: u32,
    pub(super) hop_limit: u8,
}

/// The rule that gave the level, why each earlier one did not, and which later ones would have.
/// With `earlier_rules` and `later_rules` it covers every rule that has to do with this request.
#[derive(Debug, Serialize)]
pub(super) struct Rules {
    /// None where no file was named.
    pub(super) file: Option<String>,
    pub(super) dialect: &'static str,
    /// Of the policy, that the source is in.
    pub(super) source_groups: Vec<String>,
    pub(super) destination_groups: Vec<String>,
    /// None for the default level.
    pub(super) rule_line: Option<u32>,
    /// What the rule is for, in its author's words.
    pub(super) rule_use: Option<String>,
    pub(super) level: String,
    /// None for a level that is built in.
    pub(super) level_line: Option<u32>,
    /// None where the partition's SL stays.
    pub(super) level_sl: Option<u8>,
    /// In words: SL, MTU and rate limits, and so on.
    pub(super) level_gives: String,
    pub(super) earlier_rules: Vec<Earlier>,
    pub(super) later_rules: Vec<Later>,
}

/// A rule that does not hold.
/// In the order of the file.
#[derive(Debug, Serialize)]
pub(super) struct Earlier {
    pub(super) line: u32,
    pub(super) why: String,
    pub(super) r#use: Option<String>,
}

/// A rule that would hold too.
/// It has no effect, as the first rule that holds is final; often it is what its author expected.
#[derive(Debug, Serialize)]
pub(super) struct Later {
    pub(super) line: u32,
    pub(super) level: String,
}

/// The step that fails, where there is no record.
/// One, the first on the way of the answer; there may be more behind it.
#[derive(Debug, Serialize)]
pub(super) struct Obstacle {
    pub(super) step: &'static str,
    pub(super) found: String,
    /// What to change.
    pub(super) remedy: String,
}

/// What made the routes, and its part in the SL.
#[derive(Debug, Serialize)]
pub(super) struct Engine {
    pub(super) name: String,
    /// Only where the engine has a part in it, and there is a record.
    #[serde(flatten)]
    pub(super) chosen: Option<Chosen>,
}

/// An SL by coordinates.
/// `sl` is `kept_bit << 3 | datelines`.
#[derive(Debug, Serialize)]
pub(super) struct Chosen {
    pub(super) sl: u8,
    /// Bit 3, which comes from level or partition.
    pub(super) kept_bit: u8,
    /// Bits 0 to 2, one for each axis.
    pub(super) datelines: u8,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
}

/// The way packets take.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Hops {
    Way(Vec<Hop>),
    None {
        /// Why.
        no_path: String,
    },
}

/// A switch on the way.
/// In the order of packets, the destination's switch last.
#[derive(Debug, Serialize)]
pub(super) struct Hop {
    pub(super) switch: String,
    /// Ports; 0 for the switch itself.
    pub(super) r#in: u8,
    pub(super) out: u8,
    pub(super) sl: u8,
    pub(super) vl: Option<u8>,
    /// Of the port that packets leave by.
    pub(super) mtu_bytes: Option<u32>,
    pub(super) rate: Option<String>,
}

/// For a program that is told its SL instead of asking.
#[derive(Debug, Serialize)]
pub(super) struct Job {
    pub(super) service: String,
    /// None where there is no record and nothing is reserved.
    pub(super) sl: Option<u8>,
    /// Where the policy reserves it.
    pub(super) reserved_line: Option<u32>,
    /// One SL does for all pairs.
    pub(super) safe: bool,
    /// None where the SL is safe.
    pub(super) warning: Option<String>,
}
