//! `sapphire answer`: requests as JSON lines in, answers as JSON lines out, through the same
//! functions as the daemon's.
//!
//! A line in, and the line that comes of it:
//!
//! ```text
//! {"id":1,"from":"H0_0_0","query":{"attr":"pr","method":"get","comp_mask":"0x0"},"request_hex":"00.."}
//! {"schema":"sapphire.answer/1","id":1,"status":"0x0000","records":[..]}
//! ```

use std::io::BufRead;
use std::path::PathBuf;

use clap::Args;
use sa_compiler::path_json::RecordInWords;
use sa_compiler::pipeline::{self, Stamp};
use sa_compiler::state::FabricState;
use sa_service::dispatch;
use sa_snapshot::Snapshot;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::request;
use sa_wire::rmpp::{RmppHeader, flag, payload_lengths};
use sa_wire::sa::{AttributeId, DATA_OFFSET, DATA_SIZE, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zerocopy::IntoBytes;

use crate::failure::{Failure, Outcome};
use crate::inputs::{PolicyArgs, SiteArgs, Words, failure, open_snapshot, or_fail, warn};
use crate::json::{self, Document};
use crate::output;
use crate::wrong::Wrong;

#[derive(Debug, Args)]
pub(crate) struct Answer {
    // First: the others take what was given.
    #[command(flatten)]
    words: Words,
    /// Fabric file: ibsim net file, ibnetdiscover output, opensm-subnet.lst, or a directory of
    /// OpenSM dumps; .xz accepted
    #[arg(long, value_name = "FILE|DIR")]
    fabric: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Answer from a snapshot file instead of compiling; requesters are LIDs then
    #[arg(
        long,
        value_name = "FILE.snap",
        conflicts_with = "fabric",
        required_unless_present = "fabric"
    )]
    snapshot: Option<PathBuf>,
    /// Accepted for symmetry with the other verbs: output is JSON lines in any case
    #[arg(long)]
    json: bool,
}

/// One line of input: a query in words and bytes, or a whole MAD.
///
/// With `query` and `request_hex` in words, or with `mad_hex` in bytes; the latter wins.
#[derive(Debug, Deserialize)]
struct Line {
    /// Comes back as it is, whatever it is.
    id: Value,
    /// Who asks, unless `slid` says it: a node's name or a LID.
    from: Option<Value>,
    query: Option<Query>,
    /// The record of the request: at most 200 bytes.
    request_hex: Option<String>,
    /// The requester's LID, for a whole MAD.
    slid: Option<u16>,
    mad_hex: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Query {
    /// `pr` or `mpr`.
    attr: String,
    /// `get`, `table` or `getmulti`.
    method: String,
    /// A number, or a string `0x...` for those that JSON's numbers may not hold.
    comp_mask: Value,
}

/// One line of output.
#[derive(Debug, Serialize)]
struct Answered {
    /// As it was given.
    id: Value,
    #[serde(flatten)]
    reply: Reply,
}

impl Document for Answered {
    const SCHEMA: &'static str = "sapphire.answer/1";
}

/// What comes back, in the form in which it was asked.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Reply {
    /// Nothing.
    Silence { status: &'static str },
    /// To a query in words.
    Words {
        status: String,
        records: Vec<RecordInWords>,
    },
    /// To a whole MAD: segments in order, as on the wire.
    Bytes { mad_hex: Vec<String> },
}

/// What is dropped gets no reply.
const SILENCE: Reply = Reply::Silence { status: "drop" };

/// Errors: the inputs; a line that is wrong, with which it ends.
pub(crate) fn run(verb: &Answer) -> Outcome {
    let (snapshot, parts) = match (&verb.snapshot, &verb.fabric) {
        (Some(path), _) => {
            verb.words.are_alone("--snapshot", &["--snapshot"])?;
            (open_snapshot(path)?, None)
        }
        (None, Some(fabric)) => {
            let inputs = verb.policy.apply(verb.site.inputs(fabric));
            let compiled = pipeline::compile(&inputs, Stamp::default()).map_err(failure)?;
            warn(&compiled.warnings);
            (compiled.snapshot, Some(compiled.parts))
        }
        (None, None) => return Err(Failure::usage("give --fabric or --snapshot".to_owned())),
    };
    let answerer = Answerer { snapshot, parts };
    for (number, line) in (1..).zip(std::io::stdin().lock().lines()) {
        // A program that has read enough closes its end.
        if !output::is_wanted() {
            break;
        }
        let line = or_fail(line)?;
        if line.trim().is_empty() {
            continue;
        }
        match answerer.line(&line) {
            Ok(answer) => json::print(&answer)?,
            Err(what) => {
                let words = format!("standard input, line {number}: {what}");
                return Err(json::line_failed(verb.json, Failure::failed(words)));
            }
        }
    }
    Ok(())
}

struct Answerer {
    snapshot: Snapshot,
    /// What the snapshot was compiled from; none where it was read.
    parts: Option<FabricState>,
}

impl Answerer {
    /// Errors: what is wrong with the line.
    fn line(&self, text: &str) -> Result<Answered, Wrong> {
        let line: Line = serde_json::from_str(text).map_err(Wrong::of)?;
        let reply = match &line.mad_hex {
            Some(mad) => self.mad(&line, mad)?,
            None => self.query(&line)?,
        };
        let id = line.id;
        Ok(Answered { id, reply })
    }

    /// In words in, in words out. Errors: what is missing or no number.
    fn query(&self, line: &Line) -> Result<Reply, Wrong> {
        let query = line
            .query
            .as_ref()
            .ok_or("expected \"query\" or \"mad_hex\"")?;
        let data = line
            .request_hex
            .as_deref()
            .ok_or("expected \"request_hex\"")?;
        let lid = self.requester(line.from.as_ref())?;
        let slot = slot(lid, query, &hex(data)?)?;
        // As the daemon would: with the parts also what the slow lane answers.
        let Some(reply) = dispatch::respond_with(&self.snapshot, self.parts.as_ref(), &slot) else {
            return Ok(SILENCE);
        };
        let (status, records) = request::parse(&reply).map_err(Wrong::of)?;
        Ok(Reply::Words {
            status: format!("0x{status:04x}"),
            records: records.iter().map(RecordInWords::new).collect(),
        })
    }

    fn mad(&self, line: &Line, mad: &str) -> Result<Reply, Wrong> {
        let lid = match (line.slid, &line.from) {
            (Some(slid), _) => slid,
            (None, from) => self.requester(from.as_ref())?,
        };
        let mut slot = Slot::EMPTY;
        slot.header.lid = lid.into();
        let bytes = hex(mad)?;
        let count = bytes.len();
        slot.mad = bytes
            .try_into()
            .map_err(|_| Wrong::from(format!("a MAD has 256 bytes, this has {count}")))?;
        let reply = dispatch::respond_with(&self.snapshot, self.parts.as_ref(), &slot);
        Ok(reply.map_or(SILENCE, |reply| Reply::Bytes {
            mad_hex: segments(&reply).iter().map(|mad| to_hex(mad)).collect(),
        }))
    }

    /// A node's name, or a LID.
    fn requester(&self, from: Option<&Value>) -> Result<u16, Wrong> {
        let lid = |number: u64| u16::try_from(number).map_err(|_| Wrong::from("LID over 65535"));
        match (from, self.parts.as_ref().map(|parts| &parts.subnet)) {
            (Some(Value::Number(number)), _) => lid(number.as_u64().ok_or("LID below 0")?),
            (Some(Value::String(name)), Some(subnet)) => {
                let found = subnet.find(name).map_err(Wrong::of)?;
                let port = subnet.end_ports().get(found).ok_or("no such port")?;
                Ok(port.lid.get())
            }
            (Some(Value::String(name)), None) => name.parse().map_err(|_| {
                let words =
                    format!("{name:?}: a snapshot knows no names; give the requester's LID");
                Wrong::from(words)
            }),
            _ => Err(Wrong::from("expected \"from\": a node's name or a LID")),
        }
    }
}

/// The request MAD.
fn slot(lid: u16, query: &Query, data: &[u8]) -> Result<Slot, Wrong> {
    let mut slot = Slot::EMPTY;
    slot.header.lid = lid.into();
    slot.header.qpn = 1.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    let (attribute, asked) = attribute_and_method(query)?;
    mad.mad.method = asked;
    mad.mad.attribute_id = attribute.get().into();
    if asked == method::GET_MULTI {
        mad.rmpp = RmppHeader::data(flag::SINGLE, 1, 0);
    }
    mad.sa.component_mask = comp_mask(&query.comp_mask)?.into();
    let place = mad
        .data
        .get_mut(..data.len())
        .ok_or("request_hex: more than 200 bytes")?;
    place.copy_from_slice(data);
    Ok(slot)
}

fn attribute_and_method(query: &Query) -> Result<(AttributeId, u8), Wrong> {
    let attribute = match query.attr.as_str() {
        "pr" => AttributeId::PATH_RECORD,
        "mpr" => AttributeId::MULTI_PATH_RECORD,
        other => {
            return Err(Wrong::from(format!(
                "attr {other:?}: expected \"pr\" or \"mpr\""
            )));
        }
    };
    let asked = match query.method.as_str() {
        "get" => method::GET,
        "table" => method::GET_TABLE,
        "getmulti" => method::GET_MULTI,
        other => {
            return Err(Wrong::from(format!(
                "method {other:?}: expected \"get\", \"table\" or \"getmulti\""
            )));
        }
    };
    Ok((attribute, asked))
}

/// Errors: neither a number nor `0x` and digits.
fn comp_mask(value: &Value) -> Result<u64, Wrong> {
    let wrong = || Wrong::from(format!("comp_mask {value}: expected a number or \"0x...\""));
    match value {
        Value::Number(number) => number.as_u64().ok_or_else(wrong),
        Value::String(text) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
            u64::from_str_radix(digits.ok_or_else(wrong)?, 16).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

/// The reply as it goes over the wire: one MAD, or the segments of an RMPP transfer, each with the
/// headers and 200 bytes of data.
/// What has room in one MAD is no RMPP transfer, whatever its header says of lengths.
fn segments(reply: &[u8]) -> Vec<[u8; MAD_SIZE]> {
    let mut first = [0; MAD_SIZE];
    let head = reply.len().min(MAD_SIZE);
    if let (Some(place), Some(bytes)) = (first.get_mut(..head), reply.get(..head)) {
        place.copy_from_slice(bytes);
    }
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    let lengths = u32::try_from(data.len()).ok().and_then(payload_lengths);
    let Some(lengths) = lengths.filter(|_| data.len() > DATA_SIZE) else {
        return vec![first];
    };
    let parts = (1..).zip(data.chunks(DATA_SIZE));
    parts
        .map(|(number, part)| segment(&first, number, part, &lengths))
        .collect()
}

/// One MAD of a transfer: the headers of the first, with flags, number and length of its own.
fn segment(
    first: &[u8; MAD_SIZE],
    number: u32,
    part: &[u8],
    lengths: &sa_wire::rmpp::PayloadLengths,
) -> [u8; MAD_SIZE] {
    let mut mad = *SaMad::from_bytes(first);
    // Source: IBA, RMPP: the first tells the length of all, the last that of itself.
    let (flags, length) = match number {
        1 => (flag::ACTIVE | flag::FIRST, lengths.first),
        _ if number == lengths.segments => (flag::ACTIVE | flag::LAST, lengths.last),
        _ => (flag::ACTIVE, 0),
    };
    mad.rmpp = RmppHeader::data(flags, number, length);
    mad.data = [0; DATA_SIZE];
    if let Some(place) = mad.data.get_mut(..part.len()) {
        place.copy_from_slice(part);
    }
    let mut bytes = [0; MAD_SIZE];
    bytes.copy_from_slice(mad.as_bytes());
    bytes
}

fn hex(text: &str) -> Result<Vec<u8>, Wrong> {
    let digit = |c: u8| {
        char::from(c)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| Wrong::from("expected pairs of hexadecimal digits"))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
