//! Steps of load: equal parts of the most that anything drawn has.
//!
//! With 12 paths at most and five steps:
//!
//! ```text
//! 1-3   4-5   6-8   9-10   11-12
//! ```

use super::colours;

/// Equal steps between no load and the most there is.
/// Relative to the scene: two pictures may only be compared by the numbers in their legends.
pub(crate) struct Scale {
    /// On one cable, in the busier direction.
    most: u32,
}

impl Scale {
    /// Of the loads of all that is drawn; 0 for nothing.
    pub(crate) fn of(loads: impl Iterator<Item = u32>) -> Self {
        Self {
            most: loads.max().unwrap_or(0),
        }
    }

    /// None without load.
    /// Of 12 paths where 12 are the most: step 4 of 0 to 4; of 1: step 0.
    pub(crate) fn step(&self, paths: u32) -> Option<usize> {
        let steps = u64::try_from(colours::LOAD.len()).unwrap_or(1);
        // One less, so that the most falls into the last step and not behind it.
        let paths = u64::from(paths.checked_sub(1)?);
        usize::try_from(paths * steps / u64::from(self.most.max(1))).ok()
    }

    /// Colour, width and what a step stands for.
    /// A step that no whole number of paths falls into is left out, as with fewer than five at
    /// most.
    pub(crate) fn steps(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut steps = Vec::new();
        for (nth, (colour, width)) in colours::LOAD.into_iter().enumerate() {
            let of_step = |paths: &u32| self.step(*paths) == Some(nth);
            let count = u32::try_from(colours::LOAD.len()).unwrap_or(1);
            let nth = u32::try_from(nth).unwrap_or(0);
            // The least and the most number whose step this is, the reverse of [`Scale::step`].
            let first = (nth * self.most).div_ceil(count) + 1;
            let last = ((nth + 1) * self.most).div_ceil(count);
            if first <= last && of_step(&first) && of_step(&last) {
                let range = if first == last {
                    first.to_string()
                } else {
                    format!("{first}-{last}")
                };
                steps.push((colour, width, range));
            }
        }
        steps
    }
}
