//! Words and numbers of `partitions.conf`.
//!
//! Keywords may be cut to any beginning and are tried in a fixed order: `A` is ALL, `ALL_S` is
//! ALL_SWITCHES. So the order of each list below is part of the format.
//!
//! ```text
//! 0x0123   291   8123h        a key, a key, an error: letters behind the number
//! 0x8001                      base 1: the membership bit is no part of it
//! ALL_CAS=lim                 the CAs as limited members
//! ```

use std::net::Ipv6Addr;

use sa_text::Number;
use sa_wire::{Gid, Guid, NodeType, Pkey};

use super::Membership;
use super::config::Who;
use super::piece::Piece;
use crate::error::{Error, Problem};

/// Longest partition name. Units: bytes.
const MAX_PARTITION_NAME: usize = 31;

/// What fits of a partition name.
/// Never within a character, which OpenSM would do; messages must stay text.
pub(super) fn cut(name: &str) -> &str {
    let fits = (0..=MAX_PARTITION_NAME)
        .rev()
        .find_map(|length| name.get(..length));
    fits.filter(|_| name.len() > MAX_PARTITION_NAME)
        .unwrap_or(name)
}

/// Text that belongs to no statement. Carriage returns are the commonest cause.
pub(super) fn no_definition(part: Piece<'_>) -> Error {
    let error = part.trimmed().refuse(Problem::NoDefinition);
    if part.text.contains('\r') {
        error.hinting("convert the line ends to Unix's: carriage returns count as text")
    } else {
        error
    }
}

/// The base of a P_Key; 0 asks for a generated one.
/// Errors: letters behind the number, or none at all.
pub(super) fn parse_base(key: Piece<'_>) -> Result<u16, Error> {
    let number = Number::read(key.text);
    if number.length == 0 || number.length < key.text.len() {
        let text = String::from(key.text);
        return Err(key.refuse(Problem::PartitionKey { text }));
    }
    // Cut to 16 bits, as OpenSM stores it: 0x1ffff becomes 0x7fff.
    let low = number.unsigned_64().to_le_bytes();
    Ok(u16::from_le_bytes([low[0], low[1]]) & !Pkey::FULL_BIT)
}

/// A membership by its beginning; nothing at all means full.
/// None for words that are no beginning of any.
pub(super) fn membership(word: &str) -> Option<Membership> {
    let words = [
        ("full", Membership::Full),
        ("both", Membership::Both),
        ("limited", Membership::Limited),
    ];
    words
        .into_iter()
        .find(|(keyword, _)| keyword.starts_with(word))
        .map(|(_, how)| how)
}

/// Ports by a keyword's beginning, or one by its GUID.
/// Errors: neither a word nor a number that a GUID can be.
pub(super) fn who(name: Piece<'_>) -> Result<Who, Error> {
    let words = [
        ("ALL", Who::All),
        ("ALL_CAS", Who::Type(NodeType::Ca)),
        ("ALL_SWITCHES", Who::Type(NodeType::Switch)),
        ("ALL_ROUTERS", Who::Type(NodeType::Router)),
        ("SELF", Who::SelfPort),
    ];
    if let Some((_, who)) = words
        .iter()
        .find(|(keyword, _)| keyword.starts_with(name.text))
    {
        return Ok(*who);
    }
    let number = Number::read(name.text);
    match Guid::new(number.unsigned_64()) {
        Ok(guid) if number.length == name.text.len() => Ok(Who::Port(guid)),
        _ => {
            let text = String::from(name.text);
            Err(name.refuse(Problem::Member { text }))
        }
    }
}

/// An address in IPv6's notation; none unless it begins with `ff`.
pub(super) fn multicast_gid(text: &str) -> Option<Gid> {
    let gid = Gid(text.parse::<Ipv6Addr>().ok()?.octets());
    gid.is_multicast().then_some(gid)
}
