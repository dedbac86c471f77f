use std::os::unix::fs::PermissionsExt as _;

use super::super::tests::request;
use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.gemini")).unwrap();
        fs::create_dir(folder.path().join("scratch")).unwrap();
        Self { folder }
    }

    fn user(&self, name: &str) -> PathBuf {
        self.folder.path().join("home/.gemini").join(name)
    }

    fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.user(name), text).unwrap();
        self
    }

    fn prepare(&self, variables: &[(&str, &str)]) -> Own {
        let home = self.folder.path().join("home");
        let mut all = vec![("HOME", home.to_str().unwrap())];
        all.extend(variables);
        let request = request("x", self.folder.path().join("scratch"), &all);
        prepare(&request, folder(&request).as_deref()).unwrap()
    }

    fn settings(&self, variables: &[(&str, &str)]) -> Value {
        let own = self.prepare(variables);
        serde_json::from_str(&fs::read_to_string(own.folder.join(SETTINGS)).unwrap()).unwrap()
    }
}

fn variable<'a>(own: &'a Own, name: &str) -> Option<&'a str> {
    own.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_str().unwrap())
}

fn login(settings: &Value) -> Option<&str> {
    settings.pointer("/security/auth/selectedType").and_then(Value::as_str)
}

#[test]
fn the_login_that_the_user_chose_stays() {
    let place = Place::new().with(SETTINGS, r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#);
    assert_eq!(login(&place.settings(&[])), Some("oauth-personal"));
    assert_eq!(login(&place.settings(&[("GEMINI_API_KEY", "k")])), Some("oauth-personal"));
}

#[test]
fn a_key_alone_is_a_login() {
    let place = Place::new();
    assert_eq!(login(&place.settings(&[])), None);
    assert_eq!(login(&place.settings(&[("GEMINI_API_KEY", "")])), None);
    assert_eq!(login(&place.settings(&[("GEMINI_API_KEY", "k")])), Some("gemini-api-key"));
    let vertex = [("GEMINI_API_KEY", "k"), ("GOOGLE_GENAI_USE_VERTEXAI", "true")];
    assert_eq!(login(&place.settings(&vertex)), None, "the program asks the variables itself");
    fs::remove_dir_all(place.user("")).unwrap();
    assert_eq!(login(&place.settings(&[("GEMINI_API_KEY", "k")])), Some("gemini-api-key"), "no folder of settings yet");
}

#[test]
fn login_model_and_prohibitions_are_kept_and_nothing_else() {
    let place = Place::new().with(
        SETTINGS,
        r#"{
            // which model
            "model": {"name": "gemini-2.5-pro", "maxSessionTurns": 3},
            "hooks": {"BeforeTool": []}, "mcpServers": {"a": {"command": "x"}}, "general": {"maxAttempts": 10},
            "tools": {"exclude": ["web_fetch"], "discoveryCommand": "x", "sandbox": "docker"} /* ours */
        }"#,
    );
    let settings = place.settings(&[]);
    assert_eq!(settings.pointer("/model"), Some(&json!({"name": "gemini-2.5-pro"})));
    assert_eq!(settings.pointer("/tools"), Some(&json!({"sandbox": false, "exclude": ["web_fetch"]})));
    assert_eq!(settings.pointer("/general/maxAttempts"), Some(&json!(3)));
    assert_eq!(settings.pointer("/privacy/usageStatisticsEnabled"), Some(&json!(false)));
    assert_eq!(settings.pointer("/hooksConfig/enabled"), Some(&json!(false)));
    assert_eq!((settings.get("hooks"), settings.get("mcpServers")), (None, None));
}

#[test]
fn credentials_instructions_and_policies_are_linked() {
    let place =
        Place::new().with("oauth_creds.json", "{}").with("GEMINI.md", "be kind").with("trustedFolders.json", "{}");
    fs::create_dir(place.user("policies")).unwrap();
    fs::create_dir(place.user("extensions")).unwrap();
    let own = place.prepare(&[]);
    let mut names: Vec<_> =
        fs::read_dir(&own.folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["GEMINI.md", "oauth_creds.json", "policies", SETTINGS]);
    // A renewed login goes where the user's is.
    fs::write(own.folder.join("oauth_creds.json"), "new").unwrap();
    assert_eq!(fs::read_to_string(place.user("oauth_creds.json")).unwrap(), "new");
}

#[test]
fn instructions_may_have_another_name_but_no_other_place() {
    let place = Place::new()
        .with(SETTINGS, r#"{"context":{"fileName":["AGENTS.md","../.bashrc",".env"]}}"#)
        .with("AGENTS.md", "x")
        .with(".env", "A=1");
    let own = place.prepare(&[]);
    assert!(own.folder.join("AGENTS.md").is_symlink());
    assert!(!own.folder.join(".env").exists());
    assert_eq!(fs::read_dir(&own.folder).unwrap().count(), 2);
}

#[test]
fn settings_that_cannot_be_read_are_left_to_the_program() {
    for broken in ["{\"security\":", ""] {
        let place = Place::new().with(SETTINGS, broken);
        let own = place.prepare(&[("GEMINI_API_KEY", "k")]);
        assert_eq!(fs::read_link(own.folder.join(SETTINGS)).unwrap(), place.user(SETTINGS), "{broken}");
    }
}

#[test]
fn variables_come_from_the_request_then_the_users_file_then_nowhere() {
    let place = Place::new().with(
        ".env",
        "# mine\nGEMINI_API_KEY=\"from file\" # x\nexport GOOGLE_GEMINI_BASE_URL=https://gateway.example/v1 # y\nPATH=/evil\nbroken\n=x\n",
    );
    let own = place.prepare(&[("HTTPS_PROXY", "http://proxy")]);
    assert_eq!(variable(&own, "GEMINI_API_KEY"), Some("from file"));
    assert_eq!(variable(&own, "GOOGLE_GEMINI_BASE_URL"), Some("https://gateway.example/v1"));
    assert_eq!(variable(&own, "HTTPS_PROXY"), None, "the request has it");
    assert_eq!(variable(&own, "http_proxy"), Some(""));
    assert_eq!(variable(&own, "PATH"), None);
    assert_eq!(login(&place.settings(&[])), Some("gemini-api-key"));
    let own = place.prepare(&[("GEMINI_API_KEY", "mine"), ("GOOGLE_GEMINI_BASE_URL", "http://x")]);
    assert_eq!((variable(&own, "GEMINI_API_KEY"), variable(&own, "GOOGLE_GEMINI_BASE_URL")), (None, None));
}

#[test]
fn no_file_of_the_repository_sets_a_variable() {
    let place = Place::new().with(".env", "GEMINI_API_KEY=mine\nGOOGLE_CLOUD_PROJECT=p\n");
    let repository = place.folder.path().join("home/repo");
    let directory = repository.join("pkg/a");
    for (folder, text) in [(&repository, "GEMINI_MODEL=evil\nGEMINI_API_KEY=evil"), (&directory, "export BASH_ENV='x'")]
    {
        fs::create_dir_all(settings_folder(folder)).unwrap();
        fs::write(settings_folder(folder).join(".env"), text).unwrap();
    }
    let home = place.folder.path().join("home");
    let variables = [("HOME", home.to_str().unwrap()), ("PATH", "/bin")];
    let mut request = request("x", place.folder.path().join("scratch"), &variables);
    request.base.directory = directory.clone();
    let own = prepare(&request, folder(&request).as_deref()).unwrap();
    assert_eq!((variable(&own, "GEMINI_MODEL"), variable(&own, "BASH_ENV")), (Some(""), Some("")));
    assert_eq!(variable(&own, "GEMINI_API_KEY"), Some("mine"));
    assert_eq!(variable(&own, "GOOGLE_CLOUD_PROJECT"), Some("p"), "the user's own file is no repository's");
    let settings = fs::read_to_string(own.folder.join(SETTINGS)).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings.pointer("/advanced/ignoreLocalEnv"), Some(&json!(true)), "nor does a plain .env");

    fs::write(settings_folder(&directory).join(".env"), "x".repeat(MAX_BYTES as usize + 1)).unwrap();
    let error = prepare(&request, None).err().unwrap();
    assert!(error.to_string().contains("pkg/a/.gemini/.env is too long"), "{error}");
}

#[test]
fn the_folder_is_the_users_alone_and_made_anew() {
    let place = Place::new();
    let own = place.prepare(&[]);
    assert_eq!(fs::metadata(&own.folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(own.folder.join(SETTINGS)).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(own.folder.join("left"), "").unwrap();
    assert!(!place.prepare(&[]).folder.join("left").exists());
}

#[test]
fn a_scratch_folder_that_cannot_be_written_is_an_error_with_its_path() {
    let place = Place::new();
    fs::write(place.folder.path().join("file"), "").unwrap();
    let request = request("x", place.folder.path().join("file"), &[]);
    let error = prepare(&request, None).err().unwrap();
    assert!(error.to_string().contains("file/gemini"), "{error}");
}
