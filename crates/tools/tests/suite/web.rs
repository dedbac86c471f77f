use ralph_tools::{SearchService, Web};
use serde_json::json;

use crate::receiver::Receiver;
use crate::support::Lab;

fn lab(allow_hosts: &[String], search: Option<SearchService>) -> Lab {
    let web = Web { allow_hosts: allow_hosts.to_vec(), search, only: None };
    Lab::with(|services| services.web = Some(web))
}

async fn site() -> Receiver {
    Receiver::start(|path, _| match path {
        "/page" => {
            ("200 OK\r\ncontent-type: text/html; charset=utf-8".to_owned(), b"<title>T</title><p>Hello</p>".to_vec())
        }
        "/data" => ("200 OK\r\ncontent-type: application/json".to_owned(), b"{\"a\": 1}".to_vec()),
        "/image" => ("200 OK\r\ncontent-type: image/png".to_owned(), vec![0, 1, 2]),
        "/huge" => ("200 OK\r\ncontent-type: text/plain".to_owned(), vec![b'x'; 3 << 20]),
        "/moved" => ("302 Found\r\nlocation: /page".to_owned(), Vec::new()),
        "/away" => ("302 Found\r\nlocation: http://169.254.169.254/latest/meta-data".to_owned(), Vec::new()),
        "/file" => ("302 Found\r\nlocation: file:///etc/passwd".to_owned(), Vec::new()),
        "/loop" => ("302 Found\r\nlocation: /loop".to_owned(), Vec::new()),
        path if path.starts_with("/search?q=rust%20async%26x") => {
            let results = br#"{"results": [{"title": "Book", "url": "https://b.example", "content": "async"}]}"#;
            ("200 OK\r\ncontent-type: application/json".to_owned(), results.to_vec())
        }
        _ => ("404 Not Found\r\ncontent-type: text/plain".to_owned(), b"no such page".to_vec()),
    })
    .await
}

#[tokio::test]
async fn pages_are_read_from_hosts_that_are_allowed() {
    let site = site().await;
    let lab = lab(&[format!("127.0.0.1:{}", site.port)], None);
    assert!(lab.tools.spec("web_search").is_none());
    let page = lab.done("web_fetch", json!({"url": site.url("/moved#part")})).await;
    assert_eq!(page.text, format!("{}\n\n# T\n\nHello", site.url("/page")));
    assert!(lab.done("web_fetch", json!({"url": site.url("/data")})).await.text.ends_with("{\"a\": 1}"));
    let missing = lab.failed("web_fetch", json!({"url": site.url("/none")})).await;
    assert!(missing.text.ends_with("no such page") && missing.summary.contains("(404, "), "{missing:?}");
    for (path, why) in [
        ("/image", "is image/png, not text"),
        ("/huge", "has more than"),
        ("/away", "169.254.169.254 may not be connected to"),
        ("/file", "neither http nor https"),
        ("/loop", "redirects more than 5 times"),
    ] {
        let failed = lab.failed("web_fetch", json!({"url": site.url(path)})).await.text;
        assert!(failed.contains(why), "{path}: {failed}");
    }
}

#[tokio::test]
async fn no_address_leads_to_this_machine_or_a_private_network() {
    let site = site().await;
    let port = site.port;
    let lab = lab(&["example.invalid".to_owned()], None);
    let hosts = [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[::]",
        "0.0.0.0",
        "１２７.0.0.1",
        "127。0。0。1",
    ];
    for host in hosts {
        let failed = lab.failed("web_fetch", json!({"url": format!("http://{host}:{port}/page")})).await.text;
        assert!(!failed.contains("Hello"), "{host}: {failed}");
    }
    for url in
        ["file:///etc/passwd", "gopher://x", "ftp://x/y", "http://", "x", "http://me:pw@example.com/", "//localhost/"]
    {
        lab.failed("web_fetch", json!({"url": url})).await;
    }
    assert_eq!(site.requests.lock().unwrap().len(), 0, "nothing was connected to");
}

#[tokio::test]
async fn the_search_service_of_the_user_is_asked() {
    let site = site().await;
    let service = SearchService { url: site.url("/search?q={query}&format=json"), key: Some("s3cret".to_owned()) };
    let lab = lab(&[], Some(service));
    let found = lab.done("web_search", json!({"query": "rust async&x"})).await;
    assert_eq!(found.text, "Book\nhttps://b.example\nasync");
    assert_eq!(found.summary, "found 1 page for rust async&x");
    assert!(site.requests.lock().unwrap()[0].0.contains("authorization: Bearer s3cret\r\n"));
    assert!(lab.failed("web_search", json!({"query": "other"})).await.text.contains("404"));
    lab.failed("web_search", json!({"query": " "})).await;
}
