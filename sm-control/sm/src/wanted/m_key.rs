//! Which M_Key a request carries.
//!
//! A port with a key answers a request with another one by silence, so a wrong key looks like a device that is gone. Keys are tried
//! in this order, each once: the one that the port last answered to, the configured one, the one before a change, none.
//! A key that is being changed is not the port's before its answer came, so the old one is kept until then.
//! Source: IBA vol. 1, 14.2.4; OpenSM `osm_req.c`.

use std::collections::BTreeMap;

use sa_wire::Guid;

/// Keys of ports, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// `m_key` of the configuration.
    pub configured: u64,
    /// The one that was configured before.
    pub previous: Option<u64>,
    /// By the GUID of the end port that holds it (of a switch, of its port 0): the last that was answered to.
    answered: BTreeMap<Guid, u64>,
}

impl Keys {
    /// Keys to try on a port, in this order; `None` for one of which nothing is known. Shape: at least one, none twice.
    pub fn candidates(&self, port: Option<Guid>) -> Vec<u64> {
        let known = port.and_then(|port| self.answered.get(&port)).copied();
        let all = known.into_iter().chain([self.configured]);
        let all = all.chain(self.previous).chain([0]);
        let mut keys = Vec::new();
        for key in all {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The port answered a request with this key, or a Set that gave it the key.
    pub fn confirm(&mut self, port: Guid, key: u64) {
        self.answered.insert(port, key);
    }

    /// Another key is configured from now on. Ports keep theirs until they answer to it.
    pub fn configure(&mut self, key: u64) {
        if key != self.configured {
            self.previous = Some(self.configured);
            self.configured = key;
        }
    }

    /// Ports that hold another key than the configured one, with the key.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (Guid, u64)> {
        let others = self.answered.iter();
        others
            .map(|(port, key)| (*port, *key))
            .filter(|(_, key)| *key != self.configured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_was_answered_to_is_tried_first() {
        let (one, other) = (Guid::new(1).unwrap(), Guid::new(2).unwrap());
        let mut keys = Keys::default();
        assert_eq!(keys.candidates(Some(one)), [0]);
        keys.configure(7);
        keys.confirm(one, 7);
        keys.configure(9);
        assert_eq!(keys.candidates(Some(one)), [7, 9, 0]);
        assert_eq!(keys.candidates(Some(other)), [9, 7, 0]);
        assert_eq!(keys.candidates(None), [9, 7, 0]);
        assert_eq!(keys.unconfirmed().collect::<Vec<_>>(), [(one, 7)]);
        keys.confirm(one, 9);
        assert_eq!(keys.candidates(Some(one)), [9, 7, 0]);
        assert_eq!(keys.unconfirmed().count(), 0);
        keys.configure(9);
        assert_eq!(keys.previous, Some(7), "nothing changed");
    }
}
