use super::*;
use crate::style::{BAD, Colours, GOOD};

fn sample() -> Page {
    let mut page = Page::default();
    page.line("loop 099a8057  COMPLETED");
    page.field("workspace", "/users/anybody/projects/a-repository-with-a-long-name", PLAIN);
    page.field("check", "npm test -- --reporter dot --bail\nnpm run lint", PLAIN);
    page.text(2, "Fix the failing tests in src/utils, and do not change any of the tests that pass today.", PLAIN);
    let mut table = Table::new([
        ("#", Fit::Right),
        ("VERDICT", Fit::Left),
        ("COST", Fit::Right),
        ("AGENT", Fit::Name),
        ("NOTE", Fit::Words),
    ]);
    for (number, verdict, note) in [
        ("1", Span::styled("fail", BAD), "false claim; TAMPERED src/parse.test.ts: an assertion is gone"),
        ("10", Span::styled("pass", GOOD), "claimed"),
    ] {
        table.row([cell(number), verdict, cell("$0.3334"), cell("gemini:gemini-2.5-flash"), cell(note)]);
    }
    page.table(table);
    page
}

fn shown(page: Page, columns: Option<usize>) -> String {
    page.lines(Look { colours: Colours::Off, columns }).join("\n")
}

#[test]
fn a_page_for_programs_has_whole_lines() {
    insta::assert_snapshot!(shown(sample(), None), @"
    loop 099a8057  COMPLETED
      workspace  /users/anybody/projects/a-repository-with-a-long-name
      check      npm test -- --reporter dot --bail
                 npm run lint
      Fix the failing tests in src/utils, and do not change any of the tests that pass today.
     #  VERDICT     COST  AGENT                    NOTE
     1  fail     $0.3334  gemini:gemini-2.5-flash  false claim; TAMPERED src/parse.test.ts: an assertion is gone
    10  pass     $0.3334  gemini:gemini-2.5-flash  claimed
    ");
}

#[test]
fn a_page_at_three_widths() {
    insta::assert_snapshot!(shown(sample(), Some(60)), @"
    loop 099a8057  COMPLETED
      workspace
           /users/anybody/projects/a-repository-with-a-long-name
      check      npm test -- --reporter dot --bail
                 npm run lint
      Fix the failing tests in src/utils, and do not change any
      of the tests that pass today.
     #  VERDICT     COST  AGENT         NOTE
     1  fail     $0.3334  gemin…-flash  false claim; TAMPERED
                                        src/parse.test.ts: an
                                        assertion is gone
    10  pass     $0.3334  gemin…-flash  claimed
    ");
    insta::assert_snapshot!(shown(sample(), Some(80)), @"
    loop 099a8057  COMPLETED
      workspace  /users/anybody/projects/a-repository-with-a-long-name
      check      npm test -- --reporter dot --bail
                 npm run lint
      Fix the failing tests in src/utils, and do not change any of the tests that
      pass today.
     #  VERDICT     COST  AGENT                    NOTE
     1  fail     $0.3334  gemini:gemini-2.5-flash  false claim; TAMPERED
                                                   src/parse.test.ts: an assertion
                                                   is gone
    10  pass     $0.3334  gemini:gemini-2.5-flash  claimed
    ");
    insta::assert_snapshot!(shown(sample(), Some(120)), @"
    loop 099a8057  COMPLETED
      workspace  /users/anybody/projects/a-repository-with-a-long-name
      check      npm test -- --reporter dot --bail
                 npm run lint
      Fix the failing tests in src/utils, and do not change any of the tests that pass today.
     #  VERDICT     COST  AGENT                    NOTE
     1  fail     $0.3334  gemini:gemini-2.5-flash  false claim; TAMPERED src/parse.test.ts: an assertion is gone
    10  pass     $0.3334  gemini:gemini-2.5-flash  claimed
    ");
}

#[test]
fn a_text_that_is_cut_stays_on_its_line_where_there_is_room() {
    let list = || {
        let mut table = Table::new([("LOOP", Fit::Left), ("STATE", Fit::Left), ("OBJECTIVE", Fit::Cut)]);
        table.row([
            cell("099a8057"),
            cell("COMPLETED (unverified)"),
            cell("Fix the failing tests in src/utils and src/parse"),
        ]);
        table.row([cell("199a8057"), cell("日本語"), cell("")]);
        Page::from(table)
    };
    insta::assert_snapshot!(shown(list(), Some(60)), @"
    LOOP      STATE                   OBJECTIVE
    099a8057  COMPLETED (unverified)  Fix the failing tests in …
    199a8057  日本語
    ");
    insta::assert_snapshot!(shown(list(), Some(40)), @"
    LOOP      STATE
    099a8057  COMPLETED (unverified)
        Fix the failing tests in src/utils …
    199a8057  日本語
    ");
}

#[test]
fn ages_and_costs_in_a_table_are_short() {
    let ages = [0, 59_999, 60_000, 3_599_000, 3_600_000, 47 * 3_600_000, 49 * 3_600_000].map(|time| age(Millis(time)));
    assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "47h", "2d"]);
    assert_eq!(
        [0, 1_350, 90_882, 5_000_000].map(|micros| cost(Money::from_micros(micros))),
        ["-", "$0.0014", "$0.0909", "$5.00"]
    );
}

/// The widest row of `ralph list`: nothing of it is broken on a narrow screen.
#[test]
fn a_listing_fits_sixty_columns() {
    let mut table = Table::new([
        ("LOOP", Fit::Left),
        ("STATE", Fit::Left),
        ("RUNS", Fit::Right),
        ("COST", Fit::Right),
        ("AGE", Fit::Right),
        ("OBJECTIVE", Fit::Cut),
    ]);
    table.row(
        ["0211fb48", "COMPLETED (unverified)", "50", "$10.0909", "365d", "crew: say whether the tests pass"].map(cell),
    );
    insta::assert_snapshot!(shown(table.into(), Some(60)), @"
    LOOP      STATE                   RUNS      COST   AGE
    0211fb48  COMPLETED (unverified)    50  $10.0909  365d
        crew: say whether the tests pass
    ");
}
