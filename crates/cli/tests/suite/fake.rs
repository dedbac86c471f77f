//! A program of kind `claude` that is none: a test says what each of its runs does. Its lines are those of recorded runs of the
//! real program, with other figures and words in them.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use ralph_testkit::{Processes, shell_quoted};
use serde_json::{Value, json};

use crate::aid::extended;
use crate::harness::User;

const COMPLETE: &str = include_str!("../../../agents/streams/claude/complete.jsonl");
const USAGE_LIMIT: &str = include_str!("../../../agents/streams/claude/usage-limit.jsonl");
const STATUS_429: &str = include_str!("../../../agents/streams/claude/status-429.jsonl");
const STATUS_401: &str = include_str!("../../../agents/streams/claude/status-401.jsonl");

/// The model of the recordings, and what a token that it writes costs in the user's own list of prices.
const MODEL: &str = "claude-opus-5-5";
const MICROS_A_TOKEN: u64 = 20;
/// The time in the recording at which the limit ends.
const RESETS_AT: &str = "1794762253";

/// One run of the program, as a script of shell. It begins in the workspace with `$run` naming a folder of its own.
#[derive(Debug, Clone)]
pub struct Run {
    script: String,
    answers: u32,
}

impl Run {
    /// Says hello, as the program always does.
    pub fn new() -> Self {
        let hello = &recorded(COMPLETE)[..1];
        Self { script: printed(hello), answers: 0 }
    }

    /// Works: a line of shell.
    pub fn does(mut self, line: impl AsRef<str>) -> Self {
        let _ = writeln!(self.script, "{}", line.as_ref());
        self
    }

    /// The model answers once, for so many micro-dollars.
    pub fn answers(mut self, micros: u64) -> Self {
        self.answers += 1;
        let lines = answer(&format!("msg_{}", self.answers), micros);
        self.does(printed(&lines))
    }

    /// The model answers again and again, each time for so many micro-dollars.
    pub fn keeps_answering(self, times: u32, micros: u64, pause: Duration) -> Self {
        let lines = printed(&answer("msg_NUMBER", micros));
        let pause = pause.as_secs_f64();
        let body = format!("{{ {lines} }} | sed \"s/NUMBER/$number/g\"; sleep {pause}");
        self.does(format!("number=0; while [ $number -lt {times} ]; do number=$((number + 1)); {body}; done"))
    }

    /// Ends as a run that did something, with these last words; it cost so many micro-dollars in all.
    pub fn ends(self, micros: u64, words: &str) -> Self {
        let mut lines = recorded(COMPLETE).split_off(1);
        let result = lines.pop().unwrap();
        let said = result["result"].clone();
        for line in &mut lines {
            if line["message"]["content"][0]["text"] == said {
                line["message"]["content"][0]["text"] = words.into();
            }
        }
        lines.push(charged(result, micros, words));
        self.does(printed(&lines)).does("exit 0")
    }

    /// The account's allowance is used up until so many seconds from then; `$run/resets` gets the time. What was answered
    /// before cost so many micro-dollars.
    pub fn limited(self, seconds: u32, micros: u64) -> Self {
        let run = if micros == 0 { self } else { self.answers(micros) };
        let mut lines = recorded(USAGE_LIMIT).split_off(1);
        let result = lines.pop().unwrap();
        let words = result["result"].as_str().unwrap().to_owned();
        lines.push(if micros == 0 { result } else { charged(result, micros, &words) });
        run.does(format!("resets=$(($(date +%s) + {seconds})); echo $resets > \"$run/resets\""))
            .does(format!("{{ {} }} | sed \"s/{RESETS_AT}/$resets/g\"; exit 1", printed(&lines)))
    }

    /// Too many requests, and nobody says for how long.
    pub fn refused(self) -> Self {
        self.does(printed(&recorded(STATUS_429)[1..])).does("exit 1")
    }

    /// Nobody is logged in.
    pub fn not_logged_in(self) -> Self {
        self.does(printed(&recorded(STATUS_401)[1..])).does("exit 1")
    }

    /// Leaves a file and does nothing for ever.
    pub fn hangs(self) -> Self {
        self.does("touch \"$run/hangs\"; sleep 600")
    }
}

/// The program.
pub struct Fake {
    folder: PathBuf,
}

impl Fake {
    /// Does this run by run; the last one is repeated.
    pub fn new(user: &User, runs: impl IntoIterator<Item = Run>) -> Self {
        let folder = user.home().join("fakes");
        fs::create_dir_all(&folder).unwrap();
        let folder = tempfile::Builder::new().prefix("fake-").tempdir_in(folder).unwrap().keep();
        fs::create_dir(folder.join("runs")).unwrap();
        let mut last = 0;
        for (number, run) in (1..).zip(runs) {
            fs::write(folder.join(format!("{number}.sh")), run.script).unwrap();
            last = number;
        }
        let fake = Self { folder };
        let here = shell_quoted(&fake.folder.to_string_lossy());
        // Making a folder is the one thing of which two runs cannot do the same at once.
        let script = format!(
            "#!/bin/sh\nnumber=1\nuntil mkdir {here}/runs/$number 2>/dev/null; do\n  number=$((number + 1))\n  \
             [ $number -lt 1000 ] || exit 99\ndone\nrun={here}/runs/$number\ndate +%s%3N > \"$run/started\"\n\
             for word; do printf '%s\\n' \"$word\"; done > \"$run/arguments\"\ncat > \"$run/prompt\"\n\
             if [ $number -gt {last} ]; then number={last}; fi\n. {here}/$number.sh\n"
        );
        fs::write(fake.program(), script).unwrap();
        fs::set_permissions(fake.program(), fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    pub fn program(&self) -> PathBuf {
        self.folder.join("claude")
    }

    /// Lines for a configuration that make it the agent of this name.
    pub fn configured_as(&self, name: &str) -> String {
        format!(
            "agents.{name}.kind = \"claude\"\nagents.{name}.program = {}\n",
            json!(self.program().to_string_lossy())
        )
    }

    /// How often it was started.
    pub fn runs(&self) -> usize {
        fs::read_dir(self.folder.join("runs")).unwrap().count()
    }

    /// Where a run leaves things.
    pub fn place(&self, run: usize, file: &str) -> PathBuf {
        self.folder.join("runs").join(run.to_string()).join(file)
    }

    /// What a run left in a file.
    #[track_caller]
    pub fn left(&self, run: usize, file: &str) -> String {
        let path = self.place(run, file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).trim_end().to_owned()
    }

    /// The number that a run left in a file.
    #[track_caller]
    pub fn number(&self, run: usize, file: &str) -> i64 {
        self.left(run, file).parse().unwrap()
    }

    /// The word that came after another one when it was called.
    #[track_caller]
    pub fn argument(&self, run: usize, after: &str) -> Option<String> {
        let words = self.left(run, "arguments");
        words.lines().skip_while(|word| *word != after).nth(1).map(str::to_owned)
    }

    /// Fails when a process of it lives.
    #[track_caller]
    pub fn assert_gone(&self, limit: Duration) {
        let processes = Processes::with_marker(self.folder.to_string_lossy().as_bytes());
        if let Err(alive) = processes.wait_until_gone(limit) {
            panic!("the program survived: {alive:?}");
        }
    }
}

/// What the model costs, whatever is known about it.
pub fn prices() -> String {
    format!("prices.\"{MODEL}\".input = 4\nprices.\"{MODEL}\".output = {MICROS_A_TOKEN}\n")
}

/// The words of a run with agents that are configured, to which a test adds its own. Their limits may be checked between runs.
pub fn words(agents: &[&str], max: u32, more: &[&str]) -> Vec<String> {
    strict_words(agents, max, &[&["--cost-after-run"], more].concat())
}

/// The same without that permission.
pub fn strict_words(agents: &[&str], max: u32, more: &[&str]) -> Vec<String> {
    let max = max.to_string();
    let usual = ["run", "Make the check pass", "--max", &max, "--max-cost", "1", "--pause", "0", "--json"];
    let mut words = usual.map(str::to_owned).to_vec();
    words.extend(agents.iter().flat_map(|agent| ["--agent".to_owned(), (*agent).to_owned()]));
    extended(words, more)
}

fn recorded(text: &str) -> Vec<Value> {
    // A line with an exclamation mark tells how the recorded run ended.
    let lines = text.lines().filter(|line| !line.starts_with('!'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A line of shell that prints lines as they are.
fn printed(lines: &[Value]) -> String {
    let words: Vec<String> = lines.iter().map(|line| shell_quoted(&line.to_string())).collect();
    format!("printf '%s\\n' {};", words.join(" "))
}

/// The beginning and the end of one answer.
fn answer(id: &str, micros: u64) -> [Value; 2] {
    let lines = recorded(COMPLETE);
    let of = |kind: &str| lines.iter().find(|line| line["event"]["type"] == kind).unwrap().clone();
    // What is read costs as much as one token that is written.
    let usage = |tokens: u64| json!({"input_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": tokens});
    let (mut start, mut end) = (of("message_start"), of("message_delta"));
    start["event"]["message"]["id"] = id.into();
    start["event"]["message"]["usage"] = usage(1);
    end["event"]["usage"] = usage((micros / MICROS_A_TOKEN).saturating_sub(1));
    for line in [&mut start, &mut end] {
        line["api_message_id"] = id.into();
    }
    [start, end]
}

/// The last line of a run, with other figures and words.
fn charged(mut result: Value, micros: u64, words: &str) -> Value {
    let dollars = micros as f64 / 1e6;
    let usage = json!({ MODEL: {
        "inputTokens": 0,
        "outputTokens": micros / MICROS_A_TOKEN,
        "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 0,
        "costUSD": dollars,
        "costBasis": "list",
    } });
    result["total_cost_usd"] = dollars.into();
    result["modelUsage"] = usage.clone();
    result["model_usage_since_last_result"] = usage;
    result["result"] = words.into();
    result
}
