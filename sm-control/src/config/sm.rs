//! `[sm]` of `sapphired`'s configuration: options of the Subnet Manager, in OpenSM's words.
//!
//! What `opensm.conf` says with a line, this section says with a key; where `[fabric] opensm_conf`
//! is given too, a key here counts over its line. Files have keys of their own, in the sections
//! that are about them, and so has QoS (`[fabric] qos`). `sapphire migrate` writes the section from
//! an `opensm.conf`.
//!
//! ```toml
//! [sm]
//! sm_sl = 1
//! lmc_esp0 = true
//! sa_key = "0x1"                 # 64 bits: TOML's numbers end before
//! qos_ca_vlarb_high = "0:64,1:64"
//! ```
//!
//! `audit_interval` is our own.
//!
//! Numbers have their ranges in [`super::RANGES`]; all other values are read by the reader of
//! `opensm.conf`.

use core::fmt;

use sa_fabric::options::{
    ManagerOptions, NUMBER_KEYS, OpenSmOptions, SWITCH_KEYS, Setting, TEXT_KEYS,
};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Value;

/// `[sm]`
#[derive(Debug, Clone)]
pub struct SmSection {
    /// As written, by key; each is known and has a value that its key takes.
    pub settings: Vec<Setting>,
    /// Those of them that only an SM follows, over OpenSM's defaults.
    pub manager: ManagerOptions,
    /// In which all that nodes were written is read back once; 0: nothing is. A key of our own.
    /// Units: seconds.
    pub audit_interval: u32,
}

impl Default for SmSection {
    fn default() -> Self {
        Self {
            settings: Vec::new(),
            manager: ManagerOptions::default(),
            audit_interval: 3600,
        }
    }
}

impl SmSection {
    /// Takes a key. Errors: it is unknown, or its value is not what it takes.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        if key == AUDIT {
            let number = value.as_integer().ok_or_else(|| {
                let found = value.type_str();
                format!("invalid type: {found}, expected a number")
            })?;
            // Its range was looked at before.
            self.audit_interval = u32::try_from(number).unwrap_or(u32::MAX);
            return Ok(());
        }
        let setting = Setting {
            key: key.to_owned(),
            value: text(key, value)?,
        };
        // Without its place, which is that in the value: who reads the whole configuration knows the value's.
        let problem = |error: sa_fabric::error::ParseError| error.problem.to_string();
        // Both, as a few keys count for answers and for what is written.
        OpenSmOptions::default().apply(&setting).map_err(problem)?;
        self.manager.apply(&setting).map_err(problem)?;
        self.settings.push(setting);
        Ok(())
    }
}

/// A value as `opensm.conf` has it. Errors: in the words of serde, for the key is unknown or takes
/// something else.
fn text(key: &str, value: &Value) -> Result<String, String> {
    let other = |expected: &str| {
        let found = value.type_str();
        Err(format!("invalid type: {found}, expected {expected}"))
    };
    match value {
        // First: what a key takes is only known of keys that there are.
        _ if !is_known(key) => Err(unknown(key)),
        Value::Integer(number) if NUMBER_KEYS.contains(&key) => Ok(number.to_string()),
        // OpenSM's words, which its reader asks for.
        Value::Boolean(true) if SWITCH_KEYS.contains(&key) => Ok("TRUE".to_owned()),
        Value::Boolean(false) if SWITCH_KEYS.contains(&key) => Ok("FALSE".to_owned()),
        Value::String(words) if TEXT_KEYS.contains(&key) => Ok(words.clone()),
        // 0 and 1 are no truths here: in `opensm.conf` either would be FALSE.
        _ if SWITCH_KEYS.contains(&key) => other("true or false"),
        _ if NUMBER_KEYS.contains(&key) => other("a number"),
        _ => other("a string"),
    }
}

/// Whether some list has the key.
fn is_known(key: &str) -> bool {
    all().any(|known| known == key)
}

/// Every key of the section, in the order in which errors name them.
fn all() -> impl Iterator<Item = &'static str> {
    let keys = NUMBER_KEYS.iter().chain(&SWITCH_KEYS).chain(&TEXT_KEYS);
    keys.copied().chain([AUDIT])
}

/// The one key that is not OpenSM's.
const AUDIT: &str = "audit_interval";

/// As serde says it of other sections.
fn unknown(key: &str) -> String {
    let known: Vec<String> = all().map(|known| format!("`{known}`")).collect();
    format!(
        "unknown field `{key}`, expected one of {}",
        known.join(", ")
    )
}

impl<'de> Deserialize<'de> for SmSection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Keys)
    }
}

/// Reads the section key by key.
struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = SmSection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a section [sm]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SmSection, A::Error> {
        let mut section = SmSection::default();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            // The first problem ends it, as in other sections.
            section.set(&key, &value).map_err(A::Error::custom)?;
        }
        Ok(section)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn parse(section: &str) -> Result<Config, String> {
        let around =
            "[fabric]\nsource = \"files\"\npath = \"net\"\n[[port]]\ntransport = \"umad\"\n[sm]\n";
        Config::parse(&format!("{around}{section}")).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_reach_answers_and_the_manager() {
        let config =
            parse("sm_sl = 3\nm_key = \"0xffffffffffffffff\"\nlmc_esp0 = true\nlmc = 2\n").unwrap();
        assert_eq!(config.sm.manager.m_key, u64::MAX);
        assert_eq!(config.sm.manager.lmc.get(), 2);
        let given: Vec<_> = config
            .inputs()
            .settings
            .into_iter()
            .map(|it| it.key)
            .collect();
        assert_eq!(given, ["lmc", "lmc_esp0", "m_key", "sm_sl"]);
    }

    #[test]
    fn wrong_values_are_refused_at_their_places() {
        for (section, expected) in [
            ("sm_sl = 16", "7:9: invalid value: integer `16`"),
            (
                "lmc = 1\nlmc_esp0 = 1",
                "8:12: invalid type: integer, expected true or false",
            ),
            ("m_key = 1", "7:9: invalid type: integer, expected a string"),
            ("m_key = \"none\"", "7:9: expected a number"),
            (
                "part_enforce = \"some\"",
                "7:16: expected both, in, out or off",
            ),
            (
                "lmc = 1\nsweep_intervall = 1",
                "8:1: unknown field `sweep_intervall`",
            ),
            ("max_rate_enum = 30", "7:17: "),
        ] {
            let error = parse(section).map(drop).unwrap_err();
            assert!(error.starts_with(expected), "{section}: {error}");
        }
    }
}
