//! `qos-levels`.
//!
//! ```text
//! qos-level
//!     name: bulk            once
//!     sl: 2                 once; 8 bits, not checked: 256 is 0, and 16 is no path
//!     mtu-limit: 4          once; checked
//!     path-bits: 0, 2-3     adds up
//! end-qos-level
//! ```

use sa_text::{Span, Spanned};
use sa_wire::{Mtu, Rate};

use super::cursor::{Cursor, out_of_range, set_once};
use super::token::{Block, Key, Kind};
use crate::dialect::pairs::{append, to_ranges};
use crate::error::{Error, Problem};
use crate::link::draft::Draft;
use crate::model::options::ParseOptions;
use crate::model::{Level, LevelKey, Origin};
use sa_snapshot::model::FlowLabels;

/// The whole section; it may be empty.
pub(super) fn section(
    cursor: &mut Cursor<'_>,
    draft: &mut Draft,
    options: &ParseOptions,
) -> Result<(), Error> {
    cursor.bump();
    loop {
        if let Some(start) = cursor.accept(Kind::Start(Block::Level)) {
            let level = level(cursor, start.span, options)?;
            draft.levels.push(level);
            // Behind each level, so that reading ends with the first that is too many.
            draft.check_levels()?;
        } else if let Some(reserved) = cursor.reserved_sl()? {
            draft.reserved_sls.push(reserved);
        } else {
            break;
        }
    }
    cursor.expect(
        Kind::End(Block::Levels),
        "qos-level, reserved-sl: or end-qos-levels",
    )?;
    Ok(())
}

/// Advice for a level without name: most such files are in another dialect.
const NAMELESS: &str = "give it a name that rules can refer to; a policy whose levels have none \
     is in the RFC 0.2 dialect";

/// What a level has said so far. OpenSM takes each entry once, but for lists, which add up.
/// Two entries of one keyword are an error in OpenSM, too, not the last one counting.
#[derive(Default)]
struct Entries {
    name: Option<Spanned<String>>,
    /// `use:`, which is shown in explanations and has no effect.
    purpose: Option<Spanned<String>>,
    /// Must be there; the lower eight bits of what was written.
    sl: Option<Spanned<u8>>,
    mtu_limit: Option<Spanned<Mtu>>,
    rate_limit: Option<Spanned<Rate>>,
    /// Cut to eight bits as well.
    packet_life: Option<Spanned<u8>>,
    path_bits: Option<Spanned<Vec<(u64, u64)>>>,
    /// Bases: each bound has lost its membership bit by itself.
    pkeys: Option<Spanned<Vec<(u64, u64)>>>,
    flow_label: Option<Spanned<FlowLabels>>,
}

/// A level behind the keyword that opens it. Errors: no SL or name, an entry twice, a value that is none.
/// Places of missing entries are that of the opening word.
fn level(cursor: &mut Cursor<'_>, start: Span, options: &ParseOptions) -> Result<Level, Error> {
    let mut entries = Entries::default();
    loop {
        let at = cursor.span();
        if let Kind::Key(key) = cursor.kind() {
            entry(cursor, &mut entries, key, options)?;
        } else if let Some(labels) = cursor.flow_label()? {
            set_once(
                &mut entries.flow_label,
                labels,
                at,
                "flow-label",
                "qos-level",
            )?;
        } else {
            break;
        }
    }
    let end = cursor.expect(Kind::End(Block::Level), ENTRIES)?.span;
    // Points at the word that opens the block: what is missing has no place of its own.
    let missing = |what| {
        let block = "qos-level";
        Error::new(start, Problem::Missing { what, block })
    };
    let sl = entries.sl.ok_or_else(|| missing("sl"))?;
    let name = entries
        .name
        .ok_or_else(|| missing("name").hinting(NAMELESS))?;
    Ok(Level {
        key: Spanned::new(LevelKey::Name(name.value), name.span),
        sl: Some(sl),
        purpose: entries.purpose,
        mtu_limit: entries.mtu_limit,
        rate_limit: entries.rate_limit,
        packet_life: entries.packet_life,
        path_bits: entries.path_bits.map(to_ranges),
        tclass: None,
        pkeys: entries.pkeys.map(to_ranges),
        flow_label: entries.flow_label,
        origin: Origin::Written,
        span: start.to(end),
    })
}

/// What may stand in a level, as messages list it.
const ENTRIES: &str = "name:, use:, sl:, mtu-limit:, rate-limit:, packet-life:, path-bits:, \
     pkey:, flow-label: or end-qos-level";

/// One entry. Errors: a keyword that does not belong into a level, or comes a second time.
/// The value has to follow its keyword at once.
fn entry(
    cursor: &mut Cursor<'_>,
    entries: &mut Entries,
    key: Key,
    options: &ParseOptions,
) -> Result<(), Error> {
    const BLOCK: &str = "qos-level";
    let at = cursor.span();
    if !belongs(key) {
        return Err(cursor.unexpected(ENTRIES));
    }
    cursor.bump();
    match key {
        Key::Name => set_once(&mut entries.name, cursor.name()?, at, "name", BLOCK),
        Key::Use => set_once(
            &mut entries.purpose,
            cursor.description()?,
            at,
            "use",
            BLOCK,
        ),
        Key::Sl => set_once(&mut entries.sl, low_byte(cursor)?, at, "sl", BLOCK),
        Key::MtuLimit => set_once(&mut entries.mtu_limit, mtu(cursor)?, at, "mtu-limit", BLOCK),
        Key::RateLimit => {
            let rate = rate(cursor, options)?;
            set_once(&mut entries.rate_limit, rate, at, "rate-limit", BLOCK)
        }
        Key::PacketLife => set_once(
            &mut entries.packet_life,
            low_byte(cursor)?,
            at,
            "packet-life",
            BLOCK,
        ),
        Key::PathBits => {
            append(&mut entries.path_bits, cursor.pairs()?);
            Ok(())
        }
        // `belongs` has left only `pkey`.
        _ => {
            append(&mut entries.pkeys, cursor.pkey_pairs()?);
            Ok(())
        }
    }
}

/// True for the keywords of levels.
/// Asked before the keyword is taken, so that an error points at it.
const fn belongs(key: Key) -> bool {
    matches!(
        key,
        Key::Name | Key::Use | Key::Sl | Key::MtuLimit | Key::RateLimit
    ) || matches!(key, Key::PacketLife | Key::PathBits | Key::Pkey)
}

/// OpenSM keeps eight bits of any number: 256 is 0.
/// A level with an SL of 16 is a dead end, which lint tells.
fn low_byte(cursor: &mut Cursor<'_>) -> Result<Spanned<u8>, Error> {
    let number = cursor.number()?;
    Ok(Spanned::new(number.value.to_le_bytes()[0], number.span))
}

/// Errors: a code that stands for no MTU, which OpenSM refuses as well.
/// Codes and not bytes: `mtu-limit: 2048` is an error, with the codes as advice.
fn mtu(cursor: &mut Cursor<'_>) -> Result<Spanned<Mtu>, Error> {
    let number = cursor.number()?;
    let code = u8::try_from(*number)
        .ok()
        .and_then(|code| Mtu::from_code(code).ok());
    match code {
        Some(mtu) => Ok(Spanned::new(mtu, number.span)),
        None => Err(out_of_range(number, "mtu-limit", 1, 5)
            .hinting("MTU codes are 1 = 256, 2 = 512, 3 = 1024, 4 = 2048, 5 = 4096 bytes")),
    }
}

/// Errors: a code over the largest that the emulated release of OpenSM knows, or none at all.
/// Which codes there are depends on the release: 3.3.24 has two more than 3.3.23.
fn rate(cursor: &mut Cursor<'_>, options: &ParseOptions) -> Result<Spanned<Rate>, Error> {
    let number = cursor.number()?;
    let most = u64::from(options.max_rate_code);
    let code = u8::try_from(*number)
        .ok()
        .and_then(|code| Rate::from_code(code).ok());
    match code {
        Some(rate) if *number <= most => Ok(Spanned::new(rate, number.span)),
        _ => Err(out_of_range(number, "rate-limit", 2, most)
            .hinting("rate codes are 2 to 22 in OpenSM 3.3.23 and 2 to 24 in 3.3.24")),
    }
}
