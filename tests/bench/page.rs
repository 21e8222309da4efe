//! The server's side of a viewer page: its WebSocket, without a browser.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tungstenite::{Error, Message, WebSocket, handshake::client::Request};

/// Opens the WebSocket that the viewer's page opens.
pub fn open(address: SocketAddr) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(address).expect("the page's port is open");
    let request = Request::builder()
        .uri(format!("ws://{address}/live"))
        .header("Host", address.to_string())
        .header("Origin", format!("http://{address}"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Protocol", "simpartner.1")
        .body(())
        .expect("the request is whole");
    let socket = tungstenite::client(request, stream).expect("the server lets its page in").0;
    // So that a page notices the end of the bench.
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout can be set");
    socket
}

/// Acknowledges every frame at once, as a fast page does, and counts the frames.
pub fn read_frames(mut socket: WebSocket<TcpStream>, over: &AtomicBool, frames: &AtomicU64) {
    while !over.load(Ordering::Relaxed) {
        match socket.read() {
            Ok(Message::Binary(frame)) => {
                frames.fetch_add(1, Ordering::Relaxed);
                let number = u32::from_le_bytes(frame[56..60].try_into().expect("a frame has a head"));
                // The server may be closing already.
                let _ = socket.send(Message::text(format!("{{\"seen\":{number}}}")));
            }
            Ok(_) => {}
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}
