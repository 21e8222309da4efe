//! Database addresses as messages, the log and the page show them: without secrets.
//!
//! Only what is known to be harmless is shown. A parameter of an unknown name may hold a password under another spelling (`passwd`,
//! `PGPASSWORD`, `sslpassword`), so its value is hidden as well.

/// Stands for what is hidden.
const HIDDEN: &str = "***";

/// Parameters of an address whose values are no secrets. The drivers know them all.
const HARMLESS: [&str; 24] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "username",
    "uid",
    "application_name",
    "statement-cache-capacity",
    "charset",
    "collation",
    "socket",
    "timezone",
    "time-zone",
];

/// The address with three stars in place of each part that may be secret, whether or not the address is valid.
///
/// Shown are the scheme, the user's name, host, port, path, and the values of harmless parameters.
pub fn without_password(address: &str) -> String {
    let is_scheme = |scheme: &str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match address.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some(("sqlite", _)) => address.to_owned(),
        Some((scheme, rest)) => format!("{scheme}://{}", of_server(rest)),
        None if address.starts_with("sqlite:") => address.to_owned(),
        None => of_malformed(address.trim_start_matches('/')),
    }
}

/// What follows `scheme://`.
fn of_server(rest: &str) -> String {
    let (authority, tail) = split_authority(rest);
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if !is_host_and_port(host) || tail.contains('@') {
        // Perhaps a password with a character that ends the host of a URL, such as `/`.
        return of_malformed(rest);
    }
    let user = user.map_or_else(String::new, |user| format!("{}@", of_user(user)));
    format!("{user}{host}{}", of_tail(tail))
}

/// An address that is no URL.
fn of_malformed(text: &str) -> String {
    match text.rsplit_once('@') {
        // The `@` may be part of a parameter's value, so that the text behind it is the end of a secret.
        Some((user, _)) if user.contains(['?', '=']) => HIDDEN.to_owned(),
        Some((user, rest)) => {
            let (host, tail) = split_authority(rest);
            let host = if is_host_and_port(host) { host } else { HIDDEN };
            format!("{}@{host}{}", of_user(user), of_tail(tail))
        }
        None => {
            let (authority, tail) = split_authority(text);
            match authority.split_once(':') {
                // The keywords of PostgreSQL (`host=h password=p`) and of other drivers (`Uid=u;Pwd=p`).
                _ if authority.contains('=') => of_parameters(text),
                Some((name, _)) if !is_host_and_port(authority) => format!("{name}:{HIDDEN}"),
                _ => format!("{authority}{}", of_tail(tail)),
            }
        }
    }
}

/// `name:password`, or the name alone.
fn of_user(user: &str) -> String {
    user.split_once(':').map_or_else(|| user.to_owned(), |(name, _)| format!("{name}:{HIDDEN}"))
}

/// A path with its parameters and fragment.
fn of_tail(tail: &str) -> String {
    let (tail, fragment) = tail.split_once('#').map_or((tail, ""), |(tail, _)| (tail, "#***"));
    match tail.split_once('?') {
        Some((path, parameters)) => format!("{path}?{}{fragment}", of_parameters(parameters)),
        None => format!("{tail}{fragment}"),
    }
}

fn of_parameters(parameters: &str) -> String {
    parameters.split_inclusive(is_separator).map(of_parameter).collect()
}

/// `name=value` with the separator behind it.
fn of_parameter(parameter: &str) -> String {
    let content = parameter.trim_end_matches(is_separator);
    let separator = &parameter[content.len()..];
    match content.split_once('=') {
        Some((name, _)) if HARMLESS.contains(&name.to_lowercase().as_str()) => parameter.to_owned(),
        Some((name, _)) => format!("{name}={HIDDEN}{separator}"),
        None if content.is_empty() => separator.to_owned(),
        None => format!("{HIDDEN}{separator}"),
    }
}

fn is_separator(character: char) -> bool {
    matches!(character, '&' | ';') || character.is_whitespace()
}

/// The host with user and port, and what follows it.
fn split_authority(text: &str) -> (&str, &str) {
    text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()))
}

/// True for `host`, `host:port` and `[::1]:port`.
fn is_host_and_port(text: &str) -> bool {
    let port = match text.strip_prefix('[') {
        Some(address) => address.split_once(']').map(|(_, port)| port.strip_prefix(':').unwrap_or(port)),
        None => Some(text.split_once(':').map_or("", |(_, port)| port)),
    };
    !text.ends_with(':') && port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://me:geheim@h/d", "postgres://me:***@h/d"),
            (
                "postgres://h/d?user=me&password=geheim&sslmode=require",
                "postgres://h/d?user=me&password=***&sslmode=require",
            ),
            ("postgres://h:5432/d?passwd=geheim", "postgres://h:5432/d?passwd=***"),
            ("postgres://h:5432/d?passwd=ge@heim", "postgres://***"),
            ("postgres://h/d?user=me&geheim#geheim", "postgres://h/d?user=me&***#***"),
            ("mysql://me:ge/he@im@h:3306/d", "mysql://me:***@h:3306/d"),
            ("mysql://me:12/34@h/d", "mysql://me:***@h/d"),
            ("mysql://me:geheim/d", "mysql://me:***"),
            ("postgres://me:ge?heim@h/d", "postgres://***"),
            ("postgres://u:p@[::1]:5433/d", "postgres://u:***@[::1]:5433/d"),
            ("oracle://me:geheim@h", "oracle://me:***@h"),
            ("me:geheim@h/d", "me:***@h/d"),
            ("postgres:me:geheim@h/d", "postgres:***@h/d"),
            ("host=h user=me password=geheim", "host=h user=me password=***"),
            ("Server=h;Uid=me;Pwd=geheim;", "Server=***;Uid=me;Pwd=***;"),
            ("postgres:geheim", "postgres:***"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn an_address_without_a_secret_is_shown_whole() {
        let addresses = [
            "sqlite:logs/a@b.db",
            "sqlite://a.db?mode=ro",
            "a.db",
            "mysql://me@h/d",
            "mysql://h",
            "postgres:///d?host=/var/run/postgresql",
            "postgres://u@[::1]/d?sslmode=disable&application_name=x",
        ];
        for address in addresses {
            assert_eq!(without_password(address), address);
        }
    }

    proptest! {
        /// In every place where drivers or people put a password, whatever characters it has.
        #[test]
        fn no_form_of_an_address_shows_its_password(
            before in "[a-z0-9/?#@:;& %.+-]{0,6}",
            after in "[a-z0-9/?#@:;& %.+-]{0,6}",
            scheme in prop::sample::select(vec!["postgres://", "postgresql://", "mysql://", "mariadb://", "oracle://", "", "//", "postgres:"]),
            name in prop::sample::select(vec!["password", "passwd", "pwd", "PGPASSWORD", "sslpassword", "passfile", "options", "token", "x"]),
            form in 0..6,
        ) {
            // The capital letters are in no other part of the address.
            let secret = format!("{before}GEHEIM{after}");
            let address = match form {
                0 => format!("{scheme}me:{secret}@h/d"),
                1 => format!("{scheme}me:{secret}@h:5432/d?sslmode=disable"),
                2 => format!("{scheme}h:5432/d?{name}={secret}&sslmode=disable"),
                3 => format!("{scheme}me@h/d?sslmode=disable&{name}={secret}"),
                4 => format!("host=h user=me {name}={secret} dbname=d"),
                // With an `@` it would be the address of a host.
                _ => format!("{scheme}me:GEHEIM{}", after.replace('@', "")),
            };
            // `me://name@h` names a user.
            prop_assume!(!address.contains("me://"));
            prop_assert!(!without_password(&address).contains("GEHEIM"), "{} is shown as {}", address, without_password(&address));
        }
    }
}
