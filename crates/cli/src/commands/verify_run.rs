//! `ralph verify-run`: whether a loop's journal is the one that was written, and what its verdict depends on.

use ralph_runtime::verify_run;
use ralph_view::ProofView;
use ratatui_core::text::{Line, Span};

use crate::args::VerifyRunArgs;
use crate::journal::{chosen, single};
use crate::page::Page;
use crate::screen::Screen;
use crate::style::{BAD, GOOD, QUIET, TITLE};
use ralph_host::Host;

/// Checks a loop offline. Exit code 1 when something does not hold.
pub(crate) async fn run(args: VerifyRunArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = single(&store, chosen(&store, args.loop_name.as_deref(), around).await?).await?;
    let proof = verify_run(&around.home(), &store, entry.id).await?;
    screen.show(args.json, &proof, as_text)?;
    Ok(u8::from(!proof.holds))
}

fn as_text(proof: &ProofView) -> Page {
    let mut page = Page::default();
    let (holds, style) = if proof.holds { ("HOLDS", GOOD) } else { ("DOES NOT HOLD", BAD) };
    let name = Span::styled(format!("loop {}: ", proof.loop_id.short()), TITLE);
    page.line(Line::from(vec![name, Span::styled(holds, style.patch(TITLE))]));
    for finding in &proof.findings {
        let (mark, style) = if finding.holds { ("  ok  ", GOOD) } else { ("  FAIL", BAD) };
        let rest = Span::raw(format!(" {}: {}", finding.what, finding.detail));
        page.hanging(7, Line::from(vec![Span::styled(mark, style), rest]));
    }
    page.line(format!("  status {}, {}", proof.status, if proof.verified { "verified" } else { "not verified" }));
    if let Some(grade) = proof.grade {
        page.line(format!("  grade {grade}"));
    }
    proof.grade_reasons.iter().for_each(|reason| page.line(format!("    {reason}")));
    if let Some(tree) = &proof.tree {
        page.line(format!("  tree {tree}"));
    }
    proof.checks.iter().for_each(|check| page.line(format!("  check {check}")));
    proof.rests_on.iter().for_each(|sentence| page.line(format!("  {sentence}")));
    page.line(format!("  chain head {} after {} events", proof.chain_head, proof.events));
    page.line(Line::styled(LIMITS, QUIET));
    page
}

const LIMITS: &str = "  not covered: answers written for the visible tests, code that notices that it is checked, what no check \
                      looks at (docs/verified.md)";
