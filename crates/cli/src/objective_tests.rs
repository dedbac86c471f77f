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

#[test]
fn an_objective_that_does_not_end_is_refused() {
    let args = RunArgs { objective: Some("-".into()), ..RunArgs::default() };
    let error = objective(&args, &mut std::io::repeat(b'x')).unwrap_err();
    assert!(error.to_string().contains("standard input is larger than 1 MiB"), "{error}");
    let full = "x".repeat(1 << 20);
    assert_eq!(objective(&args, &mut full.as_bytes()).unwrap(), full, "the limit itself is allowed");
    let endless = RunArgs { objective_file: Some("/dev/zero".into()), ..RunArgs::default() };
    assert!(objective(&endless, &mut std::io::empty()).is_err());
}

#[test]
fn an_objective_can_come_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, "Fix it\n")
    });
    let args = RunArgs { objective_file: Some(pipe), ..RunArgs::default() };
    assert_eq!(objective(&args, &mut std::io::empty()).unwrap(), "Fix it\n");
    writer.join().unwrap().unwrap();
}
