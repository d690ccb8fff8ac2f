//! A client of the simulated fabric that shows replies byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sa_port::ibsim::{Attachment, IbsimClient, Options};
use sa_port::{ClientPort, Destination, Patience, Reply};
use sa_rig::Fabric;
use sa_wire::Lid;
use sa_wire::umad::Slot;

/// A client on a node.
pub struct Client {
    port: IbsimClient,
    /// Kept, or the simulator takes the place away.
    _attachment: Attachment,
    /// Its LID, which the simulator makes that of its requests.
    pub lid: u16,
    /// The SA's.
    pub sa: Lid,
    transaction: u32,
}

/// A request, and whether there should be a reply.
pub struct Question {
    /// The request; its transaction id is the client's to choose.
    pub slot: Slot,
    /// False: silence is right, and nobody waits for a reply.
    pub is_answered: bool,
}

impl Client {
    /// Takes a place on a node of the simulator. Errors: the port has no LID, or no SM.
    pub fn attach(fabric: &Fabric, node: &str) -> Result<Self> {
        let options = Options {
            base: fabric.base().to_owned(),
            ..Options::on(node)
        };
        let mut attachment = Attachment::new(&options)?;
        let facts = attachment.port()?;
        Ok(Self {
            port: attachment.client()?,
            _attachment: attachment,
            lid: Lid::raw(facts.lid),
            sa: facts.sm_lid.context("no SM has configured the port")?,
            transaction: 0,
        })
    }

    /// The reply to a request that has one.
    pub fn ask(&mut self, slot: &Slot) -> Result<Vec<u8>> {
        let question = Question {
            slot: *slot,
            is_answered: true,
        };
        let replies = self.ask_all(&[question])?;
        let reply = replies.into_iter().next().flatten();
        reply.with_context(|| format!("no reply to {:02x?}", &slot.mad[..120]))
    }

    /// The replies in the order of the requests, several of which are on their way at a time.
    ///
    /// Nobody waits for a reply that should not come; if it does until the end, it is in its
    /// place nevertheless. A request that should have one is sent three times before there is none.
    pub fn ask_all(&mut self, questions: &[Question]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut talk = Talk::new(questions);
        let mut deadline = Instant::now() + PATIENCE;
        while !talk.is_over() {
            self.send_some(&mut talk)?;
            if self.receive_some(&mut talk)? {
                deadline = Instant::now() + PATIENCE;
            }
            if talk.is_over() {
                break;
            }
            if Instant::now() >= deadline {
                if talk.tries == TRIES {
                    break;
                }
                talk.ask_again();
                deadline = Instant::now() + PATIENCE;
            }
            self.port.wait(PAUSE)?;
        }
        // A moment for what should not come.
        let end = Instant::now() + AFTERWARDS;
        let all_answered = questions.iter().all(|question| question.is_answered);
        while !all_answered && Instant::now() < end {
            self.port.wait(PAUSE)?;
            self.receive_some(&mut talk)?;
        }
        Ok(talk.replies)
    }

    fn send_some(&mut self, talk: &mut Talk<'_>) -> Result<()> {
        while talk.waiting.len() < AT_ONCE
            && let Some(nth) = talk.rest.pop()
        {
            let question = &talk.questions[nth];
            let transaction = self.send(&question.slot)?;
            talk.asked.insert(transaction, nth);
            if question.is_answered && talk.replies[nth].is_none() {
                talk.waiting.insert(nth);
            }
        }
        Ok(())
    }

    /// True when something came.
    fn receive_some(&mut self, talk: &mut Talk<'_>) -> Result<bool> {
        let mut some = false;
        while let Some((transaction, bytes)) = self.receive()? {
            // Else it is the second reply to a request of before.
            if let Some(&nth) = talk.asked.get(&transaction) {
                talk.waiting.remove(&nth);
                talk.replies[nth] = Some(bytes);
                some = true;
            }
        }
        Ok(some)
    }

    /// Under a transaction of its own, the low word of which is returned.
    fn send(&mut self, slot: &Slot) -> Result<u32> {
        self.transaction += 1;
        let mut mad = slot.mad;
        mad[12..16].copy_from_slice(&self.transaction.to_be_bytes());
        let to = Destination::sa(self.sa);
        let deadline = Instant::now() + PATIENCE;
        while !self.port.submit(&to, &mad, Patience::default())? {
            ensure!(Instant::now() < deadline, "the simulator takes nothing");
            self.port.wait(Duration::from_millis(1))?;
        }
        Ok(self.transaction)
    }

    fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>> {
        let mut reply = Reply::default();
        if !self.port.take(&mut reply)? {
            return Ok(None);
        }
        let Some(word) = reply.mad.get(12..16).and_then(<[u8]>::first_chunk) else {
            bail!("a reply of {} bytes", reply.mad.len());
        };
        Ok(Some((u32::from_be_bytes(*word), reply.mad)))
    }
}

/// Questions, and how far they are.
struct Talk<'a> {
    questions: &'a [Question],
    replies: Vec<Option<Vec<u8>>>,
    /// Question by transaction.
    asked: BTreeMap<u32, usize>,
    /// Not asked yet, the next one last.
    rest: Vec<usize>,
    /// Asked, and to be answered.
    waiting: BTreeSet<usize>,
    tries: u32,
}

impl<'a> Talk<'a> {
    fn new(questions: &'a [Question]) -> Self {
        Self {
            questions,
            replies: vec![None; questions.len()],
            asked: BTreeMap::new(),
            rest: (0..questions.len()).rev().collect(),
            waiting: BTreeSet::new(),
            tries: 1,
        }
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.rest.is_empty()
    }

    fn ask_again(&mut self) {
        self.tries += 1;
        self.rest.extend(std::mem::take(&mut self.waiting));
    }
}

/// More would fill the socket of the SM, whose simulator then stands still.
const AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_millis(2);
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(3);
const AFTERWARDS: Duration = Duration::from_millis(300);
