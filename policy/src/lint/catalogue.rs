//! Every check: its number, how bad what it finds is, what it is about.
//!
//! Numbers are for ever: scripts filter findings by them, so that a check that goes leaves a gap. Tens group
//! the subjects: form, rules, groups, SLs and VLs, torus, paths, OpenSM.

use sa_text::Severity;

use crate::lint::finding::LintId;

/// An entry of the catalogue.
/// One for each number, ascending; what is found is in [`super::Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The number that findings carry and that command lines select by.
    pub id: LintId,
    /// How bad a finding usually is.
    pub severity: Severity,
    /// What it finds, in one phrase.
    pub meaning: &'static str,
    /// What it has to know.
    pub needs: Needs,
}

/// What a check has to know.
/// Told to who runs lint without a fabric and wonders about a check that is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The policy; with a fabric it may find more.
    Policy,
    /// Ports and partitions, or routes, too: without a fabric it is not made.
    Fabric,
}

macro_rules! catalogue {
    ($($name:ident $number:literal $severity:ident $needs:ident $meaning:literal)*) => {
        impl LintId {
            $(#[doc = $meaning] pub const $name: Self = Self::new($number);)*
        }

        /// All checks. Shape: ascending by number.
        pub const CATALOGUE: &[Check] = &[$(Check {
            id: LintId::$name,
            severity: Severity::$severity,
            meaning: $meaning,
            needs: Needs::$needs,
        }),*];
    };
}

catalogue! {
    FORM 0 Warning Policy "an unusual form that is read all the same"
    REFERENCE 1 Error Policy "a level, group, port or partition that does not exist; no default level"
    RANGE 2 Error Policy "a value outside its range, or one that wraps around in OpenSM"
    SHADOWED 10 Warning Policy "a rule that earlier rules leave nothing to, alone or together"
    LEVEL_UNREACHABLE 11 Warning Policy "a level that no request can get"
    NEVER_MATCHES 12 Warning Policy "a rule that no request, or none with a path, can match"
    MASK_BIT 13 Info Policy "a rule that wants fields in one request that ULPs do not send together"
    BARE_PORT 14 Info Policy "a Service-ID that is a port number without its port space"
    WILD_ID 15 Info Policy "a Service-ID that is in no known space and has no name"
    GROUP 20 Warning Policy "a group without members or with the name of another; a name that nothing has"
    OVERLAP 21 Info Fabric "groups that share ports and are used by rules with different levels"
    UNGROUPED 22 Info Fabric "ports that are in no group"
    SL_DROPPED 30 Error Fabric "a level's SL that leads to VL 15 on a path in use"
    PARTITION_SL 31 Warning Fabric "a policy SL other than that of the partition or its multicast groups"
    SHARED_VL 32 Warning Fabric "levels that share a VL at some port"
    STARVATION 33 Warning Policy "VL arbitration that starves a VL, or shares out unlike it seems"
    VL_RANGE 34 Warning Fabric "an SL mapped to a VL that the port does not operate"
    SCOPE 35 Warning Fabric
        "a scope of qos-setup that does not reach the ports it seems to"
    RESERVED_SL 36 Error Policy "a level that gives an SL which is reserved for something else"
    TORUS 40 Warning Fabric "what does not suit torus-2QoS"
    PATH_BITS 41 Warning Policy "path bits that no port has"
    ASYMMETRIC 50 Info Fabric "a pair whose two directions get different SLs, or only one of them a path"
    LIMIT 51 Warning Fabric "an MTU or rate limit without effect, or an MTU under an IPoIB group's"
    OPENSM 60 Info Policy "what OpenSM 3.3 ignores or refuses"
    WIDE_GUIDS 61 Warning Policy "a GUID range over 2^20 values, which stalls OpenSM"
    OCTAL 62 Warning Policy "a number with a leading zero, which OpenSM reads as octal"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_are_read_back() {
        assert!(CATALOGUE.is_sorted_by(|one, other| one.id < other.id));
        for check in CATALOGUE {
            assert_eq!(check.id.to_string().parse(), Ok(check.id));
            assert_eq!(check.id.check(), check);
        }
        assert_eq!("l10".parse(), Ok(LintId::SHADOWED));
        assert!("L99".parse::<LintId>().is_err());
    }
}
