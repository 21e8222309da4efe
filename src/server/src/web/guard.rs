//! Access control for HTTP: only pages that this server has served, on the host they were served from, with the token
//! if the settings have one.
//!
//! A foreign page can make a browser send requests to this server. With a domain name that points to this machine it
//! could also read the answers (DNS rebinding). `Origin` reveals the first, `Host` the second.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{document, files};
use crate::settings::Settings;

/// The WebSocket subprotocol of page and server.
pub(super) const SUBPROTOCOL: &str = "simpartner.1";

/// Headers of every response.
pub(super) const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Prefix of the subprotocol that carries the token in base64.
const TOKEN_PREFIX: &str = "token.";

/// Access rules of this server.
pub(super) struct Guard {
    /// True if the server is bound to loopback, which only this machine reaches.
    loopback: bool,
    /// Hash of the token that follows `Bearer`. Hashes are compared in constant time.
    bearer: Option<blake3::Hash>,
    /// Hash of the subprotocol that carries the token.
    subprotocol: Option<blake3::Hash>,
}

impl Guard {
    pub(super) fn new(settings: &Settings) -> Self {
        let token = settings.token.as_deref();
        let subprotocol = token.map(|token| format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(token)));
        Self {
            loopback: settings.bind.is_loopback(),
            bearer: token.map(|token| blake3::hash(token.as_bytes())),
            subprotocol: subprotocol.map(|text| blake3::hash(text.as_bytes())),
        }
    }

    /// True if the settings require a token.
    pub(super) fn asks_for_token(&self) -> bool {
        self.bearer.is_some()
    }

    /// The refusal of a request with a wrong `Host` or `Origin`; `None` if both are right. Does not check the token.
    pub(super) fn refuse(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let live = path == "/live";
        let Some(host) = single_header(headers, header::HOST).filter(|host| self.is_own_host(host)) else {
            return Some((StatusCode::FORBIDDEN, "expected Host to be an address of this server"));
        };
        match headers.get(header::ORIGIN) {
            None if live => return Some((StatusCode::FORBIDDEN, "expected Origin to be this server's page")),
            Some(_) if !is_same_origin(single_header(headers, header::ORIGIN), host) => {
                return Some((StatusCode::FORBIDDEN, "expected Origin to be this server's page"));
            }
            _ => {}
        }
        None
    }

    /// Checks the token of a request.
    pub(super) fn shown(&self, path: &str, headers: &HeaderMap) -> Shown {
        match path {
            _ if files::is_public(path) || document::holds(path) => Shown::Right,
            "/live" => self.shown_in_subprotocol(headers),
            _ => self.shown_as_bearer(headers),
        }
    }

    /// True if `Host` is `localhost` or an address of this server. Any other name could be a foreign domain that points
    /// here. The port is ignored, because it differs behind a tunnel.
    fn is_own_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => name.parse().ok().filter(IpAddr::is_ipv4),
        };
        match address {
            Some(address) => address.is_loopback() || !self.loopback,
            None => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn shown_as_bearer(&self, headers: &HeaderMap) -> Shown {
        let Some(wanted) = self.bearer else { return Shown::Right };
        match single_header(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")) {
            Some(shown) => Shown::right_or_wrong(blake3::hash(shown.as_bytes()) == wanted),
            None => Shown::Nothing,
        }
    }

    fn shown_in_subprotocol(&self, headers: &HeaderMap) -> Shown {
        let Some(wanted) = self.subprotocol else { return Shown::Right };
        let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
        let offered = offered.flat_map(|value| value.split(',')).map(str::trim);
        let mut tokens = offered.filter(|offer| offer.starts_with(TOKEN_PREFIX));
        // A request is one attempt, so it may show only one token.
        match (tokens.next(), tokens.next()) {
            (Some(shown), None) => Shown::right_or_wrong(blake3::hash(shown.as_bytes()) == wanted),
            (Some(_), Some(_)) => Shown::Wrong,
            (None, _) => Shown::Nothing,
        }
    }
}

/// Result of checking the token of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The token is right, or this path needs none.
    Right,
    /// The token is wrong.
    Wrong,
    /// The request has no token, and this path needs one.
    Nothing,
}

impl Shown {
    fn right_or_wrong(is_right: bool) -> Self {
        if is_right { Self::Right } else { Self::Wrong }
    }
}

fn is_same_origin(origin: Option<&str>, host: &str) -> bool {
    origin.and_then(|origin| origin.strip_prefix("http://")).is_some_and(|origin| origin.eq_ignore_ascii_case(host))
}

/// Text of a header that occurs exactly once.
fn single_header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn guard(bind: &str, token: Option<&str>) -> Guard {
        Guard::new(&Settings { bind: bind.parse().unwrap(), token: token.map(str::to_owned), ..Settings::default() })
    }

    #[test]
    fn names_and_foreign_addresses_are_not_ours() {
        let near = guard("127.0.0.1", None);
        for ours in ["127.0.0.1:6580", "localhost:6580", "LocalHost", "[::1]:6580", "127.0.0.1", "localhost:8080"] {
            assert!(near.is_own_host(ours), "{ours}");
        }
        for foreign in
            ["", "evil.example:6580", "10.0.0.1:6580", "localhost.evil.example", "127.0.0.1.evil.example", "::1"]
        {
            assert!(!near.is_own_host(foreign), "{foreign}");
        }
        let far = guard("0.0.0.0", Some("open"));
        assert!(
            far.is_own_host("10.0.0.1:6580")
                && far.is_own_host("[fe80::1]:6580")
                && !far.is_own_host("evil.example:6580")
        );
    }

    #[test]
    fn the_token_is_shown_in_the_header_or_as_a_subprotocol() {
        let guard = guard("127.0.0.1", Some("open sesame?"));
        let asked = |path: &str, pairs: &[(HeaderName, &'static str)]| {
            let mut headers = HeaderMap::new();
            let always = [(header::HOST, "localhost:1"), (header::ORIGIN, "http://localhost:1")];
            for (name, value) in always.iter().chain(pairs) {
                headers.append(name, HeaderValue::from_static(value));
            }
            assert_eq!(guard.refuse(path, &headers), None);
            guard.shown(path, &headers)
        };
        assert_eq!(asked("/", &[]), Shown::Right);
        assert_eq!(asked("/docs/introduction.html", &[]), Shown::Right);
        assert_eq!(asked("/docset.json", &[]), Shown::Nothing);
        assert_eq!(asked("/scene.json", &[]), Shown::Nothing);
        assert_eq!(asked("/scene.json", &[(header::AUTHORIZATION, "Bearer open simsim")]), Shown::Wrong);
        assert_eq!(asked("/scene.json", &[(header::AUTHORIZATION, "Bearer open sesame?")]), Shown::Right);
        let offer = |text| asked("/live", &[(header::SEC_WEBSOCKET_PROTOCOL, text)]);
        assert_eq!(offer("simpartner.1"), Shown::Nothing);
        assert_eq!(offer("simpartner.1, token.b3BlbiBzaW1zaW0"), Shown::Wrong);
        assert_eq!(offer("simpartner.1, token.b3BlbiBzZXNhbWU_"), Shown::Right);
    }
}
