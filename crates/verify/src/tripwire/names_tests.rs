//! Names are legal, differ, and depend on the seed alone.

use std::collections::BTreeSet;

use super::*;

#[test]
fn the_same_seed_gives_the_same_names_and_another_seed_others() {
    assert_eq!(Names::new(7).marks(5), Names::new(7).marks(5));
    assert_ne!(Names::new(7).marks(5), Names::new(8).marks(5));
}

#[test]
fn ten_thousand_names_differ_and_are_identifiers() {
    let mut names = Names::new(1);
    let marks = names.marks(10_000);
    let unique: BTreeSet<String> = marks.iter().map(Mark::name).collect();
    assert_eq!(unique.len(), 10_000);
    for name in &unique {
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        assert!(!name.contains("test"), "{name}");
    }
    assert!(marks.is_sorted_by_key(Mark::name));
}

#[test]
fn a_message_is_the_spoken_words_and_the_number() {
    for mark in Names::new(3).marks(20) {
        assert_eq!(message(&mark.name()), format!("{} {}", mark.spoken(), mark.number));
    }
}

#[test]
fn file_class_and_variable_names_have_their_form() {
    let mut names = Names::new(5);
    let (file, class, variable) = (names.file(), names.class(), names.variable());
    assert_eq!(file.split('_').count(), 2);
    assert!(class.starts_with(|c: char| c.is_ascii_uppercase()) && !class.contains('_'), "{class}");
    assert!(variable.starts_with(|c: char| c.is_ascii_lowercase()) && !variable.contains('_'), "{variable}");
}
