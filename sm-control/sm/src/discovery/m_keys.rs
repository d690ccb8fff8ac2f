//! Which M_Key a question carries, and what an answer says of keys.
//!
//! | question | keys |
//! |---|---|
//! | NodeInfo | those of [`Keys::candidates`](crate::keys::Keys::candidates) for who was behind that port last time |
//! | of a node that has answered | the one that it answered to; then the one that its PortInfo shows |
//! | of a node that is mute, or has not answered to a Set that gave it a key | that one, then the candidates |
//! | PortInfo of an end port that shows no key at protection level 1 | again, with the next candidate, until one is shown or none is left |

use std::collections::VecDeque;

use sa_fabric::PortRef;

use super::{Discovery, Question};
use crate::keys::end_guid;
use crate::model::Route;
use crate::model::attributes::{self, Data};

impl Discovery {
    /// Shape: at least one.
    ///
    /// Where nothing is known of the node the candidates of [`Keys`](crate::keys::Keys) are all that there is.
    pub(super) fn keys_of(&self, question: &Question) -> Vec<u64> {
        match question {
            Question::Node { from: None, route } => self.by_known_way(route),
            Question::Node { from, .. } => self.first_contact(*from),
            Question::Key { left, .. } => left.iter().take(1).copied().collect(),
            other => match other.asked_of() {
                Some(at) => self.of_known(at),
                None => vec![0],
            },
        }
    }

    /// Who is known is asked by its key, and where that may be another one by others too.
    fn of_known(&self, at: PortRef) -> Vec<u64> {
        let own = self.subnet.m_key(at);
        let node = self.subnet.node(at.node);
        let is_mute = node.is_some_and(|node| node.is_mute);
        if !is_mute && !self.subnet.hides_m_key(at) {
            return vec![own];
        }
        let guid = node.and_then(|node| end_guid(node, at.port));
        let others = self
            .options
            .keys
            .candidates(guid, self.lately, &self.common_keys);
        let others = others.into_iter().filter(|key| *key != own);
        core::iter::once(own).chain(others).collect()
    }

    /// This SM's own node, or one that is asked anew.
    fn by_known_way(&self, route: &Route) -> Vec<u64> {
        match self.end_of(route) {
            Some(at) => self.of_known(at),
            None => self.first_contact(None),
        }
    }

    /// The end port that this way is known to lead to. Cost: a look at all end ports.
    pub(super) fn end_of(&self, route: &Route) -> Option<PortRef> {
        let mut ends = self.subnet.end_ports();
        ends.find(|(_, port)| port.route.as_ref() == Some(route))
            .map(|(at, _)| at)
    }

    /// A node that was asked by several keys answers to this one.
    ///
    /// Noted only where several keys went out: one key that was answered to says nothing new.
    pub(super) fn answered_by(&mut self, question: &Question, m_key: u64) {
        let Some(at) = question.asked_of() else {
            return;
        };
        if matches!(question, Question::Key { .. }) || self.of_known(at).len() < 2 {
            return;
        }
        if let Some(node) = self.subnet.node(at.node) {
            let port = node.end_port(at.port);
            self.subnet.answered_to(PortRef { port, ..at }, m_key);
        }
    }

    /// Nobody knows yet who answers: whoever was there last time, most likely.
    fn first_contact(&self, from: Option<PortRef>) -> Vec<u64> {
        let keys = &self.options.keys;
        let behind = from.and_then(|from| {
            let guid = end_guid(self.subnet.node(from.node)?, from.port)?;
            keys.behind((guid, from.port))
        });
        keys.candidates(behind, self.lately, &self.common_keys)
    }

    /// A node answered its first question with this key.
    ///
    /// A key that was not the first choice is likely that of its neighbours too: it is tried on them next ([`Self::first_contact`]).
    pub(super) fn contacted(&mut self, at: PortRef, from: Option<PortRef>, m_key: u64) {
        let first = self.first_contact(from).first().copied();
        if first != Some(m_key) {
            self.lately = Some(m_key);
        }
        self.subnet.answered_to(at, m_key);
    }

    /// An end port that may hide its key is asked again with those that were not tried.
    ///
    /// At protection level 1 PortInfo is shown without its key, so 0 may be a key that is hidden.
    pub(super) fn ask_key(&mut self, at: PortRef) {
        if !self.subnet.hides_m_key(at) {
            return;
        }
        let guid = self.subnet.port(at).and_then(|port| port.guid);
        let mut left = self
            .options
            .keys
            .candidates(guid, self.lately, &self.common_keys);
        let tried = self.subnet.m_key(at);
        left.retain(|key| *key != tried && *key != 0);
        if !left.is_empty() {
            self.ask(Question::Key { at, left });
        }
    }

    /// The answer to a try: the key that the port shows, or the next candidate.
    pub(super) fn key_told(&mut self, at: PortRef, left: Vec<u64>, data: &Data) {
        let info = attributes::port_info(data);
        if info.m_key.get() != 0 {
            return self.subnet.told(at, info);
        }
        let mut left = VecDeque::from(left);
        left.pop_front();
        if !left.is_empty() {
            self.ask(Question::Key {
                at,
                left: left.into(),
            });
        }
    }
}
