use std::path::Path;

use super::*;

fn dirs(variables: &[(&str, &str)]) -> Result<Dirs, NoHome> {
    Dirs::from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
}

#[test]
fn the_usual_places() {
    let dirs = dirs(&[("HOME", "/home/me")]).unwrap();
    assert_eq!(dirs.config_file(), Path::new("/home/me/.config/ralph/config.toml"));
    assert_eq!(dirs.database(), Path::new("/home/me/.local/state/ralph/ralph.db"));
}

#[test]
fn each_variable_moves_its_place() {
    let all = [("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c"), ("RALPH_HOME", "/r")];
    let moved = dirs(&all).unwrap();
    assert_eq!((moved.state.as_path(), moved.config.as_path()), (Path::new("/r"), Path::new("/c/ralph")));
    assert_eq!(dirs(&all[..3]).unwrap().state, Path::new("/s/ralph"));
    assert_eq!(dirs(&[("RALPH_HOME", "/r")]).unwrap().config, Path::new("/r/config"));
}

#[test]
fn relative_paths_count_as_none() {
    assert_eq!(dirs(&[("HOME", "/h"), ("RALPH_HOME", "state")]).unwrap().state, Path::new("/h/.local/state/ralph"));
    assert_eq!(dirs(&[("HOME", "")]), Err(NoHome));
    assert_eq!(dirs(&[]), Err(NoHome));
}
