//! Who may ask: pages that this server has served, on the host they were served from, with the token where there is one.
//!
//! A foreign page can make a browser send requests here, and with a name of its own that points to this machine it could read
//! the answers too. The first is known by its `Origin`, the second by its `Host`.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Web, files};
use crate::server::Settings;

/// What page and server speak on a WebSocket.
pub(super) const SUBPROTOCOL: &str = "simpartner.1";

/// What every answer carries.
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

/// The rules of this server.
pub(super) struct Guard {
    /// True on an address that only this machine reaches.
    loopback: bool,
    /// What stands behind `Bearer`, hashed, so that comparing takes the same time for any.
    bearer: Option<blake3::Hash>,
    /// The subprotocol that shows the token, hashed.
    subprotocol: Option<blake3::Hash>,
}

impl Guard {
    pub(super) fn new(settings: &Settings) -> Self {
        let token = settings.token.as_deref();
        let subprotocol = token.map(|token| format!("token.{}", URL_SAFE_NO_PAD.encode(token)));
        Self {
            loopback: settings.bind.is_loopback(),
            bearer: token.map(|token| blake3::hash(token.as_bytes())),
            subprotocol: subprotocol.map(|text| blake3::hash(text.as_bytes())),
        }
    }

    /// Why this request is not let in, if it is not.
    pub(super) fn refuse(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let live = path == "/live";
        let Some(host) = single(headers, header::HOST).filter(|host| self.is_ours(host)) else {
            return Some((StatusCode::FORBIDDEN, "expected Host to be an address of this server"));
        };
        match headers.get(header::ORIGIN) {
            None if live => return Some((StatusCode::FORBIDDEN, "expected Origin to be this server's page")),
            Some(_) if !is_same(single(headers, header::ORIGIN), host) => {
                return Some((StatusCode::FORBIDDEN, "expected Origin to be this server's page"));
            }
            _ => {}
        }
        if files::is_public(path) {
            return None;
        }
        let shown = if live { self.shows_in_subprotocol(headers) } else { self.shows_bearer(headers) };
        (!shown).then_some((StatusCode::UNAUTHORIZED, "expected the server's token"))
    }

    /// A name could be anybody's that points here; an address, and `localhost`, cannot. Its port is not looked at: behind a
    /// tunnel it is another one.
    fn is_ours(&self, host: &str) -> bool {
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

    fn shows_bearer(&self, headers: &HeaderMap) -> bool {
        let Some(wanted) = self.bearer else { return true };
        let shown = single(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        shown.is_some_and(|shown| blake3::hash(shown.as_bytes()) == wanted)
    }

    fn shows_in_subprotocol(&self, headers: &HeaderMap) -> bool {
        let Some(wanted) = self.subprotocol else { return true };
        let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
        offered
            .flat_map(|value| value.split(','))
            .fold(false, |shown, offer| shown | (blake3::hash(offer.trim().as_bytes()) == wanted))
    }
}

fn is_same(origin: Option<&str>, host: &str) -> bool {
    origin.and_then(|origin| origin.strip_prefix("http://")).is_some_and(|origin| origin.eq_ignore_ascii_case(host))
}

/// A header that is there once, as text.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Lets a request in or refuses it, and gives every answer its headers.
pub(super) async fn watch_over(State(web): State<Arc<Web>>, request: Request, next: Next) -> Response {
    let mut response = match web.guard.refuse(request.uri().path(), request.headers()) {
        Some((status, why)) => (status, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bind: &str, token: Option<&str>) -> Guard {
        Guard::new(&Settings { bind: bind.parse().unwrap(), token: token.map(str::to_owned), ..Settings::default() })
    }

    #[test]
    fn names_and_foreign_addresses_are_not_ours() {
        let near = guard("127.0.0.1", None);
        for ours in ["127.0.0.1:6580", "localhost:6580", "LocalHost", "[::1]:6580", "127.0.0.1", "localhost:8080"] {
            assert!(near.is_ours(ours), "{ours}");
        }
        for foreign in
            ["", "evil.example:6580", "10.0.0.1:6580", "localhost.evil.example", "127.0.0.1.evil.example", "::1"]
        {
            assert!(!near.is_ours(foreign), "{foreign}");
        }
        let far = guard("0.0.0.0", Some("open"));
        assert!(far.is_ours("10.0.0.1:6580") && far.is_ours("[fe80::1]:6580") && !far.is_ours("evil.example:6580"));
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
            guard.refuse(path, &headers).map(|(status, _)| status.as_u16())
        };
        assert_eq!(asked("/", &[]), None);
        assert_eq!(asked("/scene.json", &[]), Some(401));
        assert_eq!(asked("/scene.json", &[(header::AUTHORIZATION, "Bearer open simsim")]), Some(401));
        assert_eq!(asked("/scene.json", &[(header::AUTHORIZATION, "Bearer open sesame?")]), None);
        let offer = |text| asked("/live", &[(header::SEC_WEBSOCKET_PROTOCOL, text)]);
        assert_eq!(offer("simpartner.1"), Some(401));
        assert_eq!(offer("simpartner.1, token.b3BlbiBzZXNhbWU_"), None);
    }
}
