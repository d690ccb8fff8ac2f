//! What an account says: what `sapphire explain --json` prints, and what its text and the page of the daemon are made from.
//!
//! All are made from one value, so that people and programs are told the same. A daemon sends it over its control socket, and
//! `sapphire explain --live` prints it as if it were its own.
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

use std::borrow::Cow;

use policy::UlpNames;
use sa_wire::{Guid, ServiceId};
use serde::{Deserialize, Serialize};

/// Why a pair gets the answer it gets, in the order in which the answer comes about.
/// Made by `account`, printed and dropped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Account {
    /// Who asks, and whose path it is.
    pub source: End,
    /// Who is asked about.
    pub destination: End,
    /// None where the request names no service id.
    pub service: Option<Asked>,
    /// `0x0000` with a record.
    pub status: String,
    /// None where the SA refuses.
    pub record: Option<Record>,
    /// None without a policy.
    pub policy: Option<Rules>,
    /// Why there is no record; none where there is one.
    pub no_record: Option<Obstacle>,
    /// What made the routes.
    pub engine: Engine,
    /// By the tables, whether or not the SA gives a record.
    pub hops: Hops,
    /// None for services that ask.
    pub job: Option<Job>,
}

/// The service id of a request, and what it stands for.
///
/// Told with an answer too: an SA answers with a path whether or not it knows the id.
#[derive(Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Shape: `0x` and 16 digits.
    pub service_id: String,
    /// As the table of services has it; none for an id that no service has.
    pub name: Option<String>,
    /// The name, or what is known of the id.
    pub what: String,
}

impl Asked {
    /// None for a request that names no service id.
    ///
    /// An id without a name is described by its port space.
    pub fn about(names: &UlpNames, id: Option<ServiceId>) -> Option<Self> {
        let id = id?;
        Some(Self {
            service_id: format!("0x{:016x}", id.0),
            name: names.name(id),
            what: names.describe(id),
        })
    }
}

/// A port.
/// Source or destination, as found by what the operator wrote.
#[derive(Debug, Serialize, Deserialize)]
pub struct End {
    /// NODE:PORT, or what it is called.
    pub name: Option<String>,
    /// Of the port.
    pub guid: String,
    /// The base LID.
    pub lid: u16,
    /// The port's P_Key table.
    pub pkeys: Vec<String>,
    /// Its place, as x,y,z; none outside a torus.
    pub torus: Option<String>,
}

/// A PathRecord, codes in words.
/// The fields that applications use; the whole record is what `sapphire query` shows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Among the LIDs of the destination.
    pub dlid: u16,
    /// As the record has it.
    pub qos_class: u16,
    /// Traffic class.
    pub tclass: u8,
    /// Service level.
    pub sl: u8,
    /// Shape: `0x` and 4 digits.
    pub pkey: String,
    /// None for a code that means none.
    pub mtu_bytes: Option<u32>,
    /// In words; none for a code that means none.
    pub rate: Option<String>,
    /// Shape: the code.
    pub packet_life: u8,
    /// Whether the way back has the same terms.
    pub reversible: bool,
    /// 0 for none.
    pub flow_label: u32,
    /// Of the GRH.
    pub hop_limit: u8,
}

/// The rule that gave the level, why each earlier one did not, and which later ones would have.
/// With `earlier_rules` and `later_rules` it covers every rule that has to do with this request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rules {
    /// None where no file was named.
    pub file: Option<String>,
    /// Of the policy: a word.
    pub dialect: Cow<'static, str>,
    /// Of the policy, that the source is in.
    pub source_groups: Vec<String>,
    /// Likewise of the destination.
    pub destination_groups: Vec<String>,
    /// None for the default level.
    pub rule_line: Option<u32>,
    /// What the rule is for, in its author's words.
    pub rule_use: Option<String>,
    /// Its title.
    pub level: String,
    /// None for a level that is built in.
    pub level_line: Option<u32>,
    /// None where the partition's SL stays.
    pub level_sl: Option<u8>,
    /// In words: SL, MTU and rate limits, and so on.
    pub level_gives: String,
    /// Those that were tried before.
    pub earlier_rules: Vec<Earlier>,
    /// Those that come too late.
    pub later_rules: Vec<Later>,
}

/// A rule that does not hold.
/// In the order of the file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Earlier {
    /// Of the policy file.
    pub line: u32,
    /// What of the request it is not for.
    pub why: String,
    /// What it is for, in its author's words.
    pub r#use: Option<String>,
}

/// A rule that would hold too.
/// It has no effect, as the first rule that holds is final; often it is what its author expected.
#[derive(Debug, Serialize, Deserialize)]
pub struct Later {
    /// Of the policy file.
    pub line: u32,
    /// Its title.
    pub level: String,
}

/// The step that fails, where there is no record.
/// One, the first on the way of the answer; there may be more behind it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Obstacle {
    /// In a few words.
    pub step: Cow<'static, str>,
    /// In a sentence.
    pub found: String,
    /// What to change.
    pub remedy: String,
}

/// What made the routes, and its part in the SL.
#[derive(Debug, Serialize, Deserialize)]
pub struct Engine {
    /// NODE:PORT, or what it is called.
    pub name: String,
    /// Only where the engine has a part in it, and there is a record.
    #[serde(flatten)]
    pub chosen: Option<Chosen>,
}

/// An SL by coordinates.
/// `sl` is `kept_bit << 3 | datelines`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// Service level.
    pub sl: u8,
    /// Bit 3, which comes from level or partition.
    pub kept_bit: u8,
    /// Bits 0 to 2, one for each axis.
    pub datelines: u8,
    /// Place of the source.
    pub from: Option<String>,
    /// Place of the destination.
    pub to: Option<String>,
}

/// The way packets take.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Hops {
    /// From the source's switch to the destination's.
    Way(Vec<Hop>),
    /// The tables end somewhere.
    None {
        /// Why.
        no_path: String,
    },
}

/// A switch on the way.
/// In the order of packets, the destination's switch last.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hop {
    /// Name, GUID and place.
    pub switch: String,
    /// Of the node, for who leads to it; the document has it in the name, so that it is none where another process told it.
    #[serde(skip)]
    pub guid: Option<Guid>,
    /// Ports; 0 for the switch itself.
    pub r#in: u8,
    /// Likewise, by which packets leave.
    pub out: u8,
    /// Service level.
    pub sl: u8,
    /// None for an SL that the table does not have.
    pub vl: Option<u8>,
    /// Of the port that packets leave by.
    pub mtu_bytes: Option<u32>,
    /// In words; none for a code that means none.
    pub rate: Option<String>,
}

/// For a program that is told its SL instead of asking.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub service: String,
    /// None where there is no record and nothing is reserved.
    pub sl: Option<u8>,
    /// Where the policy reserves it.
    pub reserved_line: Option<u32>,
    /// One SL does for all pairs.
    pub safe: bool,
    /// None where the SL is safe.
    pub warning: Option<String>,
}
