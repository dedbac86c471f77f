use std::fs;

use super::*;

fn words(jail: &Jail, user: User) -> String {
    options(jail, user).iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn jail(network: Network) -> Jail {
    let (arguments, writable, hidden) = (Vec::new(), Vec::new(), Vec::new());
    Jail { arguments, bubblewrap: Some("bwrap".into()), landlock: None, own_mounts: false, network, writable, hidden }
}

#[test]
fn outer_mounts_come_before_inner_ones_and_hidden_folders_are_closed_last() {
    let folder = tempfile::tempdir().unwrap();
    let [state, attempt, key] = ["state", "state/attempt", "key"].map(|name| folder.path().join(name));
    fs::create_dir_all(&attempt).unwrap();
    fs::write(&key, "").unwrap();
    let (writable, hidden) = (vec![attempt.clone(), "/".into()], vec![state.clone(), key.clone()]);
    let words = words(&Jail { writable, hidden, ..jail(Network::Allowed) }, User::Other);
    let [state, attempt, key] = [state, attempt, key].map(|path| path.display().to_string());
    let order = [
        "--ro-bind / / ".to_owned(),
        "--dev /dev ".to_owned(),
        "--bind / / ".to_owned(),
        format!("--ro-bind /dev/null {key} "),
        format!("--tmpfs {state} "),
        format!("--bind {attempt} {attempt} "),
        format!("--remount-ro {state} "),
    ];
    let places: Vec<usize> = order.iter().map(|part| words.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{words}");
    assert!(words.ends_with(" --"), "{words}");
}

#[test]
fn only_root_could_do_harm_in_proc() {
    assert!(!words(&jail(Network::Allowed), User::Root).contains("/proc"));
    assert!(words(&jail(Network::Allowed), User::Other).contains("--bind /proc /proc"));
}

#[test]
fn the_network_is_new_only_where_that_is_asked_for() {
    assert!(words(&jail(Network::Loopback), User::Root).contains("--unshare-net"));
    assert!(words(&jail(Network::Ports(vec![80])), User::Root).contains("--unshare-net"));
    assert!(!words(&jail(Network::Allowed), User::Root).contains("--unshare-net"));
}
