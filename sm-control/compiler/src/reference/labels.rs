//! Flow labels that the policy gives to paths.
//!
//! An extension (deviation 50): without `flow-label` in the policy each label is 0 and nothing here
//! counts. A rule's word goes before its level's. Three ways to choose: one label for all; a hash
//! of both ends and the service, the same in both directions, so that a connection has one label
//! whoever asks; or a spread of so many labels over the paths of a pair, by which a GetTable gets
//! the same pair several times.

use sa_snapshot::model::FlowLabels;
use sa_wire::Gid;
use sa_wire::path_record::PathRecord;
use sa_wire::roce::{fmix64, set_label};

use super::Reference;
use super::ends::Name;
use super::lids::LidPair;
use super::parameters::Place;
use super::request::{Method, Request};

impl Reference<'_> {
    /// What the rule that decides says, or else its level.
    /// None without a policy, and where neither rule nor level says something.
    fn labels(&self, request: &Request, from: Place, to: Place) -> FlowLabels {
        let given = self.chosen(request, from, to).and_then(|(policy, chosen)| {
            let of_rule = chosen.rule.and_then(|rule| policy.rule(rule).flow_label);
            of_rule.or_else(|| policy.level(chosen.level).flow_label)
        });
        given.map_or(FlowLabels::None, |labels| labels.value)
    }

    /// The label of a pair's path, counted from 0; 0 for none. One that is asked for is granted,
    /// where there would be another.
    ///
    /// From 1 on for spreads: 0 would be no label.
    pub(super) fn label(&self, request: &Request, from: Place, to: Place, nth: usize) -> u32 {
        match (self.labels(request, from, to), request.flow_label) {
            (FlowLabels::None, _) => 0,
            (_, Some(asked)) => asked,
            (FlowLabels::Fixed(label), None) => label.get(),
            (FlowLabels::Hash, None) => {
                // The far end is the other subnet's port and not the router on the way.
                let beyond = request.dgid.filter(|gid| !self.is_here(*gid));
                let far = beyond.unwrap_or_else(|| self.gid(to.guid));
                hash(self.gid(from.guid), far, request.service_id.unwrap_or(0))
            }
            (FlowLabels::Spread(count), None) => {
                let nth = nth % usize::from(count);
                u32::try_from(nth + 1).unwrap_or(1)
            }
        }
    }

    /// Behind the paths of a pair the same ones again, until there are as many as the rule spreads
    /// labels over; NumbPath limits that, and both ends have to be named.
    pub(super) fn again(
        &self,
        request: &Request,
        pairs: impl Iterator<Item = LidPair>,
        source: Name,
        destination: Name,
    ) -> Vec<PathRecord> {
        let names_both = (request.sgid.is_some() || request.slid.is_some())
            && (request.dgid.is_some() || request.dlid.is_some());
        // A Get has one record; a label that is asked for leaves nothing to spread; a wildcard
        // would multiply tables.
        if request.method == Method::Get || request.flow_label.is_some() || !names_both {
            return Vec::new();
        }
        let path = |pair: LidPair, nth| {
            let (from, to) = (source.at(pair.slid), destination.at(pair.dlid));
            self.path(request, from, to, pair.preference, nth)
        };
        let labels = self.labels(request, source.at(0), destination.at(0));
        let FlowLabels::Spread(count) = labels else {
            return Vec::new();
        };
        let most = match (request.method, request.numb_path) {
            (Method::GetTable, Some(most)) => most,
            _ => u8::MAX,
        };
        let found: Vec<_> = pairs.filter(|pair| path(*pair, 0).is_some()).collect();
        let wanted = usize::from(count.min(most));
        let round = found.iter().cycle().enumerate().take(wanted);
        // The first round has been given as the pair's own paths.
        let later = round.skip(found.len());
        later.filter_map(|(nth, pair)| path(*pair, nth)).collect()
    }
}

/// Sorted, so that it does not matter who asks.
///
/// Of the GIDs with their prefixes and the service id, folded one after the other; the result is
/// never 0.
fn hash(one: Gid, other: Gid, service_id: u64) -> u32 {
    let mut ends = [one, other].map(|gid| (gid.prefix().0, gid.interface_id()));
    ends.sort_unstable();
    let [least, most] = ends;
    let words = [least.0, least.1, most.0, most.1, service_id];
    set_label(
        words
            .into_iter()
            .fold(0, |mixed, word| fmix64(mixed ^ word)),
    )
    .get()
}
