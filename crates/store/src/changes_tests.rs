use super::*;
use crate::testing::id;

#[test]
fn changes_are_read_back() {
    let task = id(3).to_string().parse().unwrap();
    for change in [
        Change::Events { run: id(1), head: Seq(7) },
        Change::Stop { run: id(2) },
        Change::Task { task, status: TaskStatus::InProgress },
        Change::Approvals,
        Change::Schedules,
    ] {
        assert_eq!(Change::parse(&change.encode()), Some(change));
    }
    for text in ["any", "", "x 7", "01900000-0000-7000-8000-000000000001 many", "task x pending"] {
        assert_eq!(Change::parse(text), None, "{text}");
    }
}
