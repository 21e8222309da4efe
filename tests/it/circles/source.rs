//! Parsing of Rust source for its `use` items and paths.

/// A name that a `use` item brings into a module.
pub struct Use {
    /// Its whole path, from the item.
    pub path: Vec<String>,
    /// The name that it has here.
    pub name: String,
    /// True if the item re-exports it.
    pub is_public: bool,
}

/// The text without comments, literals and everything after `#[cfg(test)]`.
pub fn code_of(text: &str) -> String {
    let mut code = without_literals(text);
    while let Some(start) = code.find("#[cfg(test)]") {
        let behind = &code[start..];
        let end = match (behind.find('{'), behind.find(';')) {
            (Some(brace), semicolon) if semicolon.is_none_or(|semicolon| brace < semicolon) => closing(behind, brace),
            (_, Some(semicolon)) => semicolon + 1,
            _ => behind.len(),
        };
        code.replace_range(start..start + end, "");
    }
    code
}

/// The offset behind the brace that closes the one at `start`.
fn closing(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (index, character) in code[start..].char_indices() {
        depth += i32::from(character == '{') - i32::from(character == '}');
        if depth == 0 {
            return start + index + 1;
        }
    }
    code.len()
}

fn without_literals(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    let ends_in_word = |code: &String| code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            length_of_string(rest)
        } else if first == 'r' && !ends_in_word(&code) {
            length_of_raw_string(rest)
        } else if first == '\'' {
            length_of_character(rest)
        } else {
            0
        };
        if skipped > 0 {
            // Tokens around a literal stay separate.
            code.push(' ');
            rest = &rest[skipped..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

fn length_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// 0 if no raw string begins here.
fn length_of_raw_string(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|&c| c == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = 2 + hashes;
    text[body..].find(&end).map_or(text.len(), |at| body + at + end.len())
}

/// 0 if a lifetime begins here.
fn length_of_character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    let Some((_, first)) = characters.next() else { return 0 };
    if first == '\\' {
        // The escaped character may be the quote itself.
        let _ = characters.next();
        return characters.find(|(_, c)| *c == '\'').map_or(0, |(index, _)| index + 1);
    }
    characters.next().filter(|(_, c)| *c == '\'').map_or(0, |(index, _)| index + 1)
}

/// The `use` items of a text, and the text without them.
pub fn uses_in(code: &str) -> (Vec<Use>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let (visibility, item) = start.split_once("use ").unwrap_or((start, ""));
        let is_public = visibility == "pub " || visibility.starts_with("pub(") && visibility.ends_with(") ");
        if item.is_empty() || !(visibility.is_empty() || is_public) {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        let mut item = item.to_owned();
        while !item.contains(';') {
            item.push_str(lines.next().unwrap());
        }
        take_apart(&[], item.split(';').next().unwrap(), is_public, &mut uses);
    }
    (uses, rest)
}

/// Adds the names of a `use` item, groups in braces taken apart.
fn take_apart(prefix: &[String], item: &str, is_public: bool, found: &mut Vec<Use>) {
    // Nothing follows the last comma of a group.
    if item.trim().is_empty() {
        return;
    }
    let segments = |text: &str| -> Vec<String> {
        let parts = text.split("::").map(str::trim).filter(|part| !part.is_empty());
        prefix.iter().cloned().chain(parts.map(str::to_owned)).collect()
    };
    let Some((head, group)) = item.split_once('{') else {
        let (path, alias) = item.split_once(" as ").map_or((item, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = segments(path);
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let Some(last) = path.last() else { return };
        let name = alias.unwrap_or(last).to_owned();
        return found.push(Use { path, name, is_public });
    };
    let (prefix, group) = (segments(head), group.rsplit_once('}').unwrap().0);
    let (mut depth, mut start) = (0, 0);
    for (index, character) in group.char_indices().chain([(group.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                take_apart(&prefix, &group[start..index], is_public, found);
                start = index + 1;
            }
            _ => {}
        }
    }
}

/// The paths of more than one name in the text of items. Those of a visibility are excluded.
pub fn paths_in(code: &str) -> Vec<Vec<String>> {
    let mut code = code.to_owned();
    while let Some(start) = code.find("pub(in ") {
        let end = code[start..].find(')').unwrap();
        code.replace_range(start..=start + end, "pub");
    }
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_of_word(c)).filter(|word| word.contains("::") && !word.starts_with(':'));
    let paths = words.map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect());
    paths.filter(|path: &Vec<String>| path.len() > 1).collect()
}
