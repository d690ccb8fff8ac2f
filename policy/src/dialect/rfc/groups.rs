//! `port-group`.
//!
//! The same model as OpenSM's groups. What differs is the port name, `host/CA/P1`: the first two
//! words of a description. Whole descriptions are read as well, and go first (`by_words`).
//!
//! ```text
//! port-group                              <port-group>
//!     name: storage                         <name>storage</name>
//!     port-name: vs1/HCA-1/P1, vs2/HCA-1/P1   <port-name>vs1/HCA-1/P1</port-name>
//!     partition: Part1                      <partition>Part1</partition>
//! end-port-group                          </port-group>
//! ```

use sa_text::Spanned;
use sa_wire::NodeType;

use super::Node;
use super::tags::Tag;
use super::value::{Piece, Value, split};
use super::values::Reader;
use crate::error::{Error, Problem};
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;
use crate::model::{Group, NodeTypes, Origin, PortName, Selector};

/// Reads a group. Errors: no name; a value that is none.
/// A group without selectors is empty and legal.
pub(super) fn group(reader: &mut Reader<'_>, block: &Node<'_>) -> Result<Group, Error> {
    let (mut name, mut purpose, mut selectors) = (None, None, Vec::new());
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Name => name = Some(reader.name(value)?),
            Tag::Use => purpose = reader.description(value)?,
            Tag::PortGuid => {
                let guids = reader.pairs(value)?;
                let set = Selector::Guids(Ranges::new(guids.value));
                selectors.push(Spanned::new(set, guids.span));
            }
            Tag::Partition => {
                let names = reader.names(value)?.into_iter();
                selectors.extend(
                    names.map(|name| Spanned::new(Selector::Partition(name.value), name.span)),
                );
            }
            Tag::PortName => {
                for name in port_names(reader, value)? {
                    selectors.push(port_name(name)?);
                }
            }
            _ => selectors.append(&mut node_types(reader, value)?),
        }
    }
    Ok(Group {
        name: name.ok_or_else(|| block.missing("name", "port-group"))?,
        purpose,
        selectors,
        origin: Origin::Written,
        span: block.span,
    })
}

/// In XML each has an element of its own, so that commas are part of it.
/// Errors: as [`Reader::names`].
fn port_names(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Vec<Spanned<String>>, Error> {
    match reader.dialect {
        Dialect::Rfc01Xml => Ok(vec![reader.name(value)?]),
        _ => reader.names(value),
    }
}

/// The last slash separates the node from the port.
/// Errors: no slash, no `P` and digits behind it, port 0 or more than 32 bits.
fn port_name(name: Spanned<String>) -> Result<Spanned<Selector>, Error> {
    let span = name.span;
    let digits = name.value.rsplit_once('/').and_then(|(node, port)| {
        let digits = port.strip_prefix(['p', 'P'])?;
        // Stricter than OpenSM, which reads `P1x` as 1.
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        all_digits.then_some((node, digits))
    });
    let Some((node, digits)) = digits else {
        let problem = Problem::PortNameForm { name: name.value };
        let hint = "write host, CA and P with the port number: vs1/HCA-1/P1; or a whole node \
             description, a slash and P with the number";
        return Err(Error::new(span, problem).hinting(hint));
    };
    match digits.parse::<u32>() {
        Ok(port) if port > 0 => {
            let name = PortName {
                node: String::from(node),
                port,
                // Which of the two is meant shows only in a fabric.
                by_words: true,
            };
            Ok(Spanned::new(Selector::PortName(name), span))
        }
        _ => Err(Error::new(
            span,
            Problem::PortNameNumber { name: name.value },
        )),
    }
}

/// Types with commas between. Errors: another word.
/// OpenSM's words are taken as well.
fn node_types(reader: &Reader<'_>, value: &Value<'_>) -> Result<Vec<Spanned<Selector>>, Error> {
    let all = Piece {
        from: 0,
        to: value.text.len(),
    };
    let words = split(&value.text, all, ',');
    words
        .map(|word| match node_type(&value.text[word.from..word.to]) {
            Some(selector) => Ok(Spanned::new(selector, reader.span(value, word))),
            None => Err(reader.unexpected(
                value,
                word,
                "a node type: CA (or HCA), SWITCH, ROUTER, ALL or SELF",
            )),
        })
        .collect()
}

/// In any letter case; `HCA` is the word of the RFC's example for a CA.
fn node_type(word: &str) -> Option<Selector> {
    Some(match word.to_ascii_lowercase().as_str() {
        "ca" | "hca" => Selector::NodeTypes(NodeTypes::only(NodeType::Ca)),
        "switch" => Selector::NodeTypes(NodeTypes::only(NodeType::Switch)),
        "router" => Selector::NodeTypes(NodeTypes::only(NodeType::Router)),
        "all" => Selector::NodeTypes(NodeTypes::ALL),
        "self" => Selector::SelfPort,
        _ => return None,
    })
}
