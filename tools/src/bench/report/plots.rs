//! The plots of the page.
//!
//! Four pictures, with the axes and words that the page speaks of. Places along x are words in the
//! order of measuring and not numbers to scale: rules go by powers of ten, sizes by whatever was
//! built.
//!
//! Axes begin at zero for rates, or a difference of a few per cent would look like a factor.
//!
//! Pictures are rendered from the file of results alone, so that the same results give the same
//! bytes and a review of the page needs no machine.
//!
//! ```text
//! rules.svg      rules of the policy       million queries per second of CPU time
//! size.svg       switches of the torus     the same
//! load.svg       load, per cent            us since a request was due
//! snapshot.svg   switches of the torus     MiB
//! ```

use sa_plot::{Axis, Level, Names, Panel, Picture};

use super::lines::{Line, Lines};
use crate::bench::show::AtLoad;

/// A line with a figure for each place along the x axis; none where nothing was measured.
/// As long as there are places.
struct Series {
    name: String,
    figures: Vec<Option<f64>>,
}

/// A panel of such lines, and how high its y axis reaches.
/// What the four have in common; `sa_plot` draws it.
struct Plot {
    title: String,
    x_label: &'static str,
    places: Vec<String>,
    y_label: &'static str,
    /// From zero for rates, by powers of ten where values differ by that much.
    y: fn(&[f64]) -> Axis,
    series: Vec<Series>,
    /// A dashed line across, such as the longest pause of the machine.
    level: Option<Level>,
}

impl Plot {
    /// The level has a part in how high the axis reaches.
    fn svg(self) -> String {
        let figures = self.series.iter().flat_map(|series| &series.figures);
        let level = self.level.iter().map(|level| level.at);
        let figures: Vec<f64> = figures.copied().flatten().chain(level).collect();
        let panel = Panel {
            // The axis has to hold the level too, or the dashed line would lie outside.
            y: (self.y)(&figures),
            level: self.level,
            ..Panel::new(
                Axis::places(&self.places),
                self.series.into_iter().map(Series::line).collect(),
            )
        };
        let picture = Picture {
            title: self.title,
            x_label: self.x_label,
            y_label: self.y_label,
            panels: vec![panel],
            panel_width: 580.0,
            names: Names::AtLineEnds,
        };
        picture.svg()
    }
}

impl Series {
    /// A gap where nothing was measured: the line goes on at the next point.
    fn line(self) -> sa_plot::Line {
        // Places are 0, 1, 2 along the axis, whatever their words are.
        let places = (0..=u32::MAX).map(f64::from);
        let points = places.zip(self.figures);
        let points = points.filter_map(|(place, figure)| Some((place, figure?)));
        sa_plot::Line::new(self.name, points.collect())
    }
}

/// File names and pictures.
/// By file name, below `pictures/performance`.
pub(super) fn all(lines: &Lines) -> [(&'static str, String); 4] {
    [
        ("rules.svg", rules(lines).svg()),
        ("size.svg", size(lines).svg()),
        ("load.svg", load(lines).svg()),
        ("snapshot.svg", snapshot(lines).svg()),
    ]
}

/// By CPU time: rate of one core that does nothing else.
fn rules(lines: &Lines) -> Plot {
    let all: Vec<&Line> = lines.of("rules").collect();
    let number = |line: &&Line| line.number("rules").unwrap_or(0.0);
    let places = distinct(all.iter().map(|line| grouped(number(line))));
    // Where several lines have one number of rules the first counts.
    let series = |name: &str, workload: &str| {
        let figure = |place: &String| {
            let is_it =
                |line: &&&Line| line.is(workload, "memory") && grouped(number(line)) == *place;
            all.iter().find(is_it).and_then(|line| line.per_core())
        };
        Series {
            name: name.to_owned(),
            figures: places.iter().map(figure).collect(),
        }
    };
    Plot {
        title: format!("Rate by rules: {}, in memory, one core", of_fabric(&all)),
        x_label: "rules of the policy",
        y_label: "million queries per second of CPU time",
        y: Axis::from_zero,
        series: vec![series("GID-GID", "gid"), series("LID-LID", "lid")],
        level: None,
        places,
    }
}

/// By sizes of torus and dense fabrics: (name, workload, dense).
/// A size that was measured for one kind of fabric only has a gap in the other's lines.
fn by_size(
    lines: &Lines,
    series: &[(&str, &str, bool)],
    figure: fn(&Line) -> Option<f64>,
) -> (Vec<String>, Vec<Series>) {
    let all: Vec<&Line> = lines.of("size").collect();
    let sizes = distinct(all.iter().map(|line| line.size().to_owned()));
    let of = |(name, workload, dense): &(&str, &str, bool)| {
        let at = |size: &String| {
            let is_it = |line: &&&Line| {
                line.is(workload, "memory") && line.is_dense() == *dense && line.size() == size
            };
            all.iter().find(is_it).and_then(|line| figure(line))
        };
        Series {
            name: (*name).to_owned(),
            figures: sizes.iter().map(at).collect(),
        }
    };
    let series = series.iter().map(of).collect();
    (sizes, series)
}

/// Four lines: each way of naming ends, each way of holding pairs.
fn size(lines: &Lines) -> Plot {
    let wanted = [
        ("GID-GID, torus", "gid", false),
        ("LID-LID, torus", "lid", false),
        ("GID-GID, dense", "gid", true),
        ("LID-LID, dense", "lid", true),
    ];
    let (places, series) = by_size(lines, &wanted, Line::per_core);
    Plot {
        title: "Rate by size: 2 hosts a switch, 1,000 rules, in memory, one core".to_owned(),
        x_label: "switches of the torus",
        y_label: "million queries per second of CPU time",
        y: Axis::from_zero,
        series,
        level: None,
        places,
    }
}

/// Bytes by powers of ten, as tables of pairs grow with the square of the switches.
fn snapshot(lines: &Lines) -> Plot {
    let wanted = [
        ("computed from", "gid", false),
        ("table of pairs", "gid", true),
    ];
    let mebibytes = |line: &Line| line.number("snapshot_bytes").map(|it| it / 1_048_576.0);
    let (places, mut series) = by_size(lines, &wanted, mebibytes);
    if let Some(first) = series.first_mut() {
        first.name = "coordinates".to_owned();
    }
    Plot {
        title: "Snapshot by size and how it holds paths: 2 hosts a switch, 1,000 rules".to_owned(),
        x_label: "switches of the torus",
        y_label: "MiB",
        // A median of a microsecond and a longest of milliseconds do not fit one plain axis.
        y: Axis::powers_of_ten,
        series,
        level: None,
        places,
    }
}

/// Quantiles of one run at nine loads.
fn load(lines: &Lines) -> Plot {
    let all: Vec<&Line> = lines.of("load").take(1).collect();
    let first = all.first().copied();
    let loads = first.map_or_else(Vec::new, Line::latency);
    type Of = fn(&AtLoad) -> f64;
    let names: [(&str, Of); 5] = [
        ("p50", |load| load.p50_ns),
        ("p90", |load| load.p90_ns),
        ("p99", |load| load.p99_ns),
        ("p99.9", |load| load.p999_ns),
        ("p99.99", |load| load.p9999_ns),
    ];
    let series = names.map(|(name, ns)| Series {
        name: name.to_owned(),
        figures: loads.iter().map(|load| Some(ns(load) / 1e3)).collect(),
    });
    let pause = first.and_then(Line::pauses);
    Plot {
        title: format!(
            "Latency by load: {}, over the ring, 1,000 rules",
            of_fabric(&all)
        ),
        x_label: "load, per cent of the closed loop's rate",
        places: loads
            .iter()
            .map(|load| load.percent.unwrap_or(0).to_string())
            .collect(),
        y_label: "us since a request was due",
        y: Axis::powers_of_ten,
        series: series.into(),
        level: pause.map(|pause| Level {
            name: "longest pause".to_owned(),
            at: real(pause.longest_ns) / 1e3,
        }),
    }
}

/// What the first result was measured on.
/// For titles; empty sizes where nothing was measured.
fn of_fabric(lines: &[&Line]) -> String {
    let size = lines.first().map_or("", |line| line.size());
    format!("{size} torus, 2 hosts a switch")
}

/// Each once, in order.
/// Not sorted: `12x12x12` comes before `5x5x5` by letters.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

/// Exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) const fn real(count: u64) -> f64 {
    count as f64
}

/// With commas between thousands.
/// As in 3,996,000.
pub(super) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    // A comma stands wherever a multiple of three digits is still to come.
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
