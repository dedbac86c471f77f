//! The arguments of the commands around a server.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use ralph_model::{HostRule, Money, TaskStatus, TaskType};

use super::run::{Word, count, within, word_of};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph serve
  ralph serve --database-url postgres://ralph@db.example.org/ralph
  ralph serve --listen 0.0.0.0:3013 --allow-host ralph.example.org \\
      --tls-cert cert.pem --tls-key key.pem")]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3013", value_parser = listen)]
    pub(crate) listen: SocketAddr,

    /// Keep tasks and loops in this PostgreSQL database, which several servers can share [default: as configured, else a
    /// file in the state directory]
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,

    /// Encrypt connections with this certificate chain (PEM); required for addresses other than loopback
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Listen on an address that other machines can reach without encryption, such as behind a proxy
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) insecure_listen: bool,

    /// The folder that loops of the MCP tool `ralph_loop` work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Accept this name in the Host header, in addition to localhost and the address; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host)]
    pub(crate) allow_host: Vec<String>,

    /// Accept requests from web pages of this origin, in addition to the server's own; repeatable
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
}

/// An address to listen on. Names are looked up nowhere; one of them always means the same.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    address.parse().map_err(|_| "write an IP address and a port, such as 127.0.0.1:3013 or [::1]:3013".to_owned())
}

/// A name in a Host header.
fn host(text: &str) -> Result<String, String> {
    match HostRule::parse(text) {
        Ok(_) if !text.starts_with('*') => Ok(text.to_owned()),
        _ => Err("write a host as browsers send it, without http:// and a path, such as ralph.example.org".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph token
  ralph token create build-machine --agent
  ralph token list
  ralph token revoke build-machine")]
pub(crate) struct TokenArgs {
    /// What to do [default: print the first token, which `ralph serve` made at its first start]
    #[command(subcommand)]
    pub(crate) action: Option<TokenAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token and print it; it cannot be printed again
    #[command(after_help = "Example:
  ralph token create build-machine --agent")]
    Create {
        /// What to call it
        #[arg(value_name = "NAME")]
        name: String,
        /// Allow only what a worker needs
        #[arg(long)]
        agent: bool,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List tokens without their secrets
    #[command(after_help = "Example:
  ralph token list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; servers refuse it within a second
    #[command(after_help = "Example:
  ralph token revoke build-machine")]
    Revoke {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

// Which server, and as whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectionArgs {
    /// The server [default: $RALPH_SERVER, else http://127.0.0.1:3013]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,

    /// The token [default: $RALPH_TOKEN, else the first token of the local server]
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph worker --agent claude
  RALPH_TOKEN=TOKEN ralph worker --server https://ralph.example.org
  ralph worker --workspace ~/project --agent codex --drain")]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The worker's name [default: the machine's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How many tasks to work on at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=64))]
    pub(crate) concurrency: u32,

    /// Work on tasks without a repository too, in clones of the repository of this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// The agent [default: as configured]
    #[arg(long, value_name = "NAME[:MODEL]", conflicts_with = "agent_command")]
    pub(crate) agent: Vec<String>,

    /// Command to run as the agent; it reads the prompt from standard input
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub(crate) agent_command: Option<String>,

    /// Do not count the cost of the agent
    #[arg(long)]
    pub(crate) unmetered: bool,

    /// Permit an agent that shows its cost only after a run: the cost limit is checked between runs
    #[arg(long)]
    pub(crate) cost_after_run: bool,

    /// End when nothing is left to claim
    #[arg(long)]
    pub(crate) drain: bool,

    /// Push work that seems to contain keys or passwords; without this, the task fails and the work stays on this machine
    #[arg(long)]
    pub(crate) allow_secrets: bool,

    /// After how many seconds without a sign of this worker others may take over its tasks
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = within(5..=600))]
    pub(crate) lease: u32,

    /// Print JSON, one object for each line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task add \"Make the tests pass\" --promise \"npm test passes\" \\
      --criteria \"npm test\"
  ralph task list
  ralph task logs 9a8057b3 --follow")]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) action: TaskAction,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskAction {
    /// Queue a task
    Add(Box<TaskAddArgs>),
    /// List tasks, newest first
    List(TaskListArgs),
    /// Show a task
    #[command(after_help = "Example:
  ralph task show 9a8057b3 --json")]
    Show {
        /// The task: its id, or at least four characters from its end [default: the newest]
        #[arg(value_name = "TASK")]
        task: Option<String>,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Cancel a task; a worker that holds it is asked to stop
    #[command(after_help = "Example:
  ralph task cancel 9a8057b3")]
    Cancel {
        /// The task: its id, or at least four characters from its end
        #[arg(value_name = "TASK")]
        task: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print what happened to a task
    Logs(TaskLogsArgs),
}

const TYPES: &[Word<TaskType>] = &[
    ("ralph", "As a loop, until it is verified or a limit is reached", TaskType::Ralph),
    ("single", "As one pass of an agent", TaskType::Single),
    ("crew", "By the crew", TaskType::Crew),
];

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph task add \"Make the tests pass\" --promise \"npm test passes\" \\
      --criteria \"npm test\" --max 20
  ralph task add \"Write the release notes\" --type single --tag docs \\
      --repo https://git.example.org/app.git")]
pub(crate) struct TaskAddArgs {
    /// What has to be done
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,

    /// What is true when it is done; required for tasks of type ralph
    #[arg(long, value_name = "TEXT")]
    pub(crate) promise: Option<String>,

    /// Command that passes only when the work is done
    #[arg(long, value_name = "COMMAND")]
    pub(crate) criteria: Option<String>,

    /// Maximum number of agent runs [default: 50]
    #[arg(long = "max", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum cost in US dollars
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Money>,

    /// The repository to clone [default: the worker's own workspace]
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,

    /// The branch, tag or commit to start from
    #[arg(long, value_name = "REF")]
    pub(crate) base_ref: Option<String>,

    /// How it is worked on
    #[arg(long = "type", value_name = "TYPE", default_value = "ralph", value_parser = word_of(TYPES))]
    pub(crate) task_type: TaskType,

    /// A task that has to be completed first, by its id or its end; repeatable
    #[arg(long, value_name = "TASK")]
    pub(crate) after: Vec<String>,

    /// Tasks with a higher priority are claimed first, -1000 to 1000
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,

    /// A tag of the task; repeatable
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task list --status in_progress --limit 5 --json")]
pub(crate) struct TaskListArgs {
    /// List only tasks with this status; repeatable
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub(crate) status: Vec<TaskStatus>,

    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = within(1..=u32::MAX))]
    pub(crate) limit: u32,

    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph task logs 9a8057b3 --follow")]
pub(crate) struct TaskLogsArgs {
    /// The task: its id, or at least four characters from its end [default: the newest]
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// Continue until the task ends
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print JSON, one object for each line
    #[arg(long)]
    pub(crate) json: bool,
}

fn status(name: &str) -> Result<TaskStatus, String> {
    let known = TaskStatus::ALL.map(TaskStatus::name).join(", ");
    TaskStatus::parse(&name.replace('-', "_")).ok_or_else(|| format!("expected {known}"))
}
