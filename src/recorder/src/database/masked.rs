//! Masks secrets in database addresses, for messages, the log and the web page.
//!
//! Only parts that are known to be harmless are shown. A parameter of an unknown name may hold a password under another
//! spelling (`passwd`, `PGPASSWORD`, `sslpassword`), so its value is masked as well.

/// Replacement of a part that may be secret.
const MASK: &str = "***";

/// Parameters of an address whose values are not secret. The drivers know all of them.
const HARMLESS_PARAMETERS: [&str; 24] = [
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

/// The address with three stars in place of each part that may be secret. The address need not be valid.
///
/// The scheme, the user's name, host, port, path, and the values of harmless parameters are shown.
pub fn without_password(address: &str) -> String {
    let is_scheme = |scheme: &str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match address.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some(("sqlite", _)) => address.to_owned(),
        Some((scheme, rest)) => format!("{scheme}://{}", mask_server_address(rest)),
        None if address.starts_with("sqlite:") => address.to_owned(),
        None => mask_malformed(address.trim_start_matches('/')),
    }
}

/// Masks the part of a URL behind `scheme://`.
fn mask_server_address(rest: &str) -> String {
    let (authority, tail) = split_authority(rest);
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if !is_host_and_port(host) || tail.contains('@') {
        // The password may contain a character that ends the host of a URL, such as `/`.
        return mask_malformed(rest);
    }
    let user = user.map_or_else(String::new, |user| format!("{}@", mask_user(user)));
    format!("{user}{host}{}", mask_tail(tail))
}

/// Masks an address that is not a URL.
fn mask_malformed(text: &str) -> String {
    match text.rsplit_once('@') {
        // The `@` may be part of a parameter's value, and the text behind it then is the end of a secret.
        Some((user, _)) if user.contains(['?', '=']) => MASK.to_owned(),
        Some((user, rest)) => {
            let (host, tail) = split_authority(rest);
            let host = if is_host_and_port(host) { host } else { MASK };
            format!("{}@{host}{}", mask_user(user), mask_tail(tail))
        }
        None => {
            let (authority, tail) = split_authority(text);
            match authority.split_once(':') {
                // Keywords and values, as of PostgreSQL (`host=h password=p`) and of other drivers (`Uid=u;Pwd=p`).
                _ if authority.contains('=') => mask_parameters(text),
                Some((name, _)) if !is_host_and_port(authority) => format!("{name}:{MASK}"),
                _ => format!("{authority}{}", mask_tail(tail)),
            }
        }
    }
}

/// Masks the password in `name:password`. The text may be the name alone.
fn mask_user(user: &str) -> String {
    user.split_once(':').map_or_else(|| user.to_owned(), |(name, _)| format!("{name}:{MASK}"))
}

/// Masks the parameters and the fragment behind a path.
fn mask_tail(tail: &str) -> String {
    let (tail, fragment) = tail.split_once('#').map_or((tail, ""), |(tail, _)| (tail, "#***"));
    match tail.split_once('?') {
        Some((path, parameters)) => format!("{path}?{}{fragment}", mask_parameters(parameters)),
        None => format!("{tail}{fragment}"),
    }
}

fn mask_parameters(parameters: &str) -> String {
    parameters.split_inclusive(is_separator).map(mask_parameter).collect()
}

/// Masks the value of a parameter, `name=value` with the separator behind it, unless the parameter is harmless.
fn mask_parameter(parameter: &str) -> String {
    let content = parameter.trim_end_matches(is_separator);
    let separator = &parameter[content.len()..];
    match content.split_once('=') {
        Some((name, _)) if HARMLESS_PARAMETERS.contains(&name.to_lowercase().as_str()) => parameter.to_owned(),
        Some((name, _)) => format!("{name}={MASK}{separator}"),
        None if content.is_empty() => separator.to_owned(),
        None => format!("{MASK}{separator}"),
    }
}

fn is_separator(character: char) -> bool {
    matches!(character, '&' | ';') || character.is_whitespace()
}

/// Splits a text into the authority (user, host and port) and the tail behind it.
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
