//! Records of the fabric's state and of what clients set, by saquery's short names.

use core::marker::PhantomData;

use clap::error::Error;
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

/// Which record.
#[derive(Debug, Subcommand)]
pub(crate) enum Record {
    /// Ask for ClassPortInfo, what the SA can do
    #[command(name = "cpi", alias = "CPI")]
    ClassPortInfo(Box<Ask<Cpi>>),
    /// Ask for NodeRecords
    #[command(name = "nr", alias = "NR")]
    Node(Box<Ask<Nr>>),
    /// Ask for PortInfoRecords
    #[command(name = "pir", alias = "PIR")]
    PortInfo(Box<Ask<Pir>>),
    /// Ask for SLtoVLMappingTableRecords
    #[command(name = "sl2vl", alias = "SL2VL")]
    SlToVl(Box<Ask<Sl2Vl>>),
    /// Ask for SwitchInfoRecords
    #[command(name = "swir", alias = "SWIR")]
    SwitchInfo(Box<Ask<Swir>>),
    /// Ask for LinearForwardingTableRecords
    #[command(name = "lftr", alias = "LFTR")]
    LinearForwarding(Box<Ask<Lftr>>),
    /// Ask for MulticastForwardingTableRecords
    #[command(name = "mftr", alias = "MFTR")]
    MulticastForwarding(Box<Ask<Mftr>>),
    /// Ask for SMInfoRecords
    #[command(name = "smir", alias = "SMIR")]
    SmInfo(Box<Ask<Smir>>),
    /// Ask for LinkRecords
    #[command(name = "lr", alias = "LR")]
    Link(Box<Ask<Lr>>),
    /// Ask for GUIDInfoRecords, set or delete alias GUIDs
    #[command(name = "gir", alias = "GIR")]
    GuidInfo(Box<Ask<Gir>>),
    /// Ask for P_KeyTableRecords; needs --sa-key
    #[command(name = "pktr", alias = "PKTR")]
    PKeyTable(Box<Ask<Pktr>>),
    /// Ask for VLArbitrationTableRecords
    #[command(name = "vlar", alias = "VLAR")]
    VlArbitration(Box<Ask<Vlar>>),
    /// Ask for MCMemberRecords; join and leave multicast groups
    #[command(name = "mcmr", alias = "MCMR")]
    McMember(Box<Ask<Mcmr>>),
    /// Ask for ServiceRecords, set or delete one
    #[command(name = "sr", alias = "SR")]
    Service(Box<Ask<Sr>>),
    /// Ask for InformInfoRecords, who wants to hear of what
    #[command(name = "iir", alias = "IIR")]
    InformInfo(Box<Ask<Iir>>),
}

pub(super) fn run(verb: &Record) -> Outcome {
    match verb {
        Record::ClassPortInfo(ask) => ask.run(),
        Record::Node(ask) => ask.run(),
        Record::PortInfo(ask) => ask.run(),
        Record::SlToVl(ask) => ask.run(),
        Record::SwitchInfo(ask) => ask.run(),
        Record::LinearForwarding(ask) => ask.run(),
        Record::MulticastForwarding(ask) => ask.run(),
        Record::SmInfo(ask) => ask.run(),
        Record::Link(ask) => ask.run(),
        Record::GuidInfo(ask) => ask.run(),
        Record::PKeyTable(ask) => ask.run(),
        Record::VlArbitration(ask) => ask.run(),
        Record::McMember(ask) => ask.run(),
        Record::Service(ask) => ask.run(),
        Record::InformInfo(ask) => ask.run(),
    }
}

/// A request for records of one kind: an option for each component that requests can ask for.
#[derive(Debug)]
pub(crate) struct Ask<K> {
    way: Way,
    options: Options,
    asked: Asked,
    /// What is asked for, with its component.
    wanted: Vec<(&'static Field, Wanted)>,
    kind: PhantomData<K>,
}

/// What is asked of a component.
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

/// A kind of record.
pub(crate) trait Kind: core::fmt::Debug {
    /// Its components.
    const LAYOUT: Layout;
    /// Clients may set and delete records of it.
    const CAN_SET: bool = false;
}

macro_rules! kinds {
    ($($name:ident $layout:ident $(can_set $can_set:literal)?),* $(,)?) => {
        $(
            #[derive(Debug)]
            pub(crate) struct $name;

            impl Kind for $name {
                const LAYOUT: Layout = Layout::$layout;
                $(const CAN_SET: bool = $can_set;)?
            }
        )*
    };
}

kinds!(
    Cpi CLASS_PORT_INFO,
    Nr NODE,
    Pir PORT_INFO,
    Sl2Vl SL_TO_VL,
    Swir SWITCH_INFO,
    Lftr LINEAR_FORWARDING,
    Mftr MULTICAST_FORWARDING,
    Smir SM_INFO,
    Lr LINK,
    Gir GUID_INFO can_set true,
    Pktr PKEY_TABLE,
    Vlar VL_ARBITRATION,
    Mcmr MC_MEMBER can_set true,
    Sr SERVICE can_set true,
    Iir INFORM_INFO,
);

impl<K: Kind> Args for Ask<K> {
    fn augment_args(command: Command) -> Command {
        let mut command = Way::augment_args(Options::augment_args(command));
        if K::CAN_SET {
            command = command.arg(
                flag(SET, "Set a record instead of asking for some")
                    .conflicts_with_all(["get", DELETE]),
            );
            let help = "Delete a record instead of asking for some";
            command = command.arg(flag(DELETE, help).conflicts_with("get"));
        }
        let fields = K::LAYOUT.fields.iter();
        command.args(fields.filter(|field| field.mask() != 0).map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
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
    let fits = move |text: &str| match number::<u64>(text)? {
        value if value <= most => Ok(value),
        _ => Err(format!("the largest number here is {most}")),
    };
    arg.value_name("NUMBER").value_parser(fits)
}

impl<K: Kind> FromArgMatches for Ask<K> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let wanted = |field: &'static Field| {
            let wanted = match field.form {
                Form::Text => Wanted::Text(matches.get_one::<String>(field.name)?.clone()),
                Form::Gid => Wanted::Gid(*matches.get_one(field.name)?),
                Form::Bytes => Wanted::Bytes(matches.get_one::<Vec<u8>>(field.name)?.clone()),
                _ => Wanted::Number(*matches.get_one(field.name)?),
            };
            Some((field, wanted))
        };
        let fields = K::LAYOUT.fields.iter();
        let options = Options::from_arg_matches(matches)?;
        Ok(Self {
            way: Way::from_arg_matches(matches)?,
            asked: asked::<K>(&options, matches),
            options,
            wanted: fields
                .filter(|field| field.mask() != 0)
                .filter_map(wanted)
                .collect(),
            kind: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn asked<K: Kind>(options: &Options, matches: &ArgMatches) -> Asked {
    let has = |name| K::CAN_SET && matches.get_flag(name);
    if has(SET) {
        Asked::Set
    } else if has(DELETE) {
        Asked::Delete
    } else if options.get || K::LAYOUT.attribute == AttributeId::CLASS_PORT_INFO {
        Asked::Get
    } else {
        Asked::Table
    }
}

/// Hexadecimal digits, two to a byte, `most` bytes at most.
fn bytes(text: &str, most: usize) -> Result<Vec<u8>, String> {
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
    fit.ok_or_else(|| format!("expected hexadecimal digits, two to a byte, {most} bytes at most"))
}

impl<K: Kind> Ask<K> {
    fn run(&self) -> Outcome {
        let reply = self.way.ask(&self.request())?;
        let (status, records) = parse(&K::LAYOUT, &reply)
            .ok_or_else(|| Failure::failed("the reply is shorter than its headers"))?;
        show::print(&K::LAYOUT, status, &records, self.way.json)
    }

    fn request(&self) -> Slot {
        let asked = match self.asked {
            Asked::Table => method::GET_TABLE,
            Asked::Get => method::GET,
            Asked::Set => method::SET,
            Asked::Delete => method::DELETE,
        };
        let mut slot = request::request(0, asked, K::LAYOUT.attribute, 0, &[]);
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
fn put(field: &Field, data: &mut [u8], bytes: &[u8]) {
    let start = usize::from(field.start / 8);
    let end = start + usize::from(field.width / 8);
    let place = data.get_mut(start..end).into_iter().flatten();
    for (place, byte) in place.zip(bytes) {
        *place = *byte;
    }
}

/// Status and records; none when even the headers are not all there.
pub(super) fn parse<'a>(layout: &Layout, reply: &'a [u8]) -> Option<(Status, Vec<&'a [u8]>)> {
    let headers = reply.get(..DATA_OFFSET)?;
    let word = |at: usize| {
        let bytes = headers.get(at..at + 2)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    };
    let (status, stride) = (Status(word(4)?), record_stride(word(44)?));
    let data = reply.get(DATA_OFFSET..)?;
    if status != Status::OK {
        return Some((status, Vec::new()));
    }
    let whole = usize::from(layout.stride);
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
