//! The documentation as the page's port serves it.

use super::{Rig, client::get, settings};
use simpartner::server::Settings;

#[test]
fn the_documentation_is_served_to_anybody_who_reaches_the_page() {
    let rig = Rig::start(Settings { token: Some("a token of this server".into()), ..settings() }, None);
    let moved = get(rig.page, "/docs", &[]);
    assert_eq!((moved.status, moved.header("location")), (308, Some("/docs/")));
    for (path, kind, part) in [
        ("/docs/", "text/html; charset=utf-8", "<h1 id="),
        ("/docs/reference/protocol.html", "text/html; charset=utf-8", "<code>STEP [n]</code>"),
        ("/docs/book.css", "text/css; charset=utf-8", "nav.chapters"),
        ("/docs/book.js", "text/javascript; charset=utf-8", "search.json"),
        ("/docs/images/square.svg", "image/svg+xml", "<svg"),
    ] {
        let answer = get(rig.page, path, &[]);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        assert!(text.contains(part), "{path}: {text}");
        assert!(answer.header("content-security-policy").is_some(), "{path}");
    }
    for path in ["/docs/none.html", "/docs/SUMMARY.md", "/docs/../Cargo.toml"] {
        assert_eq!(get(rig.page, path, &[]).status, 404, "{path}");
    }
    let index = get(rig.page, "/docs/search.json", &[]).json();
    let link = "reference/protocol.html#faults";
    assert!(index.as_array().unwrap().iter().any(|section| section["link"] == link), "no section {link}");
    assert_eq!(get(rig.page, "/scene.json", &[]).status, 401);
    rig.end();
}
