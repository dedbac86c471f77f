use ralph_model::Money;

use super::*;

#[test]
fn a_command_that_has_to_report_its_cost_is_named_before_it_is_charged_everything() {
    let cautions = |agent: AgentSpec| {
        let config = LoopConfig::new("Fix it".into(), 5, Money::dollars(5), agent, "/nowhere".into());
        cautions(&config, Path::new("/nowhere/git"), Path::new("/nowhere"), |_| false)
    };
    let mine = AgentSpec::command("mine", "./mine");
    let said = cautions(mine.clone());
    assert!(
        matches!(&said[..], [one] if one.contains("mine has to report its cost") && one.contains("--unmetered")),
        "{said:?}"
    );
    assert!(cautions(AgentSpec { unmetered: true, ..mine }).is_empty());
}
