use super::*;

fn places(variables: &[(&str, &str)]) -> Result<Places, NoHome> {
    Places::from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
}

#[test]
fn the_usual_places() {
    let places = places(&[("HOME", "/home/me")]).unwrap();
    assert_eq!(places.config_file(), Path::new("/home/me/.config/ralph/config.toml"));
    assert_eq!(places.database(), Path::new("/home/me/.local/state/ralph/ralph.db"));
}

#[test]
fn each_variable_moves_its_place() {
    let all = [("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c"), ("RALPH_HOME", "/r")];
    let moved = places(&all).unwrap();
    assert_eq!((moved.state.as_path(), moved.config.as_path()), (Path::new("/r"), Path::new("/c/ralph")));
    assert_eq!(places(&all[..3]).unwrap().state, Path::new("/s/ralph"));
    assert_eq!(places(&[("RALPH_HOME", "/r")]).unwrap().config, Path::new("/r/config"));
}

#[test]
fn relative_paths_count_as_none() {
    assert_eq!(places(&[("HOME", "/h"), ("RALPH_HOME", "state")]).unwrap().state, Path::new("/h/.local/state/ralph"));
    assert_eq!(places(&[("HOME", "")]), Err(NoHome));
    assert_eq!(places(&[]), Err(NoHome));
}

#[test]
fn a_path_can_be_pasted_into_a_shell() {
    for (path, word) in [("/a/b-c_1.d", "/a/b-c_1.d"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'"), ("/$x", "'/$x'")] {
        assert_eq!(shell_word(Path::new(path)), word);
    }
}
