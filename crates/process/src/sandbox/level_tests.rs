use super::*;

fn bubblewrap(landlock: Option<u32>) -> Files {
    Files::Bubblewrap { program: "/usr/bin/bwrap".into(), landlock }
}

#[test]
fn people_read_what_is_protected_and_what_is_not() {
    let open = || NetworkLevel::Open { why: "no namespaces".into() };
    let cases = [
        (bubblewrap(Some(7)), NetworkLevel::Namespace, "bubblewrap + landlock v7 (files), network namespace (checks)"),
        (bubblewrap(None), open(), "bubblewrap (files), network open"),
        (Files::Landlock { version: 3 }, open(), "landlock v3 (files), network open"),
        (
            Files::Open { why: "no Landlock".into() },
            NetworkLevel::Namespace,
            "files open (no Landlock), network namespace (checks)",
        ),
        (Files::Open { why: "no Landlock".into() }, open(), "none: no Landlock"),
    ];
    for (files, network, words) in cases {
        let level = Level { files, network, reads: ReadLevel::Hidden };
        assert_eq!(level.to_string(), words);
    }
    let level = Level { files: Files::Landlock { version: 5 }, ..Level::none("no namespaces") };
    assert_eq!(level.to_string(), "landlock v5 (files), hidden files readable, network open");
}

#[test]
fn every_level_names_what_it_does_not_cover() {
    let best = Level { files: bubblewrap(Some(7)), network: NetworkLevel::Namespace, reads: ReadLevel::Hidden };
    assert_eq!(best.gaps().len(), 1, "{:?}", best.gaps());
    let landlock = Level { files: Files::Landlock { version: 7 }, ..best.clone() };
    assert!(landlock.gaps()[0].contains("extended attributes"), "{:?}", landlock.gaps());
    assert_eq!(Level { files: bubblewrap(None), ..best }.gaps().len(), 2);
    assert_eq!(Level::none("nothing").gaps().len(), 5);
}
