//! The fabrics, and how OpenSM is set up on them.

/// Two switches with two cables between them, one of EDR; CAs with one and two ports, one on both
/// switches; a router; ports without cables; slow and narrow links; an image GUID of its own.
pub(crate) const NET: &str = "\
vendid=0x2c9\ndevid=0x5a44\nswitchguid=0x200000\nSwitch 8 \"S1\"\n\
[1] \"H1\"[1]\n[2] \"H2\"[1] w=1\n[3] \"H3\"[1] s=7\n[4] \"S2\"[4]\n[5] \"S2\"[5] e=3 s=7\n\
[6] \"R1\"[1]\n\n\
switchguid=0x200001\nSwitch 8 \"S2\" # \"S2\" base port 0\n\
[1] \"H4\"[1]\n[2] \"H3\"[2]\n[4] \"S1\"[4]\n[5] \"S1\"[5] e=3 s=7\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\" # \"second host\"\n[1] \"S1\"[2] w=1\n\n\
vendid=0x2c9\nsysimgguid=0x100777\ncaguid=0x100020\nHca 2 \"H3\"\n[1] \"S1\"[3] s=7\n\
[2] \"S2\"[2]\n\n\
caguid=0x100030\nHca 2 \"H4\"\n[1] \"S2\"[1]\n\n\
rtguid=0x300000\nRt 1 \"R1\"\n[1] \"S1\"[6]\n\n";

/// Full, limited and no members in common.
pub(crate) const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full, ALL_SWITCHES=full ;
blue=0x0001, sl=3 : 0x100011=full, 0x100021=limited, 0x300001=full ;
red=0x0123, ipoib, sl=2 : 0x100022=full, 0x100031=full, SELF=full ;
";

/// More partitions, and a port that is a full and a limited member of one.
pub(crate) const BOTH: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full ;
blue=0x0001 : 0x100011=both, 0x100021=limited, 0x300001=limited ;
red=0x0123 : 0x100022=limited, 0x100031=both, SELF=full ;
green=0x2001 : ALL_CAS=full ;
";

/// What OpenSM runs with, and what this program is given.
pub(crate) struct Site {
    pub(crate) net: String,
    pub(crate) conf: &'static str,
    pub(crate) partitions: &'static str,
    /// torus-2QoS.conf.
    pub(crate) torus: Option<String>,
    /// Give the net file and the LIDs rather than OpenSM's dumps.
    pub(crate) from_net: bool,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self {
            net: NET.to_owned(),
            conf: "qos TRUE\nlmc 1\nsubnet_timeout 17\npacket_life_time 0x10\n\
                   head_of_queue_lifetime 0x0f\nleaf_head_of_queue_lifetime 0x0e\n",
            partitions: PARTITIONS,
            torus: None,
            from_net: false,
        }
    }
}
