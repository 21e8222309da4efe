//! The list of chapters, from `SUMMARY.md` in mdBook's form.

use super::files;

/// A page of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chapter {
    /// The part that it belongs to; empty before the first part.
    pub part: &'static str,
    /// Its name in the list.
    pub title: &'static str,
    /// Its path in `docs/src`.
    pub path: &'static str,
}

/// All pages in their order.
pub fn chapters() -> Vec<Chapter> {
    parse(files::markdown("SUMMARY.md").unwrap_or_default())
}

fn parse(text: &'static str) -> Vec<Chapter> {
    let (mut part, mut found) = ("", Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            part = if name == "Summary" { "" } else { name };
        } else if let Some((title, path)) = line.trim_start_matches([' ', '-']).split_once("](") {
            found.push(Chapter { part, title: title.trim_start_matches('['), path: path.trim_end_matches(')') });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_have_their_part() {
        let found = parse("# Summary\n\n[One](one.md)\n\n# Part\n\n- [Two](a/two.md)\n");
        let chapter = |part, title, path| Chapter { part, title, path };
        assert_eq!(found, [chapter("", "One", "one.md"), chapter("Part", "Two", "a/two.md")]);
    }
}
