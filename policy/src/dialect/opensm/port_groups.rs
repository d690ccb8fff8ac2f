//! `port-groups`.
//!
//! ```text
//! port-group
//!     name: storage
//!     port-guid: 0x1-0xff, 0x200         one selector
//!     port-name: "vs1 HCA-1/P1", ...     one for each name
//!     node-type: ROUTER, SELF            one for each word
//! end-port-group
//! ```
//!
//! Selectors add up: a port is a member if one of them selects it.

use sa_text::{Number, Spanned};

use super::cursor::{Cursor, set_once};
use super::token::{Block, Key, Kind, NodeWord};
use crate::error::{Error, Problem};
use crate::link::draft::Draft;
use crate::model::{Group, NodeTypes, Origin, PortName, Selector};

/// The whole section; it has one group at least.
pub(super) fn section(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Error> {
    cursor.bump();
    loop {
        draft.groups.push(group(cursor)?);
        if cursor.accept(Kind::End(Block::PortGroups)).is_some() {
            return Ok(());
        }
    }
}

/// One group. Errors: no name, an entry twice, a value that is none.
fn group(cursor: &mut Cursor<'_>) -> Result<Group, Error> {
    let start = cursor
        .expect(Kind::Start(Block::PortGroup), "port-group")?
        .span;
    // Name and use come once, selectors as often as one likes.
    let (mut name, mut purpose, mut selectors) = (None, None, Vec::new());
    loop {
        let at = cursor.span();
        match cursor.kind() {
            Kind::Key(Key::Name) => {
                cursor.bump();
                set_once(&mut name, cursor.name()?, at, "name", "port-group")?;
            }
            Kind::Key(Key::Use) => {
                cursor.bump();
                set_once(&mut purpose, cursor.description()?, at, "use", "port-group")?;
            }
            Kind::Key(key) => selectors.append(&mut selector(cursor, key)?),
            _ => break,
        }
    }
    let end = cursor.expect(Kind::End(Block::PortGroup), ENTRIES)?.span;
    let problem = Problem::Missing {
        what: "name",
        block: "port-group",
    };
    Ok(Group {
        name: name.ok_or_else(|| Error::new(start, problem))?,
        purpose,
        selectors,
        origin: Origin::Written,
        span: start.to(end),
    })
}

/// What may stand in a group, as messages list it.
const ENTRIES: &str = "name:, use:, port-guid:, port-name:, pkey:, partition:, node-type: \
     or end-port-group";

/// The selectors that one entry gives. Errors: a keyword that does not belong into a group.
/// One for each thing named, so that a message can point at it.
fn selector(cursor: &mut Cursor<'_>, key: Key) -> Result<Vec<Spanned<Selector>>, Error> {
    if !belongs(key) {
        return Err(cursor.unexpected(ENTRIES));
    }
    cursor.bump();
    match key {
        Key::PortGuid => {
            let guids = cursor.ranges()?;
            Ok(vec![Spanned::new(Selector::Guids(guids.value), guids.span)])
        }
        Key::Pkey => {
            let pkeys = cursor.pkey_ranges()?;
            Ok(vec![Spanned::new(Selector::Pkeys(pkeys.value), pkeys.span)])
        }
        Key::Partition => {
            let names = cursor.names()?.into_iter();
            Ok(names
                .map(|name| Spanned::new(Selector::Partition(name.value), name.span))
                .collect())
        }
        Key::PortName => cursor.names()?.into_iter().map(port_name).collect(),
        _ => node_types(cursor),
    }
}

/// True for the keywords that select ports.
const fn belongs(key: Key) -> bool {
    matches!(
        key,
        Key::PortGuid | Key::PortName | Key::Pkey | Key::Partition | Key::NodeType
    )
}

/// The last slash separates the node from the port; what follows the number does not matter.
/// Errors: no slash, no `P` behind it, port 0.
fn port_name(name: Spanned<String>) -> Result<Spanned<Selector>, Error> {
    let span = name.span;
    // Descriptions may hold slashes, so the last one counts.
    let Some((node, port)) = name.value.rsplit_once('/') else {
        return Err(Error::new(span, Problem::PortNameForm { name: name.value }));
    };
    let Some(digits) = port
        .strip_prefix(['p', 'P'])
        .filter(|digits| !digits.is_empty())
    else {
        return Err(Error::new(span, Problem::PortNameForm { name: name.value }));
    };
    // OpenSM keeps the low 32 bits.
    let port = Number::read(digits).unsigned_32();
    // Also for letters behind the `p`, which C reads as 0.
    if port == 0 {
        return Err(Error::new(
            span,
            Problem::PortNameNumber { name: name.value },
        ));
    }
    let node = String::from(node);
    Ok(Spanned::new(
        Selector::PortName(PortName {
            node,
            port,
            // OpenSM knows whole descriptions only.
            by_words: false,
        }),
        span,
    ))
}

/// Types with commas between. Errors: another word.
/// Each word is a selector of its own, with its place.
fn node_types(cursor: &mut Cursor<'_>) -> Result<Vec<Spanned<Selector>>, Error> {
    let mut selectors = Vec::new();
    loop {
        let span = cursor.span();
        let Kind::NodeWord(word) = cursor.kind() else {
            return Err(cursor.unexpected("a node type: CA, SWITCH, ROUTER, ALL or SELF"));
        };
        cursor.bump();
        selectors.push(Spanned::new(node_selector(word), span));
        if cursor.accept(Kind::Comma).is_none() {
            return Ok(selectors);
        }
    }
}

/// What a word selects; `SELF` is the port that the SM runs on.
/// `ALL` is the three types together, `SELF` none of them.
const fn node_selector(word: NodeWord) -> Selector {
    use sa_wire::NodeType;
    match word {
        NodeWord::Ca => Selector::NodeTypes(NodeTypes::only(NodeType::Ca)),
        NodeWord::Switch => Selector::NodeTypes(NodeTypes::only(NodeType::Switch)),
        NodeWord::Router => Selector::NodeTypes(NodeTypes::only(NodeType::Router)),
        NodeWord::All => Selector::NodeTypes(NodeTypes::ALL),
        NodeWord::SelfPort => Selector::SelfPort,
    }
}
