//! A case as data: a project, an agent, and what has to come of it. Runs nothing.

use ralph_model::Grade;
use ralph_testkit::Step;

use super::project::Project;
use super::tools::Tool;

/// What an agent in a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It does not do the work and makes the checks say that it did.
    Cheat,
    /// It does the work, and what people do besides.
    Honest,
    /// A cheat that nobody can see who only runs the checks: shown, never counted.
    Beyond(&'static str),
}

/// How it is shown that a case is what it says, without Ralph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// After the agent the checks pass.
    Passes,
    /// After the agent the checks fail the first time and pass the second time on the same files.
    PassesTheSecondTime,
    /// The checks say nothing about it, for this reason.
    NotShown(&'static str),
}

/// Before the agent does anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The checks fail because of the bug.
    Failing,
    /// The checks pass: no test knows about the bug.
    Passing,
}

/// How often a case is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Always.
    Short,
    /// With `RALPH_TEST_LONG=1`.
    Long,
}

/// Where Ralph keeps its state in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// With everything else of the user, in memory.
    Usual,
    /// On the disk, away from every folder that programs share.
    Apart,
}

/// One agent in one project.
pub struct Case {
    pub name: &'static str,
    pub kind: Kind,
    pub project: Project,
    /// More words for `ralph run`.
    pub words: Vec<&'static str>,
    /// The user's own variables; `{workspace}`, `{home}` and `{path}` stand for what they say.
    pub environment: Vec<(&'static str, &'static str)>,
    /// What the agent does, run by run.
    pub runs: Vec<Vec<Step>>,
    /// How many runs it gets.
    pub max: u32,
    pub proof: Proof,
    pub start: Start,
    pub length: Length,
    pub state: State,
    /// What Ralph has to name as tampered with.
    pub tampered: Option<&'static str>,
    /// The reason that has to be given for the end.
    pub reason: Option<&'static str>,
    /// Only a sandbox can stop it.
    pub needs_sandbox: bool,
    /// The most that a result of it may be worth, where it is beyond any check: docs/verified.md says the same of its limit. Of
    /// honest work the least.
    pub best: Grade,
    /// Steps that may fail, because they are what a sandbox is there to forbid.
    pub may_fail: bool,
}

impl Case {
    pub fn cheat(name: &'static str, project: Project) -> Self {
        Self {
            name,
            kind: Kind::Cheat,
            project,
            words: Vec::new(),
            environment: Vec::new(),
            runs: Vec::new(),
            max: 1,
            proof: Proof::Passes,
            start: Start::Failing,
            length: Length::Short,
            state: State::Usual,
            tampered: None,
            reason: None,
            needs_sandbox: false,
            best: Grade::Weak,
            may_fail: false,
        }
    }

    /// An agent that mends the bug; what else it does is added with [`Case::agent`].
    pub fn honest(name: &'static str, project: Project) -> Self {
        let runs = vec![vec![project.fix()]];
        Self { kind: Kind::Honest, runs, ..Self::cheat(name, project) }
    }

    /// An agent that does what it does in its own order.
    pub fn honest_by_itself(name: &'static str, project: Project) -> Self {
        Self { kind: Kind::Honest, ..Self::cheat(name, project) }
    }

    pub fn beyond(name: &'static str, project: Project, why: &'static str) -> Self {
        Self { kind: Kind::Beyond(why), ..Self::cheat(name, project) }
    }

    /// What the agent does in its first run, after whatever it does there already.
    pub fn agent(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        match self.runs.first_mut() {
            Some(first) => first.extend(steps),
            None => self.runs.push(steps.into_iter().collect()),
        }
        self
    }

    /// What it does in one more run.
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.runs.push(steps.into_iter().collect());
        self.max = self.max.max(u32::try_from(self.runs.len()).unwrap());
        self
    }

    pub fn words(mut self, words: &[&'static str]) -> Self {
        self.words.extend(words);
        self
    }

    /// Lets the agent change these tests.
    pub fn allowing(self, glob: &'static str) -> Self {
        self.words(&["--allow-test-change", glob])
    }

    pub fn isolated(self) -> Self {
        self.words(&["--verify", "isolated"])
    }

    pub fn environment(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    pub fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    pub fn proof(mut self, proof: Proof) -> Self {
        self.proof = proof;
        self
    }

    pub fn not_shown(self, why: &'static str) -> Self {
        self.proof(Proof::NotShown(why))
    }

    /// The checks pass before the agent does anything.
    pub fn passing_at_the_start(mut self) -> Self {
        self.start = Start::Passing;
        self
    }

    pub fn long(mut self) -> Self {
        self.length = Length::Long;
        self
    }

    pub fn state_apart(mut self) -> Self {
        self.state = State::Apart;
        self
    }

    /// Ralph has to say that this was tampered with.
    pub fn names(mut self, tampered: &'static str) -> Self {
        self.tampered = Some(tampered);
        self
    }

    pub fn ends_with(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// It writes outside the workspace, which only a sandbox can stop.
    pub fn needs_sandbox(mut self) -> Self {
        self.needs_sandbox = true;
        self.steps_may_fail()
    }

    /// A limit whose results can be worth as much.
    pub fn at_best(mut self, best: Grade) -> Self {
        self.best = best;
        self
    }

    /// Honest work whose result is worth as much.
    pub fn at_least(self, grade: Grade) -> Self {
        self.at_best(grade)
    }

    pub fn steps_may_fail(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// Programs that have to be there.
    pub fn needs(&self) -> &[Tool] {
        &self.project.needs
    }

    pub fn says(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}
