//! How far what is held can be believed, and what was heard so far.

/// Whether what is held is what the SM knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is not, for this reason.
    Behind(&'static str),
    /// The SA is being read; what is heard meanwhile waits.
    Reading,
    /// Everything since the last reading of the SA was heard.
    Whole,
}

impl Default for Standing {
    fn default() -> Self {
        Self::Behind("the SA was not read yet")
    }
}

/// What was heard so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// SMPs that came back to the SM.
    pub words: u64,
    /// Of those, lost on their way here.
    pub lost: u64,
    /// Sets that nobody answered: the SM tries them again with its next sweep, and its SA tells the
    /// old values until then.
    pub unanswered: u64,
    /// SMPs that a node answered with a status other than success. The SM leaves them aside.
    pub refused: u64,
    /// Readings that cost the SA nothing but what single nodes lacked.
    pub taken: u64,
    /// Of those, readings whose records were made from the ones before; the others were put together whole.
    pub mended: u64,
    /// Readings of everything from the SA.
    pub asked: u64,
    /// Forwarding tables that the SA was asked for to compare, and told as they were heard.
    pub compared: u64,
    /// Forwarding tables that it told otherwise.
    pub differences: u64,
}
