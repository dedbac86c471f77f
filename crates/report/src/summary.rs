//! What many loops show together. Counts whole numbers only; a rate or a mean is formed when it is shown.

use std::collections::{BTreeMap, HashMap};

use ralph_model::{AbortReason, Money, RunKind, Timestamp};

use crate::alert::{self, Alert};
use crate::date::DayNumber;
use crate::record::{Record, Status};
use crate::tally::{Rate, Spread};

/// What many loops show together. A loop that was resumed after its end counts once, with its last record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub loops: u64,
    pub completed: u64,
    pub aborted: u64,
    /// Of those, the ones that somebody cancelled, the losers of races among them.
    pub cancelled: u64,
    pub errors: u64,
    pub verified: u64,
    pub unverified: u64,
    pub stalled: u64,
    pub prohibited: u64,
    /// Loops after which more tests failed than before.
    pub regressions: u64,
    /// How often agents said that they are done while the checks failed.
    pub false_claims: u64,
    pub false_claim_loops: u64,
    pub tampered_loops: u64,
    pub iterations: Spread,
    pub cost_micros: Spread,
    pub duration_millis: Spread,
    /// Files that loops changed, a file counted once per loop.
    pub files_modified: u64,
    /// Tests that loops mended, less those that they broke.
    pub tests_fixed: i64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Why loops were aborted, most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// By skill, most loops first; loops without one under an empty name.
    pub by_skill: Vec<Group>,
    /// By agent, most loops first.
    pub by_agent: Vec<Group>,
    /// Crews, which count nowhere else: completed are those that answered, their iterations are rounds.
    pub crews: Group,
    /// The days in UTC on which loops ended, oldest first. Days without any are left out.
    pub days: Vec<Day>,
    pub alerts: Vec<Alert>,
}

/// The loops of one skill or agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub loops: u64,
    pub completed: u64,
    pub verified: u64,
    pub cancelled: u64,
    pub iterations: u64,
    pub cost: Money,
}

impl Group {
    /// How many of its loops completed. Those that somebody cancelled show nothing of what they would have come to.
    pub const fn completion(&self) -> Rate {
        Rate { part: self.completed, whole: self.loops - self.cancelled }
    }

    fn add(&mut self, record: &Record) {
        self.loops += 1;
        self.completed += u64::from(record.status == Status::Completed);
        self.verified += u64::from(is_verified(record));
        self.cancelled += u64::from(is_aborted_for(record, AbortReason::Cancelled));
        self.iterations += u64::from(record.iterations);
        self.cost += record.cost;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The first moment of the day, in UTC.
    pub start: Timestamp,
    pub completed: u64,
    pub aborted: u64,
    pub errors: u64,
    pub cost: Money,
}

impl Day {
    pub(crate) const fn empty(start: Timestamp) -> Self {
        Self { start, completed: 0, aborted: 0, errors: 0, cost: Money::ZERO }
    }

    pub const fn loops(&self) -> u64 {
        self.completed + self.aborted + self.errors
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.aborted += other.aborted;
        self.errors += other.errors;
        self.cost += other.cost;
    }
}

impl Summary {
    pub fn of(records: &[Record]) -> Self {
        let mut last = HashMap::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            last.insert(record.loop_id, index);
        }
        let counted = || records.iter().enumerate().filter(|(index, record)| last.get(&record.loop_id) == Some(index));
        let (crews, records): (Vec<&Record>, Vec<&Record>) =
            counted().map(|(_, record)| record).partition(|record| record.kind == RunKind::Crew);

        let mut summary = Self::default();
        crews.into_iter().for_each(|record| summary.crews.add(record));
        let mut days: BTreeMap<DayNumber, Day> = BTreeMap::new();
        let (mut reasons, mut skills, mut agents) = (HashMap::new(), HashMap::new(), HashMap::new());
        for record in &records {
            summary.add(record);
            let day = DayNumber::of(record.end_time);
            let day = days.entry(day).or_insert_with(|| Day::empty(day.start()));
            match record.status {
                Status::Completed => day.completed += 1,
                Status::Aborted => day.aborted += 1,
                Status::Error => day.errors += 1,
            }
            day.cost += record.cost;
            if record.status == Status::Aborted {
                *reasons.entry(record.abort_reason.as_deref().unwrap_or_default()).or_insert(0) += 1;
            }
            group(&mut skills, record.skill.as_deref().unwrap_or_default()).add(record);
            group(&mut agents, &record.agent).add(record);
        }
        summary.iterations = spread(&records, |record| u64::from(record.iterations));
        summary.cost_micros = spread(&records, |record| record.cost.micros().unsigned_abs());
        summary.duration_millis = spread(&records, |record| record.duration.0);
        summary.days = days.into_values().collect();
        summary.reasons = reasons.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
        summary.reasons.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        summary.by_skill = ranked(skills);
        summary.by_agent = ranked(agents);
        summary.alerts = alert::alerts(&summary);
        summary
    }

    /// How many loops completed. Those that somebody cancelled show nothing of what they would have come to.
    pub const fn completion(&self) -> Rate {
        Rate { part: self.completed, whole: self.loops - self.cancelled }
    }

    pub const fn stall(&self) -> Rate {
        Rate { part: self.stalled, whole: self.loops }
    }

    fn add(&mut self, record: &Record) {
        let aborted_for = |reason: AbortReason| u64::from(is_aborted_for(record, reason));
        self.loops += 1;
        match record.status {
            Status::Completed => self.completed += 1,
            Status::Aborted => self.aborted += 1,
            Status::Error => self.errors += 1,
        }
        self.verified += u64::from(is_verified(record));
        self.unverified += u64::from(record.status == Status::Completed && !record.verification_passed);
        self.cancelled += aborted_for(AbortReason::Cancelled);
        self.stalled += aborted_for(AbortReason::Stall);
        self.prohibited += aborted_for(AbortReason::ProhibitedPath);
        self.regressions += u64::from(record.tests_fixed < 0);
        self.false_claims += u64::from(record.false_claims);
        self.false_claim_loops += u64::from(record.false_claims > 0);
        self.tampered_loops += u64::from(record.tampered > 0);
        self.files_modified = self.files_modified.saturating_add(record.files_modified);
        self.tests_fixed = self.tests_fixed.saturating_add(record.tests_fixed);
        self.input_tokens = self.input_tokens.saturating_add(record.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(record.output_tokens);
    }
}

fn is_aborted_for(record: &Record, reason: AbortReason) -> bool {
    record.status == Status::Aborted && record.abort_reason.as_deref() == Some(reason.name())
}

fn is_verified(record: &Record) -> bool {
    record.status == Status::Completed && record.verification_passed
}

fn group<'g, 'r>(groups: &'g mut HashMap<&'r str, Group>, name: &'r str) -> &'g mut Group {
    groups.entry(name).or_insert_with(|| Group { name: name.to_owned(), ..Group::default() })
}

fn ranked(groups: HashMap<&str, Group>) -> Vec<Group> {
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|one, other| other.loops.cmp(&one.loops).then_with(|| one.name.cmp(&other.name)));
    groups
}

fn spread(records: &[&Record], value: impl Fn(&Record) -> u64) -> Spread {
    let mut values: Vec<u64> = records.iter().map(|record| value(record)).collect();
    Spread::of(&mut values)
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
