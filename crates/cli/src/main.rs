//! The `ralph` program: words and screens. Everything that is decided or done is in the libraries.

mod args;
mod clock;
mod commands;
mod input;
mod journal;
mod objective;
mod page;
mod screen;
mod style;
mod trace;
mod view;

use std::ffi::{OsStr, OsString};
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ralph_model::{ConfigError, exit_code};

use crate::args::{Cli, Command};
use crate::commands::doctor;
use crate::commands::install::Direction;
use crate::input::now;
use crate::screen::{Screen, asking, example, told};
use crate::style::Look;
use ralph_host::{GUARD, Host, REAPER};

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if first.as_deref() == Some(REAPER.as_ref()) {
        // Before anything else: a reaper starts in a millisecond and has nothing of the program's own.
        return ralph_process::reaper_main(std::env::args_os().skip(2));
    }
    // Agents run as the same user, and the keys in the environment and the memory of this process are not theirs to read. Reapers
    // have none of them, and need files of `/proc` that are closed then.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    if first.as_deref() == Some(GUARD.as_ref()) {
        return commands::guard::guard(std::env::args_os().nth(2), &mut io::stdin().lock(), &mut io::stdout());
    }
    if first.as_deref() == Some("hook".as_ref()) && !asks_for_help(std::env::args_os().nth(2)) {
        // Never an exit code of 2, which would stop the agent: not for wrong arguments either.
        return commands::hook::main();
    }
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let looks = || (Look::of(&io::stdout()), Look::of(&io::stderr()));
    let mut screen = Screen { looks, ..Screen::new(&mut out, &mut err) };
    let ended = dispatch(first, &mut screen);
    let flushed = screen.out.flush().map_err(anyhow::Error::from);
    match ended.and_then(|code| flushed.map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        // The reader went away, as `head` does; that is no fault.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = screen.say(&format!("error: {}", told(&error)));
            ExitCode::from(code_of(&error))
        }
    }
}

fn asks_for_help(argument: Option<OsString>) -> bool {
    argument.is_some_and(|argument| argument == "--help" || argument == "-h")
}

/// What the user can fix by typing something else is told apart from what failed.
fn code_of(error: &anyhow::Error) -> u8 {
    let usage = error.is::<ConfigError>() || error.is::<ralph_config::Error>();
    match error.downcast_ref::<ralph_host::Error>() {
        Some(error) => error.exit_code(),
        None if usage => exit_code::USAGE,
        None => exit_code::ERROR,
    }
}

const VERSION: &str = concat!("ralph ", env!("CARGO_PKG_VERSION"), "\n");

fn dispatch(first: Option<OsString>, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if first.as_deref().is_some_and(|word| word == "--version" || word == "-V") && std::env::args_os().len() == 2 {
        // Building all commands first would take as long as starting the program.
        screen.out.write_all(VERSION.as_bytes())?;
        return Ok(exit_code::COMPLETED);
    }
    if first.as_deref() == Some(commands::demo::AGENT.as_ref()) {
        return commands::demo::agent(screen);
    }
    let Cli { command, verbose } = match Cli::try_parse() {
        Ok(args) => args,
        Err(error) => {
            error.print()?;
            if is_unquoted_objective(&error, first.as_deref()) {
                screen.say("  the objective is one argument: put it into quotation marks")?;
            }
            if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                screen.say(&format!("  example: {}", example(std::env::args_os().skip(1), "")))?;
            }
            return Ok(u8::try_from(error.exit_code()).unwrap_or(exit_code::USAGE));
        }
    };
    let filter = trace::filter(verbose, std::env::var_os(trace::VARIABLE).as_deref())?;
    if let Command::Completions(args) = command {
        commands::completions::completions(&args, screen.out)?;
        return Ok(exit_code::COMPLETED);
    }
    let host = input::host()?;
    if let Some(filter) = filter {
        trace::install(filter, host.redactor())?;
        tracing::debug!(version = env!("CARGO_PKG_VERSION"), arguments = ?std::env::args_os(), "ralph started");
    }
    let ended = match command {
        Command::Report(args) => commands::report::run(args, &host, screen),
        command => {
            require_descriptors()?;
            let runtime = runtime()?;
            let ended = runtime.block_on(async {
                let ended = dispatch_async(command, &host, screen).await;
                host.flush_traces().await;
                ended
            });
            // A thread that still reads a large workspace for a loop that was given up is not waited for.
            runtime.shutdown_timeout(Duration::from_millis(500));
            ended
        }
    };
    tracing::debug!(code = ?ended.as_ref().ok(), "ralph ends");
    ended
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build()
}

/// What the least command needs. The runtime panics where it cannot have its own few.
const DESCRIPTORS: usize = 8;

fn require_descriptors() -> anyhow::Result<()> {
    let opened: io::Result<Vec<_>> = (0..DESCRIPTORS).map(|_| std::fs::File::open("/dev/null")).collect();
    match opened {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => anyhow::bail!(
            "too few files may be open at once: Ralph needs {DESCRIPTORS} more\n  raise the limit, such as with: ulimit -n 256"
        ),
        // What is wrong otherwise shows where it matters.
        _ => Ok(()),
    }
}

type Work<'a> = Pin<Box<dyn Future<Output = anyhow::Result<u8>> + 'a>>;

/// One future for each command, in memory of its own: together they would need as much as the largest, at each level that passes them on.
fn dispatch_async<'a>(command: Command, around: &'a Host, screen: &'a mut Screen<'_>) -> Work<'a> {
    match command {
        Command::Run(args) => Box::pin(commands::run::run(*args, around, screen)),
        Command::Crew(args) => Box::pin(commands::crew::run(args, around, screen)),
        Command::Do(args) => Box::pin(commands::activation::run(*args, around, screen)),
        Command::Resume(args) => Box::pin(commands::resume::run(args, around, screen)),
        Command::List(args) => Box::pin(commands::list::run(args, around, screen)),
        Command::Show(args) => Box::pin(commands::show::run(args, around, screen)),
        Command::Logs(args) => Box::pin(commands::logs::run(args, around, screen)),
        Command::Diff(args) => Box::pin(commands::diff::run(args, around, screen)),
        Command::Rewind(args) => Box::pin(commands::rewind::run(args, around, screen)),
        Command::Stop(args) => Box::pin(commands::stop::run(args, around, screen)),
        Command::Attach(args) => Box::pin(commands::attach::run(args, around, screen)),
        Command::Tell(args) => Box::pin(commands::tell::run(args, around, screen)),
        Command::Config(args) => Box::pin(commands::config::run(args, around, screen)),
        Command::Prune(args) => Box::pin(commands::prune::run(args, around, screen)),
        Command::Session(args) => Box::pin(commands::session::run(args, around, screen)),
        Command::VerifyRun(args) => Box::pin(commands::verify_run::run(args, around, screen)),
        Command::Trust(args) => Box::pin(async move {
            commands::trust::trust(&args, &around.dirs, &around.current, asking(), now(), screen).await
        }),
        Command::Skills(args) => Box::pin(commands::skills::run(args, around, screen)),
        Command::Init(args) => Box::pin(async move {
            commands::init::init(&args, Some(around), &around.dirs, &around.current, now(), screen).await
        }),
        Command::Agents(args) => Box::pin(async move { commands::agents::agents(&args, around, screen).await }),
        Command::Doctor(args) => {
            Box::pin(async move { doctor::doctor(&args, &doctor::Subject::new(around), screen).await })
        }
        Command::Serve(args) => Box::pin(commands::serve::run(args, around, screen)),
        Command::Worker(args) => Box::pin(commands::worker::run(args, around, screen)),
        Command::Task(args) => Box::pin(commands::task::run(args, around, screen)),
        Command::Token(args) => Box::pin(commands::token::run(args, around, screen)),
        Command::Mcp(args) => Box::pin(async move { commands::mcp::run(&args, around.clone()).await }),
        Command::Install(args) => Box::pin(ready(commands::install::run(&args, Direction::Install, around, screen))),
        Command::Uninstall(args) => {
            Box::pin(ready(commands::install::run(&args, Direction::Uninstall, around, screen)))
        }
        Command::Demo(args) => Box::pin(commands::demo::run(args, around.clone(), screen)),
        Command::Report(_) | Command::Completions(_) | Command::Hook => {
            unreachable!("these need no runtime and were answered above")
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether somebody wrote `ralph run fix the tests`.
fn is_unquoted_objective(error: &clap::Error, command: Option<&OsStr>) -> bool {
    let stray = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument,
        _ => return false,
    };
    let takes_objective = command == Some("run".as_ref()) || command == Some("do".as_ref());
    takes_objective && error.kind() == ErrorKind::UnknownArgument && !stray.starts_with('-')
}
