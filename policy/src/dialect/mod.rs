//! Reading policies: one parser for each language that they are written in.
//!
//! [`parse_as`] takes the parser of the dialect that is asked for, or of the one that the text looks like
//! (`detect`). Each parser fills a draft (`crate::link::draft`) with names where a policy has places, and has it
//! linked: so that all after this module is the same for every dialect. Values that the dialects
//! share (`reserved-sl`, `flow-label`) are read by one function each.
//!
//! The two languages of the RFCs share nearly all of `rfc`: the same blocks and entries, once as lines and
//! once as elements. Nothing here knows ports or partitions.
//!
//! # One level in three languages
//!
//! ```text
//! OpenSM              RFC 0.2               RFC 0.1
//! qos-level           qos-level             <qos-level>
//!   name: bulk          use: bulk             <sn>2</sn> <use>bulk</use>
//!   sl: 2               sl: 2                 <sl>2</sl>
//! end-qos-level       end-qos-level         </qos-level>
//! qos-level-name:     qos-level-sn: 2       <match-level>2</match-level>
//!   bulk
//! ```

pub(crate) mod detect;
pub(crate) mod flow_label;
pub mod opensm;
pub(crate) mod pairs;
pub(crate) mod reserved_sl;
pub(crate) mod rfc;

use crate::error::Error;
use crate::model::Policy;
use crate::model::dialect::Dialect;
use crate::model::options::ParseOptions;

/// Reads a policy in this dialect, or in the one it looks like, and finds what its rules refer
/// to.
///
/// The RFC dialects are read with tolerance: what is odd but clear, or wrong in one level or
/// scope only, is told in [`Policy::diagnostics`]. What depends on the fabric is checked by
/// [`crate::check`].
///
/// Errors: the first one in the file that leaves no reading.
///
/// Cost: one or two passes over the text. Of a file that is refused nothing is kept.
pub fn parse_as(
    text: &str,
    dialect: Option<Dialect>,
    options: &ParseOptions,
) -> Result<Policy, Error> {
    // Detected only where nobody says: a broken file must not become another language by accident.
    match dialect.unwrap_or_else(|| Dialect::detect(text)) {
        Dialect::OpenSm => opensm::parse(text, options),
        Dialect::Rfc02Text => rfc::parse_text(text, options),
        Dialect::Rfc01Xml => rfc::parse_xml(text, options),
    }
}
