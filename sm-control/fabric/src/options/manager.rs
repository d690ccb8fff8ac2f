//! Options of `opensm.conf` that only a Subnet Manager follows: what it writes into ports and switches.
//!
//! They are read on their own ([`ManagerOptions::parse`]), by the same reader as the others: who answers beside an OpenSM
//! has no use for them, and a bad value of one must not keep it from its work. Source: OpenSM `osm_subnet.c`.

use sa_text::lines;
use sa_wire::Lmc;

use super::value::Value;
use super::{BYTE, Setting};
use crate::error::ParseError;
use crate::text::{Cursor, decode};

/// What a Subnet Manager writes, as `opensm.conf` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerOptions {
    /// `m_key`; 0: none.
    pub m_key: u64,
    /// `m_key_protection_level`, 0 to 3.
    pub m_key_protection_level: u8,
    /// `m_key_lease_period`. Units: seconds; 0: for ever.
    pub m_key_lease_period: u16,
    /// `force_link_width`: LinkWidthEnabled of ports, 255: all that is supported, 0: as it is.
    pub force_link_width: u8,
    /// `force_link_speed`: LinkSpeedEnabled, 15: all that is supported, 0: as it is.
    pub force_link_speed: u8,
    /// `force_link_speed_ext`: LinkSpeedExtEnabled, 31: all that is supported, 30: none, 0: as it is.
    pub force_link_speed_ext: u8,
    /// `vl_stall_count`, between switches.
    pub vl_stall_count: u8,
    /// `leaf_vl_stall_count`, towards CAs and routers.
    pub leaf_vl_stall_count: u8,
    /// `local_phy_errors_threshold`.
    pub local_phy_errors_threshold: u8,
    /// `overrun_errors_threshold`.
    pub overrun_errors_threshold: u8,
    /// `part_enforce`: what switch ports towards end ports check.
    pub part_enforce: Enforcement,
    /// `keep_pkey_indexes`: a P_Key that a port has stays where it is in the table.
    pub keep_pkey_indexes: bool,
    /// `use_optimized_slvl`: one Set for many SL2VL tables, where switches can.
    pub use_optimized_slvl: bool,
    /// `lmc`, 0 where the file does not say.
    pub lmc: Lmc,
    /// `m_key_lookup`: the M_Key of a port is looked up in a file of those that were given.
    pub m_key_lookup: bool,
    /// `fdr10`, 0: off, 1: on where both ends can, 2: as it is.
    pub fdr10: u8,
    /// `suppress_sl2vl_mad_status_errors`: a switch may refuse an SL2VL table without a word in the log.
    pub suppress_sl2vl_mad_status_errors: bool,
    /// `babbling_port_policy`: a port that repeats a trap for ever is disabled.
    pub babbling_port_policy: bool,
    /// `no_clients_rereg`: clients are not asked to register again.
    pub no_clients_rereg: bool,
    /// `drop_event_subscriptions`: those of ports that are gone end.
    pub drop_event_subscriptions: bool,
    /// `honor_guid2lid_file`: LIDs of the file are kept over those that ports have.
    pub honor_guid2lid_file: bool,
    /// `fsync_high_avail_files`: files for a restart are on the disk before the sweep goes on.
    pub fsync_high_avail_files: bool,
    /// When the subnet is looked at, and how SMPs are sent.
    pub sweeps: SweepOptions,
    /// How this SM and others find out who is the master.
    pub mastership: MastershipOptions,
}

/// When the subnet is looked at, and how SMPs are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepOptions {
    /// `sweep_interval`. Units: seconds; 0: never by itself.
    pub interval: u32,
    /// `sweep_on_trap`: at once when a trap tells of a change.
    pub on_trap: bool,
    /// `force_heavy_sweep`: each looks at everything.
    pub force_heavy: bool,
    /// `max_wire_smps`: SMPs without an answer at one time; 0: any number.
    pub max_wire_smps: u32,
    /// `transaction_retries`.
    pub retries: u32,
    /// `transaction_timeout`: an SMP without an answer is sent again. Units: milliseconds.
    pub timeout: u32,
    /// `long_transaction_timeout`: for what takes a device long. Units: milliseconds.
    pub long_timeout: u32,
}

/// How this SM and others find out who is the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MastershipOptions {
    /// `sm_priority`, 0 to 15: the highest becomes the master.
    pub priority: u8,
    /// `sminfo_polling_timeout`: how often a standby asks the master. Units: milliseconds.
    pub polling_timeout: u32,
    /// `polling_retry_number`: a master that leaves so many unanswered is gone.
    pub polling_retries: u32,
    /// `ignore_other_sm`: other SMs do not count.
    pub ignore_other_sm: bool,
    /// `sm_inactive`: it begins as "not active".
    pub inactive: bool,
}

/// Which packets a switch port drops for their P_Key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// Both ways.
    Both,
    /// Those that come in.
    In,
    /// Those that go out.
    Out,
    /// None.
    Off,
}

impl Enforcement {
    const WORDS: [(&str, Self); 4] = [
        ("both", Self::Both),
        ("in", Self::In),
        ("out", Self::Out),
        ("off", Self::Off),
    ];

    /// PartitionEnforcementInbound (bit 1) and Outbound (bit 0).
    pub const fn bits(self) -> u8 {
        match self {
            Self::Both => 3,
            Self::In => 2,
            Self::Out => 1,
            Self::Off => 0,
        }
    }
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            m_key: 0,
            m_key_protection_level: 0,
            m_key_lease_period: 0,
            force_link_width: 255,
            force_link_speed: 15,
            force_link_speed_ext: 31,
            vl_stall_count: 7,
            leaf_vl_stall_count: 7,
            local_phy_errors_threshold: 8,
            overrun_errors_threshold: 8,
            part_enforce: Enforcement::Both,
            keep_pkey_indexes: true,
            use_optimized_slvl: false,
            lmc: Lmc::default(),
            m_key_lookup: true,
            fdr10: 1,
            suppress_sl2vl_mad_status_errors: false,
            babbling_port_policy: false,
            no_clients_rereg: false,
            drop_event_subscriptions: false,
            honor_guid2lid_file: false,
            fsync_high_avail_files: true,
            sweeps: SweepOptions::default(),
            mastership: MastershipOptions::default(),
        }
    }
}

impl Default for SweepOptions {
    fn default() -> Self {
        Self {
            interval: 10,
            on_trap: true,
            force_heavy: false,
            max_wire_smps: 4,
            retries: 3,
            timeout: 200,
            long_timeout: 500,
        }
    }
}

impl Default for MastershipOptions {
    fn default() -> Self {
        Self {
            priority: 0,
            polling_timeout: 10_000,
            polling_retries: 4,
            ignore_other_sm: false,
            inactive: false,
        }
    }
}

impl ManagerOptions {
    /// Reads an `opensm.conf`. Errors: the first value that is not what its key needs.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        // What is odd in the text is told by who reads the other options of the same file.
        let text = decode(bytes, &mut Vec::new());
        for line in lines(&text) {
            // A comment may begin in the middle of a word, as for OpenSM.
            let code = line.text.split('#').next().unwrap_or_default();
            let mut cursor = Cursor::new(sa_text::Line { text: code, ..line });
            cursor.skip_blanks();
            let key = cursor.word();
            options.set(key, &Value::new(cursor))?;
        }
        Ok(options)
    }

    /// True for a key that is one of these options, whatever its value.
    pub fn has(key: &str) -> bool {
        // Asked of the readers themselves, as a list beside them would grow old.
        let setting = Setting {
            key: key.to_owned(),
            value: "0".to_owned(),
        };
        // A value that does not do is one of a key that is known.
        !matches!(Self::default().apply(&setting), Ok(false))
    }

    /// Sets an option. False for another key, which is somebody else's.
    pub(super) fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        Ok(self.set_key(key, value)?
            || self.set_link(key, value)?
            || self.set_choice(key, value)?
            || self.sweeps.set(key, value)?
            || self.mastership.set(key, value)?)
    }

    /// M_Keys and LIDs.
    fn set_key(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            "m_key" => self.m_key = value.number()?,
            "m_key_protection_level" => {
                self.m_key_protection_level = value.within("m_key_protection_level", 0..=3)?;
            }
            "m_key_lease_period" => {
                self.m_key_lease_period = value.within("m_key_lease_period", 0..=0xffff)?;
            }
            // Without it OpenSM asks all ports with the one key.
            "m_key_lookup" => self.m_key_lookup = value.boolean()?,
            "lmc" => self.lmc = Lmc::new(value.within("lmc", 0..=7)?).unwrap_or_default(),
            "honor_guid2lid_file" => self.honor_guid2lid_file = value.boolean()?,
            "fsync_high_avail_files" => self.fsync_high_avail_files = value.boolean()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Numbers in PortInfo.
    fn set_link(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            "force_link_width" => self.force_link_width = value.within("force_link_width", BYTE)?,
            "force_link_speed" => {
                self.force_link_speed = value.within("force_link_speed", 0..=15)?;
            }
            "force_link_speed_ext" => {
                self.force_link_speed_ext = value.within("force_link_speed_ext", 0..=31)?;
            }
            // No number of a link's speed: 2 leaves the ports as they are.
            "fdr10" => self.fdr10 = value.within("fdr10", 0..=2)?,
            "vl_stall_count" => self.vl_stall_count = value.within("vl_stall_count", 0..=7)?,
            "leaf_vl_stall_count" => {
                self.leaf_vl_stall_count = value.within("leaf_vl_stall_count", 0..=7)?;
            }
            "local_phy_errors_threshold" => {
                self.local_phy_errors_threshold =
                    value.within("local_phy_errors_threshold", 0..=15)?;
            }
            "overrun_errors_threshold" => {
                self.overrun_errors_threshold = value.within("overrun_errors_threshold", 0..=15)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is done or not.
    fn set_choice(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            "part_enforce" => {
                self.part_enforce = value.choice(&Enforcement::WORDS, "both, in, out or off")?
            }
            "keep_pkey_indexes" => self.keep_pkey_indexes = value.boolean()?,
            "use_optimized_slvl" => self.use_optimized_slvl = value.boolean()?,
            "suppress_sl2vl_mad_status_errors" => {
                self.suppress_sl2vl_mad_status_errors = value.boolean()?;
            }
            "babbling_port_policy" => self.babbling_port_policy = value.boolean()?,
            "no_clients_rereg" => self.no_clients_rereg = value.boolean()?,
            "drop_event_subscriptions" => self.drop_event_subscriptions = value.boolean()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl SweepOptions {
    /// Sets an option. False for another key. Errors: the value is not what the key needs.
    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            "sweep_interval" => self.interval = value.within("sweep_interval", WORD)?,
            "sweep_on_trap" => self.on_trap = value.boolean()?,
            "force_heavy_sweep" => self.force_heavy = value.boolean()?,
            // 0 lifts the limit, in OpenSM too.
            "max_wire_smps" => self.max_wire_smps = value.within("max_wire_smps", WORD)?,
            "transaction_retries" => self.retries = value.within("transaction_retries", WORD)?,
            // Of the SA too, for which it is RespTimeValue of ClassPortInfo.
            "transaction_timeout" => self.timeout = value.within("transaction_timeout", WORD)?,
            "long_transaction_timeout" => {
                self.long_timeout = value.within("long_transaction_timeout", WORD)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl MastershipOptions {
    /// Sets an option. False for another key. Errors: the value is not what the key needs.
    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            // Four bits in SMInfo.
            "sm_priority" => self.priority = value.within("sm_priority", 0..=15)?,
            "sminfo_polling_timeout" => {
                self.polling_timeout = value.within("sminfo_polling_timeout", WORD)?;
            }
            "polling_retry_number" => {
                self.polling_retries = value.within("polling_retry_number", WORD)?;
            }
            "ignore_other_sm" => self.ignore_other_sm = value.boolean()?,
            "sm_inactive" => self.inactive = value.boolean()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What OpenSM reads as 32 bits.
const WORD: core::ops::RangeInclusive<u64> = 0..=0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_manager_are_read_and_others_passed_over() {
        let text = b"m_key 0x1234abcd # ours\nqos x\npart_enforce in\nlmc 2\nforce_link_width 0\n";
        let options = ManagerOptions::parse(text).unwrap();
        assert_eq!((options.m_key, options.lmc.get()), (0x1234_abcd, 2));
        assert_eq!(options.part_enforce.bits(), 2);
        assert_eq!(options.force_link_width, 0);
        assert_eq!(
            ManagerOptions::parse(b"").unwrap(),
            ManagerOptions::default()
        );
    }

    #[test]
    fn a_bad_value_is_told_with_its_place() {
        let error = |text: &str| {
            ManagerOptions::parse(text.as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert!(error("lmc 1\npart_enforce some\n").contains("both, in, out or off"));
        assert!(error("m_key_protection_level 4").contains("m_key_protection_level"));
        assert!(error("m_key none").contains("a number"));
    }
}
