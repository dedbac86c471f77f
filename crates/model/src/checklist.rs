//! Task lists as people write them in Markdown: `- [ ] open` and `- [x] done`.

/// The items of a task list, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checklist {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    text: String,
    is_done: bool,
}

impl Checklist {
    /// The items of a text, wherever they stand in it but in blocks of code.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut fence: Option<&str> = None;
        let mut items = Vec::new();
        for line in text.lines().map(str::trim_start) {
            let marker = ["```", "~~~"].into_iter().find(|marker| line.starts_with(marker));
            match (fence, marker) {
                (None, Some(marker)) => fence = Some(marker),
                (Some(open), Some(marker)) if open == marker => fence = None,
                (Some(_), _) => {}
                (None, None) => items.extend(item(line)),
            }
        }
        Self { items }
    }

    /// How many items are done, and how many there are.
    pub fn tally(&self) -> (usize, usize) {
        (self.items.iter().filter(|item| item.is_done).count(), self.items.len())
    }

    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter(|item| !item.is_done).map(|item| item.text.as_str())
    }

    /// The same with the open items that were asked for and are not there any more. Words may be added to an item.
    #[must_use]
    pub fn with_removed(mut self, asked: &Self) -> Self {
        let mut left: Vec<&Item> = self.items.iter().collect();
        let mut removed = Vec::new();
        for item in asked.items.iter().filter(|item| !item.is_done) {
            match left.iter().position(|now| now.text.starts_with(&item.text)) {
                Some(place) => drop(left.swap_remove(place)),
                None => removed.push(Item { text: item.text.clone(), is_done: false }),
            }
        }
        self.items.extend(removed);
        self
    }
}

/// An item of a bulleted or numbered list with a box in front.
fn item(line: &str) -> Option<Item> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')'])?,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('[')?;
    let (mark, rest) = rest.split_at_checked(1)?;
    let text = rest.strip_prefix(']')?;
    let is_done = match mark {
        " " => false,
        "x" | "X" => true,
        _ => return None,
    };
    (text.is_empty() || text.starts_with([' ', '\t'])).then(|| Item { text: text.trim().to_owned(), is_done })
}

#[cfg(test)]
#[path = "checklist_tests.rs"]
mod tests;
