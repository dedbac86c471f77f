//! `ralph verify-run`: whether a loop's journal is the one that was written, and what its verdict depends on.

use ralph_runtime::{Proof, verify_run};

use crate::args::VerifyRunArgs;
use crate::journal::chosen;
use crate::screen::Screen;
use ralph_host::Host;

/// Checks a loop offline. Exit code 1 when something does not hold.
///
/// # Errors
/// When the loop is unknown.
pub(crate) async fn run(args: VerifyRunArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = chosen(&store, args.loop_name.as_deref(), around).await?;
    let proof = verify_run(&around.home(), &store, entry.id).await?;
    if args.json {
        screen.json(&serde_json::to_value(&proof)?)?;
    } else {
        screen.result(&as_text(&proof))?;
    }
    Ok(u8::from(!proof.holds))
}

fn as_text(proof: &Proof) -> String {
    let mut lines =
        vec![format!("loop {}: {}", proof.loop_id.short(), if proof.holds { "HOLDS" } else { "DOES NOT HOLD" })];
    for finding in &proof.findings {
        lines.push(format!("  {} {}: {}", if finding.holds { "ok  " } else { "FAIL" }, finding.what, finding.detail));
    }
    lines.push(format!("  status {}, {}", proof.status, if proof.verified { "verified" } else { "not verified" }));
    lines.extend(proof.grade.map(|grade| format!("  grade {grade}")));
    lines.extend(proof.grade_reasons.iter().map(|reason| format!("    {reason}")));
    if let Some(tree) = &proof.tree {
        lines.push(format!("  tree {tree}"));
    }
    for check in &proof.checks {
        lines.push(format!("  check {check}"));
    }
    lines.extend(proof.rests_on.iter().map(|sentence| format!("  {sentence}")));
    lines.push(format!("  chain head {} after {} events", proof.chain_head, proof.events));
    lines.push(
        "  not covered: answers written for the visible tests, code that notices that it is checked, what no check"
            .to_owned(),
    );
    lines.push("  looks at (docs/verified.md)".to_owned());
    lines.join("\n")
}
