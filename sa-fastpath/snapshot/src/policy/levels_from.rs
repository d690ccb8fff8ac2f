//! The levels of many paths from one port for one request, of a common policy.
//!
//! A table asks for the level of many paths from one port. The sets of the source, QoS class and
//! P_Key are then intersected once (`FromSource`), and each destination costs one more
//! intersection. Where rules are not told apart by service id nothing is prepared, and each path is
//! matched as a whole.

use super::by_service::FromSource;
use super::matching::RequestClasses;
use crate::Snapshot;
use crate::derived::PackedLevel;
use crate::format::records::PortRecord;

/// Prepared once for a source and a request; then asked for each destination.
pub struct LevelsFrom<'a> {
    snapshot: &'a Snapshot,
    from: &'a PortRecord,
    classes: &'a RequestClasses,
    /// What of the match can be done before the destination is known.
    prepared: Prepared<'a>,
}

/// What is known of the rules that hold but for the destination.
enum Prepared<'a> {
    /// One destination, or a policy of another kind: each is matched as a whole.
    Nothing,
    /// Rule sets of 16 words.
    Narrow(FromSource<'a, 16>),
    /// Rule sets of 32 words.
    Wide(FromSource<'a, 32>),
}

impl Snapshot {
    /// The levels of paths from this port for a request of these classes. `MANY`: there will be
    /// many, so that preparing pays.
    #[inline(always)]
    pub fn levels_from<'a, const MANY: bool>(
        &'a self,
        from: &'a PortRecord,
        classes: &'a RequestClasses,
    ) -> LevelsFrom<'a> {
        LevelsFrom {
            snapshot: self,
            from,
            classes,
            prepared: match MANY {
                true => self.prepared(from, classes),
                false => Prepared::Nothing,
            },
        }
    }

    /// Out of line: where there is one destination nothing is prepared, and the caller stays short.
    #[inline(never)]
    fn prepared(&self, from: &PortRecord, classes: &RequestClasses) -> Prepared<'_> {
        let narrow = self
            .by_service::<16>()
            .and_then(|rules| rules.from(from, classes));
        let wide = || {
            self.by_service::<32>()
                .and_then(|rules| rules.from(from, classes))
        };
        match narrow {
            Some(rules) => Prepared::Narrow(rules),
            None => wide().map_or(Prepared::Nothing, Prepared::Wide),
        }
    }
}

impl LevelsFrom<'_> {
    /// That of the path to this port.
    #[inline(always)]
    pub fn to(&self, to: &PortRecord) -> PackedLevel {
        match &self.prepared {
            Prepared::Nothing => self.snapshot.level_of(self.from, to, self.classes),
            Prepared::Narrow(rules) => self.snapshot.level_of_rule(rules.first(to)),
            Prepared::Wide(rules) => self.snapshot.level_of_rule(rules.first(to)),
        }
    }
}
