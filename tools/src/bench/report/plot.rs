//! A line plot as SVG: axes with units, a line per series, its name where it ends.

use crate::draw::xml::Xml;

/// A plot.
pub(super) struct Plot {
    /// What is shown, with the layer.
    pub(super) title: String,
    /// What and in which unit, below.
    pub(super) x_label: &'static str,
    /// Names of the places along the x axis, which lie evenly.
    pub(super) places: Vec<String>,
    /// What and in which unit, on the left.
    pub(super) y_label: &'static str,
    pub(super) y_scale: Scale,
    pub(super) series: Vec<Series>,
    /// A level to compare with, and its name.
    pub(super) mark: Option<(String, f64)>,
}

/// How heights follow from figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// From 0.
    Linear,
    /// By powers of ten.
    Powers,
}

/// A line.
pub(super) struct Series {
    pub(super) name: String,
    /// By place; none where nothing was measured.
    pub(super) figures: Vec<Option<f64>>,
}

/// What the y axis spans, and where it is marked.
struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn new(scale: Scale, figures: &[f64]) -> Self {
        let most = figures.iter().copied().fold(0.0, f64::max);
        let positive = figures.iter().copied().filter(|it| *it > 0.0);
        let least = positive.fold(f64::INFINITY, f64::min);
        match scale {
            Scale::Linear => Self::linear(most),
            Scale::Powers if least.is_finite() => Self::powers(least, most),
            Scale::Powers => Self::powers(1.0, 10.0),
        }
    }

    fn linear(most: f64) -> Self {
        let rough = (most / 5.0).max(1e-9);
        let unit = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * unit);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(unit);
        let count = (most / step).ceil().max(1.0);
        let ticks = (0..=20_u8).map(f64::from).take_while(|nth| *nth <= count);
        Self {
            scale: Scale::Linear,
            least: 0.0,
            most: count * step,
            ticks: ticks.map(|nth| nth * step).collect(),
        }
    }

    fn powers(least: f64, most: f64) -> Self {
        let (first, last) = (least.log10().floor(), most.log10().ceil());
        let last = last.max(first + 1.0);
        let ticks = (0..=20_u8).map(|nth| first + f64::from(nth));
        Self {
            scale: Scale::Powers,
            least: 10_f64.powf(first),
            most: 10_f64.powf(last),
            ticks: ticks
                .take_while(|it| *it <= last)
                .map(|it| 10_f64.powf(it))
                .collect(),
        }
    }

    /// Units: pixels from the top.
    fn height(&self, figure: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => figure / self.most,
            Scale::Powers => {
                let figure = figure.max(self.least);
                (figure / self.least).log10() / (self.most / self.least).log10()
            }
        };
        BOTTOM - share * (BOTTOM - TOP)
    }
}

impl Plot {
    /// The picture.
    pub(super) fn svg(&self) -> String {
        let figures = self
            .series
            .iter()
            .flat_map(|series| &series.figures)
            .flatten();
        let marked = self.mark.iter().map(|(_, level)| level);
        let figures: Vec<f64> = figures.chain(marked).copied().collect();
        let axis = Axis::new(self.y_scale, &figures);
        let mut xml = Xml::default();
        self.begin(&mut xml);
        self.axes(&mut xml, &axis);
        let mut names = Vec::new();
        if let Some((name, level)) = &self.mark {
            let height = axis.height(*level);
            self::level(&mut xml, height);
            names.push((height, SOFT, name.as_str()));
        }
        for (nth, series) in self.series.iter().enumerate() {
            self.series(&mut xml, &axis, nth, series);
            if let Some(last) = series.figures.iter().flatten().last() {
                names.push((axis.height(*last), colour(nth), series.name.as_str()));
            }
        }
        apart(&mut names);
        for (height, colour, name) in names {
            let place: [Attribute<'_>; 3] = [
                ("x", &(RIGHT + 10.0)),
                ("y", &pixels(height + 4.0)),
                ("fill", &colour),
            ];
            xml.words("text", &place, name);
        }
        xml.finish()
    }

    fn begin(&self, xml: &mut Xml) {
        xml.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &format_args!("0 0 {WIDTH} {HEIGHT}")),
                ("width", &WIDTH),
                ("height", &HEIGHT),
                ("font-family", &"sans-serif"),
                ("font-size", &"13"),
                ("fill", &INK),
            ],
        );
        xml.words("title", &[], &self.title);
        xml.empty(
            "rect",
            &[("width", &WIDTH), ("height", &HEIGHT), ("fill", &"#ffffff")],
        );
        let place: [Attribute<'_>; 4] = [
            ("x", &LEFT),
            ("y", &24),
            ("font-size", &"15"),
            ("font-weight", &"bold"),
        ];
        xml.words("text", &place, &self.title);
    }

    fn axes(&self, xml: &mut Xml, axis: &Axis) {
        for tick in &axis.ticks {
            let height = pixels(axis.height(*tick));
            let ends: [Attribute<'_>; 5] = [
                ("x1", &LEFT),
                ("x2", &RIGHT),
                ("y1", &height),
                ("y2", &height),
                ("stroke", &GRID),
            ];
            xml.empty("line", &ends);
            words(
                xml,
                (LEFT - 8.0, axis.height(*tick) + 4.0),
                "end",
                &short(*tick),
            );
        }
        for (nth, place) in self.places.iter().enumerate() {
            words(xml, (self.across(nth), BOTTOM + 20.0), "middle", place);
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        words(xml, (middle, BOTTOM + 44.0), "middle", self.x_label);
        let turned: [Attribute<'_>; 2] = [
            ("text-anchor", &"middle"),
            (
                "transform",
                &format_args!("translate(20 {}) rotate(-90)", f64::midpoint(TOP, BOTTOM)),
            ),
        ];
        xml.words("text", &turned, self.y_label);
    }

    fn series(&self, xml: &mut Xml, axis: &Axis, nth: usize, series: &Series) {
        let figures = series.figures.iter().enumerate();
        let figures = figures.filter_map(|(place, figure)| Some((place, (*figure)?)));
        let points: Vec<(f64, f64, f64)> = figures
            .map(|(place, figure)| (self.across(place), axis.height(figure), figure))
            .collect();
        let line: Vec<String> = points
            .iter()
            .map(|(x, y, _)| format!("{},{}", pixels(*x), pixels(*y)))
            .collect();
        let colour = colour(nth);
        xml.empty(
            "polyline",
            &[
                ("points", &line.join(" ")),
                ("fill", &"none"),
                ("stroke", &colour),
                ("stroke-width", &"2"),
            ],
        );
        for (x, y, figure) in points {
            let place: [Attribute<'_>; 4] = [
                ("cx", &pixels(x)),
                ("cy", &pixels(y)),
                ("r", &"3.5"),
                ("fill", &colour),
            ];
            let title = format!("{}: {}", series.name, precise(figure));
            xml.titled("circle", &place, &title);
        }
    }

    /// Units: pixels from the left.
    fn across(&self, place: usize) -> f64 {
        let count = u32::try_from(self.places.len()).unwrap_or(1).max(1);
        let step = (RIGHT - LEFT) / f64::from(count);
        LEFT + step * (f64::from(u32::try_from(place).unwrap_or(0)) + 0.5)
    }
}

type Attribute<'a> = crate::draw::xml::Attribute<'a>;

fn words(xml: &mut Xml, (x, y): (f64, f64), anchor: &str, words: &str) {
    let place: [Attribute<'_>; 3] = [
        ("x", &pixels(x)),
        ("y", &pixels(y)),
        ("text-anchor", &anchor),
    ];
    xml.words("text", &place, words);
}

/// A dashed line across.
fn level(xml: &mut Xml, height: f64) {
    let height = pixels(height);
    let line: [Attribute<'_>; 6] = [
        ("x1", &LEFT),
        ("x2", &RIGHT),
        ("y1", &height),
        ("y2", &height),
        ("stroke", &SOFT),
        ("stroke-dasharray", &"6 4"),
    ];
    xml.empty("line", &line);
}

/// Moves names apart that would lie on each other. Shape: height, colour, name.
fn apart(names: &mut [(f64, &str, &str)]) {
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = f64::NEG_INFINITY;
    for (height, _, _) in names {
        *height = height.max(free);
        free = *height + 16.0;
    }
}

/// The same on every machine.
fn pixels(place: f64) -> String {
    format!("{place:.1}")
}

/// A mark of an axis.
fn short(figure: f64) -> String {
    match figure {
        figure if figure >= 1e6 => format!("{:.0}M", figure / 1e6),
        figure if figure >= 1e4 => format!("{:.0}k", figure / 1e3),
        figure if figure >= 10.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        figure => precise(figure),
    }
}

/// Three digits that count.
fn precise(figure: f64) -> String {
    match figure {
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure if figure >= 0.1 => format!("{figure:.2}"),
        figure => format!("{figure:.3}"),
    }
}

/// Told apart also by those who see few colours.
const fn colour(nth: usize) -> &'static str {
    match nth % 6 {
        0 => "#0072b2",
        1 => "#d55e00",
        2 => "#00704f",
        3 => "#a3328a",
        4 => "#8c510a",
        _ => "#444444",
    }
}

const INK: &str = "#1f2328";
const SOFT: &str = "#57606a";
const GRID: &str = "#d8dee4";
/// Units: pixels.
const WIDTH: u32 = 820;
const HEIGHT: u32 = 420;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 660.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 350.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_reach_over_their_figures() {
        let linear = Axis::new(Scale::Linear, &[3.0, 37.0]);
        assert_eq!((linear.least, linear.most), (0.0, 40.0));
        assert_eq!(linear.ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        let powers = Axis::new(Scale::Powers, &[0.3, 250.0]);
        assert_eq!(powers.ticks.len(), 5);
        assert_eq!(pixels(powers.height(1000.0)), pixels(TOP));
        assert_eq!(pixels(powers.height(0.1)), pixels(BOTTOM));
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let mut names = [(100.0, "", "a"), (99.0, "", "b"), (300.0, "", "c")];
        apart(&mut names);
        assert_eq!(names, [(99.0, "", "b"), (115.0, "", "a"), (300.0, "", "c")]);
    }
}
