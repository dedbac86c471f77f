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
        assert_eq!(Level { files, network }.to_string(), words);
    }
}
