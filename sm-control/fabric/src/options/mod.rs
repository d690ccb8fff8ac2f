//! `opensm.conf`: the options that answers, routes and tables depend on, with OpenSM's defaults.
//!
//! The format is OpenSM's: a key, blanks, a value to the end of the line; `#` starts a comment
//! anywhere; quotes around a value are taken off; the last line for a key counts; `(null)` is no
//! value. Bad values are errors here, where OpenSM falls back to a default; an odd `vlarb` or
//! `sl2vl` string is read as OpenSM reads it, with a note. Source: OpenSM `osm_subnet.c`.
//!
//! Sets of options: [`OpenSmOptions`] are those that something here depends on, some 30 and the
//! `qos_*` keys; `names` lists 110 others. A
//! line for another one is kept as [`NotUsed`], because an operator who wrote it may expect an
//! effect; those of them that a Subnet Manager writes into ports are read apart ([`ManagerOptions`]). The `qos_*` keys are five sets of the same five fields (`qos`).
//!
//! Two defaults that surprise: QoS is off without a line for it, and `packet_life_time` is no
//! packet life time of any path: that is `subnet_timeout`.
//!
//! Values are taken as numbers of C: `0x12` and `18` are the same, and `010` is 8.

mod manager;
mod names;
mod qos;
mod settings;
mod value;

use sa_snapshot::model::RateLimit;
use sa_text::{Line, Position, lines};
use sa_wire::{Guid, Lmc, Sl, SubnetPrefix};

pub use self::manager::{Enforcement, ManagerOptions, MastershipOptions, SweepOptions};
pub use self::qos::{PortClass, QosSet, QosTables, VlArbEntry, fit_sl2vl, fit_vl_arb};
pub use self::settings::{
    Entry, NUMBER_KEYS, SWITCH_KEYS, Setting, TEXT_KEYS, default_of, entries,
};
use self::value::Value;
use super::error::{Note, ParseError};
use super::text::{Cursor, decode};

/// The options that something here depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSmOptions {
    /// `qos`.
    pub qos: bool,
    /// `qos` was given. Without it `-Q` on OpenSM's command line may have decided.
    pub qos_given: bool,
    /// `subnet_prefix`: upper half of every GID.
    pub subnet_prefix: SubnetPrefix,
    /// `lmc`; none when the file does not say (OpenSM: 0).
    pub lmc: Option<Lmc>,
    /// `lmc_esp0`: enhanced switch ports 0 have the LMC too.
    pub lmc_esp0: bool,
    /// `reassign_lids`: LIDs that ports already have are not kept.
    pub reassign_lids: bool,
    /// `guid`: the port that the SM runs on; 0 is none.
    pub guid: Option<Guid>,
    /// `subnet_timeout`: packet life time of answers, which has six bits.
    pub subnet_timeout: u8,
    /// `packet_life_time`: LifeTimeValue of switches. No path has it: that is `subnet_timeout`.
    pub packet_life_time: u8,
    /// `head_of_queue_lifetime`, between switches.
    pub head_of_queue_lifetime: u8,
    /// `leaf_head_of_queue_lifetime`, towards CAs and routers, and of routers.
    pub leaf_head_of_queue_lifetime: u8,
    /// `sm_key`: of SMs among each other.
    pub sm_key: u64,
    /// `sa_key`: requests with it are trusted, those with another key that is not 0 get no reply.
    pub sa_key: u64,
    /// `sm_sl`: what ports send to the SM on, where the engine gives no SL.
    pub sm_sl: Sl,
    /// `allow_both_pkeys`: a port may hold the full and the limited key of one partition.
    pub allow_both_pkeys: bool,
    /// `no_partition_enforcement`: switch ports do not check P_Keys.
    pub no_partition_enforcement: bool,
    /// `max_op_vls`: code of the largest number of operational VLs. Shape: 1 or more; OpenSM's
    /// default 5 (15 VLs) limits nothing.
    pub max_op_vls: u8,
    /// `transaction_timeout`, from which ClassPortInfo.RespTimeValue follows. Units: milliseconds.
    pub transaction_timeout: u32,
    /// `torus_config`.
    pub torus_config: Option<String>,
    /// `root_guid_file`.
    pub root_guid_file: Option<String>,
    /// `partition_config_file`.
    pub partition_config_file: Option<String>,
    /// `qos_policy_file`.
    pub qos_policy_file: Option<String>,
    /// `prefix_routes_file`.
    pub prefix_routes_file: Option<String>,
    /// `routing_engine`: names in order of preference, `no_fallback` among them where given; empty:
    /// min-hop.
    pub routing_engine: Vec<String>,
    /// `max_rate_enum`, where given. OpenSM 3.3.23 does not know it.
    pub max_rate_enum: Option<u8>,
    /// `use_original_extended_sa_rates_only`: answers carry no rate code above 18.
    pub use_original_extended_sa_rates_only: bool,
    /// `enable_quirks`: MTU 1024 for Tavor HCAs.
    pub enable_quirks: bool,
    /// `use_mfttop`: told in ClassPortInfo.
    pub use_mfttop: bool,
    /// `disable_multicast`.
    pub disable_multicast: bool,
    /// `qos_*`: what the classes fall back to.
    pub qos_common: QosSet,
    /// `qos_ca_*`.
    pub qos_ca: QosSet,
    /// `qos_sw0_*`.
    pub qos_sw0: QosSet,
    /// `qos_swe_*`.
    pub qos_swe: QosSet,
    /// `qos_rtr_*`.
    pub qos_rtr: QosSet,
    /// Lines that change nothing here.
    pub not_used: Vec<NotUsed>,
    /// Odd values, read as OpenSM reads them.
    pub notes: Vec<Note>,
}

/// A line of the file that changes nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUsed {
    /// Where.
    pub at: Position,
    /// The key.
    pub key: String,
    /// False for a key that OpenSM does not know either.
    pub is_known: bool,
}

impl Default for OpenSmOptions {
    fn default() -> Self {
        Self {
            qos: false,
            qos_given: false,
            subnet_prefix: SubnetPrefix::LINK_LOCAL,
            lmc: None,
            lmc_esp0: false,
            reassign_lids: false,
            guid: None,
            subnet_timeout: 18,
            packet_life_time: 0x12,
            head_of_queue_lifetime: 0x12,
            leaf_head_of_queue_lifetime: 0x10,
            sm_key: 1,
            sa_key: 1,
            sm_sl: Sl::default(),
            allow_both_pkeys: false,
            no_partition_enforcement: false,
            max_op_vls: 5,
            transaction_timeout: 200,
            torus_config: None,
            root_guid_file: None,
            partition_config_file: None,
            qos_policy_file: None,
            prefix_routes_file: None,
            routing_engine: Vec::new(),
            max_rate_enum: None,
            use_original_extended_sa_rates_only: false,
            enable_quirks: false,
            use_mfttop: true,
            disable_multicast: false,
            qos_common: QosSet::default(),
            qos_ca: QosSet::default(),
            qos_sw0: QosSet::default(),
            qos_swe: QosSet::default(),
            qos_rtr: QosSet::default(),
            not_used: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl OpenSmOptions {
    /// Reads an `opensm.conf`. Errors: the first value that is not what its key needs.
    ///
    /// A later line for the same key wins, as in OpenSM.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        let text = decode(bytes, &mut options.notes);
        for line in lines(&text) {
            // Also inside quotes: `#` starts a comment anywhere.
            let code = line.text.split('#').next().unwrap_or_default();
            options.line(Line { text: code, ..line })?;
        }
        Ok(options)
    }

    /// A key and its value. A key that nothing depends on is noted; one that nobody knows, too.
    fn line(&mut self, line: Line<'_>) -> Result<(), ParseError> {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        let at = cursor.at();
        let key = cursor.word();
        if key.is_empty() {
            return Ok(());
        }
        let value = Value::new(cursor);
        // A known key with a bad value ends in an error before anyone asks whether it is used.
        if !self.set(key, &value)? && !self.set_qos(key, &value)? {
            let is_known = names::NOT_USED.binary_search(&key).is_ok();
            self.not_used.push(NotUsed {
                at,
                key: key.to_owned(),
                is_known,
            });
        }
        Ok(())
    }

    /// Sets a plain option. False for another key.
    fn set(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        match key {
            "qos" => {
                self.qos = value.boolean()?;
                self.qos_given = true;
            }
            "subnet_prefix" => self.subnet_prefix = SubnetPrefix(value.number()?),
            "lmc" => self.lmc = Lmc::new(value.within("lmc", 0..=7)?).ok(),
            "lmc_esp0" => self.lmc_esp0 = value.boolean()?,
            "reassign_lids" => self.reassign_lids = value.boolean()?,
            "guid" => self.guid = Guid::new(value.number()?).ok(),
            "subnet_timeout" => self.subnet_timeout = value.within("subnet_timeout", 0..=63)?,
            "packet_life_time" => self.packet_life_time = value.within("packet_life_time", BYTE)?,
            "head_of_queue_lifetime" => {
                self.head_of_queue_lifetime = value.within("head_of_queue_lifetime", BYTE)?;
            }
            "leaf_head_of_queue_lifetime" => {
                let what = "leaf_head_of_queue_lifetime";
                self.leaf_head_of_queue_lifetime = value.within(what, BYTE)?;
            }
            "sm_key" => self.sm_key = value.number()?,
            "sa_key" => self.sa_key = value.number()?,
            "sm_sl" => self.sm_sl = Sl::from_low_bits(value.within("sm_sl", 0..=15)?),
            "allow_both_pkeys" => self.allow_both_pkeys = value.boolean()?,
            "no_partition_enforcement" => self.no_partition_enforcement = value.boolean()?,
            "max_op_vls" => self.max_op_vls = value.within("max_op_vls", 1..=255)?,
            "transaction_timeout" => {
                self.transaction_timeout = value.within("transaction_timeout", 0..=0xffff_ffff)?;
            }
            "torus_config" => self.torus_config = value.text()?,
            "root_guid_file" => self.root_guid_file = value.text()?,
            "partition_config_file" => self.partition_config_file = value.text()?,
            "qos_policy_file" => self.qos_policy_file = value.text()?,
            "prefix_routes_file" => self.prefix_routes_file = value.text()?,
            "routing_engine" => self.routing_engine = value.list()?,
            "max_rate_enum" => self.max_rate_enum = Some(value.rate_enum()?),
            "use_original_extended_sa_rates_only" => {
                self.use_original_extended_sa_rates_only = value.boolean()?;
            }
            "enable_quirks" => self.enable_quirks = value.boolean()?,
            "use_mfttop" => self.use_mfttop = value.boolean()?,
            "disable_multicast" => self.disable_multicast = value.boolean()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets one of `qos_*`, `qos_ca_*`, `qos_sw0_*`, `qos_swe_*`, `qos_rtr_*`.
    ///
    /// False for another key. The class stands between: `qos_swe_vlarb_high` is field `vlarb_high`
    /// of external switch ports.
    fn set_qos(&mut self, key: &str, value: &Value<'_>) -> Result<bool, ParseError> {
        // `qos_policy_file` begins so as well and was taken before.
        let Some(rest) = key.strip_prefix("qos_") else {
            return Ok(false);
        };
        let (set, field) = match rest.split_once('_') {
            Some(("ca", field)) => (&mut self.qos_ca, field),
            Some(("sw0", field)) => (&mut self.qos_sw0, field),
            Some(("swe", field)) => (&mut self.qos_swe, field),
            Some(("rtr", field)) => (&mut self.qos_rtr, field),
            _ => (&mut self.qos_common, rest),
        };
        match field {
            "max_vls" => {
                let max_vls: u8 = value.within("max_vls", 0..=15)?;
                // 0 is how OpenSM writes "not given".
                set.max_vls = Some(max_vls).filter(|max| *max > 0);
            }
            "high_limit" => set.high_limit = value.high_limit()?,
            "vlarb_high" | "vlarb_low" => {
                let text = value.text()?;
                if let Some(text) = &text {
                    qos::check_vl_arb(value.at(), text, &mut self.notes);
                }
                if field == "vlarb_high" {
                    set.vlarb_high = text;
                } else {
                    set.vlarb_low = text;
                }
            }
            "sl2vl" => {
                set.sl2vl = value.text()?;
                if let Some(text) = &set.sl2vl {
                    qos::check_sl2vl(value.at(), text, &mut self.notes);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The set of QoS options of a class of ports.
    pub const fn qos_set(&self, class: PortClass) -> &QosSet {
        match class {
            PortClass::Ca => &self.qos_ca,
            PortClass::SwitchPort0 => &self.qos_sw0,
            PortClass::SwitchExternal => &self.qos_swe,
            PortClass::Router => &self.qos_rtr,
        }
    }

    /// The QoS tables of a class of ports.
    pub fn qos_tables(&self, class: PortClass) -> QosTables {
        QosTables::build(self.qos_set(class), &self.qos_common)
    }

    /// The largest rate code that requests may carry: a newer OpenSM, which alone knows
    /// `max_rate_enum`, knows more.
    ///
    /// Requests with a larger one are refused with REQ_INVALID.
    pub const fn max_rate_code(&self) -> u8 {
        match self.max_rate_enum {
            None => sa_wire::Rate::MAX_OPENSM,
            Some(_) => NEWEST_RATE,
        }
    }

    /// What rates answers may have.
    pub fn rate_limit(&self) -> RateLimit {
        const ORIGINAL: u8 = 18;
        let original = self.use_original_extended_sa_rates_only;
        match self.max_rate_enum {
            None if original => RateLimit::Original,
            Some(limit) if original => RateLimit::Code(limit.min(ORIGINAL)),
            // 63 is OpenSM's way to write "all".
            Some(limit) if limit <= NEWEST_RATE => RateLimit::Code(limit),
            None | Some(_) => RateLimit::Ports,
        }
    }

    /// ClassPortInfo.RespTimeValue: the smallest code of 8 or more whose time reaches
    /// `transaction_timeout`. Units: 4.096 us x 2^n, in OpenSM's table of whole milliseconds.
    ///
    /// With the default of 200 ms it is 16: 268 ms, the first that is not below.
    pub fn resp_time(&self) -> u8 {
        let microseconds = u64::from(self.transaction_timeout).saturating_mul(1000);
        // In whole milliseconds, rounded down, as OpenSM's table has them; at codes below 8 they
        // would all be 0.
        let reaches = |code: &u8| (4096u64 << u32::from(*code)) / 1_000_000 * 1000 >= microseconds;
        // Five bits in ClassPortInfo; 31 stands for the longest.
        (8..31).find(reaches).unwrap_or(31)
    }
}

/// What OpenSM reads as a byte.
const BYTE: core::ops::RangeInclusive<u64> = 0..=255;

/// The largest code of a rate, 1,200 Gb/s.
const NEWEST_RATE: u8 = 24;

#[cfg(test)]
mod tests;
