use super::*;
use crate::record::Record;
use crate::testing::{DAY, mixed, record};

fn of(records: &[Record]) -> String {
    svg(&Summary::of(records))
}

fn on_day(number: u32, day: i64) -> Record {
    Record { end_time: Timestamp(DAY + day * 86_400_000), ..record(number) }
}

/// Every tag is closed in the order of its opening, and every number is one.
fn is_well_formed(text: &str) {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn zero_one_and_many_days_are_drawn() {
    for (records, title, bars) in [
        (vec![], "per day", 0),
        (vec![record(1)], "per day", 1),
        ((0..62).map(|day| on_day(day, i64::from(day))).collect(), "per day", 62),
        ((0..63).map(|day| on_day(day, i64::from(day))).collect(), "per week", 9),
        ((0..400).map(|day| on_day(day, i64::from(day))).collect(), "per week", 58),
        (vec![on_day(1, -20_000), on_day(2, 0)], "per year", 2),
    ] {
        let text = of(&records);
        is_well_formed(&text);
        assert!(text.contains(&format!("Finished loops {title}")), "{title}: {text}");
        assert_eq!(text.matches(" errors, ").count(), bars, "{title}");
    }
}

#[test]
fn a_clock_that_was_wrong_does_not_break_the_chart() {
    is_well_formed(&of(&[on_day(1, -700_000), on_day(2, 0), on_day(3, 2_000_000)]));
    is_well_formed(&of(&[
        Record { end_time: Timestamp(i64::MIN), ..record(1) },
        Record { end_time: Timestamp(i64::MAX), ..record(2) },
    ]));
}

#[test]
fn gaps_in_time_stay_gaps() {
    let summary = Summary::of(&[on_day(1, 0), on_day(2, 9)]);
    let bars = Bars::of(&summary.days);
    assert_eq!(bars.days.iter().map(Day::loops).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn no_bar_and_no_point_leaves_the_plot() {
    let summary = Summary::of(&mixed(500, 30));
    let bars = Bars::of(&summary.days);
    let axis = Axis::of(&bars);
    for day in &bars.days {
        assert!(axis.of_loops(day.loops()) <= BOTTOM - TOP);
    }
    let mut heights = 0;
    for bar in svg(&summary).lines().filter(|line| line.starts_with("<rect class=\"cost\"")) {
        let figure =
            |name: &str| -> f64 { bar.split(name).nth(1).unwrap().split('"').next().unwrap().parse().unwrap() };
        assert!(figure(" y=\"") >= COST_TOP && figure(" y=\"") + figure(" height=\"") <= COST_BOTTOM + 0.1, "{bar}");
        assert!(figure(" width=\"") >= 8.0, "a bar of 30 days can be seen and pointed at: {bar}");
        heights += 1;
    }
    assert_eq!(heights, 30);
}

#[test]
fn without_cost_there_is_no_axis_for_it() {
    let text = of(&[Record { cost: Money::ZERO, ..record(1) }]);
    assert!(!text.contains("class=\"cost\"") && !text.contains(">$0<"), "{text}");
    assert!(of(&[record(1)]).contains("class=\"cost\""));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let text = of(&mixed(100, 14));
    let links: Vec<_> = text.match_indices("http").map(|(at, _)| &text[at..at + 26]).collect();
    assert_eq!(links, ["http://www.w3.org/2000/svg"]);
    for word in ["<script", "href", "url(", "@import", "@font-face"] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(text.contains("prefers-color-scheme: dark"));
}

#[test]
fn steps_are_round() {
    let steps: Vec<u64> = [1, 2, 3, 6, 11, 51, 101].map(round_up).into();
    assert_eq!(steps, [1, 2, 5, 10, 20, 100, 200]);
    assert_eq!(round_up(u64::MAX), u64::MAX);
}

#[test]
fn text_stays_text() {
    assert_eq!(xml("<a href=\"x\">&\u{1b}</a>"), "&lt;a href=&quot;x&quot;&gt;&amp; &lt;/a&gt;");
}
