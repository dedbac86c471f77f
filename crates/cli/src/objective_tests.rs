use std::fs;

use super::*;

#[test]
fn an_objective_is_kept_byte_for_byte_wherever_it_comes_from() {
    let text = " Fix\r\n\tit \u{1f600}\n\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("task");
    fs::write(&file, text).unwrap();
    let read = |args: RunArgs| objective(&args, &mut text.as_bytes()).map_err(|error| error.to_string());
    let given = |text: &str| RunArgs { objective: Some(text.into()), ..RunArgs::default() };
    assert_eq!(read(given(text)).unwrap(), text);
    assert_eq!(read(given("-")).unwrap(), text);
    assert_eq!(read(RunArgs { objective_file: Some(file.clone()), ..RunArgs::default() }).unwrap(), text);
    fs::write(&file, [0xff]).unwrap();
    let error = read(RunArgs { objective_file: Some(file), ..RunArgs::default() }).unwrap_err();
    assert!(error.contains("task"), "{error}");
}
