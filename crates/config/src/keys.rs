//! Every key of a configuration file, in one table: its name, the flag of the same meaning, what a repository may do
//! with it, and an example. A key that is not in this table cannot be used: the parser refuses it.

use strsim::levenshtein;

/// What a key may do when it comes from a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Only the user's own configuration can say it.
    UserOnly,
    /// It can only take rights away, so it is applied without asking.
    NarrowsOnly,
    /// It takes effect after the user approved this exact content.
    NeedsApproval,
}

/// What values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Bool,
    /// A whole number from this one on.
    Count(u64),
    /// A whole number between these two.
    Between(u64, u64),
    Text,
    Texts,
    /// One text, or a list of them.
    OneOrMore,
    Dollars,
    /// A text such as `"30s"`.
    Span,
    /// A span, or a whole number of milliseconds.
    Pause,
    OneOf(&'static [&'static str]),
    AgentKind,
}

use ValueKind::{AgentKind, Between, Bool, Count, Dollars, OneOf, OneOrMore, Pause, Span, Text, Texts};

macro_rules! keys {
    ($($key:ident $name:literal, $flag:expr, $class:ident, $kind:expr, $example:literal, $effect:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key { $(#[doc = $effect] $key,)+ }

        impl Key {
            pub const ALL: &[Self] = &[$(Self::$key,)+];

            /// Its name in a file, with dots between tables; `*` stands for a name that the user chooses.
            pub const fn name(self) -> &'static str { match self { $(Self::$key => $name,)+ } }

            /// The flag that says the same, where there is one.
            pub const fn flag(self) -> Option<&'static str> { match self { $(Self::$key => $flag,)+ } }

            /// What a repository may do with it.
            pub const fn class(self) -> Class { match self { $(Self::$key => Class::$class,)+ } }

            /// What values it takes.
            pub const fn kind(self) -> ValueKind { match self { $(Self::$key => $kind,)+ } }

            pub const fn example(self) -> &'static str { match self { $(Self::$key => $example,)+ } }

            /// What it does, for the user who approves it.
            pub const fn effect(self) -> &'static str { match self { $(Self::$key => $effect,)+ } }
        }
    };
}

keys! {
    MaxIterations "max_iterations", Some("--max"), NeedsApproval, Count(1),
        "max_iterations = 10", "limits the number of agent runs";
    MaxCostUsd "max_cost_usd", Some("--max-cost"), NeedsApproval, Dollars,
        "max_cost_usd = 2.50", "limits the cost of the loop";
    MaxTokens "max_tokens", Some("--max-tokens"), NeedsApproval, Count(1),
        "max_tokens = 2000000", "limits the tokens that agents read and write";
    MaxWindow "max_window", Some("--max-window"), NeedsApproval, Between(1, 100),
        "max_window = 80", "ends the loop when this percentage of the plan's allowance is used";
    MaxDuration "max_duration", Some("--max-duration"), NeedsApproval, Span,
        "max_duration = \"2h\"", "limits the duration of the loop";
    IterationTimeout "iteration_timeout", Some("--iteration-timeout"), NeedsApproval, Span,
        "iteration_timeout = \"20m\"", "limits the duration of one agent run";
    VerificationTimeout "verification_timeout", Some("--verify-timeout"), NeedsApproval, Span,
        "verification_timeout = \"5m\"", "limits the duration of one check";
    IdleTimeout "idle_timeout", Some("--idle-timeout"), NeedsApproval, Span,
        "idle_timeout = \"3m\"", "limits how long a process may be idle";
    PauseMs "pause_ms", Some("--pause"), NeedsApproval, Pause,
        "pause_ms = 250", "sets the pause between iterations";
    StallDetectionThreshold "stall_detection_threshold", Some("--stall"), NeedsApproval, Count(1),
        "stall_detection_threshold = 3", "sets how many iterations without progress count as a stall";
    SameErrorThreshold "same_error_threshold", Some("--same-error"), NeedsApproval, Count(1),
        "same_error_threshold = 3", "sets how many identical failures in a row end the loop";
    EscalateToDeepDebug "escalate_to_deep_debug", Some("--deep-debug"), NeedsApproval, Bool,
        "escalate_to_deep_debug = true", "continues with the systematic-debugging skill after a stall";
    VerificationCommand "verification_command", Some("--criteria"), NeedsApproval, OneOrMore,
        "verification_command = \"npm test\"", "runs commands on your computer to verify the work";
    Expects "expects", Some("--expect"), NeedsApproval, Texts,
        "expects = [\"command:true\"]", "requires observable results; `command:` runs a command on your computer";
    Junit "junit", Some("--junit"), NeedsApproval, Texts,
        "junit = [\"reports/*.xml\"]", "sets the report files of the test runner";
    CompletionPromise "completion_promise", Some("--promise"), NeedsApproval, Text,
        "completion_promise = \"<promise>DONE</promise>\"", "sets the text that counts as the agent's claim";
    Agent "agent", Some("--agent"), NeedsApproval, OneOrMore,
        "agent = \"helper\"", "selects the agent that runs on your computer";
    AgentArgs "agent_args", Some("--agent-args"), NeedsApproval, Texts,
        "agent_args = [\"--verbose\"]", "passes more arguments to the agent's program";
    Model "model", Some("--model"), NeedsApproval, Text,
        "model = \"haiku\"", "selects the agent's model, and with it the cost";
    EscalateAfter "escalate_after", Some("--escalate-after"), NeedsApproval, Count(1),
        "escalate_after = 3", "sets after how many failed iterations the next agent takes over";
    Rotate "rotate", Some("--rotate"), NeedsApproval, Bool,
        "rotate = true", "switches to the next agent on each iteration";
    MaxWait "max_wait", Some("--max-wait"), NeedsApproval, Span,
        "max_wait = \"6h\"", "sets the longest single wait for a rate-limited service";
    Failover "failover", Some("--failover"), NeedsApproval, OneOrMore,
        "failover = [\"codex:gpt-6-sol\"]", "names agents that take over when a service is unavailable for longer than max_wait";
    Backoff "backoff", None, NeedsApproval, Span,
        "backoff = \"30s\"", "sets the first wait for a rate-limited service";
    AgentCommand "agent_command", Some("--agent-command"), NeedsApproval, Text,
        "agent_command = \"./agent.sh\"", "runs a command on your computer as the agent";
    AgentsCommand "agents.*.command", None, NeedsApproval, Text,
        "agents.helper.command = \"./helper.sh\"", "defines an agent: a command that can run on your computer";
    AgentsKind "agents.*.kind", None, NeedsApproval, AgentKind,
        "agents.helper.kind = \"claude\"", "sets the kind of an agent";
    AgentsProgram "agents.*.program", None, NeedsApproval, Text,
        "agents.helper.program = \"./claude\"", "sets which program on your computer is the agent";
    AgentsModel "agents.*.model", None, NeedsApproval, Text,
        "agents.helper.model = \"opus\"", "selects an agent's model, and with it the cost";
    AgentsArgs "agents.*.args", None, NeedsApproval, Texts,
        "agents.helper.args = [\"--verbose\"]", "passes more arguments to an agent's program";
    AgentsSettings "agents.*.settings", None, NeedsApproval, OneOf(&["own", "user"]),
        "agents.helper.settings = \"user\"", "keeps the settings, hooks and servers that are configured for an agent";
    AgentsUnmetered "agents.*.unmetered", None, NeedsApproval, Bool,
        "agents.helper.unmetered = true", "does not count the cost of an agent";
    AgentsReportsCost "agents.*.reports_cost", None, NeedsApproval, Bool,
        "agents.helper.reports_cost = true", "believes that a command reports its cost while it runs";
    Unmetered "unmetered", Some("--unmetered"), NeedsApproval, Bool,
        "unmetered = true", "does not count the cost of the agent";
    CostAfterRun "cost_after_run", Some("--cost-after-run"), UserOnly, Bool,
        "cost_after_run = true", "permits agents that report their cost only after a run";
    Meter "meter", Some("--meter"), UserOnly, OneOf(&["auto", "stream"]),
        "meter = \"auto\"", "sets where the cost of agents is counted";
    RecordRequests "record_requests", Some("--record-requests"), UserOnly, Bool,
        "record_requests = true", "records the requests of agents to their model services";
    Skill "skill", Some("--skill"), NeedsApproval, Text,
        "skill = \"tdd\"", "adds instructions for the agent";
    ContextInjection "context_injection", Some("--no-context"), NeedsApproval, Bool,
        "context_injection = false", "sets whether prompts include the results of earlier iterations";
    OnBlocked "on_blocked", Some("--on-blocked"), NeedsApproval, OneOf(&["stop", "continue"]),
        "on_blocked = \"continue\"", "sets whether a blocked agent ends the loop";
    Isolation "isolation", Some("--worktree"), NeedsApproval, OneOf(&["in-place", "worktree"]),
        "isolation = \"worktree\"", "sets whether the agent works in a new git worktree";
    Commit "commit", Some("--commit"), NeedsApproval, Bool,
        "commit = true", "commits verified work to the current branch";
    Keep "keep", Some("--keep"), NeedsApproval, OneOf(&["last", "best"]),
        "keep = \"best\"", "sets which state the workspace keeps if the loop does not complete";
    Ratchet "ratchet", Some("--ratchet"), NeedsApproval, Bool,
        "ratchet = true", "undoes iterations that made things worse";
    LogLimit "log_limit", None, NeedsApproval, Count(0),
        "log_limit = 1048576", "limits how many bytes of each output are kept";
    MaxFileSize "max_file_size", Some("--max-file-size"), NeedsApproval, Between(1 << 20, 1 << 30),
        "max_file_size = 104857600", "leaves files that take more bytes of the disk out of snapshots";
    ProhibitedPaths "prohibited_paths", Some("--prohibit"), NarrowsOnly, Texts,
        "prohibited_paths = [\"infra/**\"]", "adds paths that the agent may not change";
    ProtectedPaths "protected_paths", Some("--protect"), NarrowsOnly, Texts,
        "protected_paths = [\"tests/**\"]", "adds paths that the checks depend on";
    AllowTestChange "allow_test_change", Some("--allow-test-change"), NeedsApproval, Texts,
        "allow_test_change = [\"**/*.snap\"]", "lets the agent change files that the checks depend on";
    Verify "verify", Some("--verify"), NeedsApproval, OneOf(&["guarded", "isolated"]),
        "verify = \"isolated\"", "sets where the checks run";
    Setup "setup", Some("--setup"), NeedsApproval, OneOrMore,
        "setup = [\"npm ci\"]", "runs commands on your computer to prepare the folder of isolated checks";
    Retries "retries", Some("--retries"), NeedsApproval, Count(0),
        "retries = 2", "sets how many times a failing check runs again";
    Tripwire "tripwire", Some("--no-tripwire"), NeedsApproval, Bool,
        "tripwire = false", "sets whether Ralph confirms that the checks still catch failures";
    Require "require", Some("--require"), NeedsApproval, OneOf(&["weak", "standard", "strong"]),
        "require = \"standard\"", "sets what a verified result has to be worth to complete the loop";
    AllowNetwork "allow_network", Some("--allow-network"), NeedsApproval, Bool,
        "allow_network = true", "lets checks use the network";
    AgentNetwork "agent_network", Some("--agent-network"), UserOnly, OneOf(&["full", "model"]),
        "agent_network = \"model\"", "sets what agents can reach";
    AllowHost "allow_host", Some("--allow-host"), UserOnly, Texts,
        "allow_host = [\"packages.example.com\"]", "adds hosts that agents with a restricted network can reach";
    Hide "hide", Some("--hide"), UserOnly, Texts,
        "hide = [\"~/private\"]", "adds paths that agent and checks may not read";
    AllowRead "allow_read", Some("--allow-read"), UserOnly, Texts,
        "allow_read = [\"~/.ssh\"]", "lets agent and checks read paths that are usually hidden";
    Sandbox "sandbox", Some("--sandbox"), UserOnly, OneOf(&["off", "on", "require"]),
        "sandbox = \"require\"", "sets whether agent and checks run in a sandbox";
    SandboxWritable "sandbox_writable", Some("--allow-write"), UserOnly, Texts,
        "sandbox_writable = [\"~/.my-agent\"]", "adds paths that agent and checks may write";
    Env "env", Some("--env"), UserOnly, Texts,
        "env = [\"HTTP_PROXY\"]", "passes environment variables to agent and checks";
    AgentOrder "agent_order", None, UserOnly, Texts,
        "agent_order = [\"codex\", \"claude\"]", "sets which agent is the default";
    PricesInput "prices.*.input", None, UserOnly, Dollars,
        "prices.my-model.input = 3", "sets the price of a million input tokens";
    PricesOutput "prices.*.output", None, UserOnly, Dollars,
        "prices.my-model.output = 15", "sets the price of a million output tokens";
    PricesCacheRead "prices.*.cache_read", None, UserOnly, Dollars,
        "prices.my-model.cache_read = 0.3", "sets the price of a million cache read tokens";
    PricesCacheWrite "prices.*.cache_write", None, UserOnly, Dollars,
        "prices.my-model.cache_write = 3.75", "sets the price of a million cache write tokens";
    ModelsProvider "models.*.provider", None, UserOnly, OneOf(&["anthropic", "openai", "openai-chat"]),
        "models.local.provider = \"openai-chat\"", "sets the format that a model's server speaks";
    ModelsBaseUrl "models.*.base_url", None, UserOnly, Text,
        "models.local.base_url = \"http://127.0.0.1:8080\"", "sets the address of a model's server";
    ModelsModel "models.*.model", None, UserOnly, Text,
        "models.local.model = \"qwen\"", "sets the name of a model at its server";
    ModelsKeyEnv "models.*.key_env", None, UserOnly, Text,
        "models.local.key_env = \"LOCAL_KEY\"", "names the environment variable that holds the key of a model's server";
    CapsIterations "caps.iterations", None, UserOnly, Count(1),
        "caps.iterations = 80", "changes the cap on iterations per loop";
    CapsLoopCostUsd "caps.loop_cost_usd", None, UserOnly, Dollars,
        "caps.loop_cost_usd = 20", "changes the cap on cost per loop";
    CapsDailyCostUsd "caps.daily_cost_usd", None, UserOnly, Dollars,
        "caps.daily_cost_usd = 100", "changes the cap on cost per day";
    NotifyCommand "notify.command", None, UserOnly, Text,
        "notify.command = \"notify-send Ralph\"", "runs a command when a loop ends or needs attention";
    NotifyWebhook "notify.webhook", None, UserOnly, Text,
        "notify.webhook = \"https://hooks.example.com/services/T/B/x\"", "posts to a webhook when a loop ends or needs attention";
    NotifyDesktop "notify.desktop", None, UserOnly, Bool,
        "notify.desktop = true", "shows notifications on the desktop";
    NotifySmtp "notify.smtp", None, UserOnly, Text,
        "notify.smtp = \"smtp://me@mail.example.com:587?tls=required\"", "sets the server that sends e-mails";
    NotifySmtpPasswordEnv "notify.smtp_password_env", None, UserOnly, Text,
        "notify.smtp_password_env = \"SMTP_PASSWORD\"", "names the environment variable with the password of that server";
    NotifyEmailFrom "notify.email_from", None, UserOnly, Text,
        "notify.email_from = \"Ralph <ralph@example.com>\"", "sets the sender of e-mails";
    NotifyEmailTo "notify.email_to", None, UserOnly, Texts,
        "notify.email_to = [\"me@example.com\"]", "sets who gets notifications by e-mail";
    WebAllowHosts "web.allow_hosts", None, UserOnly, Texts,
        "web.allow_hosts = [\"localhost:8080\"]", "lets web tools reach hosts on private networks";
    WebSearchUrl "web.search_url", None, UserOnly, Text,
        "web.search_url = \"https://search.example.com/search?format=json&q={query}\"", "sets the search service of web tools";
    WebSearchKeyEnv "web.search_key_env", None, UserOnly, Text,
        "web.search_key_env = \"SEARCH_KEY\"", "names the environment variable with the key of the search service";
    CrewCompactAt "crew.compact_at", None, UserOnly, Count(1000),
        "crew.compact_at = 100000", "sets from how many tokens on a conversation of the crew is summarised";
    McpCommand "mcp.*.command", None, UserOnly, Text,
        "mcp.files.command = \"npx my-server\"", "runs a command on your computer as a server of tools";
    McpUrl "mcp.*.url", None, UserOnly, Text,
        "mcp.files.url = \"https://tools.example.com/mcp\"", "uses the tools of a server";
    McpKeyEnv "mcp.*.key_env", None, UserOnly, Text,
        "mcp.files.key_env = \"TOOLS_KEY\"", "names the environment variable with the key of a server of tools";
    DatabaseUrl "database_url", None, UserOnly, Text,
        "database_url = \"postgresql://ralph@localhost/ralph\"", "says which PostgreSQL server keeps journals, budget and approvals";
    MetricsPath "metrics_path", None, UserOnly, Text,
        "metrics_path = \"/var/tmp/loops.jsonl\"", "sets where metrics are written";
}

/// Names that people may try and that no file can set, with the reason.
pub(crate) const NEVER_IN_A_FILE: [(&str, &str); 2] = [
    ("objective", "pass the objective on the command line or with --objective-file"),
    ("workspace", "the workspace is the current folder: use --workspace DIR for another one"),
];

impl Key {
    /// Its flag as a key: another name for it in a file. None where the flag takes no value of its own, or has the same name.
    pub fn alias(self) -> Option<String> {
        let alias = self.flag()?.trim_start_matches("--").replace('-', "_");
        let is_other_value = self == Self::Isolation || alias.starts_with("no_");
        (!is_other_value && alias != self.name()).then_some(alias)
    }

    pub fn segments(self) -> impl Iterator<Item = &'static str> {
        self.name().split('.')
    }

    /// The key whose name or flag is nearest to what was typed below `prefix`.
    pub fn nearest(prefix: &[&str], typed: &str) -> &'static str {
        let typed = plain(typed);
        let candidates = Self::ALL.iter().flat_map(|key| {
            let mut segments = key.segments();
            let below = prefix.iter().all(|part| segments.next().is_some_and(|s| s == "*" || s == *part));
            let name = segments.next().filter(|_| below);
            // A flag is another spelling only where the key is not inside a table.
            let flag = key.flag().filter(|_| prefix.is_empty() && below).map(|flag| (plain(flag), key.name()));
            name.map(|name| (plain(name), name)).into_iter().chain(flag)
        });
        candidates.min_by_key(|(spelling, _)| levenshtein(spelling, &typed)).map_or("", |(_, name)| name)
    }
}

/// The one of `names` that was probably meant; none where all of them are quite another word.
pub fn meant<'a>(names: impl IntoIterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let typed = plain(typed);
    let apart = names.into_iter().map(|name| (levenshtein(&plain(name), &typed), name));
    apart
        .min_by_key(|(edits, _)| *edits)
        .filter(|(edits, name)| *edits <= 2 && *edits < name.len())
        .map(|(_, name)| name)
}

/// `maxIterations`, `max-iterations` and `max_iterations` are one spelling.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
