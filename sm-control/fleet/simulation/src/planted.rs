//! What is planted in a simulation, and how many of each there are.

use sa_fleet::rules::Flaw;

/// One thing that is wrong, for the oracle to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Planted {
    /// A rule of the machines.
    Rule(Flaw),
    /// A duty of who does their IO.
    Duty(Duty),
    /// Clocks that run apart by 2 %, where a margin for 500 ppm is left.
    Drift,
}

/// A duty of who does the IO that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duty {
    /// The clock for deadlines stands still while a host is suspended.
    ClockThatSleeps,
    /// A worker looks at the deadline alone.
    WorkerWithoutGeneration,
    /// "It is stored" is said before it is on the disk.
    SaysStored,
    /// An embedded engine gives out a term that is not on the disk yet.
    TermBeforeDisk,
}

impl Planted {
    /// All that have to be found.
    pub const ALL: [Self; 26] = [
        Self::Rule(Flaw::CountsFromArrival),
        Self::Rule(Flaw::UsesBeforeStored),
        Self::Rule(Flaw::ForgetsWhatItSaw),
        Self::Rule(Flaw::IgnoresWithdrawal),
        Self::Rule(Flaw::KeepsFreshness),
        Self::Rule(Flaw::TakesContradiction),
        Self::Rule(Flaw::LeavesNoMargin),
        Self::Rule(Flaw::BelievesRemaining),
        Self::Rule(Flaw::BelievesHeld),
        Self::Rule(Flaw::IgnoresWallClock),
        Self::Rule(Flaw::SkipsSignature),
        Self::Rule(Flaw::CountsBeatsTwice),
        Self::Rule(Flaw::IgnoresPorts),
        Self::Rule(Flaw::StretchesRemaining),
        Self::Rule(Flaw::BeatsPastLease),
        Self::Rule(Flaw::LeaseFromArrival),
        Self::Rule(Flaw::SpeaksWhilePublishing),
        Self::Rule(Flaw::UnknownIsNo),
        Self::Rule(Flaw::UnknownIsYes),
        Self::Rule(Flaw::IgnoresFence),
        Self::Rule(Flaw::IgnoresLaterTerm),
        Self::Duty(Duty::ClockThatSleeps),
        Self::Duty(Duty::WorkerWithoutGeneration),
        Self::Duty(Duty::SaysStored),
        Self::Duty(Duty::TermBeforeDisk),
        Self::Drift,
    ];
}
