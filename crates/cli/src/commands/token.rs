//! `ralph token`: the tokens that a server accepts. Works on the database, without a server.

use anyhow::{Context as _, bail};
use ralph_host::{Host, database};
use ralph_server::Secret;
use ralph_store::{Role, Token};
use serde_json::json;

use crate::args::{TokenAction, TokenArgs};
use crate::clock::local;
use crate::input::now;
use crate::page::{Fit, Table, cell};
use crate::screen::Screen;

pub(crate) async fn run(args: TokenArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    match args.action {
        None => screen.result(&read_first(around)?)?,
        Some(TokenAction::Create { name, agent, json }) => create(&name, agent, json, around, screen).await?,
        Some(TokenAction::List { json }) => list(json, around, screen).await?,
        Some(TokenAction::Revoke { name }) => revoke(&name, around, screen).await?,
    }
    Ok(0)
}

/// The first token of the server that runs here.
pub(crate) fn read_first(around: &Host) -> anyhow::Result<String> {
    let path = around.dirs.token_file();
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(token.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no token yet: `ralph serve` makes the first one when it starts, `ralph token create NAME` makes others"
        ),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

async fn create(name: &str, agent: bool, as_json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let is_word = |c: char| c.is_alphanumeric() || "-_.@".contains(c);
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_word) {
        bail!("`{name}` is not a name for a token: use up to 100 letters, digits and the characters - _ . @");
    }
    let board = database::open_with_board(&around.dirs).await?.board;
    let secret = Secret::generate()?;
    let role = if agent { Role::Agent } else { Role::Admin };
    let token = Token { name: name.to_owned(), role, created_at: now() };
    board.add_token(&token, &secret.hash()).await?;
    let made = json!({ "name": token.name, "role": role_name(&token), "token": secret.reveal() });
    Ok(screen.answer(as_json, &made, secret.reveal())?)
}

async fn list(as_json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let tokens = database::open_with_board(&around.dirs).await?.board.tokens().await?;
    if as_json {
        let entry = |token: &Token| json!({ "name": token.name, "role": role_name(token), "createdAt": token.created_at.rfc3339() });
        screen.json(&tokens.iter().map(entry).collect::<Vec<_>>())?;
    } else if tokens.is_empty() {
        screen.say("no tokens")?;
    } else {
        let mut table = Table::new([("NAME", Fit::Name), ("ROLE", Fit::Left), ("CREATED", Fit::Left)]);
        for token in &tokens {
            table.row([token.name.clone(), role_name(token).to_owned(), local(token.created_at)].map(cell));
        }
        screen.page(table.into())?;
    }
    Ok(())
}

const fn role_name(token: &Token) -> &'static str {
    match token.role {
        Role::Admin => "admin",
        Role::Agent => "agent",
        Role::Task { .. } => "task",
    }
}

async fn revoke(name: &str, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let board = database::open_with_board(&around.dirs).await?.board;
    // A first token that is revoked is not made valid again by the next start.
    let first = match read_first(around) {
        Ok(secret) => board.token(&Secret::from_text(&secret).hash()).await?,
        Err(_) => None,
    };
    if !board.revoke_token(name).await? {
        bail!("there is no token `{name}`: `ralph token list` shows them");
    }
    if first.is_some_and(|first| first.name == name) {
        std::fs::remove_file(around.dirs.token_file())?;
    }
    screen.say(&format!("revoked {name}"))?;
    Ok(())
}
