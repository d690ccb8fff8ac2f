//! What the five calls mean in etcd.
//!
//! | call | what is asked |
//! |---|---|
//! | Campaign | is there a `leader`; a lease; if there is none still, put it and get the announcement: the revision of that is the term |
//! | KeepAlive | the lease once more, and then of the same member: is `leader` of this term |
//! | Publish | if `leader` is of this term and the announcement is the expected one, put it |
//! | Read | both keys, in one transaction |
//! | Resign | revoke the lease, and the key goes with it |
//!
//! A lease that may live still, because an answer was lost, is revoked before another is taken. So
//! a term is given out once at most, and a campaign that is on its way somewhere and arrives late
//! finds no lease to be bound to.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{
    Compare, CompareOp, GetResponse, KeyValue, PutOptions, Txn, TxnOp, TxnOpResponse, TxnResponse,
};
use fleet_engine::{Announced, Answer};
use sa_fleet::leader::{Call, Revision};
use tokio::time::timeout;

use crate::members::{Failure, Members};
use crate::settings::EtcdSettings;

/// What of etcd is ours.
pub(crate) struct Session {
    members: Members,
    leader: String,
    announcement: String,
    /// Units: seconds.
    lease: i64,
    timeout: Duration,
    /// For people, who look at the key.
    host: String,
    reign: Option<Reign>,
    /// Leases that may live still, and should not.
    old: Vec<i64>,
}

/// A term that was given out.
#[derive(Debug, Clone, Copy)]
struct Reign {
    term: u64,
    lease: i64,
}

/// Both keys.
struct Held {
    leader: Option<u64>,
    published: Announced,
}

impl Session {
    /// Asks nobody yet.
    pub(crate) fn new(settings: EtcdSettings, host: String) -> Self {
        let EtcdSettings {
            endpoints,
            tls,
            lease,
            prefix,
            timeout,
        } = settings;
        let leader = format!("{prefix}leader");
        Self {
            members: Members::new((endpoints, tls), timeout / 2, leader.clone()),
            leader,
            announcement: format!("{prefix}announcement"),
            lease: i64::try_from(lease.as_secs()).unwrap_or(i64::MAX),
            timeout,
            host,
            reign: None,
            old: Vec::new(),
        }
    }

    /// Does what is asked, within the time of a call. Errors: why the answer is not known.
    pub(crate) async fn call(&mut self, what: &Call) -> Result<Answer, String> {
        let bound = self.timeout;
        match timeout(bound, self.does(what)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure::Unclear(trouble))) => Err(trouble),
            Ok(Err(Failure::LeaseGone)) => Err("the lease ran out during the call".to_owned()),
            Err(_) => {
                self.members.turn();
                Err(format!("no member of etcd has answered within {bound:?}"))
            }
        }
    }

    async fn does(&mut self, what: &Call) -> Result<Answer, Failure> {
        match what {
            Call::Campaign { .. } => self.campaign().await,
            Call::KeepAlive { term } => self.keep_alive(*term).await,
            Call::Publish {
                term,
                expected,
                announcement,
            } => self.publish(*term, *expected, announcement).await,
            Call::Read => {
                let Held { leader, published } = self.held().await?;
                Ok(Answer::Read { leader, published })
            }
            Call::Resign { term } => self.resign(*term).await,
        }
    }

    /// Terms that were seen are not looked at: one that is not above them says that the memory of
    /// etcd went back, which the leader finds.
    async fn campaign(&mut self) -> Result<Answer, Failure> {
        self.old.extend(self.reign.take().map(|it| it.lease));
        self.revoke_old().await?;
        if self.held().await?.leader.is_some() {
            return Ok(Answer::Held);
        }
        let ttl = self.lease;
        let granted = self
            .members
            .ask(|mut client| async move { client.lease_grant(ttl, None).await })
            .await?;
        let lease = granted.id();
        // Before anything is bound to it: whatever happens to the rest, it is known here.
        self.old.push(lease);
        let is_free = Compare::create_revision(self.leader.as_str(), CompareOp::Equal, 0);
        let bound = PutOptions::new().with_lease(lease);
        let put = TxnOp::put(self.leader.as_str(), self.host.as_str(), Some(bound));
        let get = TxnOp::get(self.announcement.as_str(), None);
        let txn = Txn::new().when([is_free]).and_then([put, get]);
        let done = self.transact(txn).await?;
        if !done.succeeded() {
            return Ok(Answer::Held);
        }
        let term = revision(&done)?;
        self.old.retain(|old| *old != lease);
        self.reign = Some(Reign { term, lease });
        Ok(Answer::Led {
            term,
            // Which may be longer than what was asked for.
            lease: u64::try_from(granted.ttl()).ok().map(Duration::from_secs),
            published: announced(gets(&done).next().as_ref()),
        })
    }

    /// A renewal counts when the member that took it has read the key after it, for a majority. One
    /// that was paused while it led the others renews leases that somebody else counts by now; and
    /// that a lease lives says nothing of the key, which a person can remove.
    async fn keep_alive(&mut self, term: u64) -> Result<Answer, Failure> {
        let Some(Reign { lease, .. }) = self.reign.filter(|it| it.term == term) else {
            return Ok(Answer::Lost);
        };
        let both = self.both();
        let kept = self
            .members
            .ask_again(|mut client| {
                let both = both.clone();
                async move {
                    client.lease_keep_alive(lease).await?;
                    client.txn(both).await
                }
            })
            .await;
        match kept {
            Ok(read) if Held::of(&read).leader == Some(term) => Ok(Answer::Alive),
            // The lease may live: it goes with the term, which is given back.
            Ok(_) => Ok(Answer::Lost),
            Err(Failure::LeaseGone) => {
                self.reign = None;
                Ok(Answer::Lost)
            }
            Err(unclear) => Err(unclear),
        }
    }

    async fn publish(
        &mut self,
        term: u64,
        expected: Revision,
        announcement: &Arc<[u8]>,
    ) -> Result<Answer, Failure> {
        let (Ok(made), Ok(last)) = (i64::try_from(term), i64::try_from(expected.0)) else {
            // No such revisions are given out by etcd.
            return Ok(Answer::Fenced);
        };
        let leads = Compare::create_revision(self.leader.as_str(), CompareOp::Equal, made);
        let is_last = Compare::mod_revision(self.announcement.as_str(), CompareOp::Equal, last);
        let put = TxnOp::put(self.announcement.as_str(), announcement.to_vec(), None);
        let txn = Txn::new().when([leads, is_last]).and_then([put]);
        let done = self.transact(txn).await?;
        Ok(match done.succeeded() {
            true => Answer::Published(Revision(revision(&done)?)),
            false => Answer::Fenced,
        })
    }

    async fn resign(&mut self, term: u64) -> Result<Answer, Failure> {
        let reign = self.reign.take_if(|it| it.term == term);
        self.old.extend(reign.map(|it| it.lease));
        self.revoke_old().await?;
        Ok(Answer::Lost)
    }

    async fn revoke_old(&mut self) -> Result<(), Failure> {
        while let Some(lease) = self.old.last().copied() {
            let revoked = self
                .members
                .ask_again(|mut client| async move { client.lease_revoke(lease).await })
                .await;
            match revoked {
                Ok(_) | Err(Failure::LeaseGone) => self.old.pop(),
                Err(unclear) => return Err(unclear),
            };
        }
        Ok(())
    }

    async fn held(&mut self) -> Result<Held, Failure> {
        let both = self.both();
        let read = self
            .members
            .ask_again(|mut client| {
                let both = both.clone();
                async move { client.txn(both).await }
            })
            .await?;
        Ok(Held::of(&read))
    }

    /// Reads both keys as they are at one moment, by a majority of the members.
    fn both(&self) -> Txn {
        let get = |key: &String| TxnOp::get(key.as_str(), None);
        Txn::new().and_then([get(&self.leader), get(&self.announcement)])
    }

    async fn transact(&mut self, txn: Txn) -> Result<TxnResponse, Failure> {
        self.members
            .ask(|mut client| async move { client.txn(txn).await })
            .await
    }
}

impl Held {
    /// From the answer to [`Session::both`].
    fn of(read: &TxnResponse) -> Self {
        let mut gets = gets(read);
        let leader = gets.next().as_ref().and_then(first).map(made);
        let published = announced(gets.next().as_ref());
        Self { leader, published }
    }
}

fn gets(response: &TxnResponse) -> impl Iterator<Item = GetResponse> {
    response
        .op_responses()
        .into_iter()
        .filter_map(|it| match it {
            TxnOpResponse::Get(got) => Some(got),
            _ => None,
        })
}

fn first(got: &GetResponse) -> Option<&KeyValue> {
    got.kvs().first()
}

/// At which revision a key was made.
fn made(pair: &KeyValue) -> u64 {
    u64::try_from(pair.create_revision()).unwrap_or_default()
}

fn announced(got: Option<&GetResponse>) -> Announced {
    got.and_then(first)
        .map(|pair| Announced {
            revision: Revision(u64::try_from(pair.mod_revision()).unwrap_or_default()),
            announcement: pair.value().into(),
        })
        .unwrap_or_default()
}

/// At which revision a transaction was done.
fn revision(response: &TxnResponse) -> Result<u64, Failure> {
    let revision = response.header().map(etcd_client::ResponseHeader::revision);
    let revision = revision.and_then(|it| u64::try_from(it).ok());
    revision.ok_or_else(|| Failure::Unclear("etcd does not say at which revision".to_owned()))
}
