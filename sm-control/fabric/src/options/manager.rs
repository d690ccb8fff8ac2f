//! Options of `opensm.conf` that only a Subnet Manager follows: what it writes into ports and switches.
//!
//! They are read on their own ([`ManagerOptions::parse`]), by the same reader as the others: who answers beside an OpenSM
//! has no use for them, and a bad value of one must not keep it from its work. Source: OpenSM `osm_subnet.c`.

use sa_text::lines;
use sa_wire::Lmc;

use super::BYTE;
use super::value::Value;
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
        }
    }
}

impl ManagerOptions {
    /// Reads an `opensm.conf`. Errors: the first value that is not what its key needs.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        let text = decode(bytes, &mut Vec::new());
        for line in lines(&text) {
            let code = line.text.split('#').next().unwrap_or_default();
            let mut cursor = Cursor::new(sa_text::Line { text: code, ..line });
            cursor.skip_blanks();
            let key = cursor.word();
            options.set(key, &Value::new(cursor))?;
        }
        Ok(options)
    }

    /// Sets an option; another key is somebody else's.
    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<(), ParseError> {
        match key {
            "m_key" => self.m_key = value.number()?,
            "m_key_protection_level" => {
                self.m_key_protection_level = value.within("m_key_protection_level", 0..=3)?;
            }
            "m_key_lease_period" => {
                self.m_key_lease_period = value.within("m_key_lease_period", 0..=0xffff)?;
            }
            "force_link_width" => self.force_link_width = value.within("force_link_width", BYTE)?,
            "force_link_speed" => {
                self.force_link_speed = value.within("force_link_speed", 0..=15)?;
            }
            "force_link_speed_ext" => {
                self.force_link_speed_ext = value.within("force_link_speed_ext", 0..=31)?;
            }
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
            "part_enforce" => {
                self.part_enforce = value.choice(&Enforcement::WORDS, "both, in, out or off")?
            }
            "keep_pkey_indexes" => self.keep_pkey_indexes = value.boolean()?,
            "use_optimized_slvl" => self.use_optimized_slvl = value.boolean()?,
            "lmc" => self.lmc = Lmc::new(value.within("lmc", 0..=7)?).unwrap_or_default(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_manager_are_read_and_others_passed_over() {
        let text = b"m_key 0x1234abcd # ours\nsweep_interval x\npart_enforce in\nlmc 2\nforce_link_width 0\n";
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
