//! A page as HTML: Markdown rendered into a frame with the list of chapters, and its sections as text for the search.

use std::{collections::HashMap, fmt::Write as _};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html::push_html};

use super::summary::{Chapter, chapters};

/// A part of a page between two headings, to be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Path of its HTML page, with the heading's anchor behind `#`.
    pub link: String,
    /// The heading.
    pub title: String,
    /// The text below it, without marks.
    pub text: String,
}

/// The anchor of a heading, as mdBook and GitHub make it: lower case, blanks as hyphens, no punctuation.
pub fn heading_id(title: &str) -> String {
    let lower = title.trim().to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn parse(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Anchors of a page; the second of a name has a number behind it.
#[derive(Default)]
struct Anchors(HashMap<String, usize>);

impl Anchors {
    fn next(&mut self, title: &str) -> String {
        let id = heading_id(title);
        let count = self.0.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 { format!("{id}-{}", *count - 1) } else { id }
    }
}

/// The sections of a page.
pub fn sections(path: &str, markdown: &str) -> Vec<Section> {
    let page = path.replace(".md", ".html");
    let (mut found, mut anchors, mut in_heading) = (Vec::<Section>::new(), Anchors::default(), false);
    for event in parse(markdown) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                found.push(Section { link: String::new(), title: String::new(), text: String::new() });
            }
            Event::End(TagEnd::Heading(_)) => {
                in_heading = false;
                if let Some(section) = found.last_mut() {
                    section.link = format!("{page}#{}", anchors.next(&section.title));
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(section) = found.last_mut() {
                    if in_heading { &mut section.title } else { &mut section.text }.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) if !in_heading => {
                found.iter_mut().last().into_iter().for_each(|section| section.text.push(' '));
            }
            _ => {}
        }
    }
    found
}

/// A link between pages leads to their HTML.
fn retarget(target: CowStr<'_>) -> CowStr<'_> {
    if target.contains("://") {
        return target;
    }
    match target.split_once(".md") {
        Some((page, "")) => format!("{page}.html").into(),
        Some((page, rest)) if rest.starts_with('#') => format!("{page}.html{rest}").into(),
        _ => target,
    }
}

/// The events of a page with anchors at its headings and links to HTML.
fn prepare(markdown: &str) -> Vec<Event<'_>> {
    let mut events: Vec<Event<'_>> = parse(markdown).collect();
    let (mut anchors, mut title, mut opened) = (Anchors::default(), String::new(), None);
    for index in 0..events.len() {
        match &mut events[index] {
            Event::Start(Tag::Heading { .. }) => (title, opened) = (String::new(), Some(index)),
            Event::Text(text) | Event::Code(text) if opened.is_some() => title.push_str(text),
            Event::End(TagEnd::Heading(_)) => {
                let start = opened.take().unwrap_or(index);
                if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                    *id = Some(anchors.next(&title).into());
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => *dest_url = retarget(std::mem::replace(dest_url, "".into())),
            _ => {}
        }
    }
    events
}

/// A page in its frame.
pub(super) fn html(path: &str, markdown: &str) -> String {
    let root = "../".repeat(path.matches('/').count());
    let chapters = chapters();
    let place = chapters.iter().position(|chapter| chapter.path == path);
    let title = place.map_or("Documentation", |place| chapters[place].title);
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - SimPartner</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"{root}book.css\">\n\
         <script src=\"{root}book.js\" defer></script>\n</head>\n<body data-root=\"{root}\">\n"
    );
    write_chapters(&mut text, &chapters, path, &root);
    text.push_str("<main>\n");
    push_html(&mut text, prepare(markdown).into_iter());
    text.push_str("<nav class=\"steps\">");
    let neighbour = |place: Option<usize>| place.and_then(|place| chapters.get(place));
    for (class, chapter) in [
        ("before", neighbour(place.and_then(|place| place.checked_sub(1)))),
        ("after", neighbour(place.map(|place| place + 1))),
    ] {
        if let Some(chapter) = chapter {
            let _ = write!(text, "<a class=\"{class}\" {}</a>", link(chapter, &root));
        }
    }
    text.push_str("</nav>\n</main>\n</body>\n</html>\n");
    text
}

/// The rest of a link's tag, and its text.
fn link(chapter: &Chapter, root: &str) -> String {
    format!("href=\"{root}{}\">{}", chapter.path.replace(".md", ".html"), chapter.title)
}

fn write_chapters(text: &mut String, chapters: &[Chapter], path: &str, root: &str) {
    let _ = write!(
        text,
        "<nav class=\"chapters\">\n<p class=\"name\"><a href=\"{root}introduction.html\">SimPartner</a> \
         <a class=\"viewer\" href=\"/\">viewer</a></p>\n\
         <input type=\"search\" placeholder=\"Search\" aria-label=\"Search the documentation\">\n<ol class=\"found\" hidden></ol>\n"
    );
    let mut part = "";
    text.push_str("<div class=\"list\">\n");
    for chapter in chapters {
        if chapter.part != part {
            part = chapter.part;
            let _ = writeln!(text, "<p class=\"part\">{part}</p>");
        }
        let here = if chapter.path == path { "class=\"here\" aria-current=\"page\" " } else { "" };
        let _ = writeln!(text, "<a {here}{}</a>", link(chapter, root));
    }
    text.push_str("</div>\n</nav>\n");
}

/// The level of the first heading must be 1: it is the page's name.
#[cfg(test)]
fn opens_with_a_title(markdown: &str) -> bool {
    matches!(parse(markdown).next(), Some(Event::Start(Tag::Heading { level: pulldown_cmark::HeadingLevel::H1, .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_anchors_and_links_lead_to_html() {
        let text =
            html("how-to/none.md", "# A b, `c`!\n\n## A b c\n\n[x](../reference/y.md#z) [w](https://a.b/c.md)\n");
        for part in [
            "<h1 id=\"a-b-c\">",
            "<h2 id=\"a-b-c-1\">",
            "<a href=\"../reference/y.html#z\">",
            "<a href=\"https://a.b/c.md\">",
            "<link rel=\"stylesheet\" href=\"../book.css\">",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn sections_are_found_by_their_anchors() {
        let found = sections("a.md", "# One\n\nsome `code`\nhere\n\n## Two\n\n| x | y |\n|---|---|\n| 1 | 2 |\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].link.as_str(), found[1].title.as_str()), ("a.html#two", "Two"));
        assert!(found[0].text.starts_with("some code here") && found[1].text.contains("1 2"), "{found:?}");
    }

    #[test]
    fn every_page_opens_with_its_title() {
        for chapter in chapters() {
            assert!(crate::markdown(chapter.path).is_some_and(opens_with_a_title), "{}", chapter.path);
        }
    }
}
