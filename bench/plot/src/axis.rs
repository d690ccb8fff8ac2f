//! Scales with marks.
//!
//! An axis is made for the figures that it shows, at ends that are round, so that marks lie on both
//! ends and two pictures of like figures have like axes. For example figures up to 34.2 give
//!
//! ```text
//! from_zero        0  10  20  30  40        steps of 1, 2 or 5 times a power of ten
//! powers_of_ten    1  10  100               whole powers, so that grid lines mean ratios
//! ```
//!
//! Names of marks are short, as a y axis has 80 pixels for them.

/// How places follow from figures.
///
/// Of an axis; two panels beside each other may differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long. Shape: both ends above 0.
    Logarithmic,
}

/// What an axis spans, and where it is marked.
///
/// Marks need not be even: an axis of names has them where the names are.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// How places follow from figures.
    pub scale: Scale,
    /// The figure at its left or lower end.
    pub from: f64,
    /// The figure at its right or upper end.
    pub to: f64,
    /// Figures with what is written beside them.
    pub marks: Vec<(f64, String)>,
}

impl Axis {
    /// From one figure to another, marked at every step.
    pub fn steps(from: f64, to: f64, step: f64) -> Self {
        let marks = (0..=MOST_MARKS).map(|nth| from + f64::from(nth) * step);
        // Multiples of the step and not sums: these would drift and lose the last mark.
        let marks = marks.take_while(|it| *it <= to);
        Self {
            scale: Scale::Linear,
            from,
            to,
            marks: marks.map(|it| (it, format!("{it}"))).collect(),
        }
    }

    /// From 0 over the largest of these figures, with about five marks at round ones.
    pub fn from_zero(figures: &[f64]) -> Self {
        let most = figures.iter().copied().fold(0.0, f64::max);
        let rough = (most / 5.0).max(1e-9);
        // The power of ten below the step that five marks would need; one of 1, 2, 5, 10 times it
        // is the round one above.
        let unit = 10_f64.powf(rough.log10().floor());
        let mut steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * unit);
        let step = steps.find(|step| *step >= rough).unwrap_or(unit);
        let count = (most / step).ceil().max(1.0);
        let marks = (0..=MOST_MARKS).map(f64::from);
        let marks = marks.take_while(|nth| *nth <= count);
        Self {
            scale: Scale::Linear,
            from: 0.0,
            to: count * step,
            marks: marks.map(|nth| short(nth * step)).collect(),
        }
    }

    /// Over all of these figures that are above 0, marked at powers of ten.
    pub fn powers_of_ten(figures: &[f64]) -> Self {
        let most = figures.iter().copied().fold(0.0, f64::max);
        let positive = figures.iter().copied().filter(|it| *it > 0.0);
        let least = positive.fold(f64::INFINITY, f64::min);
        let (least, most) = if least.is_finite() {
            (least, most)
        } else {
            (1.0, 10.0)
        };
        let first = least.log10().floor();
        // At least one power, or the axis would have no length.
        let last = most.log10().ceil().max(first + 1.0);
        let powers = (0..=MOST_MARKS).map(|nth| first + f64::from(nth));
        let powers = powers.take_while(|it| *it <= last);
        Self {
            scale: Scale::Logarithmic,
            from: 10_f64.powf(first),
            to: 10_f64.powf(last),
            marks: powers.map(|it| short(10_f64.powf(it))).collect(),
        }
    }

    /// From one power of two to another, marked at each; those below 1 as fractions.
    pub fn powers_of_two(from: f64, to: f64) -> Self {
        let powers = std::iter::successors(Some(from), |it| Some(it * 2.0));
        let name = |value: f64| match value {
            // Powers of two below 1 are exact, and so are their reciprocals.
            value if value < 1.0 => format!("1/{}", 1.0 / value),
            value => format!("{value}"),
        };
        let marks = powers.take_while(|it| *it <= to);
        Self {
            scale: Scale::Logarithmic,
            from,
            to,
            marks: marks.map(|it| (it, name(it))).collect(),
        }
    }

    /// Names that lie evenly, the first at 0 and each 1 further.
    ///
    /// Half a place is left at either end, so that the first point does not lie on the y axis.
    pub fn places(names: &[String]) -> Self {
        let nth = |nth: usize| f64::from(u32::try_from(nth).unwrap_or(u32::MAX));
        let marks = names.iter().enumerate();
        Self {
            scale: Scale::Linear,
            from: -0.5,
            to: nth(names.len().max(1)) - 0.5,
            marks: marks.map(|(at, name)| (nth(at), name.clone())).collect(),
        }
    }

    /// Where a figure lies, from 0 at the one end to 1 at the other; figures beyond lie at the ends.
    ///
    /// Shape: the axis has a length, and begins above 0 where it is logarithmic; else this is no
    /// number.
    pub(crate) fn share(&self, figure: f64) -> f64 {
        // A point beyond the plane would be drawn over the axis's names.
        let figure = figure.clamp(self.from, self.to);
        match self.scale {
            Scale::Linear => (figure - self.from) / (self.to - self.from),
            Scale::Logarithmic => (figure / self.from).ln() / (self.to / self.from).ln(),
        }
    }
}

/// A mark with a name that takes little room.
///
/// `20k` and not `20000`; below 10 with the digits that count.
fn short(figure: f64) -> (f64, String) {
    let name = match figure {
        figure if figure >= 1e6 => format!("{:.0}M", figure / 1e6),
        figure if figure >= 1e4 => format!("{:.0}k", figure / 1e3),
        figure if figure >= 10.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        figure => precise(figure),
    };
    (figure, name)
}

/// A figure with the three digits that count.
///
/// For titles of dots: what a reader wants to copy.
pub(crate) fn precise(figure: f64) -> String {
    match figure {
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure if figure >= 0.1 => format!("{figure:.2}"),
        figure => format!("{figure:.3}"),
    }
}

/// More would be no marks but a hatching.
const MOST_MARKS: u8 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: &Axis) -> Vec<f64> {
        axis.marks.iter().map(|(at, _)| *at).collect()
    }

    #[test]
    fn axes_reach_over_their_figures() {
        let linear = Axis::from_zero(&[3.0, 37.0]);
        assert_eq!((linear.from, linear.to), (0.0, 40.0));
        assert_eq!(marks(&linear), [0.0, 10.0, 20.0, 30.0, 40.0]);
        let powers = Axis::powers_of_ten(&[0.3, 250.0]);
        assert_eq!(powers.marks.len(), 5);
        assert!((powers.share(1000.0) - 1.0).abs() < 1e-9);
        assert!(powers.share(0.1).abs() < 1e-9);
        assert_eq!(Axis::powers_of_ten(&[0.0]).marks.len(), 2);
    }

    #[test]
    fn places_lie_evenly() {
        let names = ["a", "b"].map(str::to_owned);
        let axis = Axis::places(&names);
        assert_eq!([0.0, 1.0].map(|at| axis.share(at)), [0.25, 0.75]);
    }

    #[test]
    fn powers_of_two_have_fractions_below_one() {
        let axis = Axis::powers_of_two(0.25, 4.0);
        let names: Vec<&str> = axis.marks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["1/4", "1/2", "1", "2", "4"]);
        assert!((axis.share(1.0) - 0.5).abs() < 1e-9);
    }
}
