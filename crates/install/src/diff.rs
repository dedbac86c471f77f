//! The difference between two texts, for a person to read before it is made.

/// Lines around a change.
const CONTEXT: usize = 2;
/// The most lines that are compared one by one.
const MAX_LINES: usize = 1500;

/// Lines of two texts, with ` `, `-` and `+` before them.
pub fn diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let back = old[front..].iter().rev().zip(new[front..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (removed, added) = (&old[front..old.len() - back], &new[front..new.len() - back]);
    let mut lines: Vec<(char, &str)> =
        old[front.saturating_sub(CONTEXT)..front].iter().map(|line| (' ', *line)).collect();
    lines.extend(compared(removed, added));
    lines.extend(old[old.len() - back..].iter().take(CONTEXT).map(|line| (' ', *line)));
    if old == new {
        return "  only line ends differ".to_owned();
    }
    let shown = lines.into_iter().map(|(mark, line)| format!("  {mark} {}", line.trim_end_matches('\r')));
    shown.collect::<Vec<_>>().join("\n")
}

/// The longest common subsequence keeps its lines.
fn compared<'a>(removed: &[&'a str], added: &[&'a str]) -> Vec<(char, &'a str)> {
    let (rows, columns) = (removed.len(), added.len());
    if rows.max(columns) > MAX_LINES {
        return removed.iter().map(|line| ('-', *line)).chain(added.iter().map(|line| ('+', *line))).collect();
    }
    let mut longest = vec![vec![0_u32; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[row][column] = match removed[row] == added[column] {
                true => longest[row + 1][column + 1] + 1,
                false => longest[row + 1][column].max(longest[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < rows || column < columns {
        if row < rows && column < columns && removed[row] == added[column] {
            lines.push((' ', removed[row]));
            (row, column) = (row + 1, column + 1);
        } else if column < columns && (row == rows || longest[row][column + 1] > longest[row + 1][column]) {
            lines.push(('+', added[column]));
            column += 1;
        } else {
            lines.push(('-', removed[row]));
            row += 1;
        }
    }
    lines
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
