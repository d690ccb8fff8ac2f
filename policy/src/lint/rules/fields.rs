//! Rules that ask for fields in ways that requests do not have them.
//!
//! Which fields requests of known protocols name, and how their service ids look, is general
//! knowledge of ULPs (`docs/ulps.md`) and not of this fabric: all of it is a hint, never an error.
//!
//! ```text
//! service-id: 4420            a port number; likely 0x1061144 was meant (BARE_PORT)
//! service-id: 0x20000         IPoIB listens there and asks for no path with it (MASK_BIT)
//! service-id: 0x1161144       in no known space: a wrong digit (WILD_ID)
//! ```

use sa_text::Spanned;
use sa_wire::ServiceId;

use crate::lint::finding::{Finding, LintId};
use crate::model::criterion::Field;
use crate::model::ranges::Ranges;
use crate::model::{Policy, RuleOrigin};

/// Rules that ask for fields which requests of ULPs do not have, or not together.
/// By what is written alone; no fabric is asked.
pub(in crate::lint) fn findings(policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    for rule in &policy.rules {
        if let (Some(ids), Some(pkey)) = (&rule.fields[Field::ServiceId], &rule.fields[Field::Pkey])
        {
            let sentence = "this rule holds only for requests that name both a Service-ID and a \
                            P_Key; IPoIB names no Service-ID, and other ULPs may name no P_Key";
            let remedy = "ask for one of the two, or write a rule for each";
            let finding = Finding::new(LintId::MASK_BIT, pkey.span, sentence, remedy);
            found.push(finding.and(ids.span, "the Service-IDs"));
        }
        if let (Some(classes), Some(tclass)) =
            (&rule.fields[Field::QosClass], &rule.fields[Field::TClass])
        {
            let sentence = "this rule holds only for requests that name both a QoS class and a \
                            traffic class, which RDMA CM never does";
            let remedy = "ask for one of the two, or write a rule for each";
            let finding = Finding::new(LintId::MASK_BIT, tclass.span, sentence, remedy);
            found.push(finding.and(classes.span, "the QoS classes"));
        }
        if let Some(ids) = &rule.fields[Field::ServiceId] {
            found.extend(ipoib_ids(ids));
            found.extend(wild_ids(policy, ids));
            // Lines such as `sdp, port-num` make ids of ports by themselves.
            if rule.origin == RuleOrigin::Written {
                found.extend(bare_ports(ids));
            }
        }
    }
    found
}

/// Service-IDs that nobody known hands out. Wide ranges are meant to hold others too.
/// The first of them; the others are mostly of the same slip.
fn wild_ids(policy: &Policy, ids: &Spanned<Ranges>) -> Option<Finding> {
    let is_wild = |id: u64| policy.ulp_names.is_wild(ServiceId(id));
    let mut narrow = ids
        .pairs()
        .iter()
        .filter(|(low, high)| high - low <= LAST_PORT);
    // Both ends: a range that touches a known space is likely meant for it.
    let (low, _) = narrow.find(|(low, high)| is_wild(*low) && is_wild(*high))?;
    let sentence = format!(
        "Service-ID 0x{low:016x}: {}",
        policy.ulp_names.describe(ServiceId(*low))
    );
    let remedy = "look for a slip in its digits; if it is right, an SRP target's perhaps, give it \
                  a name in a file of names (ulp-names)";
    Some(Finding::new(LintId::WILD_ID, ids.span, sentence, remedy))
}

/// The largest port number, and the widest range that looks like one service.
const LAST_PORT: u64 = 0xffff;

/// Service-IDs that IPoIB listens on but never asks for paths with.
/// Only where all ids of the list are: beside others it does no harm.
fn ipoib_ids(ids: &Spanned<Ranges>) -> Option<Finding> {
    /// Where IPoIB listens: RDMA CM's datagrams to its groups, and connected mode's queue pairs.
    const SPACES: [(u64, u64); 2] = [
        (0x2_0000, 0x2_ffff),
        (0x1000_0000_0000_0000, 0x1000_0000_00ff_ffff),
    ];
    let mut pairs = ids.pairs().iter();
    let is_ipoib = |(low, high): &(u64, u64)| {
        SPACES
            .iter()
            .any(|(first, last)| first <= low && high <= last)
    };
    pairs.all(is_ipoib).then(|| {
        let sentence = "these Service-IDs are IPoIB's, which names none when it asks for a path";
        let remedy = "match IPoIB by the P_Key of its partition";
        Finding::new(LintId::MASK_BIT, ids.span, sentence, remedy)
    })
}

/// Port numbers where a Service-ID would have the port space too.
/// The advice has the id that was likely meant.
fn bare_ports(ids: &Spanned<Ranges>) -> Option<Finding> {
    /// Where ids of RDMA CM's TCP ports begin.
    const TCP: u64 = 0x106_0000;
    let bare = ids
        .pairs()
        .iter()
        .find(|(low, high)| *low > 0 && *high <= LAST_PORT)?;
    let sentence = format!(
        "Service-ID {} is a port number without its port space, which no RDMA CM request has",
        bare.0
    );
    let remedy = format!("TCP port {} of RDMA CM is 0x{:016x}", bare.0, TCP + bare.0);
    Some(Finding::new(LintId::BARE_PORT, ids.span, sentence, remedy))
}
