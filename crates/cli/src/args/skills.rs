//! The arguments of `ralph skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  ralph skills list
  ralph skills show tdd
  ralph skills new house-style
  ralph skills check .ralph/skills/house-style"
)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    pub(crate) action: SkillsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsAction {
    /// List the skills that `--skill` accepts here
    #[command(after_help = "Example:
  ralph skills list --json")]
    List(SkillsPlace),
    /// Print a skill
    Show(SkillsShowArgs),
    /// Write a skill to begin with
    New(SkillsNewArgs),
    /// Report what is wrong with skills
    Check(SkillsCheckArgs),
}

// Where skills are looked for, and how they are shown.
#[derive(Debug, Args)]
pub(crate) struct SkillsPlace {
    /// The workspace [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph skills show systematic-debugging")]
pub(crate) struct SkillsShowArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: SkillsPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph skills new house-style
  ralph skills new house-style --project")]
pub(crate) struct SkillsNewArgs {
    /// Its name: lower-case letters, digits and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Write it to .ralph/skills of the workspace, where each user has to approve it, instead of your configuration folder
    #[arg(long)]
    pub(crate) project: bool,

    #[command(flatten)]
    pub(crate) place: SkillsPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph skills check
  ralph skills check .claude/skills/mine/SKILL.md")]
pub(crate) struct SkillsCheckArgs {
    /// A SKILL.md, its folder, or a folder of such folders [default: all skills that are found here]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
