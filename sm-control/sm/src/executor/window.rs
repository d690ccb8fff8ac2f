//! A window that grows while answers come, and halves when they do not.
//!
//! ```text
//! limit 8, begun at 1:  1  2 2  3 3 3  4 4 4 4  ..  8      one wider for each window that was answered
//! a time-out at 8:      4  5 ..                            never below 1
//! ```
//!
//! That is what networks do who know nothing of their bottleneck: here it is the processor of a switch.

/// How many may be under way. One more each time that a whole window was answered; half of it, and never less than
/// one, when answers stay out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Of requests. At least 1.
    size: u32,
    /// What it may grow to.
    most: u32,
    /// Since it changed last.
    answered: u32,
}

impl Window {
    /// Starts at `first`. Limits of 0 count as 1: nothing would ever be sent.
    pub(super) fn new(first: u32, most: u32) -> Self {
        let most = most.max(1);
        Self {
            size: first.clamp(1, most),
            most,
            answered: 0,
        }
    }

    /// Units: requests.
    pub(super) const fn size(self) -> u32 {
        self.size
    }

    /// An answer has come.
    pub(super) fn grow(&mut self) {
        self.answered += 1;
        if self.answered >= self.size {
            self.answered = 0;
            self.size = (self.size + 1).min(self.most);
        }
    }

    /// An answer has stayed out. What was counted towards growing is lost too.
    pub(super) fn halve(&mut self) {
        self.size = (self.size / 2).max(1);
        self.answered = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_to_its_limit_and_never_closes() {
        let mut window = Window::new(0, 3);
        assert_eq!(window.size(), 1);
        for _ in 0..20 {
            window.grow();
        }
        assert_eq!(window.size(), 3);
        for _ in 0..5 {
            window.halve();
        }
        assert_eq!(window.size(), 1);
        assert_eq!(Window::new(5, 0).size(), 1);
    }
}
