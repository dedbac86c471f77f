use super::*;

fn guard(globs: &[&str]) -> Guard {
    Guard::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn globs_mean_what_they_mean_in_a_gitignore() {
    let usual = guard(&["src/auth/**", "migrations/**", ".env", ".env.*", "certs", "!.env.example"]);
    for (path, glob) in [
        (".env", Some(".env")),
        ("deep/down/.env", Some(".env")),
        (".env.local", Some(".env.*")),
        (".env.example", None),
        ("src/auth/a/b.rs", Some("src/auth/**")),
        ("lib/src/auth/a.rs", None),
        ("migrations/1.sql", Some("migrations/**")),
        ("db/migrations/1.sql", None),
        ("x/certs/a/b.pem", Some("certs")),
        ("environment", None),
        (r#"".env.\377""#, Some(".env.*")),
    ] {
        assert_eq!(usual.prohibits(path).as_deref(), glob, "{path}");
    }
}

#[test]
fn a_folder_inside_a_prohibited_one_can_be_allowed_again() {
    let some = guard(&["secrets", "!secrets/public"]);
    assert_eq!(some.prohibits("secrets/a").as_deref(), Some("secrets"));
    assert_eq!(some.prohibits("secrets/public/a"), None);
}

#[test]
fn a_bad_glob_is_named() {
    for (globs, bad) in [(["ok", "a[b"], "a[b"), (["ok", "{x"], "{x"), (["ok", ""], "``"), (["ok", "!"], "`!`")] {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let message = Guard::new(&globs).unwrap_err().to_string();
        assert!(message.contains(bad), "{message}");
    }
}

#[test]
fn folders_lead_to_anchored_globs_only() {
    assert_eq!(leading_folders("src/auth/**", Care::Keep), ["/src", "/src/auth"]);
    assert_eq!(leading_folders("/a/*/c.rs", Care::Keep), ["/a", "/a/*"]);
    assert_eq!(leading_folders("migrations/", Care::Keep), [""; 0]);
    for glob in [".env", "**/keys/**", "!src/auth/**", "certs/"] {
        assert_eq!(leading_folders(glob, Care::Keep), [""; 0], "{glob}");
    }
    let some = guard(&["src/auth/**"]);
    assert_eq!(some.lead(b"src").map(|cover| cover.glob.to_string()).as_deref(), Some("src/auth/**"));
    assert!(some.lead(b"other/src").is_none());
    let compared = leading_folders("**/node_modules/jest/**", Care::Compare);
    assert_eq!(compared, ["**/node_modules", "**/node_modules/jest"]);
}

#[test]
fn a_path_is_forbidden_by_its_name_and_by_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("src/auth")).unwrap();
    std::fs::create_dir(root.join("lib")).unwrap();
    std::os::unix::fs::symlink("src/auth", root.join("innocent")).unwrap();
    let guard = Guard::new(&["src/auth/**".to_owned(), ".env".to_owned()]).unwrap();
    let forbids = |path: &str| guard.forbids(&root, Path::new(path)).is_some();
    for path in [".env", "src/auth/new.rs", "./src/./auth/a/b.rs", "lib/../.env", "innocent/x.rs", "src/auth/../auth/y"]
    {
        assert!(forbids(path), "{path}");
        assert!(forbids(&format!("{}/{path}", root.display())), "{path}");
    }
    for path in ["env", "src/authority.rs", "lib/x.rs", "../.env", "/etc/passwd", ""] {
        assert!(!forbids(path), "{path}");
    }
}

#[test]
fn a_link_to_what_is_not_there_yet_is_forbidden_by_what_it_would_make() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("lib")).unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    link(".env", "harmless");
    link("harmless", "twice");
    link("../.env", "lib/up");
    link(&root.join(".env").to_string_lossy(), "absolute");
    link("notes.txt", "notes");
    link("round", "round");
    link("/nowhere/.env", "outside");
    let guard = Guard::new(&[".env".to_owned()]).unwrap();
    for path in ["harmless", "twice", "lib/up", "absolute"] {
        assert_eq!(guard.forbids(&root, Path::new(path)).as_deref(), Some(".env"), "{path}");
    }
    for path in ["notes", "round", "outside"] {
        assert_eq!(guard.forbids(&root, Path::new(path)), None, "{path}");
    }
}
