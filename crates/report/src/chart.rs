//! The chart of a report: loops per day as stacked bars, and below them, on a scale of its own, what they cost. One file without scripts,
//! fonts or links, readable on light and dark ground.

use std::fmt::{self, Write as _};

use ralph_model::{Money, Timestamp};

use crate::date::DayNumber;
use crate::summary::{Day, Summary};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 936.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 262.0;
const COST_TOP: f64 = 290.0;
const COST_BOTTOM: f64 = 352.0;
const WIDEST_BAR: f64 = 44.0;

/// More bars than these are thinner than the gaps between them.
const MAX_BARS: i64 = 62;
const MAX_LABELS: usize = 10;

const STYLE: &str = "
text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; fill: #59636e }
.ground { fill: #ffffff }
.title { font-size: 18px; font-weight: 600; fill: #1f2328 }
.grid { stroke: #d8dee4; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.completed { fill: #009e73 } .aborted { fill: #e69f00 } .errors { fill: #c8381f }
.cost { fill: #0b62a8 }
@media (prefers-color-scheme: dark) {
text { fill: #9da7b3 }
.ground { fill: #0d1117 }
.title { fill: #f0f6fc }
.grid { stroke: #2a313a }
.axis { stroke: #59636e }
.completed { fill: #2fbf8f } .aborted { fill: #f0b541 } .errors { fill: #ff7b66 }
.cost { fill: #79c0ff }
}
";

/// Draws the chart as a whole SVG file.
pub fn svg(summary: &Summary) -> String {
    let mut out = String::with_capacity(16 << 10);
    // Writing to a string does not fail.
    let _ = draw(&mut out, summary);
    out
}

fn draw(out: &mut String, summary: &Summary) -> fmt::Result {
    let bars = Bars::of(&summary.days);
    let title = format!("Finished loops per {}", bars.unit());
    let cost = Money::from_micros(i64::try_from(summary.cost_micros.total).unwrap_or(i64::MAX));
    let about = match summary.loops {
        0 => "no loop ended in this period".to_owned(),
        loops => {
            let cancelled = match summary.cancelled {
                0 => String::new(),
                cancelled => format!(", {cancelled} cancelled"),
            };
            let word = if loops == 1 { "loop" } else { "loops" };
            format!("{loops} {word}: {} completed{cancelled}, {}", summary.completed, to_the_cent(cost))
        }
    };
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-labelledby=\"title about\">"
    )?;
    writeln!(out, "<title id=\"title\">{}</title>\n<desc id=\"about\">{}</desc>", xml(&title), xml(&about))?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>")?;
    label(out, 24.0, 36.0, "start", "title", &title)?;
    label(out, 24.0, 58.0, "start", "", &about)?;
    if bars.days.is_empty() {
        label(out, WIDTH / 2.0, f64::midpoint(TOP, BOTTOM), "middle", "", "Nothing to draw yet.")?;
    } else {
        let axis = Axis::of(&bars);
        legend(out, &bars)?;
        axes(out, &bars, &axis)?;
        stacks(out, &bars, &axis)?;
        costs(out, &bars)?;
    }
    writeln!(out, "</svg>")
}

/// Days put together until there is room for each bar, without gaps in time.
struct Bars {
    days: Vec<Day>,
    span: i64,
}

impl Bars {
    fn of(days: &[Day]) -> Self {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return Self { days: vec![], span: 1 } };
        let (first, last) = (DayNumber::of(first.start).0, DayNumber::of(last.start).0);
        let all = last - first + 1;
        let fits = |span: &i64| (all + span - 1) / span <= MAX_BARS;
        let span = [1, 7, 28, 91, 364].into_iter().find(fits).unwrap_or((all + MAX_BARS - 1) / MAX_BARS);
        let count = (all + span - 1) / span;
        let mut bars: Vec<Day> = (0..count).map(|bar| Day::empty(DayNumber(first + bar * span).start())).collect();
        for day in days {
            let bar = (DayNumber::of(day.start).0 - first) / span;
            if let Some(bar) = usize::try_from(bar).ok().and_then(|bar| bars.get_mut(bar)) {
                bar.merge(day);
            }
        }
        Self { days: bars, span }
    }

    fn unit(&self) -> String {
        match self.span {
            1 => "day".to_owned(),
            7 => "week".to_owned(),
            28 => "four weeks".to_owned(),
            91 => "quarter".to_owned(),
            364 => "year".to_owned(),
            days => format!("{days} days"),
        }
    }

    fn slot(&self) -> f64 {
        (RIGHT - LEFT) / self.days.len() as f64
    }

    fn centre(&self, bar: usize) -> f64 {
        LEFT + (bar as f64 + 0.5) * self.slot()
    }

    fn has_errors(&self) -> bool {
        self.days.iter().any(|day| day.errors > 0)
    }

    /// The date under a bar, with the year where the bars pass more than one.
    fn date(&self, start: Timestamp) -> String {
        let whole = self.span * self.days.len() as i64;
        DayNumber::of(start).show(if whole > 300 { "%Y-%m-%d" } else { "%b %-d" })
    }
}

struct Axis {
    steps: u64,
    loops: u64,
}

impl Axis {
    fn of(bars: &Bars) -> Self {
        let most = bars.days.iter().map(Day::loops).max().unwrap_or(0).max(1);
        let loops = round_up(most.div_ceil(5));
        // One step alone would be an axis without a middle.
        Self { steps: most.div_ceil(loops).max(2), loops }
    }

    fn of_loops(&self, loops: u64) -> f64 {
        (BOTTOM - TOP) * loops as f64 / (self.loops as f64 * self.steps as f64)
    }
}

/// The next of 1, 2, 5, 10, 20, 50, …
fn round_up(value: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= value {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn axes(out: &mut String, bars: &Bars, axis: &Axis) -> fmt::Result {
    for step in 0..=axis.steps {
        let class = if step == 0 { "axis" } else { "grid" };
        rule(out, class, BOTTOM - axis.of_loops(step * axis.loops), &(step * axis.loops).to_string())?;
    }
    sideways(out, f64::midpoint(TOP, BOTTOM), "loops")?;
    let stride = bars.days.len().div_ceil(MAX_LABELS);
    for (index, day) in bars.days.iter().enumerate().step_by(stride) {
        label(out, bars.centre(index), COST_BOTTOM + 22.0, "middle", "", &bars.date(day.start))?;
    }
    let below =
        if bars.span == 1 { "day in UTC".to_owned() } else { format!("first day of each {} in UTC", bars.unit()) };
    label(out, f64::midpoint(LEFT, RIGHT), COST_BOTTOM + 48.0, "middle", "", &below)
}

/// A line of a scale with its figure.
fn rule(out: &mut String, class: &str, y: f64, figure: &str) -> fmt::Result {
    writeln!(out, "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>")?;
    label(out, LEFT - 8.0, y + 4.5, "end", "", figure)
}

fn bar(out: &mut String, class: &str, bars: &Bars, index: usize, y: f64, height: f64) -> fmt::Result {
    let width = (bars.slot() * 0.72).min(WIDEST_BAR);
    let x = bars.centre(index) - width / 2.0;
    writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>")
}

fn stacks(out: &mut String, bars: &Bars, axis: &Axis) -> fmt::Result {
    for (index, day) in bars.days.iter().enumerate().filter(|(_, day)| day.loops() > 0) {
        let date = DayNumber::of(day.start).iso();
        let (completed, aborted, errors) = (day.completed, day.aborted, day.errors);
        let hint = format!("{date}: {completed} completed, {aborted} aborted, {errors} errors, {}", day.cost);
        writeln!(out, "<g><title>{}</title>", xml(&hint))?;
        let mut below = 0;
        for (class, part) in [("completed", completed), ("aborted", aborted), ("errors", errors)] {
            below += part;
            if part > 0 {
                bar(out, class, bars, index, BOTTOM - axis.of_loops(below), axis.of_loops(part))?;
            }
        }
        writeln!(out, "</g>")?;
    }
    Ok(())
}

/// What each bar cost, below it; nothing where nothing cost anything.
fn costs(out: &mut String, bars: &Bars) -> fmt::Result {
    let micros = |day: &Day| day.cost.micros().unsigned_abs();
    let dearest = bars.days.iter().map(micros).max().unwrap_or(0);
    if dearest == 0 {
        return Ok(());
    }
    let most = round_up(dearest);
    let amount = Money::from_micros(i64::try_from(most).unwrap_or(i64::MAX));
    rule(out, "grid", COST_TOP, amount.to_string().trim_end_matches(".00"))?;
    rule(out, "axis", COST_BOTTOM, "$0")?;
    sideways(out, f64::midpoint(COST_TOP, COST_BOTTOM), "cost")?;
    for (index, day) in bars.days.iter().enumerate().filter(|(_, day)| micros(day) > 0) {
        let height = (COST_BOTTOM - COST_TOP) * micros(day) as f64 / most as f64;
        writeln!(out, "<g><title>{}: {}</title>", DayNumber::of(day.start).iso(), day.cost)?;
        bar(out, "cost", bars, index, COST_BOTTOM - height, height)?;
        writeln!(out, "</g>")?;
    }
    Ok(())
}

/// What the colours mean, at the right of the title.
fn legend(out: &mut String, bars: &Bars) -> fmt::Result {
    let mut x = RIGHT;
    let kinds = [("errors", bars.has_errors()), ("aborted", true), ("completed", true)];
    for (name, _) in kinds.into_iter().filter(|(_, shown)| *shown) {
        x -= name.len() as f64 * 7.6 + 38.0;
        writeln!(out, "<rect class=\"{name}\" x=\"{x:.1}\" y=\"25\" width=\"13\" height=\"13\" rx=\"2\"/>")?;
        label(out, x + 20.0, 36.0, "start", "", name)?;
    }
    Ok(())
}

fn label(out: &mut String, x: f64, y: f64, anchor: &str, class: &str, text: &str) -> fmt::Result {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    writeln!(out, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", xml(text))
}

fn sideways(out: &mut String, y: f64, text: &str) -> fmt::Result {
    writeln!(out, "<text transform=\"translate(22 {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>", xml(text))
}

fn to_the_cent(amount: Money) -> Money {
    if amount.micros() < 10_000 { amount } else { Money::from_micros((amount.micros() + 5_000) / 10_000 * 10_000) }
}

fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
