//! Rewrites a user's SQL. `:run` becomes the run's number, and every table of the log shows only the run's rows.
//!
//! Common table expressions of the same names shadow the tables. All three databases support this without any write. A
//! qualified name (`main.pose`) still means the rows of all runs.

use crate::{
    database::{
        driver::Dialect,
        query_position::{ErrorLocation, QueryPosition},
    },
    format::schema::Table,
};

/// Kinds of SQL tokens that are distinguished here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Word,
    Number,
    Placeholder,
    /// Quoted texts and names, comments, and operators.
    Other,
}

/// Rows that a query sees.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Number of the run.
    pub run: i64,
    /// A number in the text that stands for the run, as 4045 does in the queries printed in the thesis.
    pub alias: Option<u64>,
    /// True if the tables show the rows of all runs.
    pub all_runs: bool,
}

/// A rewritten query, with the origin of its parts in the user's text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScopedQuery {
    /// The text for the database.
    pub(super) text: String,
    /// For each part copied from the user's text, its first byte in `text` and in the user's text.
    copied: Vec<(usize, usize)>,
}

impl ScopedQuery {
    /// Byte in the user's text of a byte of `text`; `None` before the first copied part.
    fn user_byte(&self, byte: usize) -> Option<usize> {
        let &(here, there) = self.copied.iter().rev().find(|(here, _)| *here <= byte)?;
        Some(there + byte - here)
    }

    /// Position of an error in the user's text.
    pub(super) fn position(&self, sql: &str, location: &ErrorLocation) -> Option<QueryPosition> {
        let byte = match location {
            ErrorLocation::Character(number) => {
                let byte = self.text.char_indices().nth(number.checked_sub(1)?).map(|(byte, _)| byte);
                self.user_byte(byte.unwrap_or(self.text.len()))?
            }
            ErrorLocation::From(text) => self.user_byte(self.text.rfind(text.as_str())?)?,
            ErrorLocation::Word(word) => only_occurrence(sql, word)?,
            ErrorLocation::Unknown => return None,
        };
        QueryPosition::of_byte(sql, byte)
    }
}

/// First byte of a word, if the word occurs exactly once.
fn only_occurrence(sql: &str, word: &str) -> Option<usize> {
    let is_word_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let (before, behind) = (&sql[..*at], &sql[at + word.len()..]);
        let continues = word.ends_with(is_word_part) && behind.starts_with(is_word_part);
        let is_continued = word.starts_with(is_word_part) && before.ends_with(is_word_part);
        !(continues || is_continued)
    };
    let mut occurrences = sql.match_indices(word).map(|(at, _)| at).filter(is_whole);
    let first = occurrences.next()?;
    occurrences.next().is_none().then_some(first)
}

/// Rewrites a query.
pub(super) fn scope_query(sql: &str, scope: Scope, dialect: &Dialect) -> ScopedQuery {
    let tokens = tokenize(sql);
    let first_word = |text: &str| {
        tokens.iter().position(|&(token, ..)| token == Token::Word).filter(|&first| is_word(sql, tokens[first], text))
    };
    let with = first_word("WITH");
    let reads = with.or(first_word("SELECT"));
    let shadowed = if scope.all_runs || reads.is_none() { Vec::new() } else { shadowed_tables(sql, &tokens) };
    let mut out = ScopedQuery { text: String::new(), copied: Vec::new() };
    let definitions: Vec<String> = shadowed
        .iter()
        .map(|table| {
            let (name, schema) = (table.name, &dialect.schema);
            let rows = table.belongs_to(scope.run, schema);
            format!("{name} {} (SELECT * FROM {schema}{name} WHERE {rows})", dialect.with_keywords)
        })
        .collect();
    let definitions = definitions.join(", ");
    // The definitions go behind WITH, or behind RECURSIVE, which belongs to it.
    let behind = with.map(|with| {
        let next = tokens[with + 1..].iter().position(|token| token.0 == Token::Word).map(|next| with + 1 + next);
        next.filter(|&next| is_word(sql, tokens[next], "RECURSIVE")).unwrap_or(with)
    });
    if with.is_none() && !shadowed.is_empty() {
        out.text = format!("WITH {definitions} ");
    }
    let mut copied = 0;
    let copy = |out: &mut ScopedQuery, from: usize, to: usize| {
        out.copied.push((out.text.len(), from));
        out.text.push_str(&sql[from..to]);
    };
    for (index, &(token, from, to)) in tokens.iter().enumerate() {
        let replacement = token_replacement(&sql[from..to], token, scope, dialect);
        if let Some(text) = &replacement {
            copy(&mut out, copied, from);
            out.copied.push((out.text.len(), from));
            out.text.push_str(text);
            copied = to;
        }
        if behind == Some(index) && !shadowed.is_empty() {
            copy(&mut out, copied, to);
            out.text.push_str(&format!(" {definitions},"));
            copied = to;
        }
    }
    copy(&mut out, copied, sql.len());
    out
}

/// The text that replaces a token: the run's number, or the exact name of a table. `None` keeps the token.
fn token_replacement(text: &str, token: Token, scope: Scope, dialect: &Dialect) -> Option<String> {
    match token {
        Token::Placeholder if text.eq_ignore_ascii_case(":run") => Some(scope.run.to_string()),
        Token::Number if scope.alias.is_some_and(|alias| text == alias.to_string()) => Some(scope.run.to_string()),
        Token::Word if dialect.is_case_sensitive => Table::named(text).map(|table| table.name.to_owned()),
        _ => None,
    }
}

/// True if a token is this word, in upper or lower case.
fn is_word(sql: &str, (token, from, to): (Token, usize, usize), word: &str) -> bool {
    token == Token::Word && sql[from..to].eq_ignore_ascii_case(word)
}

/// Tables of the log that a query names without a schema and does not define itself.
fn shadowed_tables(sql: &str, tokens: &[(Token, usize, usize)]) -> Vec<&'static Table> {
    let table = |&(token, from, to): &(Token, usize, usize)| {
        (token == Token::Word).then(|| Table::named(&sql[from..to])).flatten()
    };
    let defines = |index: usize| {
        let mut next = tokens[index + 1..].iter().filter(|token| !sql[token.1..token.2].trim().is_empty());
        next.next().is_some_and(|&with| is_word(sql, with, "AS"))
            && next.next().is_some_and(|open| sql[open.1..].starts_with('('))
    };
    let named = tokens.iter().enumerate().filter_map(|(index, token)| Some((index, token.1, table(token)?)));
    let (own, used): (Vec<_>, Vec<_>) = named.partition(|&(index, ..)| defines(index));
    let mut found: Vec<&'static Table> = Vec::new();
    for (_, from, table) in used {
        let is_it = |other: &Table| other.name == table.name;
        if !sql[..from].ends_with('.') && !found.iter().any(|other| is_it(other)) && !own.iter().any(|own| is_it(own.2))
        {
            found.push(table);
        }
    }
    found
}

/// Splits the text into tokens: the kind of each, its first byte, and the byte behind its last.
fn tokenize(sql: &str) -> Vec<(Token, usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let run =
            |part: fn(char) -> bool, from: usize| rest[from..].find(|c| !part(c)).map_or(rest.len(), |end| from + end);
        let is_word_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let (token, length) = match first {
            '\'' | '"' | '`' => (Token::Other, quoted_length(rest, first)),
            '-' if rest.starts_with("--") => (Token::Other, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (Token::Other, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            // `::` is PostgreSQL's type cast.
            ':' if rest.starts_with("::") => (Token::Other, 2),
            ':' => (Token::Placeholder, run(is_word_part, 1)),
            c if c.is_ascii_digit() => (Token::Number, run(|c| c.is_alphanumeric() || c == '.', 0)),
            c if is_word_part(c) => (Token::Word, run(is_word_part, 0)),
            c => (Token::Other, c.len_utf8()),
        };
        found.push((token, at, at + length));
        at += length;
    }
    found
}

/// Length of the quoted text at the start of `text`, in bytes. A quote within it is written twice.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut rest = 1;
    while let Some(end) = text[rest..].find(quote) {
        rest += end + 1;
        if !text[rest..].starts_with(quote) {
            return rest;
        }
        rest += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite() -> Dialect {
        Dialect { schema: "main.".into(), with_keywords: "AS", is_case_sensitive: false }
    }

    fn rewritten(sql: &str, scope: Scope) -> String {
        scope_query(sql, scope, &sqlite()).text
    }

    const RUN: Scope = Scope { run: 7, alias: None, all_runs: false };
    const ALL: Scope = Scope { all_runs: true, ..RUN };

    #[test]
    fn the_placeholder_is_replaced_where_it_is_one() {
        let sql =
            "SELECT ':run', x::run, \":run\" -- :run\n FROM t /* :run */ WHERE a = :run AND b=:RUN AND c = :running";
        let expected =
            "SELECT ':run', x::run, \":run\" -- :run\n FROM t /* :run */ WHERE a = 7 AND b=7 AND c = :running";
        assert_eq!(rewritten(sql, RUN), expected);
    }

    #[test]
    fn tables_of_the_log_show_the_run_alone() {
        let text = rewritten("SELECT x FROM Pose", RUN);
        let rows = "simulationRowID >= 30064771072 AND simulationRowID < 34359738368";
        assert_eq!(text, format!("WITH pose AS (SELECT * FROM main.pose WHERE {rows}) SELECT x FROM Pose"));
        assert_eq!(rewritten("SELECT x FROM main.pose", RUN), "SELECT x FROM main.pose");
        assert_eq!(rewritten("SELECT x FROM pose", ALL), "SELECT x FROM pose");
        assert_eq!(rewritten("PRAGMA table_info(pose)", RUN), "PRAGMA table_info(pose)");
    }

    #[test]
    fn a_query_with_expressions_of_its_own_keeps_them() {
        let text = rewritten("with recursive n as (select 1) select * from n, event", RUN);
        let ours = "event AS (SELECT * FROM main.event WHERE simulationID = 7),";
        assert_eq!(text, format!("with recursive {ours} n as (select 1) select * from n, event"));
        let own = "WITH pose AS (SELECT 1) SELECT * FROM pose";
        assert_eq!(rewritten(own, RUN), own);
    }

    #[test]
    fn a_printed_number_stands_for_the_run() {
        let scope = Scope { alias: Some(4045), ..ALL };
        assert_eq!(
            rewritten("WHERE simulationID=4045 AND x < 4045.5 AND y = '4045'", scope),
            "WHERE simulationID=7 AND x < 4045.5 AND y = '4045'"
        );
    }

    #[test]
    fn where_names_are_told_apart_by_case_they_are_spelt_as_the_tables() {
        let dialect = Dialect { is_case_sensitive: true, ..sqlite() };
        let text = scope_query("SELECT POSE.x FROM PoSe", ALL, &dialect).text;
        assert_eq!(text, "SELECT pose.x FROM pose");
    }

    #[test]
    fn a_word_that_occurs_twice_has_no_position() {
        assert_eq!(only_occurrence("SELECT a, ab FROM t", "a"), Some(7));
        assert_eq!(only_occurrence("SELECT a, a FROM t", "a"), None);
        assert_eq!(only_occurrence("SELECT 1 + + ; x", ";"), Some(13));
    }

    #[test]
    fn every_byte_taken_over_knows_where_it_was() {
        let sql = "SELECT x FROM pose WHERE a = :run AND é = nonsense";
        let scoped = scope_query(sql, RUN, &sqlite());
        let (here, there) = (scoped.text.find("nonsense").unwrap(), sql.find("nonsense").unwrap());
        assert_eq!(scoped.user_byte(here), Some(there));
        assert_eq!(scoped.user_byte(3), None);
    }
}
