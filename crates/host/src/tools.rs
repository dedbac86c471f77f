//! What tools get from this machine besides files and programs: memory, tasks, channels, the web, servers of tools.

use std::sync::Arc;

use ralph_config::{Layer, McpTable, NotifyTable};
use ralph_model::{Access, AgentNetwork, ConfigError};
use ralph_notify::{Desktop, Email, Notifier, Webhook};
use ralph_runtime::ExtendTools;
use ralph_store::BoardHandle;
use ralph_tools::{BoardService, McpPlace, McpServer, SearchService, Services, Web};

use crate::{Error, Host, find_program};

impl Host {
    /// What completes the services of tools as the user configured them: memory and tasks, channels, the web.
    ///
    /// # Errors
    /// Names the key of the user's configuration that cannot work.
    pub fn extend_tools(
        &self,
        user: &Layer,
        board: Option<BoardHandle>,
        access: &Access,
    ) -> Result<ExtendTools, Error> {
        let (notifier, web) = (self.notifier(&user.notify)?, self.web(user, access)?);
        let board = board.map(|board| BoardService { board, caps: ralph_config::caps(user) });
        let home = self.home();
        Ok(Arc::new(move |services: Services| Services {
            memory: Some(home.workspace(&services.workspace).join("memory")),
            board: board.clone(),
            notifier: notifier.clone(),
            web: Some(web.clone()),
            ..services
        }))
    }

    /// The servers of tools that the user configured.
    ///
    /// # Errors
    /// Names the key that cannot work.
    pub fn mcp_servers(&self, user: &Layer) -> Result<Vec<McpServer>, Error> {
        let server = |(name, table): (&String, &McpTable)| {
            let place = match (&table.command, &table.url) {
                (Some(command), None) => McpPlace::Command(command.clone()),
                (None, Some(url)) => {
                    let key = self.secret("mcp.*.key_env", table.key_env.as_deref())?;
                    McpPlace::Url { url: url.clone(), key }
                }
                _ => {
                    let problem = format!("of {name} is there twice or not at all");
                    return Err(ConfigError::new("mcp.*.command", problem, "either a command or a url").into());
                }
            };
            Ok(McpServer { name: name.clone(), place })
        };
        user.mcp.iter().map(server).collect()
    }

    fn web(&self, user: &Layer, access: &Access) -> Result<Web, Error> {
        let search = match &user.web.search_url {
            Some(url) => {
                let key = self.secret("web.search_key_env", user.web.search_key_env.as_deref())?;
                Some(SearchService { url: url.clone(), key })
            }
            None => None,
        };
        let only = (access.agent_network == AgentNetwork::Model).then(|| access.allow_hosts.clone());
        Ok(Web { allow_hosts: user.web.allow_hosts.clone().unwrap_or_default(), search, only })
    }

    /// Notifies the user; none where no channel is configured.
    ///
    /// # Errors
    /// Names the key that cannot work.
    pub fn notifier(&self, table: &NotifyTable) -> Result<Option<Arc<Notifier>>, Error> {
        let email = match (&table.smtp, &table.email_from) {
            (Some(server), Some(from)) => Some(Email {
                server: server.clone(),
                password: self.secret("notify.smtp_password_env", table.smtp_password_env.as_deref())?,
                from: from.clone(),
                to: table.email_to.clone().unwrap_or_default(),
            }),
            (Some(_), None) => {
                return Err(ConfigError::new("notify.email_from", "is missing beside notify.smtp", "an address").into());
            }
            (None, _) => None,
        };
        let desktop = match table.desktop.unwrap_or_default() {
            false => None,
            true => {
                let program = find_program("notify-send", &self.search_path());
                // Where there is no desktop, as on a server, that channel is left out.
                program.map(|program| Desktop { program, environment: self.variables().to_vec() })
            }
        };
        let webhook = table.webhook.clone().map(|url| Webhook { url });
        if email.is_none() && desktop.is_none() && webhook.is_none() {
            return Ok(None);
        }
        let notifier = Notifier::new(ralph_notify::Settings { webhook, email, desktop });
        let wrong = |error: ralph_notify::Error| match error {
            ralph_notify::Error::Settings { key, problem } => {
                ConfigError::new(key, problem, "see docs/notifications.md")
            }
            other => ConfigError::new("notify", other.to_string(), "see docs/notifications.md"),
        };
        Ok(Some(Arc::new(notifier.map_err(wrong)?)))
    }

    /// The value of a variable that the user's configuration names.
    fn secret(&self, key: &'static str, name: Option<&str>) -> Result<Option<String>, Error> {
        let Some(name) = name else { return Ok(None) };
        match self.variable(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty()) {
            Some(value) => Ok(Some(value)),
            None => {
                Err(ConfigError::new(key, format!("{name} is not set"), "the name of a variable that is set").into())
            }
        }
    }
}
