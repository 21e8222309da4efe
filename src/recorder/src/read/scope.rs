//! Rewrites a user's SQL: `:run` becomes the run's number, and every table of the log shows only the run's rows.
//!
//! Common table expressions of the same names hide the tables, which all three databases understand without being written to. A
//! qualified name (`main.pose`) still means the rows of all runs.

use crate::{
    database::{
        driver::Dialect,
        query_position::{ErrorLocation, QueryPosition},
    },
    format::schema::Table,
};

/// The kind of a token of SQL, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Word,
    Number,
    Placeholder,
    /// Quoted texts and names, comments, and operators.
    Other,
}

/// Which rows a query sees.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// The run.
    pub run: i64,
    /// A number in the text that means the run, as 4045 does in a query of the thesis.
    pub alias: Option<u64>,
    /// Whether the tables show the rows of all runs.
    pub all_runs: bool,
}

/// The text for the database, and where its parts come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scoped {
    pub(super) text: String,
    /// Where in this text, and where in the user's, each part begins that was copied.
    copied: Vec<(usize, usize)>,
}

impl Scoped {
    /// The byte of the user's text for a byte of this one; none for what the user did not write.
    fn origin(&self, byte: usize) -> Option<usize> {
        let &(here, there) = self.copied.iter().rev().find(|(here, _)| *here <= byte)?;
        Some(there + byte - here)
    }

    /// The position in the user's text of an error.
    pub(super) fn position(&self, sql: &str, location: &ErrorLocation) -> Option<QueryPosition> {
        let byte = match location {
            ErrorLocation::Character(number) => {
                let byte = self.text.char_indices().nth(number.checked_sub(1)?).map(|(byte, _)| byte);
                self.origin(byte.unwrap_or(self.text.len()))?
            }
            ErrorLocation::From(text) => self.origin(self.text.rfind(text.as_str())?)?,
            ErrorLocation::Word(word) => only_occurrence(sql, word)?,
            ErrorLocation::Unknown => return None,
        };
        QueryPosition::of_byte(sql, byte)
    }
}

/// The byte at which a word begins, if it occurs only once.
fn only_occurrence(sql: &str, word: &str) -> Option<usize> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let (before, behind) = (&sql[..*at], &sql[at + word.len()..]);
        let goes_on = word.ends_with(letter) && behind.starts_with(letter);
        let comes_from = word.starts_with(letter) && before.ends_with(letter);
        !(goes_on || comes_from)
    };
    let mut occurrences = sql.match_indices(word).map(|(at, _)| at).filter(is_whole);
    let first = occurrences.next()?;
    occurrences.next().is_none().then_some(first)
}

/// Rewrites a query.
pub(super) fn scoped(sql: &str, scope: Scope, dialect: &Dialect) -> Scoped {
    let tokens = tokens(sql);
    let words = |text: &str| {
        tokens.iter().position(|&(token, ..)| token == Token::Word).filter(|&first| is(sql, tokens[first], text))
    };
    let with = words("WITH");
    let reads = with.or(words("SELECT"));
    let hidden = if scope.all_runs || reads.is_none() { Vec::new() } else { hidden(sql, &tokens) };
    let mut out = Scoped { text: String::new(), copied: Vec::new() };
    let definitions: Vec<String> = hidden
        .iter()
        .map(|table| {
            let (name, schema) = (table.name, &dialect.schema);
            let rows = table.belongs_to(scope.run, schema);
            format!("{name} {} (SELECT * FROM {schema}{name} WHERE {rows})", dialect.with_keywords)
        })
        .collect();
    let definitions = definitions.join(", ");
    // RECURSIVE belongs to the WITH before it.
    let behind = with.map(|with| {
        let next = tokens[with + 1..].iter().position(|token| token.0 == Token::Word).map(|next| with + 1 + next);
        next.filter(|&next| is(sql, tokens[next], "RECURSIVE")).unwrap_or(with)
    });
    if with.is_none() && !hidden.is_empty() {
        out.text = format!("WITH {definitions} ");
    }
    let mut copied = 0;
    let copy = |out: &mut Scoped, from: usize, to: usize| {
        out.copied.push((out.text.len(), from));
        out.text.push_str(&sql[from..to]);
    };
    for (index, &(token, from, to)) in tokens.iter().enumerate() {
        let replacement = replacement(&sql[from..to], token, scope, dialect);
        if let Some(text) = &replacement {
            copy(&mut out, copied, from);
            out.copied.push((out.text.len(), from));
            out.text.push_str(text);
            copied = to;
        }
        if behind == Some(index) && !hidden.is_empty() {
            copy(&mut out, copied, to);
            out.text.push_str(&format!(" {definitions},"));
            copied = to;
        }
    }
    copy(&mut out, copied, sql.len());
    out
}

fn replacement(text: &str, token: Token, scope: Scope, dialect: &Dialect) -> Option<String> {
    match token {
        Token::Placeholder if text.eq_ignore_ascii_case(":run") => Some(scope.run.to_string()),
        Token::Number if scope.alias.is_some_and(|alias| text == alias.to_string()) => Some(scope.run.to_string()),
        Token::Word if dialect.is_case_sensitive => Table::named(text).map(|table| table.name.to_owned()),
        _ => None,
    }
}

fn is(sql: &str, (token, from, to): (Token, usize, usize), word: &str) -> bool {
    token == Token::Word && sql[from..to].eq_ignore_ascii_case(word)
}

/// The tables of the log that a query names without a schema, and does not define itself.
fn hidden(sql: &str, tokens: &[(Token, usize, usize)]) -> Vec<&'static Table> {
    let table = |&(token, from, to): &(Token, usize, usize)| {
        (token == Token::Word).then(|| Table::named(&sql[from..to])).flatten()
    };
    let defines = |index: usize| {
        let mut next = tokens[index + 1..].iter().filter(|token| !sql[token.1..token.2].trim().is_empty());
        next.next().is_some_and(|&with| is(sql, with, "AS"))
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

/// The tokens of the whole text: the kind of each, where it begins and where it ends.
fn tokens(sql: &str) -> Vec<(Token, usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let run =
            |part: fn(char) -> bool, from: usize| rest[from..].find(|c| !part(c)).map_or(rest.len(), |end| from + end);
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let (token, length) = match first {
            '\'' | '"' | '`' => (Token::Other, quoted(rest, first)),
            '-' if rest.starts_with("--") => (Token::Other, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (Token::Other, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            // PostgreSQL's cast.
            ':' if rest.starts_with("::") => (Token::Other, 2),
            ':' => (Token::Placeholder, run(word, 1)),
            c if c.is_ascii_digit() => (Token::Number, run(|c| c.is_alphanumeric() || c == '.', 0)),
            c if word(c) => (Token::Word, run(word, 0)),
            c => (Token::Other, c.len_utf8()),
        };
        found.push((token, at, at + length));
        at += length;
    }
    found
}

/// Length of a quoted text; a quote within it is written twice.
fn quoted(text: &str, quote: char) -> usize {
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
        scoped(sql, scope, &sqlite()).text
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
        let text = scoped("SELECT POSE.x FROM PoSe", ALL, &dialect).text;
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
        let scoped = scoped(sql, RUN, &sqlite());
        let (here, there) = (scoped.text.find("nonsense").unwrap(), sql.find("nonsense").unwrap());
        assert_eq!(scoped.origin(here), Some(there));
        assert_eq!(scoped.origin(3), None);
    }
}
