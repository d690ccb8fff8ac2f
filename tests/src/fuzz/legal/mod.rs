//! Whether a reply is one that a Subnet Administrator may give: read again from its bytes, without
//! the code that wrote it, and held against the request, the fabric and the partitions.
//!
//! Source: reference on the SA, sections 1 (layouts), 2 (methods, statuses, drops), 3 and 4
//! (paths), 6 (RMPP); the deviations of `docs/deviations.md` that concern it.

mod paths;
mod state;

use sa_service::records;
use sa_wire::umad::Slot;

use super::wire::{
    CLASS_PORT_INFO, GET, GET_MULTI, GET_TABLE, GET_TRACE, MULTI_PATH, PATH, Rmpp, SERVED_SNAPSHOT,
    SET, be16, be64,
};
use super::worlds::World;

/// What is wrong with a reply.
pub type Illegal = String;

/// Ends the judgement with a sentence unless the condition holds.
macro_rules! need {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}
pub(crate) use need;

/// What answers were made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// A snapshot.
    FromSnapshot,
    /// A snapshot, and the parts that it was compiled from: records of the fabric are served.
    FromParts,
}

/// Judges the reply to a request, or its absence. Errors: what is wrong.
pub fn judge(
    world: &World,
    made: Made,
    request: &Slot,
    reply: Option<&[u8]>,
) -> Result<(), Illegal> {
    let asked = Asked::new(world, made, request);
    match reply {
        None => need!(
            asked.may_be_silent(),
            "a request that gets an answer got none"
        ),
        Some(reply) => {
            if let Some(why) = asked.must_be_silent() {
                return Err(format!("a reply to {why}"));
            }
            heads(&asked, reply)?;
            match be16(reply, 4) {
                0 => success(&asked, reply)?,
                status => error(&asked, reply, status)?,
            }
        }
    }
    Ok(())
}

/// A request, looked at from outside.
pub(super) struct Asked<'a> {
    world: &'a World,
    made: Made,
    mad: &'a [u8; 256],
    method: u8,
    attribute: u16,
    rmpp: Rmpp,
    /// Index of the port that asks.
    requester: Option<usize>,
}

impl<'a> Asked<'a> {
    fn new(world: &'a World, made: Made, request: &'a Slot) -> Self {
        let mad = &request.mad;
        Self {
            world,
            made,
            mad,
            method: mad[3],
            attribute: be16(mad, 16),
            rmpp: Rmpp::of(mad),
            requester: world.end_by_lid(request.header.lid.get()),
        }
    }

    fn mask(&self) -> u64 {
        be64(self.mad, 48)
    }

    /// True when this bit of the component mask is set.
    fn has(&self, bit: u32) -> bool {
        self.mask() >> bit & 1 == 1
    }

    fn is_version_ours(&self) -> bool {
        (self.mad[0], self.mad[2]) == (1, 2)
    }

    /// Get and GetTable of PathRecord, and what is judged as a MultiPathRecord request.
    fn is_for_paths(&self) -> bool {
        let is_table = matches!(self.method, GET | GET_TABLE);
        self.is_version_ours()
            && match self.attribute {
                PATH => is_table,
                MULTI_PATH => is_table || self.method == GET_MULTI,
                _ => false,
            }
    }

    fn has_strange_key(&self) -> bool {
        let key = be64(self.mad, 36);
        let may_be_service_id = self.world.semantics.key_is_service_id && self.is_for_paths();
        key != 0 && key != self.world.sa_key && !may_be_service_id
    }

    fn is_state(&self) -> bool {
        self.made == Made::FromParts && records::serves(sa_wire::sa::AttributeId(self.attribute))
    }

    /// Why there must be no reply. Source: reference on the SA, 2.5.
    fn must_be_silent(&self) -> Option<&'static str> {
        let is_request = matches!(
            self.method,
            GET | SET | GET_TABLE | GET_TRACE | GET_MULTI | 0x15
        );
        match () {
            () if self.mad[1] != 3 => Some("another management class"),
            () if self.method & 0x80 != 0 => Some("a response"),
            () if self.rmpp.is_part() => Some("a part of an RMPP transfer"),
            () if self.has_strange_key() => Some("a strange key"),
            () if !is_request => Some("what no SA is asked"),
            () => None,
        }
    }

    /// The requester's LID may be nobody's; SMInfoRecord hides the SM from who shares no P_Key.
    fn may_be_silent(&self) -> bool {
        const SM_INFO: u16 = 0x18;
        let hides_sm = self.is_state() && self.attribute == SM_INFO;
        self.must_be_silent().is_some() || self.requester.is_none() || hides_sm
    }
}

/// The 56 header bytes, but for the AttributeOffset and the RMPP header.
fn heads(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    need!(reply.len() >= 56, "{} bytes are no reply", reply.len());
    let mad = asked.mad;
    need!(
        reply[..3] == mad[..3],
        "versions or class not those of the request"
    );
    let method = if asked.method == SET {
        0x81
    } else {
        asked.method | 0x80
    };
    need!(reply[3] == method, "method 0x{:02x}", reply[3]);
    need!(
        reply[6..16] == mad[6..16],
        "class specific bits or transaction not echoed"
    );
    let attribute = if asked.attribute == MULTI_PATH {
        PATH
    } else {
        asked.attribute
    };
    need!(
        be16(reply, 16) == attribute,
        "attribute 0x{:04x}",
        be16(reply, 16)
    );
    need!(
        reply[18..24] == mad[18..24],
        "reserved word or modifier not echoed"
    );
    need!(reply[36..44] == [0; 8], "a key came back");
    need!(
        reply[46..56] == mad[46..56],
        "reserved word or component mask not echoed"
    );
    Ok(())
}

/// An error is the whole request with another status.
fn error(asked: &Asked<'_>, reply: &[u8], status: u16) -> Result<(), Illegal> {
    need!(reply.len() == 256, "an error of {} bytes", reply.len());
    need!(
        reply[56..] == asked.mad[56..],
        "the data of an error is not the request's"
    );
    let offset = if asked.method == GET_TABLE {
        0
    } else {
        be16(asked.mad, 44)
    };
    need!(
        be16(reply, 44) == offset,
        "AttributeOffset {} in an error",
        be16(reply, 44)
    );
    let echoed = if asked.rmpp.is_active() {
        &asked.mad[24..36]
    } else {
        &[0; 12][..]
    };
    need!(
        &reply[24..36] == echoed,
        "RMPP header {:02x?} in an error",
        &reply[24..36]
    );
    let is_get = asked.method == GET;
    let fits = match status {
        0x0004 => !asked.is_version_ours(),
        // What is not served; or served, but not by this method.
        0x000c => !(matches!(asked.method, GET | GET_TABLE) && asked.attribute == PATH),
        0x0100 => asked.method != GET || asked.is_state(),
        0x0200 => true,
        0x0300 => is_get && (asked.attribute == PATH || asked.is_state()),
        0x0400 => is_get && asked.is_state(),
        0x0500 => asked.attribute == MULTI_PATH && asked.method == GET_MULTI,
        0x0600 => asked.is_for_paths(),
        _ => false,
    };
    need!(fits, "status 0x{status:04x} for this request");
    need!(
        asked.is_version_ours() || status == 0x0004,
        "another version was understood"
    );
    // Found by what is looked at before the requester.
    let is_early = matches!(status, 0x0004 | 0x000c | 0x0200 | 0x0600);
    need!(
        asked.requester.is_some() || is_early,
        "status 0x{status:04x} for a stranger"
    );
    Ok(())
}

fn success(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    need!(asked.is_version_ours(), "another version was understood");
    if asked.attribute == CLASS_PORT_INFO {
        return class_port_info(asked, reply);
    }
    need!(asked.requester.is_some(), "records for a stranger");
    match asked.attribute {
        PATH | MULTI_PATH => paths::judge(asked, reply),
        _ if asked.is_state() => state::judge(asked, reply),
        SERVED_SNAPSHOT => served_snapshot(asked, reply),
        other => Err(format!("records of attribute 0x{other:04x}")),
    }
}

fn class_port_info(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    need!(
        asked.method == GET,
        "ClassPortInfo for method 0x{:02x}",
        asked.method
    );
    need!(
        reply.len() == 56 + 72,
        "ClassPortInfo of {} bytes",
        reply.len() - 56
    );
    need!(reply[24..36] == asked.mad[24..36], "RMPP header not echoed");
    need!(
        reply[44..46] == asked.mad[44..46],
        "AttributeOffset not echoed"
    );
    let versions = (reply[56], reply[57]);
    need!(versions == (1, 2), "ClassPortInfo of versions {versions:?}");
    need!(reply[63] & 0x1f >= 8, "response time {}", reply[63] & 0x1f);
    Ok(())
}

fn served_snapshot(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    need!(
        asked.method == GET,
        "ServedSnapshot for method 0x{:02x}",
        asked.method
    );
    let length = reply.len() - 56;
    need!(length == 24, "ServedSnapshot of {length} bytes");
    need!(reply[24..36] == asked.mad[24..36], "RMPP header not echoed");
    need!(be64(reply, 56) != 0, "ServedSnapshot without a digest");
    Ok(())
}

/// Length, stride and RMPP header of a reply with records. Gives their bytes.
fn table<'a>(asked: &Asked<'_>, reply: &'a [u8], stride: usize) -> Result<&'a [u8], Illegal> {
    let data = &reply[56..];
    need!(
        data.len().is_multiple_of(stride),
        "{} bytes of records of {stride}",
        data.len()
    );
    let units = if data.is_empty() { 0 } else { stride / 8 };
    let offset = usize::from(be16(reply, 44));
    need!(offset == units, "AttributeOffset {offset}, not {units}");
    let rmpp = Rmpp::of(reply);
    if asked.method == GET {
        need!(data.len() == stride, "{} bytes for one record", data.len());
        need!(
            reply[24..36] == asked.mad[24..36],
            "RMPP header of one record not echoed"
        );
        return Ok(data);
    }
    // A longer one is cut into segments by the transport, which numbers them.
    let is_inline = data.len() <= 200;
    let wanted = Rmpp {
        version: 1,
        kind: 1,
        time_and_flags: if is_inline { 0xff } else { 0xf9 },
        status: 0,
        segment: u32::from(is_inline),
        length: match u32::try_from(data.len()) {
            Ok(length) if is_inline => 20 + length,
            _ => 0,
        },
    };
    need!(rmpp == wanted, "{rmpp:?}");
    Ok(data)
}
