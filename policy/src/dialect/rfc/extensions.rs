//! What the RFCs do not have and this product reads: services by name, `ulp`, `reserved-sl`,
//! `flow-label`.
//!
//! The same as in OpenSM's dialect and by the same readers; only how text and places are come by
//! differs.
//!
//! With extensions off (`names` is none) each of the words is unexpected, with a hint that it is
//! one.
//!
//! ```text
//! service-id: nfs, 0x1061144      numbers and names in one list
//! ulp: nfs, tcp:4420              names alone, which may also stand for a P_Key
//! reserved-sl: 3 mpi              between levels
//! ```

use core::ops::Range;

use sa_text::{Span, Spanned};

use super::Node;
use super::value::{Piece, Value, split};
use super::values::Reader;
use crate::dialect::flow_label;
use crate::dialect::reserved_sl;
use crate::error::UlpError;
use crate::error::{Error, Problem};
use crate::model::ReservedSl;
use crate::services::Criteria;
use sa_snapshot::model::FlowLabels;

impl Reader<'_> {
    /// Numbers, ranges and names of services with commas between.
    /// Errors: a name that nobody has, or one without service ids of its own.
    pub(super) fn service_pairs(
        &mut self,
        value: &Value<'_>,
    ) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let all = self.number_text(value);
        let pieces: Vec<Piece> = split(&value.text, all, ',').collect();
        let mut pairs = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let text = &value.text[piece.from..piece.to];
            let names = self.names.as_ref();
            // A letter cannot begin a number, so the two never compete.
            match names.filter(|_| text.starts_with(|c: char| c.is_ascii_alphabetic())) {
                Some(names) => {
                    let ids = names.ids(text);
                    let span = self.span(value, piece);
                    self.extensions.push(Spanned::new("service-id", span));
                    pairs.extend(ids.map_err(|error| self.placed(error, value, piece))?);
                }
                None => pairs.push(self.range(value, piece)?),
            }
        }
        Ok(Spanned::new(pairs, self.span(value, all)))
    }

    /// Names of services, and where they stand.
    pub(super) fn ulp(
        &mut self,
        entry: &Node<'_>,
        value: &Value<'_>,
    ) -> Result<(Criteria, Span), Error> {
        let all = self.extension(entry, value, "ulp")?;
        let names = self.names.clone().unwrap_or_default();
        let criteria = names.criteria(&value.text[all.from..all.to]);
        let criteria = criteria.map_err(|error| self.placed(error, value, all))?;
        Ok((criteria, self.span(value, all)))
    }

    /// SLs, and what they are kept for.
    pub(super) fn reserved_sl(
        &mut self,
        entry: &Node<'_>,
        value: &Value<'_>,
    ) -> Result<ReservedSl, Error> {
        let all = self.extension(entry, value, "reserved-sl")?;
        let text = Spanned::new(&value.text[all.from..all.to], self.span(value, all));
        reserved_sl::parse(text).map_err(|error| self.placed(error, value, all))
    }

    /// What flow labels there are. Errors: another word, a number out of range, extensions not read.
    pub(super) fn flow_labels(
        &mut self,
        entry: &Node<'_>,
        value: &Value<'_>,
    ) -> Result<Spanned<FlowLabels>, Error> {
        let all = self.extension(entry, value, "flow-label")?;
        let at = |range: Range<usize>| {
            let (from, to) = (all.from + range.start, all.from + range.end);
            self.span(value, Piece { from, to })
        };
        let labels = flow_label::read(&value.text[all.from..all.to], at)?;
        Ok(Spanned::new(labels, self.span(value, all)))
    }

    /// The value of an entry that the RFCs do not have. Errors: only theirs is read.
    /// Notes the use, so that an operator can be told what other programs will not read.
    fn extension(
        &mut self,
        entry: &Node<'_>,
        value: &Value<'_>,
        keyword: &'static str,
    ) -> Result<Piece, Error> {
        if self.names.is_none() {
            let found = format!("'{keyword}'");
            let error = Error::new(entry.opening, Problem::Unexpected { found });
            return Err(error.hinting("this is an extension, and extensions are not read here"));
        }
        let all = self.number_text(value);
        self.extensions.push(Spanned::new(keyword, entry.opening));
        Ok(all)
    }

    /// An error in a piece of a value, at its place in the file.
    /// Clipped to the value: an error at its end has no length in it.
    fn placed(&self, error: UlpError, value: &Value<'_>, piece: Piece) -> Error {
        let from = piece.from + error.at;
        let place = Piece {
            from,
            to: (from + error.length).min(value.text.len()),
        };
        let span = self.span(value, place);
        error.at_span(span)
    }
}
