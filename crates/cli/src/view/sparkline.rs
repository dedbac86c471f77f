//! Failing tests as bars, one for each iteration and one for the state before the first.

/// From nothing failing to the most that ever failed.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One column for each value; the newest when there is not room for all. What is not known is a dot.
pub(super) fn sparkline(values: &[Option<u32>], width: usize) -> String {
    let most = values.iter().copied().flatten().max().unwrap_or(0);
    let shown = &values[values.len().saturating_sub(width)..];
    shown.iter().map(|value| value.map_or('·', |value| bar(value, most))).collect()
}

/// The lowest bar is for zero alone, so that "one left" and "none left" never look the same.
fn bar(value: u32, most: u32) -> char {
    if value == 0 {
        return BARS[0];
    }
    let steps = BARS.len() as u64 - 1;
    let height = (u64::from(value) * steps).div_ceil(u64::from(most.max(1)));
    usize::try_from(height).ok().and_then(|height| BARS.get(height)).copied().unwrap_or('█')
}

#[cfg(test)]
#[path = "sparkline_tests.rs"]
mod tests;
