//! `simpartner grasp show`: the page of a grasp on its own port.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::Child,
};

use super::client::get;
use crate::cli::{output, simpartner, text};

/// A verb that serves until it is ended.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_of_a_grasp_is_served_to_this_machine_alone_until_it_is_ended() {
    let pinch = format!("{}/worlds/grasps/pinch.xml", env!("CARGO_MANIFEST_DIR"));
    let mut serving = Serving(simpartner(&["grasp", "show", &pinch]).spawn().unwrap());
    let mut told = String::new();
    BufReader::new(serving.0.stdout.take().unwrap()).read_line(&mut told).unwrap();
    if told.is_empty() {
        // Without Node the page reports that; `web::there_is_a_page_with_and_without_node` makes that a failure where
        // Node is required.
        return;
    }
    let address: SocketAddr =
        told.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
    assert!(address.ip().is_loopback(), "{told}");
    let page = get(address, "/", &[]);
    let policy = page.header("content-security-policy").unwrap().to_owned();
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("connect-src"), "{policy}");
    assert!(String::from_utf8(page.body).unwrap().contains("\"name\":\"pinch\""));
    assert_eq!(get(address, "/scene.json", &[]).status, 404);
    assert_eq!(get(address, "/", &[("Host", "evil.example")]).status, 403);
    // Its port is taken now.
    let port = address.port().to_string();
    let second = output(&["grasp", "show", &pinch, "--port", &port]);
    let why = text(&second.stderr);
    assert!(!second.status.success() && why.contains("--port") && why.contains(&port), "{why}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_good_order() {
    let pinch = format!("{}/worlds/grasps/pinch.xml", env!("CARGO_MANIFEST_DIR"));
    let mut serving = Serving(simpartner(&["grasp", "show", &pinch]).spawn().unwrap());
    let mut told = String::new();
    let mut out = BufReader::new(serving.0.stdout.take().unwrap());
    out.read_line(&mut told).unwrap();
    if told.is_empty() {
        return;
    }
    let id = rustix::process::Pid::from_raw(serving.0.id() as i32).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert!(serving.0.wait().unwrap().success());
}
