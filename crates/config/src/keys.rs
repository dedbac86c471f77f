//! Every key of a configuration file, in one table: its name, the flag of the same meaning, what a repository may do
//! with it, and an example. A key that is not in this table cannot be used: the parser refuses it.

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

macro_rules! keys {
    ($($key:ident $name:literal, $flag:expr, $class:ident, $example:literal, $effect:literal;)+) => {
        /// A key of a configuration file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key { $(#[doc = $effect] $key,)+ }

        impl Key {
            /// Every key there is.
            pub const ALL: &[Self] = &[$(Self::$key,)+];

            /// Its name in a file, with dots between tables; `*` stands for a name that the user chooses.
            pub const fn name(self) -> &'static str { match self { $(Self::$key => $name,)+ } }

            /// The flag that says the same, where there is one.
            pub const fn flag(self) -> Option<&'static str> { match self { $(Self::$key => $flag,)+ } }

            /// What a repository may do with it.
            pub const fn class(self) -> Class { match self { $(Self::$key => Class::$class,)+ } }

            /// A line that works.
            pub const fn example(self) -> &'static str { match self { $(Self::$key => $example,)+ } }

            /// What it does, for whoever has to approve it.
            pub const fn effect(self) -> &'static str { match self { $(Self::$key => $effect,)+ } }
        }
    };
}

keys! {
    MaxIterations "max_iterations", Some("--max"), NeedsApproval,
        "max_iterations = 10", "sets how many times the agent may run";
    MaxCostUsd "max_cost_usd", Some("--max-cost"), NeedsApproval,
        "max_cost_usd = 2.50", "sets how much money the loop may spend";
    MaxDuration "max_duration", Some("--max-duration"), NeedsApproval,
        "max_duration = \"2h\"", "sets how long the loop may take";
    IterationTimeout "iteration_timeout", Some("--iteration-timeout"), NeedsApproval,
        "iteration_timeout = \"20m\"", "sets how long one agent run may take";
    VerificationTimeout "verification_timeout", Some("--verify-timeout"), NeedsApproval,
        "verification_timeout = \"5m\"", "sets how long one check may take";
    IdleTimeout "idle_timeout", Some("--idle-timeout"), NeedsApproval,
        "idle_timeout = \"3m\"", "sets how long a process may do nothing";
    PauseMs "pause_ms", Some("--pause"), NeedsApproval,
        "pause_ms = 250", "sets the rest between two iterations";
    StallDetectionThreshold "stall_detection_threshold", Some("--stall"), NeedsApproval,
        "stall_detection_threshold = 3", "sets how many iterations without progress are a stall";
    SameErrorThreshold "same_error_threshold", Some("--same-error"), NeedsApproval,
        "same_error_threshold = 3", "sets how often the same failure may come in a row";
    EscalateToDeepDebug "escalate_to_deep_debug", Some("--deep-debug"), NeedsApproval,
        "escalate_to_deep_debug = true", "goes on with another skill after a stall";
    VerificationCommand "verification_command", Some("--criteria"), NeedsApproval,
        "verification_command = \"npm test\"", "runs commands on your computer, to judge the work";
    Expects "expects", Some("--expect"), NeedsApproval,
        "expects = [\"command:true\"]", "says what has to be observable; `command:` runs a command on your computer";
    Junit "junit", Some("--junit"), NeedsApproval,
        "junit = [\"reports/*.xml\"]", "says which files count the tests";
    CompletionPromise "completion_promise", Some("--promise"), NeedsApproval,
        "completion_promise = \"<promise>DONE</promise>\"", "sets what counts as the agent's claim";
    Agent "agent", Some("--agent"), NeedsApproval,
        "agent = \"helper\"", "chooses the agent that runs on your computer";
    AgentArgs "agent_args", Some("--agent-args"), NeedsApproval,
        "agent_args = [\"--verbose\"]", "hands the agent's program more arguments";
    Model "model", Some("--model"), NeedsApproval,
        "model = \"haiku\"", "chooses the model that the agent uses, and with it what it costs";
    EscalateAfter "escalate_after", Some("--escalate-after"), NeedsApproval,
        "escalate_after = 3", "sets after how many failed iterations the next agent takes over";
    Rotate "rotate", Some("--rotate"), NeedsApproval,
        "rotate = true", "takes another agent each iteration";
    MaxWait "max_wait", Some("--max-wait"), NeedsApproval,
        "max_wait = \"6h\"", "sets how long a service that refuses is waited for";
    Backoff "backoff", None, NeedsApproval,
        "backoff = \"30s\"", "sets how long a service that refuses is waited for at first";
    AgentCommand "agent_command", Some("--agent-command"), NeedsApproval,
        "agent_command = \"./agent.sh\"", "runs a command on your computer, as the agent";
    AgentsCommand "agents.*.command", None, NeedsApproval,
        "agents.helper.command = \"./helper.sh\"", "defines an agent: a command that can run on your computer";
    AgentsKind "agents.*.kind", None, NeedsApproval,
        "agents.helper.kind = \"claude\"", "says what kind of agent it is";
    AgentsProgram "agents.*.program", None, NeedsApproval,
        "agents.helper.program = \"./claude\"", "says which program on your computer is the agent";
    AgentsModel "agents.*.model", None, NeedsApproval,
        "agents.helper.model = \"opus\"", "chooses the model that an agent uses, and with it what it costs";
    AgentsArgs "agents.*.args", None, NeedsApproval,
        "agents.helper.args = [\"--verbose\"]", "hands an agent's program more arguments";
    AgentsSettings "agents.*.settings", None, NeedsApproval,
        "agents.helper.settings = \"user\"", "lets an agent keep the settings, hooks and servers that are configured for it";
    AgentsUnmetered "agents.*.unmetered", None, NeedsApproval,
        "agents.helper.unmetered = true", "says that an agent's cost is not counted";
    Unmetered "unmetered", Some("--unmetered"), NeedsApproval,
        "unmetered = true", "says that the agent's cost is not counted";
    Skill "skill", Some("--skill"), NeedsApproval,
        "skill = \"tdd\"", "gives the agent more instructions";
    ContextInjection "context_injection", Some("--no-context"), NeedsApproval,
        "context_injection = false", "says whether prompts tell what happened before";
    OnBlocked "on_blocked", Some("--on-blocked"), NeedsApproval,
        "on_blocked = \"continue\"", "says whether a blocked agent ends the loop";
    Isolation "isolation", Some("--worktree"), NeedsApproval,
        "isolation = \"worktree\"", "says where in the repository the work happens";
    Commit "commit", Some("--commit"), NeedsApproval,
        "commit = true", "commits verified work on the current branch";
    Keep "keep", Some("--keep"), NeedsApproval,
        "keep = \"best\"", "says which state the workspace keeps without success";
    Ratchet "ratchet", Some("--ratchet"), NeedsApproval,
        "ratchet = true", "undoes iterations that made things worse";
    LogLimit "log_limit", None, NeedsApproval,
        "log_limit = 1048576", "sets how many bytes of one output are kept";
    ProhibitedPaths "prohibited_paths", Some("--prohibit"), NarrowsOnly,
        "prohibited_paths = [\"infra/**\"]", "adds paths that the agent may not change";
    ProtectedPaths "protected_paths", Some("--protect"), NarrowsOnly,
        "protected_paths = [\"tests/**\"]", "adds paths that the checks depend on";
    AllowTestChange "allow_test_change", Some("--allow-test-change"), NeedsApproval,
        "allow_test_change = [\"**/*.snap\"]", "lets the agent change files that the checks depend on";
    Verify "verify", Some("--verify"), NeedsApproval,
        "verify = \"isolated\"", "says where the checks run";
    Setup "setup", Some("--setup"), NeedsApproval,
        "setup = [\"npm ci\"]", "runs commands on your computer, to prepare the folder of isolated checks";
    Retries "retries", Some("--retries"), NeedsApproval,
        "retries = 2", "sets how often a failing check is run again";
    Tripwire "tripwire", Some("--no-tripwire"), NeedsApproval,
        "tripwire = false", "says whether checks have to show that they can fail before the loop completes";
    AllowNetwork "allow_network", Some("--allow-network"), NeedsApproval,
        "allow_network = true", "lets checks use the network";
    Sandbox "sandbox", Some("--sandbox"), UserOnly,
        "sandbox = \"require\"", "says whether agent and checks are kept inside a sandbox";
    SandboxWritable "sandbox_writable", Some("--allow-write"), UserOnly,
        "sandbox_writable = [\"~/.my-agent\"]", "adds paths that agent and checks may write";
    Env "env", Some("--env"), UserOnly,
        "env = [\"HTTP_PROXY\"]", "hands environment variables to agent and checks";
    AgentOrder "agent_order", None, UserOnly,
        "agent_order = [\"codex\", \"claude\"]", "says which agent is taken when none is named";
    PricesInput "prices.*.input", None, UserOnly,
        "prices.my-model.input = 3", "says what a million tokens cost that a model reads";
    PricesOutput "prices.*.output", None, UserOnly,
        "prices.my-model.output = 15", "says what a million tokens cost that a model writes";
    PricesCacheRead "prices.*.cache_read", None, UserOnly,
        "prices.my-model.cache_read = 0.3", "says what a million tokens cost that a model reads from a cache";
    PricesCacheWrite "prices.*.cache_write", None, UserOnly,
        "prices.my-model.cache_write = 3.75", "says what a million tokens cost that a model puts into a cache";
    CapsIterations "caps.iterations", None, UserOnly,
        "caps.iterations = 80", "moves the cap on iterations of a loop";
    CapsLoopCostUsd "caps.loop_cost_usd", None, UserOnly,
        "caps.loop_cost_usd = 20", "moves the cap on the money of a loop";
    CapsDailyCostUsd "caps.daily_cost_usd", None, UserOnly,
        "caps.daily_cost_usd = 100", "moves the cap on the money of a day";
    NotifyCommand "notify.command", None, UserOnly,
        "notify.command = \"notify-send Ralph\"", "runs a command when a loop ends or needs attention";
    MetricsPath "metrics_path", None, UserOnly,
        "metrics_path = \"/var/tmp/loops.jsonl\"", "says where metrics are written";
}

/// Names that people may try and that no file can set, with the reason.
pub(crate) const NEVER_IN_A_FILE: [(&str, &str); 2] = [
    ("objective", "the objective is your request: give it on the command line or with --objective-file"),
    ("workspace", "the workspace is the folder that Ralph is started in: use --workspace DIR for another one"),
];

impl Key {
    /// The parts of its name.
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
        candidates.min_by_key(|(spelling, _)| distance(spelling, &typed)).map_or("", |(_, name)| name)
    }
}

/// The one of `names` that was probably meant; none where all of them are quite another word.
pub fn meant<'a>(names: impl IntoIterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let typed = plain(typed);
    let apart = names.into_iter().map(|name| (distance(&plain(name), &typed), name));
    apart
        .min_by_key(|(edits, _)| *edits)
        .filter(|(edits, name)| *edits <= 2 && *edits < name.len())
        .map(|(_, name)| name)
}

/// `maxIterations`, `max-iterations` and `max_iterations` are one spelling.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Single-character edits between two words.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in right.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
