//! Results of repeated trials.
//!
//! All values are kept, since percentiles need them: a figure is some thousand trials.

/// What trials gave: mean, spread, percentiles.
///
/// 8 bytes a trial.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    values: Vec<f64>,
}

impl Sample {
    /// One more trial.
    pub fn add(&mut self, value: f64) {
        self.values.push(value);
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// 0 without a trial.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.divisor()
    }

    /// Standard deviation of one trial.
    ///
    /// Divides by the number of trials, not by one less: with thousands there is no difference.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.values.iter().map(|value| (value - mean).powi(2));
        (squares.sum::<f64>() / self.divisor()).sqrt()
    }

    /// The value that this share of the trials does not exceed. Units: `share` from 0 to 1.
    ///
    /// The nearest rank: always a value that was seen, never one between two.
    pub fn percentile(&self, share: f64) -> f64 {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        // In floating point, since `share` is: 0.95 of 20 trials is the 19th.
        let wanted = share * self.divisor();
        let mut below = 0.0;
        for value in &values {
            below += 1.0;
            if below >= wanted {
                return *value;
            }
        }
        values.last().copied().unwrap_or(0.0)
    }

    fn divisor(&self) -> f64 {
        count(self.values.len()).max(1.0)
    }
}

/// A count as a number to reckon with.
///
/// Saturates at 2^32, far above any number of trials.
pub fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut sample = Sample::default();
        assert_eq!((sample.mean(), sample.percentile(0.5)), (0.0, 0.0));
        for value in [5.0, 1.0, 3.0, 2.0, 4.0] {
            sample.add(value);
        }
        assert_eq!(sample.mean(), 3.0);
        assert_eq!(sample.percentile(0.5), 3.0);
        assert_eq!(sample.percentile(0.95), 5.0);
        assert!((sample.deviation() - 2.0_f64.sqrt()).abs() < 1e-9);
    }
}
