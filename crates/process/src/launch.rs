//! Starts a program for a reaper. Waits for nothing and ends nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::io::Errno;

use crate::sandbox::Stage;
use crate::wire::Request;

/// Takes the socket that is the standard input, leaves nothing there, and closes all else.
pub(crate) fn control_socket() -> io::Result<UnixStream> {
    close_inherited()?;
    let socket = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket)
}

/// Closes the files that Ralph's parent left open: the program would inherit them.
fn close_inherited() -> io::Result<()> {
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        inherited
            .extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()).filter(|number| *number > 2));
    }
    for number in inherited {
        // One of them was the listing itself, which is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// Starts the program as the leader of a new session, without a terminal, through its stage if it has one. The descriptors are closed
/// here when it runs.
pub(crate) fn start(request: &Request, outputs: [OwnedFd; 3], stage: Option<Stage>) -> Result<i32, String> {
    if let Some(stage) = stage {
        return stage.start();
    }
    if request.program.is_empty() {
        return Err("no program was given".into());
    }
    let [stdin, stdout, stderr] = outputs.map(Stdio::from);
    let mut command = command(request);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    match CommandWrap::from(command).wrap(ProcessSession).spawn() {
        Ok(child) => i32::try_from(child.id()).map_err(|_| "its process number is out of range".into()),
        Err(error) => Err(why_not(request, &error)),
    }
}

/// The program with its arguments, directory and environment.
pub(crate) fn command(request: &Request) -> Command {
    let (program, arguments) =
        request.program.split_first().map_or((OsStr::new(""), &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&request.directory).env_clear();
    command.envs(request.environment.iter().map(|(name, value)| (name, value)));
    command
}
/// A sentence for people about a program that could not be started.
pub(crate) fn why_not(request: &Request, error: &io::Error) -> String {
    let program = request.program.first().map_or(Path::new(""), Path::new);
    let directory = request.directory.display();
    let name = program.display();
    match request.directory.metadata() {
        Err(error) => return format!("the directory {directory} cannot be used: {error}"),
        Ok(found) if !found.is_dir() => return format!("{directory} is not a directory"),
        Ok(_) => {}
    }
    let is_path = program.as_os_str().as_encoded_bytes().contains(&b'/');
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) if !is_path => format!("`{name}` was not found in PATH: install it or give its path"),
        Some(Errno::NOENT) if request.directory.join(program).exists() => {
            format!("{name} exists, but the interpreter named in its first line does not")
        }
        Some(Errno::NOENT) => format!("{name} does not exist"),
        Some(Errno::ACCESS) => format!("{name} cannot be executed: check its permissions and those of its folders"),
        Some(Errno::NOEXEC) => format!("{name} is not a program that this machine can execute"),
        Some(Errno::TOOBIG) => "its arguments and environment together are too long".into(),
        _ => format!("{name}: {error}"),
    }
}
