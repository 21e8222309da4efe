//! Links between pages, to anchors and to pictures.

use std::{collections::HashSet, fs, path::Path};

use simpartner_book::{FILES, chapters, markdown, sections};

/// The targets of all links and pictures of a page, outside of blocks.
pub fn targets(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("\n```").step_by(2);
    let links = prose.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    links.map(|(target, _)| target).filter(|target| !target.contains(['`', ' ', '\n']))
}

/// Resolves a path relative to a page to one relative to the root.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_of_the_book_leads_to_a_page_an_anchor_or_a_picture() {
    let anchors: HashSet<String> = chapters()
        .iter()
        .flat_map(|chapter| sections(chapter.path, markdown(chapter.path).unwrap()))
        .map(|section| section.link.replace(".html#", ".md#"))
        .collect();
    let (mut broken, mut seen) = (Vec::new(), 0);
    for chapter in chapters() {
        for target in targets(markdown(chapter.path).unwrap()) {
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { chapter.path.to_owned() } else { resolve(chapter.path, file) };
            let is_there = FILES.iter().any(|file| file.path == path);
            if !is_there || !anchor.is_empty() && !anchors.contains(&format!("{path}#{anchor}")) {
                broken.push(format!("{}: {target}", chapter.path));
            }
        }
    }
    assert!(seen > 100, "{seen} links");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_picture_of_the_book_is_shown() {
    let shown: HashSet<String> = chapters()
        .iter()
        .flat_map(|chapter| targets(markdown(chapter.path).unwrap()).map(|target| resolve(chapter.path, target)))
        .collect();
    let unused: Vec<&str> =
        FILES.iter().map(|file| file.path).filter(|path| !path.ends_with(".md") && !shown.contains(*path)).collect();
    assert!(unused.is_empty(), "pictures that no page shows: {unused:?}");
}

/// The documents at the root are the first that newcomers read.
#[test]
fn documents_at_the_root_are_short_and_their_links_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, lines, bytes) in
        [("README.md", 120, 8_000), ("ARCHITECTURE.md", 140, 8_000), ("CHANGELOG.md", 130, 20_000)]
    {
        let text = fs::read_to_string(root.join(name)).unwrap().replace("\r\n", "\n");
        assert!(text.lines().count() <= lines, "{name}: {} lines, at most {lines}", text.lines().count());
        assert!(text.len() <= bytes, "{name}: {} bytes, at most {bytes}", text.len());
    }
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        for target in targets(&text).filter(|target| !target.contains("://")) {
            let file = root.join(resolve(name, target.split('#').next().unwrap()));
            assert!(file.exists(), "{name}: {target} is not there");
        }
    }
}
