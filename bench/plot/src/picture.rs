//! Panels of lines as SVG.

use crate::axis::{Axis, precise};
use crate::xml::{Attribute, Xml};

/// Panels beside each other that share a title and the labels of their axes.
#[derive(Debug, Clone)]
pub struct Picture {
    /// What is shown, with the conditions that hold for all of it.
    pub title: String,
    /// What the x axes are and in which unit.
    pub x_label: &'static str,
    /// What the y axes are and in which unit.
    pub y_label: &'static str,
    /// From left to right.
    pub panels: Vec<Panel>,
    /// Of each panel. Units: pixels.
    pub panel_width: f64,
    /// Where the names of lines are written.
    pub names: Names,
}

/// Where the names of lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Right of each line's last point: for one panel whose lines end apart.
    AtLineEnds,
    /// In a legend below, those of the first panel: for panels with the same lines.
    Below,
}

/// A plane with lines.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What sets it apart from those beside it; empty where it is alone.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// Each in a colour of its own, by its place here.
    pub lines: Vec<Line>,
    /// An area behind the lines.
    pub band: Option<Band>,
    /// A height to compare with.
    pub level: Option<Level>,
}

/// Points that belong together.
#[derive(Debug, Clone)]
pub struct Line {
    /// What they are figures of.
    pub name: String,
    /// Shape: x and y, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// An area between two edges.
#[derive(Debug, Clone)]
pub struct Band {
    /// What lies in it.
    pub name: &'static str,
    /// Shape: x, lower edge, upper edge, from left to right.
    pub edges: Vec<(f64, f64, f64)>,
}

/// A dashed line across a panel.
#[derive(Debug, Clone)]
pub struct Level {
    /// What it is.
    pub name: String,
    /// Its height.
    pub at: f64,
}

impl Line {
    /// A line through these points.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
        }
    }
}

impl Panel {
    /// Lines alone, over a y axis from 0 that reaches over all of them.
    pub fn new(x: Axis, lines: Vec<Line>) -> Self {
        let figures = lines.iter().flat_map(|line| &line.points);
        let figures: Vec<f64> = figures.map(|(_, figure)| *figure).collect();
        Self {
            title: String::new(),
            x,
            y: Axis::from_zero(&figures),
            lines,
            band: None,
            level: None,
        }
    }
}

impl Picture {
    /// The picture, as text of a file. The same figures give the same bytes on every machine.
    pub fn svg(&self) -> String {
        let mut xml = Xml::default();
        self.begin(&mut xml);
        let mut left = LEFT;
        for panel in &self.panels {
            let plane = Plane {
                panel,
                left,
                width: self.panel_width,
            };
            plane.draw(&mut xml, self.x_label);
            if self.names == Names::AtLineEnds {
                plane.names(&mut xml);
            }
            left += self.panel_width + GAP;
        }
        if self.names == Names::Below {
            self.legend(&mut xml);
        }
        xml.finish()
    }

    fn begin(&self, xml: &mut Xml) {
        let (width, height) = (self.width(), self.height());
        xml.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &format_args!("0 0 {width} {height}")),
                ("width", &width),
                ("height", &height),
                ("font-family", &"sans-serif"),
                ("font-size", &"13"),
                ("fill", &INK),
            ],
        );
        xml.words("title", &[], &self.title);
        // Without a ground of its own it would be unreadable on a dark page.
        let ground: [Attribute<'_>; 3] =
            [("width", &width), ("height", &height), ("fill", &"#ffffff")];
        xml.empty("rect", &ground);
        let heading: [Attribute<'_>; 4] = [
            ("x", &LEFT),
            ("y", &24),
            ("font-size", &"15"),
            ("font-weight", &"bold"),
        ];
        xml.words("text", &heading, &self.title);
        let middle = f64::midpoint(TOP, BOTTOM);
        let turned: [Attribute<'_>; 2] = [
            ("text-anchor", &"middle"),
            (
                "transform",
                &format_args!("translate(20 {middle}) rotate(-90)"),
            ),
        ];
        xml.words("text", &turned, self.y_label);
    }

    fn width(&self) -> f64 {
        let planes = number(self.panels.len()) * (self.panel_width + GAP) - GAP;
        let right = match self.names {
            Names::AtLineEnds => NAMES,
            Names::Below => MARGIN,
        };
        LEFT + planes + right
    }

    fn height(&self) -> f64 {
        match self.names {
            Names::AtLineEnds => LABELS,
            Names::Below => {
                let rows = self.legend_names().len().div_ceil(LEGEND_COLUMNS);
                LABELS + LEGEND_ROW * number(rows)
            }
        }
    }

    /// Name and colour of what the first panel shows.
    fn legend_names(&self) -> Vec<(&str, &'static str)> {
        let Some(panel) = self.panels.first() else {
            return Vec::new();
        };
        let lines = panel.lines.iter().enumerate();
        let lines = lines.map(|(nth, line)| (line.name.as_str(), colour(nth)));
        let band = panel.band.iter().map(|band| (band.name, BAND));
        lines.chain(band).collect()
    }

    fn legend(&self, xml: &mut Xml) {
        for (nth, (name, colour)) in self.legend_names().into_iter().enumerate() {
            let x = LEFT + LEGEND_COLUMN * number(nth % LEGEND_COLUMNS);
            let y = LABELS + LEGEND_ROW * number(nth / LEGEND_COLUMNS);
            let sample: [Attribute<'_>; 5] = [
                ("x", &x),
                ("y", &(y - 6.0)),
                ("width", &22),
                ("height", &5),
                ("fill", &colour),
            ];
            xml.empty("rect", &sample);
            xml.words("text", &[("x", &(x + 28.0)), ("y", &y)], name);
        }
    }
}

/// A panel at its place.
struct Plane<'a> {
    panel: &'a Panel,
    /// Units: pixels from the left.
    left: f64,
    /// Units: pixels.
    width: f64,
}

impl Plane<'_> {
    /// Units: pixels from the left.
    fn across(&self, figure: f64) -> f64 {
        self.left + self.panel.x.share(figure) * self.width
    }

    /// Units: pixels from the top.
    fn height(&self, figure: f64) -> f64 {
        BOTTOM - self.panel.y.share(figure) * (BOTTOM - TOP)
    }

    fn draw(&self, xml: &mut Xml, x_label: &str) {
        let middle = self.left + self.width / 2.0;
        if !self.panel.title.is_empty() {
            let heading: [Attribute<'_>; 4] = [
                ("x", &middle),
                ("y", &(TOP - 8.0)),
                ("text-anchor", &"middle"),
                ("font-weight", &"bold"),
            ];
            xml.words("text", &heading, &self.panel.title);
        }
        self.band(xml);
        for (figure, name) in &self.panel.y.marks {
            let height = self.height(*figure);
            self.across_all(xml, height, &[("stroke", &GRID)]);
            words(xml, (self.left - 8.0, height + 4.0), "end", name);
        }
        for (figure, name) in &self.panel.x.marks {
            let place = (self.across(*figure), BOTTOM + 20.0);
            words(xml, place, "middle", name);
        }
        words(xml, (middle, BOTTOM + 44.0), "middle", x_label);
        if let Some(level) = &self.panel.level {
            let dashed: [Attribute<'_>; 2] = [("stroke", &SOFT), ("stroke-dasharray", &"6 4")];
            self.across_all(xml, self.height(level.at), &dashed);
        }
        for (nth, line) in self.panel.lines.iter().enumerate() {
            self.line(xml, line, colour(nth));
        }
    }

    fn across_all(&self, xml: &mut Xml, height: f64, style: &[Attribute<'_>]) {
        let (right, height) = (self.left + self.width, pixels(height));
        let mut line: Vec<Attribute<'_>> = vec![
            ("x1", &self.left),
            ("x2", &right),
            ("y1", &height),
            ("y2", &height),
        ];
        line.extend_from_slice(style);
        xml.empty("line", &line);
    }

    fn band(&self, xml: &mut Xml) {
        let Some(band) = &self.panel.band else {
            return;
        };
        let edges = band.edges.iter();
        let lower = edges.clone().map(|(at, low, _)| self.point(*at, *low));
        let upper = edges.rev().map(|(at, _, high)| self.point(*at, *high));
        let outline: Vec<String> = lower.chain(upper).collect();
        let area: [Attribute<'_>; 2] = [("points", &outline.join(" ")), ("fill", &BAND)];
        xml.titled("polygon", &area, band.name);
    }

    fn line(&self, xml: &mut Xml, line: &Line, colour: &str) {
        let points = line
            .points
            .iter()
            .map(|(at, figure)| self.point(*at, *figure));
        let points: Vec<String> = points.collect();
        let way: [Attribute<'_>; 4] = [
            ("points", &points.join(" ")),
            ("fill", &"none"),
            ("stroke", &colour),
            ("stroke-width", &"2"),
        ];
        xml.titled("polyline", &way, &line.name);
        // Of more, the dots would hide the line.
        if line.points.len() > MOST_DOTS {
            return;
        }
        for (at, figure) in &line.points {
            let dot: [Attribute<'_>; 4] = [
                ("cx", &pixels(self.across(*at))),
                ("cy", &pixels(self.height(*figure))),
                ("r", &"3.5"),
                ("fill", &colour),
            ];
            let title = format!("{}: {}", line.name, precise(*figure));
            xml.titled("circle", &dot, &title);
        }
    }

    fn point(&self, at: f64, figure: f64) -> String {
        format!(
            "{},{}",
            pixels(self.across(at)),
            pixels(self.height(figure))
        )
    }

    /// Names of lines and level, each where it ends.
    fn names(&self, xml: &mut Xml) {
        let level = self.panel.level.iter();
        let level = level.map(|it| (self.height(it.at), SOFT, it.name.as_str()));
        let lines = self.panel.lines.iter().enumerate();
        let lines = lines.filter_map(|(nth, line)| {
            let (_, figure) = line.points.last()?;
            Some((self.height(*figure), colour(nth), line.name.as_str()))
        });
        let mut names: Vec<_> = level.chain(lines).collect();
        apart(&mut names);
        let x = self.left + self.width + 10.0;
        for (height, colour, name) in names {
            let place: [Attribute<'_>; 3] =
                [("x", &x), ("y", &pixels(height + 4.0)), ("fill", &colour)];
            xml.words("text", &place, name);
        }
    }
}

fn words(xml: &mut Xml, (x, y): (f64, f64), anchor: &str, words: &str) {
    let place: [Attribute<'_>; 3] = [
        ("x", &pixels(x)),
        ("y", &pixels(y)),
        ("text-anchor", &anchor),
    ];
    xml.words("text", &place, words);
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

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Rounded to a tenth, so that the last bits of a machine's logarithm do not show.
fn pixels(place: f64) -> String {
    format!("{place:.1}")
}

/// The colour of the n-th line, told apart also by those who see few colours.
const fn colour(nth: usize) -> &'static str {
    match nth % 7 {
        0 => "#0072b2",
        1 => "#d55e00",
        2 => "#00704f",
        3 => "#a3328a",
        4 => "#8c510a",
        5 => "#e0a800",
        _ => "#444444",
    }
}

const INK: &str = "#1f2328";
const SOFT: &str = "#57606a";
const GRID: &str = "#d8dee4";
const BAND: &str = "#c8ccd1";
const MOST_DOTS: usize = 40;
const LEGEND_COLUMNS: usize = 3;
/// Units: pixels.
const LEGEND_COLUMN: f64 = 250.0;
const LEGEND_ROW: f64 = 18.0;
/// Left of the first panel, for the y axis's marks and label.
const LEFT: f64 = 80.0;
/// Between panels, for the marks of the y axis.
const GAP: f64 = 46.0;
/// Right of the last panel, for names of lines.
const NAMES: f64 = 160.0;
const MARGIN: f64 = 20.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 350.0;
/// Down to below the x axis's label.
const LABELS: f64 = 420.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lie_on_each_other() {
        let mut names = [(100.0, "", "a"), (99.0, "", "b"), (300.0, "", "c")];
        apart(&mut names);
        assert_eq!(names, [(99.0, "", "b"), (115.0, "", "a"), (300.0, "", "c")]);
    }

    #[test]
    fn few_points_say_their_figures_and_many_do_not() {
        let picture = |count: u32| {
            let points = (0..count).map(|nth| (f64::from(nth), 7.0)).collect();
            let x = Axis::steps(0.0, f64::from(count), 10.0);
            let panel = Panel::new(x, vec![Line::new("a < b", points)]);
            Picture {
                title: String::new(),
                x_label: "",
                y_label: "",
                panels: vec![panel],
                panel_width: 100.0,
                names: Names::Below,
            }
        };
        let few = picture(3).svg();
        assert_eq!(few.matches("<title>a &lt; b: 7.00</title>").count(), 3);
        assert!(!picture(100).svg().contains("<circle"));
    }
}
