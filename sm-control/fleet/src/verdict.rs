//! What a follower may do with what it knows. A worker needs two numbers of it: [`Gate`].

use crate::identity::Token;
use crate::time::Boot;

/// The two numbers by which a worker answers or not, once a batch and by its own look at the clock.
///
/// Where they lie in two atomics, the writer of another generation stores `until = 0`, then the
/// generation, then `until`; the reader loads `until` before the generation and after it (acquire),
/// and goes by it only if it is the same, so that it never takes the time of one generation for
/// that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Up to then, by the clock that counts from boot.
    pub until: Boot,
    /// From snapshots of this generation.
    pub generation: Token,
}

/// All that the verdict depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knowledge {
    /// What the newest announcement says.
    pub announced: Announced,
    /// Until when it counts; `None` before it is on the disk.
    pub until: Option<Boot>,
    /// Of the snapshot that is loaded.
    pub loaded: Option<Token>,
    /// Whether LIDs and SM of the own ports are those of the snapshot.
    pub ports: Ports,
    /// Whether a deadline that passed is looked at.
    pub stale: StaleRule,
}

/// What the newest announcement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced {
    /// There was none since the start.
    Nothing,
    /// A generation is in force.
    InForce(Token),
    /// None is.
    Withdrawn,
    /// Two contents of one issue were seen.
    Contradicted,
}

/// Own ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// As the snapshot has them.
    Confirmed,
    /// LID, SM LID or SM are others since, or were not looked at yet.
    Changed,
}

/// What a passed deadline means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleRule {
    /// No answer.
    Stop,
    /// Answers go on, as the operator wants it (`serve_stale`).
    GoOn,
}

/// Whether a follower answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Until then.
    Answer(Boot),
    /// Though the deadline has passed: the operator wants it.
    AnswerStale,
    /// Not, and why.
    Stop(Reason),
}

/// Why a follower does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// LID, SM LID or SM of the own port changed.
    PortChanged,
    /// Two contents of one issue.
    Contradicted,
    /// Nothing was announced since the start.
    Unannounced,
    /// What was in force is not any more.
    Withdrawn,
    /// No snapshot is loaded.
    NoSnapshot,
    /// Another one is announced than is loaded.
    OtherGeneration,
    /// What was announced is not on the disk yet.
    Unconfirmed,
    /// The deadline has passed.
    StaleLease,
}

/// Who asks a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// By MADs.
    Wire,
    /// The kernel of this host.
    Kernel,
    /// A program on this host.
    Ring,
}

/// How an asker is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// By a record.
    Answer,
    /// By nothing: another SA of the subnet answers.
    Silence,
    /// By "ask the SA".
    AskTheSa,
    /// By "no reply", or a refusal if the client wants to hear of it.
    None,
}

impl Gate {
    /// No answers.
    pub const SHUT: Self = Self {
        until: Boot::NEVER,
        generation: Token::NONE,
    };

    /// The question of a worker: now, and the generation of the snapshot in its hands.
    pub fn may_answer(self, now: Boot, generation: Token) -> bool {
        now < self.until && generation == self.generation
    }
}

impl Knowledge {
    /// For workers.
    pub const fn gate(&self) -> Gate {
        let (Ports::Confirmed, Announced::InForce(generation)) = (self.ports, self.announced)
        else {
            return Gate::SHUT;
        };
        let until = match (self.until, self.stale) {
            (None, _) => return Gate::SHUT,
            (Some(until), StaleRule::Stop) => until,
            (Some(_), StaleRule::GoOn) => Boot::ALWAYS,
        };
        Gate { until, generation }
    }

    /// For people: the same with the reason. What takes longest to mend comes first.
    pub fn verdict(&self, now: Boot) -> Verdict {
        let generation = match self.announced {
            _ if self.ports == Ports::Changed => return Verdict::Stop(Reason::PortChanged),
            Announced::Contradicted => return Verdict::Stop(Reason::Contradicted),
            Announced::Nothing => return Verdict::Stop(Reason::Unannounced),
            Announced::Withdrawn => return Verdict::Stop(Reason::Withdrawn),
            Announced::InForce(generation) => generation,
        };
        match (self.loaded, self.until, self.stale) {
            (None, ..) => Verdict::Stop(Reason::NoSnapshot),
            (Some(loaded), ..) if loaded != generation => Verdict::Stop(Reason::OtherGeneration),
            (_, None, _) => Verdict::Stop(Reason::Unconfirmed),
            (_, Some(until), _) if now < until => Verdict::Answer(until),
            (_, Some(_), StaleRule::GoOn) => Verdict::AnswerStale,
            (_, Some(_), StaleRule::Stop) => Verdict::Stop(Reason::StaleLease),
        }
    }
}

impl Verdict {
    /// How one who asks now is told.
    pub const fn reaction(self, asker: Asker) -> Reaction {
        match (self, asker) {
            (Self::Answer(_) | Self::AnswerStale, _) => Reaction::Answer,
            (Self::Stop(_), Asker::Wire) => Reaction::Silence,
            (Self::Stop(_), Asker::Kernel) => Reaction::AskTheSa,
            (Self::Stop(_), Asker::Ring) => Reaction::None,
        }
    }
}

impl Reason {
    /// The label of its counter, and its word in a status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PortChanged => "port_changed",
            Self::Contradicted => "contradicted",
            Self::Unannounced => "unannounced",
            Self::Withdrawn => "withdrawn",
            Self::NoSnapshot => "no_snapshot",
            Self::OtherGeneration => "other_generation",
            Self::Unconfirmed => "unconfirmed",
            Self::StaleLease => "stale_lease",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Boot = Boot(1_000);

    fn everything() -> Vec<Knowledge> {
        use Announced::{Contradicted, InForce, Nothing, Withdrawn};
        let mut all = Vec::new();
        for announced in [
            Nothing,
            InForce(Token(1)),
            InForce(Token(2)),
            Withdrawn,
            Contradicted,
        ] {
            for until in [None, Some(Boot(999)), Some(NOW), Some(Boot(1_001))] {
                for loaded in [None, Some(Token(1)), Some(Token(2))] {
                    for ports in [Ports::Confirmed, Ports::Changed] {
                        for stale in [StaleRule::Stop, StaleRule::GoOn] {
                            all.push(Knowledge {
                                announced,
                                until,
                                loaded,
                                ports,
                                stale,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn a_worker_and_the_table_say_the_same_of_everything() {
        let mut answers = 0;
        for known in everything() {
            let by_worker = known
                .loaded
                .is_some_and(|it| known.gate().may_answer(NOW, it));
            let by_table = !matches!(known.verdict(NOW), Verdict::Stop(_));
            assert_eq!(by_worker, by_table, "{known:?}");
            answers += u32::from(by_table);
        }
        // Two generations: fresh by either rule, and stale where that is wanted in two ways.
        assert_eq!(answers, 2 * (2 + 2));
    }

    #[test]
    fn nothing_but_a_deadline_is_overlooked_where_stale_answers_are_wanted() {
        for known in everything()
            .into_iter()
            .filter(|it| it.stale == StaleRule::GoOn)
        {
            let strict = Knowledge {
                stale: StaleRule::Stop,
                ..known
            };
            let (loose, strict) = (known.verdict(NOW), strict.verdict(NOW));
            let is_late = strict == Verdict::Stop(Reason::StaleLease);
            assert_eq!(
                loose,
                if is_late {
                    Verdict::AnswerStale
                } else {
                    strict
                }
            );
        }
    }

    #[test]
    fn who_is_not_answered_is_told_in_its_own_way() {
        let stop = Verdict::Stop(Reason::StaleLease);
        assert_eq!(stop.reaction(Asker::Wire), Reaction::Silence);
        assert_eq!(stop.reaction(Asker::Kernel), Reaction::AskTheSa);
        assert_eq!(stop.reaction(Asker::Ring), Reaction::None);
        assert_eq!(
            Verdict::AnswerStale.reaction(Asker::Kernel),
            Reaction::Answer
        );
    }
}
