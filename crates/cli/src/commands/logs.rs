//! `ralph logs`: what an agent or a check printed, as it was written down.

mod follow;
mod journal;
mod output;

pub(crate) use journal::FollowedLoop;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use ralph_agents::Readable;
use ralph_model::RunKind;
use ralph_text::{Redactor, SanitizeStream};
use ralph_view::{RunView, VerdictView};

use crate::args::{LogsArgs, loop_and_iteration};
use crate::journal::{chosen, single, view};
use crate::screen::Screen;
use crate::view::transcript;
use ralph_host::Host;

/// Prints one output, and goes on with it while the loop runs when that is asked for.
pub(crate) async fn run(mut args: LogsArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let (loop_name, iteration) = loop_and_iteration(args.loop_name.as_deref(), args.iteration);
    let entry = chosen(&store, loop_name, around).await?;
    args.iteration = iteration;
    if entry.kind == RunKind::Crew {
        return super::crew::logs(&store, &entry, screen).await;
    }
    let entry = single(&store, entry).await?;
    let folder = around.home().loop_folder(entry.id);
    if args.follow {
        return follow::follow(&store, entry.id, around, args.raw, screen).await;
    }
    let run = view(&store, entry.id).await?;
    let raw = args.raw;
    let file = match recorded(&run, &args) {
        Ok(file) => folder.root().join(file),
        // The newest agent may still be running; then only its file exists.
        Err(error) => match newest(&folder.logs()) {
            Some(path) if args.iteration.is_none() && args.check.is_none() => path,
            _ => return Err(error),
        },
    };
    let opened = File::open(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let readable = readable(&run, &file, &around.redactor()).filter(|_| !raw);
    let mut shown = Shown::new(opened, readable);
    let bytes = shown.drain(screen)?;
    shown.finish(screen)?;
    if bytes == 0 {
        screen.say(&format!("nothing was printed ({})", file.display()))?;
    }
    Ok(0)
}

fn recorded(run: &RunView, args: &LogsArgs) -> anyhow::Result<String> {
    let wanted = args.iteration.unwrap_or(run.state.iteration.0);
    let record = run.iteration(wanted);
    if wanted > 0 && record.is_none() {
        bail!("there is no iteration {wanted}: the loop has {}", run.state.counted);
    }
    let verdict = if wanted == 0 { run.baseline.as_ref() } else { record.and_then(|record| record.verdict.as_ref()) };
    match (args.check, record.and_then(|record| record.run.as_ref())) {
        (Some(check), _) => {
            check_log(verdict, check).with_context(|| format!("iteration {wanted} has no check {check}"))
        }
        (None, _) if wanted == 0 => check_log(verdict, 1).context("the loop has no baseline"),
        (None, Some(run)) => Ok(run.output.file.clone()),
        (None, None) => bail!("the agent of iteration {wanted} left no log: it was interrupted or still runs"),
    }
}

/// How the log of an agent is told in words, where it is none already.
pub(crate) fn readable(run: &RunView, log: &Path, redactor: &Arc<Redactor>) -> Option<Readable> {
    let name = log.file_name()?.to_str()?;
    let (iteration, _) = name.strip_prefix("iteration-")?.split_once("-agent-")?;
    let agent = &run.iteration(iteration.parse().ok()?)?.agent;
    let spec = run.config.agents().find(|spec| spec.title() == *agent)?;
    Readable::of(spec, Arc::clone(redactor))
}

fn check_log(verdict: Option<&VerdictView>, check: u32) -> Option<String> {
    let index = usize::try_from(check).ok()?.checked_sub(1)?;
    verdict?.checks.get(index).map(|check| check.outcome.output.file.clone())
}

pub(crate) fn newest(logs: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(logs).ok()?.flatten();
    files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).max().map(|(_, path)| path)
}

/// An output on its way to the screen. It was made inert when it was written, and is again: a process that can write to the state
/// folder can write there.
pub(crate) struct Shown {
    file: File,
    inert: SanitizeStream,
    readable: Option<Readable>,
}

impl Shown {
    pub(crate) fn new(file: File, readable: Option<Readable>) -> Self {
        Self { file, inert: SanitizeStream::default(), readable }
    }

    /// Prints what was still being said when the output ended.
    fn finish(&mut self, screen: &mut Screen<'_>) -> anyhow::Result<()> {
        if let Some(readable) = &mut self.readable {
            screen.out.write_all(transcript(readable.finish()).as_bytes())?;
            screen.out.flush()?;
        }
        Ok(())
    }

    /// Prints what there is by now and gives its length in bytes.
    pub(crate) fn drain(&mut self, screen: &mut Screen<'_>) -> anyhow::Result<u64> {
        let (mut buffer, mut text, mut bytes) = (vec![0; 64 * 1024], String::new(), 0);
        loop {
            let count = self.file.read(&mut buffer)?;
            if count == 0 {
                screen.out.flush()?;
                return Ok(bytes);
            }
            bytes += count as u64;
            self.inert.push(&buffer[..count], &mut text);
            match &mut self.readable {
                Some(readable) => screen.out.write_all(transcript(readable.push(&text)).as_bytes())?,
                None => screen.out.write_all(text.as_bytes())?,
            }
            text.clear();
        }
    }
}
