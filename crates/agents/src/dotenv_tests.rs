use super::*;

#[test]
fn values_are_read_as_the_program_reads_them() {
    // What the package itself makes of each.
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("A=abcdefgh12 # mine", &[("A", "abcdefgh12")]),
        ("A=\"quoted # not\" # comment", &[("A", "quoted # not")]),
        ("A=`back ticks`", &[("A", "back ticks")]),
        ("A='single' ", &[("A", "single")]),
        ("export A=1\nB=2", &[("A", "1"), ("B", "2")]),
        ("export\tA=1", &[("A", "1")]),
        ("A=x#y", &[("A", "x")]),
        ("A=", &[("A", "")]),
        ("A=\nB=2", &[("A", ""), ("B", "2")]),
        ("A=\n'x'", &[("A", "x")]),
        ("A=\"one\ntwo\"\nB=3", &[("A", "one\ntwo"), ("B", "3")]),
        ("A=\"a\\nb\"", &[("A", "a\nb")]),
        ("A='a\\nb'", &[("A", "a\\nb")]),
        ("A: yaml", &[("A", "yaml")]),
        ("A:no", &[]),
        ("A = spaced ", &[("A", "spaced")]),
        ("# A=1\nB=2", &[("B", "2")]),
        ("A=\"open\nB=2", &[("A", "\"open"), ("B", "2")]),
        ("A='x' y", &[("A", "'x' y")]),
        ("A=\"x\"y\"", &[("A", "x\"y")]),
        ("broken\n=x\nB=1", &[("broken", "x"), ("B", "1")]),
        ("A.b-c=1", &[("A.b-c", "1")]),
        ("A\n=1", &[("A", "1")]),
        ("A=1\r\nB=2\rC=3", &[("A", "1"), ("B", "2"), ("C", "3")]),
        ("  A=1", &[("A", "1")]),
        ("A='it\\'s'", &[("A", "it\\'s")]),
        ("exportA=1", &[("exportA", "1")]),
        ("export=1", &[("export", "1")]),
        ("A=\"x\\", &[("A", "\"x\\")]),
        ("é=1\nB=2", &[("B", "2")]),
        ("A=`a`b`", &[("A", "a`b")]),
        ("A==x", &[("A", "=x")]),
        ("A=\"say \\\"hi\\\"\"", &[("A", "say \\\"hi\\\"")]),
    ];
    for (text, wanted) in cases {
        let found = variables(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, *wanted, "{text:?}");
        for (name, _) in *wanted {
            assert!(possible_names(text).iter().any(|possible| possible == name), "{name} in {text:?}");
        }
    }
}
