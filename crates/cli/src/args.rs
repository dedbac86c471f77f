//! The command line as types. Reads no file and no environment, and does nothing.
//!
//! Only what works is listed: anything else is an error with exit code 2, never a silent no-op.

mod access;
mod activation;
mod crew;
mod history;
mod install;
mod layer;
mod run;
mod server;
mod session;
mod setup;
mod skills;

use clap::{CommandFactory as _, Parser, Subcommand};

pub(crate) use access::AccessArgs;
pub(crate) use activation::DoArgs;
pub(crate) use crew::CrewArgs;
pub(crate) use history::{
    AttachArgs, DiffArgs, ListArgs, LogsArgs, ReportArgs, ResumeArgs, RewindArgs, RewindTarget, ShowArgs, StopArgs,
    TellArgs, VerifyRunArgs, loop_and_iteration,
};
pub(crate) use install::InstallArgs;
pub(crate) use run::{RunArgs, ScreenArgs};
pub(crate) use server::{
    ConnectionArgs, ServeArgs, TaskAction, TaskAddArgs, TaskArgs, TaskListArgs, TaskLogsArgs, TokenAction, TokenArgs,
    WorkerArgs,
};
pub(crate) use session::{SessionAction, SessionArgs, SessionStartArgs};
pub(crate) use setup::{
    AgentsArgs, CompletionsArgs, CompletionsTarget, ConfigArgs, DemoArgs, DoctorArgs, InitArgs, PruneArgs, TrustArgs,
};

pub(crate) use skills::{SkillsAction, SkillsArgs, SkillsNewArgs};

/// Makes coding agents finish: verifies their work from outside, feeds failures back, and repeats until the checks
/// pass or a limit is reached.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "Examples:
  ralph demo
  ralph init
  ralph run \"Fix the failing tests\" --max 10 --max-cost 5 \\
      --criteria \"npm test\" --agent claude

Exit codes of `run` and `resume`:
  0 completed, 1 error, 2 usage or configuration, 10 MAX_ITERATIONS,
  11 COST_LIMIT, 12 DAILY_BUDGET, 13 MAX_DURATION, 14 STALL, 15 SAME_ERROR_5X,
  16 PROHIBITED_PATH, 17 TAMPERED, 18 BLOCKED, 19 CANCELLED, 20 USAGE_LIMIT,
  130 cancelled from the keyboard

Environment:
  RALPH_LOG  what to log on standard error: a level (error, warn, info, debug,
             trace), TARGET=LEVEL, or several with commas between them"
)]
pub(crate) struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Log what Ralph does, on standard error
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

/// The commands.
///
/// The flags of one are made when it is called or asked about: a loop has to stay small. So the types of their arguments have no
/// documentation, which would be taken for that of the command.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Start a loop: run an agent until the checks pass or a limit is reached
    Run(Box<RunArgs>),
    /// Give a request to a crew of agents, which delegate to each other and are judged by evidence
    Crew(CrewArgs),
    /// Decide whether a request is work for a loop, say so, and carry it out
    ///
    /// It runs a loop if there is a check, the request is a specific feature, bug or refactoring, its risk is not high (authentication,
    /// payments, migrations, production data), and its skill supports loops. Otherwise the agent runs once. Without limits of your own
    /// a loop gets 10 iterations and $5.00.
    Do(Box<DoArgs>),
    /// Continue a loop that was interrupted or reached a limit
    Resume(ResumeArgs),
    /// List loops, newest first
    List(ListArgs),
    /// Show a loop: its limits, iterations and verdicts
    Show(ShowArgs),
    /// Print the output of an agent or a check
    Logs(LogsArgs),
    /// Print what a loop or an iteration changed in the workspace
    Diff(DiffArgs),
    /// Restore the workspace to the state after an iteration
    Rewind(RewindArgs),
    /// Ask a running loop to stop
    Stop(StopArgs),
    /// Watch a loop that runs in the background or in another terminal; Ctrl-C leaves it running
    Attach(AttachArgs),
    /// Tell a loop something for its next prompt
    Tell(TellArgs),
    /// Run a loop in your own Claude Code session; `ralph hook` checks the work whenever the agent stops
    Session(SessionArgs),
    /// Answer a hook of Claude Code: reads the event on standard input
    #[command(after_help = "Example, as a hook for Stop, PreCompact, SessionStart and PreToolUse:
  ralph hook

It never fails: an error is a message in the session, with exit code 0. It does
nothing if the session has no loop and RALPH_TASK_ID names no task.")]
    Hook,
    /// Summarise finished loops: completion rate, cost and stalls
    Report(ReportArgs),
    /// Check a loop's journal offline and show what its verdict depends on
    VerifyRun(VerifyRunArgs),
    /// Show and approve the configuration of a repository
    Trust(TrustArgs),
    /// List, show, write and check skills: instructions that go with an objective
    Skills(SkillsArgs),
    /// Write a ralph.toml for the project
    Init(InitArgs),
    /// List the agents, how they are called and what is missing
    Agents(AgentsArgs),
    /// Show every setting that a run here would get, and where it comes from
    Config(ConfigArgs),
    /// Show how much Ralph keeps on disk, and remove runs that are old
    Prune(PruneArgs),
    /// Check that this machine has what a loop needs
    Doctor(DoctorArgs),
    /// Run a complete loop in a throwaway repository, with a scripted agent
    Demo(DemoArgs),
    /// Serve tasks, loops and events to workers, scripts and people over HTTP
    Serve(ServeArgs),
    /// Work on the tasks of a server
    ///
    /// Each task runs as a loop in a clone of its repository, with the journal on the server; the work is pushed to the branch
    /// ralph/TASK after every iteration. If a worker dies, another one continues its tasks. SIGTERM releases them.
    Worker(WorkerArgs),
    /// Queue tasks on a server and look at them
    Task(TaskArgs),
    /// Print, make and revoke the tokens that a server accepts
    Token(TokenArgs),
    /// Serve Ralph's tools to an agent, over MCP on standard input and output
    ///
    /// An agent starts this program itself. Loops work in the current folder with your configuration. A ralph.toml that you have not
    /// approved is refused: approve it with `ralph trust`. The tools for tasks need a server: --server and --token, or RALPH_SERVER and
    /// RALPH_TOKEN.
    #[command(after_help = "Examples:
  claude mcp add ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  gemini mcp add ralph ralph mcp
  ralph mcp --server http://127.0.0.1:3013")]
    Mcp(ConnectionArgs),
    /// Add Ralph to a coding agent: the command /ralph, hooks and the MCP server
    ///
    /// Shows what would change in its settings and asks first. Comments and order stay. Settings that cannot be changed safely are refused.
    #[command(after_help = "Examples:
  ralph install claude
  ralph install opencode --scope project --dry-run")]
    Install(InstallArgs),
    /// Remove from a coding agent exactly what `ralph install` added
    #[command(after_help = "Examples:
  ralph uninstall claude --yes
  ralph uninstall codex --dry-run")]
    Uninstall(InstallArgs),
    /// Print shell completions or the manual page
    Completions(CompletionsArgs),
}

/// The command line with the flags of every command.
pub(crate) fn whole() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
