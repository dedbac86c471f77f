use super::*;

fn at(text: &str, part: &str) -> Location {
    let start = text.find(part).unwrap();
    Location::new(Path::new("ralph.toml"), text, start..start + part.len())
}

#[test]
fn a_mark_stands_under_what_is_meant() {
    let location = at("a = 1\n  größe = \"ü\"\t# x\nb = 2", "\"ü\"");
    assert_eq!(location.to_string(), "ralph.toml:2:11");
    assert_eq!(location.snippet(), "  |\n2 |   größe = \"ü\" # x\n  |           ^^^");
}

#[test]
fn what_spans_lines_is_marked_on_its_first() {
    let location = at("\n\na = [\n1,\n2]", "[\n1,\n2]");
    assert_eq!(location.snippet(), "  |\n3 | a = [\n  |     ^");
}

#[test]
fn a_long_line_is_cut_around_the_mark() {
    let text = format!("a = \"{}\" # {}", "x".repeat(500), "y".repeat(500));
    let snippet = at(&text, "# yyy").snippet();
    assert!(snippet.lines().all(|line| line.len() < 140) && snippet.contains("# yyy"), "{snippet}");
}

#[test]
fn the_end_of_a_file_and_nonsense_are_places_too() {
    for (span, wanted) in [(0..0, "x:1:1"), (5..9, "x:1:6"), (99..120, "x:1:6")] {
        let location = Location::new(Path::new("x"), "a = [", span);
        assert_eq!(location.to_string(), wanted);
        assert!(location.snippet().ends_with('^'));
    }
}
