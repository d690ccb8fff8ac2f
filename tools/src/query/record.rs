//! Records of the fabric's state and of what clients set, by saquery's short names.
//!
//! Nothing here knows a single record. `Layout::ALL` of sa-wire has for each its short name, its
//! fields with places and widths, and the bits of the component mask; from these are made
//!
//! ```text
//! a subcommand  sapphire query nr      (saquery's NR)
//! its options   --lid NUMBER           (one for each field that has a bit in the mask)
//! the request   attribute, mask, fields written at their places
//! the columns   of the reply, by `show`
//! ```
//!
//! This is why the type implements clap's traits by hand: a derive needs the options when it is
//! compiled.

use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use sa_wire::mad::{Status, method};
use sa_wire::records::{Field, Form, Layout};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, record_stride};
use sa_wire::umad::Slot;
use sa_wire::{Gid, request};

use super::client::Way;
use super::path::gid;
use super::{number, show};
use crate::failure::{Failure, Outcome};
use crate::wrong::Wrong;

/// A request for records of one kind: an option for each component that requests can ask for.
///
/// There is a subcommand for each of [`Layout::ALL`], by saquery's short name: a record that gets a
/// layout can be asked for without a line here.
///
/// From the command line only; it lives for one question.
#[derive(Debug)]
pub(crate) struct Record {
    layout: Layout,
    way: Way,
    options: Options,
    asked: Asked,
    /// What is asked for, with its component.
    wanted: Vec<(&'static Field, Wanted)>,
}

/// What is asked of a component.
///
/// As clap's parsers give it, by the form of the field. It is written into the request later, by
/// the same field.
#[derive(Debug)]
enum Wanted {
    Number(u64),
    Text(String),
    Gid(Gid),
    Bytes(Vec<u8>),
}

/// What is to be done.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Table,
    Get,
    Set,
    Delete,
}

/// Options that every kind has.
#[derive(Debug, Args)]
struct Options {
    /// Ask with Get, which is refused unless there is exactly one record, instead of GetTable
    #[arg(long)]
    get: bool,
    /// Bits of the component mask besides those of the components that are asked for
    #[arg(long, value_name = "MASK", value_parser = number::<u64>)]
    mask: Option<u64>,
    /// Attribute modifier; 0x80000000 with pir: capability masks match if they have these bits
    #[arg(long, value_name = "MODIFIER", value_parser = number::<u32>)]
    modifier: Option<u32>,
    /// The SA's key, for what is not for everybody
    #[arg(long, value_name = "KEY", value_parser = number::<u64>)]
    sa_key: Option<u64>,
}

/// Records that clients may set and delete.
const SETTABLE: [AttributeId; 3] = [
    AttributeId::GUID_INFO_RECORD,
    AttributeId::MC_MEMBER_RECORD,
    AttributeId::SERVICE_RECORD,
];

/// What `--help` says of asking for it.
fn about(attribute: AttributeId) -> String {
    let more = match attribute {
        AttributeId::CLASS_PORT_INFO => ", what the SA can do",
        AttributeId::GUID_INFO_RECORD => "s, set or delete alias GUIDs",
        AttributeId::PKEY_TABLE_RECORD => "s; needs --sa-key",
        AttributeId::MC_MEMBER_RECORD => "s; join and leave multicast groups",
        AttributeId::SERVICE_RECORD => "s, set or delete one",
        AttributeId::INFORM_INFO_RECORD => "s, who wants to hear of what",
        _ => "s",
    };
    format!("Ask for {attribute}{more}")
}

/// The layout that a subcommand stands for.
///
/// Also in capitals, as saquery writes them: `NR` is `nr`.
fn layout_of(name: &str) -> Option<Layout> {
    let mut all = Layout::ALL.into_iter();
    all.find(|layout| layout.short.eq_ignore_ascii_case(name))
}

/// The command for one record. Set and Delete are offered only where an SA may grant them.
fn subcommand(layout: Layout) -> Command {
    // Clap wants names that stay; there is one for each record, made once.
    let name: &'static str = layout.short.to_ascii_lowercase().leak();
    let command = Command::new(name);
    let mut command = Way::augment_args(Options::augment_args(command));
    if SETTABLE.contains(&layout.attribute) {
        command = command.arg(
            flag(SET, "Set a record instead of asking for some")
                .conflicts_with_all(["get", DELETE]),
        );
        let help = "Delete a record instead of asking for some";
        command = command.arg(flag(DELETE, help).conflicts_with("get"));
    }
    let fields = layout.fields.iter().filter(|field| field.mask() != 0);
    command
        .args(fields.map(option))
        .alias(layout.short)
        .about(about(layout.attribute))
        .long_about(None)
}

impl Subcommand for Record {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(Layout::ALL.map(subcommand))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        layout_of(name).is_some()
    }
}

const SET: &str = "set";
const DELETE: &str = "delete";

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// `--port-num NUMBER`.
///
/// One option per field; the form of the field decides on how its word is read.
fn option(field: &'static Field) -> Arg {
    // Clap wants names that stay; there are some dozens of them, made once.
    let name: &'static str = field.name.replace('_', "-").leak();
    let arg = Arg::new(field.name)
        .long(name)
        .action(ArgAction::Set)
        .help_heading("Components");
    match field.form {
        Form::Text => return arg.value_name("TEXT"),
        Form::Gid => return arg.value_name("GID").value_parser(gid),
        Form::Bytes => {
            let most = usize::from(field.width / 8);
            return arg
                .value_name("HEX")
                .value_parser(move |text: &str| bytes(text, most));
        }
        _ => {}
    }
    let most = match field.width {
        64.. => u64::MAX,
        width => (1 << width) - 1,
    };
    // What does not fit is cut off when it is written, and something else would be asked for.
    let fits = move |text: &str| match number::<u64>(text)? {
        value if value <= most => Ok(value),
        _ => Err(Wrong::from(format!("the largest number here is {most}"))),
    };
    arg.value_name("NUMBER").value_parser(fits)
}

impl FromArgMatches for Record {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        // Never seen by a user: clap has found the subcommand by then.
        let missing = || Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let layout = layout_of(name).ok_or_else(missing)?;
        let wanted = |field: &'static Field| {
            let wanted = match field.form {
                Form::Text => Wanted::Text(matches.get_one::<String>(field.name)?.clone()),
                Form::Gid => Wanted::Gid(*matches.get_one(field.name)?),
                Form::Bytes => Wanted::Bytes(matches.get_one::<Vec<u8>>(field.name)?.clone()),
                _ => Wanted::Number(*matches.get_one(field.name)?),
            };
            Some((field, wanted))
        };
        let fields = layout.fields.iter().filter(|field| field.mask() != 0);
        let options = Options::from_arg_matches(matches)?;
        Ok(Self {
            layout,
            way: Way::from_arg_matches(matches)?,
            asked: asked(layout.attribute, &options, matches),
            options,
            wanted: fields.filter_map(wanted).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// ClassPortInfo is always asked for with Get: there is one, and it has no table.
fn asked(attribute: AttributeId, options: &Options, matches: &ArgMatches) -> Asked {
    // Asked in this order: other records do not have these flags, and clap panics over names it
    // does not know.
    let has = |name| SETTABLE.contains(&attribute) && matches.get_flag(name);
    if has(SET) {
        Asked::Set
    } else if has(DELETE) {
        Asked::Delete
    } else if options.get || attribute == AttributeId::CLASS_PORT_INFO {
        Asked::Get
    } else {
        Asked::Table
    }
}

/// Hexadecimal digits, two to a byte, `most` bytes at most.
fn bytes(text: &str, most: usize) -> Result<Vec<u8>, Wrong> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = core::str::from_utf8(pair).ok()?;
        let is_digits = text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_digits
            .then(|| u8::from_str_radix(text, 16).ok())
            .flatten()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    let fit = bytes.filter(|bytes| bytes.len() <= most);
    fit.ok_or_else(|| {
        let words = format!("expected hexadecimal digits, two to a byte, {most} bytes at most");
        Wrong::from(words)
    })
}

impl Record {
    /// Asks, and prints what comes back.
    pub(super) fn run(&self) -> Outcome {
        let reply = self.way.ask(&self.request())?;
        let (status, records) = parse(&self.layout, &reply)
            .ok_or_else(|| Failure::failed("the reply is shorter than its headers"))?;
        show::print(&self.layout, status, &records, self.way.json)
    }

    /// Writes only fields that were named; the rest of the record stays zero.
    fn request(&self) -> Slot {
        let asked = match self.asked {
            Asked::Table => method::GET_TABLE,
            Asked::Get => method::GET,
            Asked::Set => method::SET,
            Asked::Delete => method::DELETE,
        };
        let mut slot = request::request(0, asked, self.layout.attribute, 0, &[]);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.attribute_modifier = self.options.modifier.unwrap_or(0).into();
        mad.sa.sm_key = self.options.sa_key.unwrap_or(0).into();
        let mut mask = self.options.mask.unwrap_or(0);
        for (field, wanted) in &self.wanted {
            mask |= field.mask();
            match wanted {
                Wanted::Number(value) => field.set(&mut mad.data, *value),
                Wanted::Text(text) => put(field, &mut mad.data, text.as_bytes()),
                Wanted::Gid(gid) => field.set_gid(&mut mad.data, *gid),
                Wanted::Bytes(bytes) => put(field, &mut mad.data, bytes),
            }
        }
        mad.sa.component_mask = mask.into();
        slot
    }
}

/// Cut off at the end of the component.
///
/// Text and bytes are shorter than their field, as a rule; what is behind them stays zero.
pub(super) fn put(field: &Field, data: &mut [u8], bytes: &[u8]) {
    let start = usize::from(field.start / 8);
    let end = start + usize::from(field.width / 8);
    let place = data.get_mut(start..end).into_iter().flatten();
    for (place, byte) in place.zip(bytes) {
        *place = *byte;
    }
}

/// Status and records; none when even the headers are not all there.
///
/// A reply to GetTable has records at a distance of AttributeOffset (in units of 8 bytes), which
/// may be more than the record takes; other replies have one record and an offset that need not be
/// set. A record that is cut off at the end is left out.
pub(super) fn parse<'a>(layout: &Layout, reply: &'a [u8]) -> Option<(Status, Vec<&'a [u8]>)> {
    let headers = reply.get(..DATA_OFFSET)?;
    let word = |at: usize| {
        let bytes = headers.get(at..at + 2)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    };
    let (status, stride) = (Status(word(4)?), record_stride(word(44)?));
    let data = reply.get(DATA_OFFSET..)?;
    // With another status the data mean nothing, whatever their length.
    if status != Status::OK {
        return Some((status, Vec::new()));
    }
    let whole = usize::from(layout.stride);
    // Get, Set and Delete answer with the record itself; only tables have an offset.
    let is_one = matches!(
        headers.get(3),
        Some(&(method::GET_RESP | method::DELETE_RESP))
    );
    let records = if is_one {
        data.get(..whole).into_iter().collect()
    } else {
        let all = data.chunks(stride.max(1));
        all.filter(|record| stride > 0 && record.len() >= whole)
            .collect()
    };
    Some((status, records))
}
