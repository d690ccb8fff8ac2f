//! Panels of lines as SVG.

use std::fmt::Write as _;

/// A picture of panels beside each other, with one legend.
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
    /// Units: pixels, of a panel's plane.
    pub(super) width: f64,
}

/// A plane with lines.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) band: Option<Band>,
    pub(super) lines: Vec<Line>,
}

/// An area; lower and upper edge by place.
pub(super) type Band = (&'static str, Vec<(f64, f64, f64)>);

pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A scale with marks.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) is_logarithmic: bool,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) marks: Vec<(f64, String)>,
}

impl Axis {
    /// 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        if self.is_logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }
}

impl Picture {
    pub(super) fn svg(&self) -> String {
        let mut svg = Svg(String::new());
        let mut left = LEFT;
        let mut planes = String::new();
        for panel in &self.panels {
            planes += &panel.svg(left, self.width, self.x_label);
            left += self.width + GAP;
        }
        let (width, height) = (left - GAP + 20.0, BOTTOM + 54.0 + self.legend_height());
        svg.add(&format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12" fill="{INK}">"#
        ));
        svg.add(&format!("<title>{}</title>", self.title));
        svg.add(&format!(
            r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##
        ));
        svg.add(&format!(
            r#"<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{}</text>"#,
            self.title
        ));
        svg.add(&format!(
            r#"<text text-anchor="middle" transform="translate(18 {}) rotate(-90)">{}</text>"#,
            f64::midpoint(TOP, BOTTOM),
            self.y_label
        ));
        svg.0 += &planes;
        self.legend(&mut svg);
        svg.add("</svg>");
        svg.0
    }

    fn names(&self) -> Vec<(&str, &'static str)> {
        let Some(panel) = self.panels.first() else {
            return Vec::new();
        };
        let lines = panel.lines.iter().enumerate();
        let lines = lines.map(|(nth, line)| (line.name.as_str(), colour(nth)));
        let band = panel.band.iter().map(|(name, _)| (*name, BAND));
        lines.chain(band).collect()
    }

    fn legend_height(&self) -> f64 {
        let rows = self.names().len().div_ceil(LEGEND_COLUMNS);
        18.0 * f64::from(u32::try_from(rows).unwrap_or(0)) + 8.0
    }

    fn legend(&self, svg: &mut Svg) {
        for (nth, (name, colour)) in self.names().into_iter().enumerate() {
            let [column, row] = [nth % LEGEND_COLUMNS, nth / LEGEND_COLUMNS]
                .map(|it| f64::from(u32::try_from(it).unwrap_or(0)));
            let (x, y) = (LEFT + 250.0 * column, BOTTOM + 60.0 + 18.0 * row);
            svg.add(&format!(
                r#"<rect x="{x}" y="{}" width="22" height="5" fill="{colour}"/>"#,
                y - 6.0
            ));
            svg.add(&format!(r#"<text x="{}" y="{y}">{name}</text>"#, x + 28.0));
        }
    }
}

impl Panel {
    fn svg(&self, left: f64, width: f64, x_label: &str) -> String {
        let mut svg = Svg(String::new());
        let x = |value: f64| left + self.x.share(value) * width;
        let y = |value: f64| BOTTOM - self.y.share(value) * (BOTTOM - TOP);
        svg.add(&format!(
            r#"<text x="{}" y="{}" text-anchor="middle" font-weight="bold">{}</text>"#,
            left + width / 2.0,
            TOP - 8.0,
            self.title
        ));
        if let Some((name, edges)) = &self.band {
            let lower = edges.iter().map(|(at, low, _)| (x(*at), y(*low)));
            let upper = edges.iter().rev().map(|(at, _, high)| (x(*at), y(*high)));
            let points = points(lower.chain(upper));
            svg.add(&format!(
                r#"<polygon points="{points}" fill="{BAND}"><title>{name}</title></polygon>"#
            ));
        }
        for (value, name) in &self.y.marks {
            let at = pixels(y(*value));
            svg.add(&format!(
                r#"<line x1="{left}" x2="{}" y1="{at}" y2="{at}" stroke="{GRID}"/>"#,
                left + width
            ));
            svg.add(&format!(
                r#"<text x="{}" y="{}" text-anchor="end">{name}</text>"#,
                left - 6.0,
                pixels(y(*value) + 4.0)
            ));
        }
        for (value, name) in &self.x.marks {
            svg.add(&format!(
                r#"<text x="{}" y="{}" text-anchor="middle">{name}</text>"#,
                pixels(x(*value)),
                BOTTOM + 16.0
            ));
        }
        svg.add(&format!(
            r#"<text x="{}" y="{}" text-anchor="middle">{x_label}</text>"#,
            left + width / 2.0,
            BOTTOM + 36.0
        ));
        for (nth, line) in self.lines.iter().enumerate() {
            let points = points(line.points.iter().map(|(at, value)| (x(*at), y(*value))));
            svg.add(&format!(
                r#"<polyline points="{points}" fill="none" stroke="{}" stroke-width="1.8"><title>{}</title></polyline>"#,
                colour(nth),
                line.name
            ));
        }
        svg.0
    }
}

struct Svg(String);

impl Svg {
    fn add(&mut self, line: &str) {
        self.0 += line;
        self.0.push('\n');
    }
}

/// The same on every machine.
fn pixels(place: f64) -> String {
    format!("{place:.1}")
}

fn points(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (x, y) in points {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{} ", pixels(x), pixels(y));
    }
    text.trim_end().to_owned()
}

/// Told apart also by those who see few colours.
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
const GRID: &str = "#d8dee4";
const BAND: &str = "#c8ccd1";
const LEGEND_COLUMNS: usize = 3;
/// Units: pixels.
const LEFT: f64 = 66.0;
const GAP: f64 = 46.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 330.0;
