use super::*;

#[test]
fn ids_are_those_of_git() {
    assert_eq!(Id::of(Kind::Blob, b"").hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    assert_eq!(Id::of(Kind::Blob, b"hello\n").hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
    assert_eq!(Id::of(Kind::Tree, b""), Id::EMPTY_TREE);
}

#[test]
fn ids_survive_text_and_other_text_is_refused() {
    let id = Id::of(Kind::Blob, b"x");
    assert_eq!(Id::parse(&id.hex()).unwrap(), id);
    for text in ["", "ce01", "zz013625030ba8dba906f756967f9e9ca394464a", "ce013625030ba8dba906f756967f9e9ca394464aa"] {
        assert!(Id::parse(text).unwrap_err().to_string().contains("40 hexadecimal"), "{text}");
    }
}

#[test]
fn folders_sort_as_if_their_names_ended_with_a_slash() {
    let mut names =
        [("a.b", Mode::File), ("a", Mode::Tree), ("a-b", Mode::File), ("a0", Mode::File), ("ab", Mode::Tree)];
    names.sort_by(|left, right| order((left.0.as_bytes(), left.1), (right.0.as_bytes(), right.1)));
    assert_eq!(names.map(|(name, _)| name), ["a-b", "a.b", "a", "a0", "ab"]);
}

#[test]
fn trees_survive_their_encoding_and_broken_ones_are_noticed() {
    let id = Id::of(Kind::Blob, b"x");
    let mut content = Vec::new();
    push_entry(&mut content, b"a\nb \xff", Mode::Executable, &id);
    push_entry(&mut content, b"d", Mode::Tree, &Id::EMPTY_TREE);
    let entries = parse_tree(&content).unwrap();
    assert_eq!(entries[0], Entry { name: b"a\nb \xff".to_vec(), mode: Mode::Executable, id });
    assert_eq!(entries.len(), 2);
    for cut in 1..content.len() - 1 {
        let whole = content[..cut].len() == 6 + 1 + 5 + 1 + 20;
        assert_eq!(parse_tree(&content[..cut]).is_some(), whole, "{cut}");
    }
}

#[test]
fn an_entry_is_found_by_its_name_whatever_it_is() {
    let entry = |(name, mode): (&str, Mode)| Entry { name: name.as_bytes().to_vec(), mode, id: Id::EMPTY_TREE };
    let entries = [
        ("a-b", Mode::File),
        ("a.b", Mode::Executable),
        ("a", Mode::Tree),
        ("a0", Mode::Link),
        ("ab", Mode::Tree),
        ("ab0", Mode::File),
    ]
    .map(entry);
    assert!(entries.is_sorted_by(|left, right| order((&left.name, left.mode), (&right.name, right.mode)).is_lt()));
    for entry in &entries {
        assert_eq!(named(&entries, &entry.name), Some(entry));
    }
    for missing in ["", "a/", "a-", "b", "ab1"] {
        assert_eq!(named(&entries, missing.as_bytes()), None, "{missing}");
    }
}

#[test]
fn a_commit_names_its_tree() {
    let content = commit(&Id::EMPTY_TREE, Some(&Id::EMPTY_TREE), 7, "label");
    assert_eq!(commit_tree(&content), Some(Id::EMPTY_TREE));
    assert!(String::from_utf8(content).unwrap().contains("\ncommitter Ralph <ralph@localhost> 7 +0000\n\nlabel\n"));
}
