//! Suggestions for a query with an unknown table or column name.

use simpartner_wire::near;

use crate::format::schema::{TABLES, Table};

/// A sentence with the names that a refused query may mean; `None` if the message of the database is not about an
/// unknown name.
///
/// Each database words its messages differently. The unknown name is therefore found as a word that occurs in both the
/// message and the query, and that is not the name of a table or column.
pub(super) fn suggest_names(sql: &str, message: &str) -> Option<String> {
    let in_message = sql_words(message);
    let is_in_message = |word: &str| in_message.iter().any(|other| other.eq_ignore_ascii_case(word));
    let in_query = sql_words(sql);
    let tables: Vec<&'static Table> = in_query.iter().filter_map(|word| Table::named(word)).collect();
    let is_about_names = ["column", "table", "relation"].iter().any(|kind| is_in_message(kind));
    let unknown = in_query.iter().find(|word| is_in_message(word) && is_unknown(word)).filter(|_| is_about_names)?;
    // Columns of the tables in the query are tried first, because the unknown name is most likely one of them.
    let own = tables.iter().flat_map(|table| table.columns()).map(|(name, _)| name);
    // Names of tables are tried next.
    let near = near::nearest(unknown, own).or_else(|| near::nearest(unknown, TABLES.iter().map(|table| table.name)));
    let meant = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    let there_are = match &tables[..] {
        [] => format!("the log has {}", join_names(TABLES.iter().map(|table| table.name))),
        tables => {
            let mut named: Vec<&Table> = Vec::new();
            tables.iter().for_each(|table| {
                if !named.iter().any(|other| other.name == table.name) {
                    named.push(table);
                }
            });
            let columns = named
                .iter()
                .map(|table| format!("{} has {}", table.name, join_names(table.columns().map(|(name, _)| name))));
            columns.collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("{meant}{there_are}; `simpartner schema log` describes them"))
}

/// The words of a text, by SQL's rules for names.
fn sql_words(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with(|c: char| c.is_alphabetic())).collect()
}

/// True if the log has no table or column of this name, and messages of databases do not commonly contain the word.
fn is_unknown(word: &str) -> bool {
    const MESSAGE_WORDS: [&str; 12] =
        ["column", "table", "relation", "no", "such", "does", "not", "exist", "unknown", "in", "doesn", "from"];
    let is_column = |table: &Table| table.columns().any(|(name, _)| name.eq_ignore_ascii_case(word));
    !MESSAGE_WORDS.iter().any(|other| other.eq_ignore_ascii_case(word))
        && Table::named(word).is_none()
        && !TABLES.iter().any(is_column)
}

fn join_names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_told_with_the_near_one_in_the_words_of_every_database() {
        let near =
            |sql, message| suggest_names(sql, message).and_then(|help| Some(help.split_once("'? ")?.0.to_owned()));
        let column = "SELECT bodyID, positon_x FROM pose";
        for message in [
            "no such column: positon_x",
            "column \"positon_x\" does not exist",
            "Unknown column 'positon_x' in 'field list'",
        ] {
            let help = suggest_names(column, message).unwrap();
            assert!(help.contains("pose has ") && help.contains("bodyID"), "{help}");
        }
        let table = "SELECT count(*) FROM simulationrw";
        for message in ["no such table: simulationrw", "Table 'simpartner.simulationrw' doesn't exist"] {
            assert_eq!(near(table, message), Some("did you mean 'simulationRow".into()));
        }
        assert_eq!(suggest_names("SELEKT 1", "near \"SELEKT\": syntax error"), None);
        assert_eq!(suggest_names("SELECT min() FROM pose", "wrong number of arguments to function min()"), None);
    }
}
