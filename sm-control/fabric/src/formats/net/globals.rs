//! The lines `name=value` of a net file, and the GUIDs they make ibsim hand out.
//!
//! | line | effect |
//! |---|---|
//! | `vendid=`, `sysimgguid=` | for the next node only |
//! | `devid=` | for all nodes until the next such line |
//! | `switchguid=G`, `caguid=G`, `rtguid=G` | the next GUID of that kind, and the base |
//! | `switchguid+N` | the next GUID is base + N |
//! | `switchguid=G(P)` | P is the port GUID of the next switch |
//! | `width=`, `speed=`, `extspeed=` | what ports that follow may run at, as bit masks |
//! | `module="m"` | names that follow are `m#name` |
//!
//! Source: ibsim `sim_net.c`. Which of them last and which are used up is not written anywhere
//! else: it follows from where that program resets its variables.

use std::borrow::Cow;

use sa_text::Position;
use sa_wire::{Guid, NodeType};

use crate::error::{ParseError, Problem};
use crate::text::{Cursor, in_range};
use crate::train::Enabled;

/// NodeInfo.Revision of every simulated node.
pub(super) const REVISION: u32 = 0xa1;

/// What the lines so far have set.
pub(super) struct Globals {
    /// Of the module; empty without one.
    prefix: String,
    /// Used up by the next node, unlike the device id.
    vendor_id: u32,
    device_id: u16,
    /// Used up by the next node; then the node GUID.
    system_guid: Option<Guid>,
    /// Of the next switch; then the node GUID.
    port0_guid: Option<Guid>,
    /// What ports that follow may run at.
    enabled: Enabled,
    ca: Counter,
    switch: Counter,
    router: Counter,
}

/// Where the GUIDs of one kind of node stand.
#[derive(Clone, Copy)]
struct Counter {
    /// What `+N` counts from: the last `=`.
    base: u64,
    /// The GUID of the next node.
    next: u64,
}

/// What a new node gets.
///
/// GUIDs and ids that NodeInfo tells.
pub(super) struct Identity {
    pub(super) guid: Guid,
    pub(super) port0_guid: Guid,
    pub(super) system_guid: Guid,
    pub(super) vendor_id: u32,
    pub(super) device_id: u16,
}

impl Globals {
    /// ibsim's start: CAs from 0x100000, switches from 0x200000, routers from 0.
    pub(super) const fn new() -> Self {
        const fn from(base: u64) -> Counter {
            Counter { base, next: base }
        }
        Self {
            prefix: String::new(),
            vendor_id: 0,
            device_id: 0,
            system_guid: None,
            port0_guid: None,
            enabled: Enabled::DEFAULT,
            ca: from(0x10_0000),
            switch: from(0x20_0000),
            router: from(0),
        }
    }

    /// What new ports may run at.
    pub(super) const fn enabled(&self) -> Enabled {
        self.enabled
    }

    /// A node's id, with the module's prefix.
    pub(super) fn full_id(&self, id: &str) -> String {
        if self.prefix.is_empty() {
            id.to_owned()
        } else {
            format!("{}#{id}", self.prefix)
        }
    }

    /// A name in a port line, with the module's prefix unless it brings one.
    pub(super) fn expand<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.prefix.is_empty() || name.contains('#') {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(self.full_id(name))
        }
    }

    /// The GUIDs of the next node of a kind. A switch takes one, other nodes one and one for each
    /// port. Errors: [`Problem::ZeroGuid`].
    ///
    /// Host GUIDs of a file without `caguid=` are thus 0x100000, 0x100002 and so on for CAs with
    /// one port. Counters wrap as C's do; a GUID of 0 that comes of it is refused.
    pub(super) fn next_node(
        &mut self,
        at: Position,
        kind: NodeType,
        ports: u8,
    ) -> Result<Identity, ParseError> {
        // Ports of CAs have GUIDs of their own, those of a switch share one.
        let (what, taken) = match kind {
            NodeType::Switch => ("switch", 1),
            NodeType::Ca => ("CA", u64::from(ports) + 1),
            NodeType::Router => ("router", u64::from(ports) + 1),
        };
        let counter = self.counter(kind);
        let guid =
            Guid::new(counter.next).map_err(|_| ParseError::new(at, Problem::ZeroGuid(what)))?;
        counter.next = counter.next.wrapping_add(taken);
        Ok(Identity {
            guid,
            port0_guid: self.port0_guid.take().unwrap_or(guid),
            system_guid: self.system_guid.take().unwrap_or(guid),
            vendor_id: core::mem::take(&mut self.vendor_id),
            device_id: self.device_id,
        })
    }

    const fn counter(&mut self, kind: NodeType) -> &mut Counter {
        match kind {
            NodeType::Ca => &mut self.ca,
            NodeType::Switch => &mut self.switch,
            NodeType::Router => &mut self.router,
        }
    }

    /// Takes the rest of a line that starts with this word.
    pub(super) fn assign(&mut self, word: &str, mut cursor: Cursor<'_>) -> Result<(), ParseError> {
        match word {
            "switchguid" => self.guids(NodeType::Switch, cursor),
            "caguid" | "hcaguids" => self.guids(NodeType::Ca, cursor),
            "rtguid" => self.guids(NodeType::Router, cursor),
            "vendid" => {
                self.vendor_id = number(&mut cursor, "vendid", 0xff_ffff)?;
                Ok(())
            }
            "devid" => {
                self.device_id = number(&mut cursor, "devid", 0xffff)?;
                Ok(())
            }
            "sysimgguid" => {
                let raw: u64 = number(&mut cursor, "sysimgguid", u64::MAX)?;
                self.system_guid = Guid::new(raw).ok();
                Ok(())
            }
            "width" => enabled(&mut cursor, "width", 1..=31, &mut self.enabled.width),
            "speed" => enabled(&mut cursor, "speed", 1..=7, &mut self.enabled.speed),
            "extspeed" => enabled(&mut cursor, "extspeed", 0..=15, &mut self.enabled.extended),
            "module" => self.module(cursor),
            _ => {
                let start = cursor.line_start();
                Err(start.expected("Switch, Ca, Hca, Rt, a comment, or a known name=value line"))
            }
        }
    }

    /// `switchguid=GUID(PORTGUID)` sets the counter, `switchguid+N` counts from the last base.
    fn guids(&mut self, kind: NodeType, mut cursor: Cursor<'_>) -> Result<(), ParseError> {
        cursor.skip_blanks();
        let relative = cursor.accept("+");
        if !relative {
            cursor.expect("=")?;
        }
        let value = cursor.c_number("a GUID")?;
        if cursor.accept("(") {
            let raw = cursor.hex("a port GUID in hexadecimal")?;
            cursor.expect(")")?;
            // On other nodes it is the GUID of a port, which port lines tell again.
            self.port0_guid = Guid::new(raw).ok().filter(|_| kind == NodeType::Switch);
        }
        end_or_comment(cursor)?;
        let counter = self.counter(kind);
        if !relative {
            counter.base = value;
        }
        counter.next = if relative {
            counter.base.wrapping_add(value)
        } else {
            value
        };
        Ok(())
    }

    /// ibsim has 20 bytes for a prefix.
    fn module(&mut self, mut cursor: Cursor<'_>) -> Result<(), ParseError> {
        cursor.skip_blanks();
        cursor.expect("=")?;
        cursor.skip_blanks();
        cursor.expect("\"")?;
        let start = cursor;
        let prefix = cursor
            .take_until("\"")
            .filter(|prefix| prefix.len() <= 20)
            .ok_or_else(|| start.expected("a module name of at most 20 bytes in quotes"))?;
        prefix.clone_into(&mut self.prefix);
        Ok(())
    }
}

/// A bit mask in its range, into a field.
fn enabled(
    cursor: &mut Cursor<'_>,
    what: &'static str,
    range: core::ops::RangeInclusive<u64>,
    field: &mut u8,
) -> Result<(), ParseError> {
    let (at, value) = value(cursor)?;
    *field = in_range(at, what, value, range)?;
    Ok(())
}

/// A number from 0 to `largest`.
fn number<T: TryFrom<u64>>(
    cursor: &mut Cursor<'_>,
    what: &'static str,
    largest: u64,
) -> Result<T, ParseError> {
    let (at, value) = value(cursor)?;
    in_range(at, what, value, 0..=largest)
}

/// `= number`, and nothing more but a comment.
fn value(cursor: &mut Cursor<'_>) -> Result<(Position, u64), ParseError> {
    cursor.skip_blanks();
    cursor.expect("=")?;
    cursor.skip_blanks();
    let at = cursor.at();
    let value = cursor.c_number("a number")?;
    end_or_comment(*cursor)?;
    Ok((at, value))
}

/// Anything else behind a value was meant as something; ibsim would not look at it.
fn end_or_comment(mut cursor: Cursor<'_>) -> Result<(), ParseError> {
    cursor.skip_blanks();
    if cursor.rest().is_empty() || cursor.rest().starts_with('#') {
        Ok(())
    } else {
        Err(cursor.expected("the end of the line"))
    }
}
