//! Kinds of findings: how bad each is, what it comes from, and what to do.
//!
//! The order of the list is the order in which people read them: what takes a link away comes first, and what a healthy subnet may have
//! comes last. Causes are the most likely ones, and remedies begin with what costs least.
//!
//! | severity | for | exit status of `sapphire fabric health` |
//! |---|---|---|
//! | fault | what takes packets or bandwidth that the link could have: a person has to go there | 3 |
//! | hint | what a healthy subnet may have, too: congestion, what was configured so, what cannot be known | 0 |
//!
//! Names are an interface: metrics, JSON and the documentation have them. Words are for people and may change; they say what is most
//! likely in a subnet that worked before, not all that could be.

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something has to be mended.
    Fault,
    /// Worth a look; a healthy subnet may have it.
    Hint,
}

/// Kinds, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The link goes down and comes back.
    Flapping,
    /// More symbols are wrong than a link may have.
    SymbolErrors,
    /// Fewer lanes than both ends can and may.
    Width,
    /// Slower than both ends can and may.
    Speed,
    /// LocalLinkIntegrityErrors.
    IntegrityErrors,
    /// LinkErrorRecoveryCounter.
    LinkRecoveries,
    /// PortRcvErrors.
    ReceiveErrors,
    /// ExcessiveBufferOverrunErrors.
    BufferOverruns,
    /// PortXmitDiscards.
    XmitDiscards,
    /// VL15Dropped.
    Vl15Dropped,
    /// An end may not do what both can.
    Limited,
    /// PortXmitWait.
    XmitWait,
    /// PortRcvRemotePhysicalErrors.
    RemotePhysicalErrors,
    /// PortRcvSwitchRelayErrors.
    SwitchRelayErrors,
    /// PortXmitConstraintErrors and PortRcvConstraintErrors.
    ConstraintErrors,
    /// Counters are at their largest values.
    Full,
    /// The device does not tell what it counts.
    Mute,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Flapping,
        Self::SymbolErrors,
        Self::Width,
        Self::Speed,
        Self::IntegrityErrors,
        Self::LinkRecoveries,
        Self::ReceiveErrors,
        Self::BufferOverruns,
        Self::XmitDiscards,
        Self::Vl15Dropped,
        Self::Limited,
        Self::XmitWait,
        Self::RemotePhysicalErrors,
        Self::SwitchRelayErrors,
        Self::ConstraintErrors,
        Self::Full,
        Self::Mute,
    ];

    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self < Self::Limited {
            true => Severity::Fault,
            false => Severity::Hint,
        }
    }

    /// As metrics and JSON have it.
    pub const fn name(self) -> &'static str {
        self.words()[0]
    }

    /// What it comes from.
    pub const fn cause(self) -> &'static str {
        self.words()[1]
    }

    /// What to do.
    pub const fn remedy(self) -> &'static str {
        self.words()[2]
    }

    /// Name, cause, remedy.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Flapping => [
                "flapping",
                "a bad cable or connector, a transceiver that is too hot, or a host that restarts",
                "reseat both ends; then another cable; then another port",
            ],
            Self::SymbolErrors => [
                "symbol_errors",
                "a bad cable, dirt in a connector, or a cable that is too long for the speed",
                "clean and reseat both ends; then another cable; if it stays at the port, another port",
            ],
            Self::Width => [
                "width",
                "a lane did not train: most often a cable that is not seated, or is damaged",
                "reseat the cable; if the link trains no better, another cable",
            ],
            Self::Speed => [
                "speed",
                "the link did not train at the higher speed: a cable that is not made for it, or is damaged",
                "look what the cable is made for; reseat it; then another cable",
            ],
            Self::IntegrityErrors => [
                "integrity_errors",
                "errors of the link came more often than LocalPhyErrors allows: a bad cable or transceiver",
                "as for symbol errors: reseat, then another cable",
            ],
            Self::LinkRecoveries => [
                "link_recoveries",
                "the link lost its training and found it again: a bad cable or connector",
                "reseat the cable before it goes down; then another cable",
            ],
            Self::ReceiveErrors => [
                "receive_errors",
                "packets came in with an error: from this link, where there are symbol errors too, else from a device that sends wrong ones",
                "with symbol errors: the cable; without: firmware of the far end",
            ],
            Self::BufferOverruns => [
                "buffer_overruns",
                "the far end sent more than it had credits for: credits that were lost to errors, or a defect",
                "see to errors of the link first; then firmware of the far end",
            ],
            Self::XmitDiscards => [
                "xmit_discards",
                "packets waited for longer than HOQLife: behind the port somebody does not take them",
                "look at what is behind the far end; a host that is stopped, a deadlock, or HOQLife that is too short",
            ],
            Self::Vl15Dropped => [
                "vl15_dropped",
                "SMPs found no room: more of them come than the device can take",
                "a smaller max_wire_smps in [sm]; look who else sends SMPs",
            ],
            Self::Limited => [
                "limited",
                "an end may not use what both can: it was configured so",
                "if that is not meant: force_link_width, force_link_speed in [sm], or the device's own settings",
            ],
            Self::XmitWait => [
                "xmit_wait",
                "packets wait for credits of the far end: congestion there, or a receiver that is too slow",
                "look which flows pass here; it is no defect of the link",
            ],
            Self::RemotePhysicalErrors => [
                "remote_physical_errors",
                "packets came in that a switch before had marked as bad",
                "look for symbol or receive errors further up the path",
            ],
            Self::SwitchRelayErrors => [
                "switch_relay_errors",
                "packets for which the switch has no way, or only back to where they came from; multicast does that too",
                "look for senders with old LIDs; a few are usual",
            ],
            Self::ConstraintErrors => [
                "constraint_errors",
                "packets of a partition that this port is not in, or raw packets",
                "look at partitions.conf, and for programs with an old P_Key",
            ],
            Self::Full => [
                "full",
                "the counter stays at its largest value, and counts no more",
                "clear it (perfquery -R), or let clear = \"full\" in [health] do it",
            ],
            Self::Mute => [
                "mute",
                "the device has no performance agent, is overloaded, or cannot be reached by LID",
                "perfquery LID says whether others get an answer; look for new firmware",
            ],
        }
    }
}
