//! The page of a grasp: one HTML file with the viewer's script and the grasp, to be saved or served.

use std::{future::Future, io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::Value;
use tokio::net::TcpListener;

use super::{
    files,
    guard::{Guard, HEADERS},
};
use crate::{bind, error::ServerError, settings::Settings};

/// Content security policy of the page. It loads nothing, because everything it needs is in the file.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                      form-action 'none'";

/// A self-contained page of a grasp (the JSON of `grasp_scene`); `None` if this program was built without its page.
pub fn grasp_page(scene: &Value) -> Option<String> {
    let (script, style) = (files::file_text("/grasp.js")?, files::file_text("/grasp.css")?);
    // Escaped, so that neither a name in the grasp nor a string of the script ends its HTML element.
    let data = scene.to_string().replace('<', "\\u003c");
    let script = script.replace("</script", "<\\/script");
    let title = escape_html(scene["name"].as_str().unwrap_or_default());
    Some(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} - SimPartner</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{style}</style>\n</head>\n<body>\n<noscript>This page needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"scene\">{data}</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n"
    ))
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Server of the page of a grasp, on loopback.
#[derive(Debug)]
pub struct GraspServer {
    listener: TcpListener,
    address: SocketAddr,
}

impl GraspServer {
    /// Binds a port; 0 requests any free port.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub fn bind(port: u16) -> Result<Self, ServerError> {
        let (listener, address) = bind::listen_for_page(&Settings::default(), port, "--port", "the page of the grasp")?;
        Ok(Self { listener, address })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the page until `stop` completes.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(self, page: String, stop: impl Future<Output = ()>) -> io::Result<()> {
        let page = Bytes::from(page);
        let answer = move || {
            let page = page.clone();
            async move { ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page) }
        };
        let guard = Arc::new(Guard::new(&Settings::default()));
        let app = Router::new().route("/", get(answer)).fallback(not_found).layer(middleware::from_fn(
            move |request: Request, next: Next| {
                let guard = Arc::clone(&guard);
                async move { guard_request(&guard, request, next).await }
            },
        ));
        // A browser keeps its connection open, so the end does not wait for it.
        tokio::select! {
            served = axum::serve(self.listener, app).into_future() => served,
            () = stop => Ok(()),
        }
    }
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page; the grasp is at /\n").into_response()
}

/// Applies the checks and headers of the viewer's port, with the page's own content security policy.
async fn guard_request(guard: &Guard, request: Request, next: Next) -> Response {
    let mut response = match guard.refuse(request.uri().path(), request.headers()) {
        Some((status, why)) => (status, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_file_cannot_end_the_elements_that_hold_them() {
        let Some(page) = grasp_page(&serde_json::json!({ "name": "</title></script><b>&" })) else { return };
        assert!(page.contains("<title>&lt;/title&gt;&lt;/script&gt;&lt;b&gt;&amp; - SimPartner</title>"));
        assert_eq!(page.matches("</script>").count(), 2);
        let data = page.split("id=\"scene\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap()["name"], "</title></script><b>&");
    }
}
