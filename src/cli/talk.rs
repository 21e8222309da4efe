//! `simpartner talk`: sends lines to a port of a running server and prints its answers, in place of a program such as
//! `nc`.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use clap::Args;
use simpartner_model::Moment;
use simpartner_terminal::output::{self, print};
use simpartner_wire::{near::did_you_mean, protocol};

use super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    ports,
};

/// Timeout for a connection to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for the server's list of devices.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest length of a line, bytes. It is far above the length of a scanner's reading, and bounds the memory that
/// another program can make this one use.
const MAX_LINE_LENGTH: u64 = 1 << 20;

/// Text after the help of the verb.
const HELP_EXAMPLES: &str = "\
Examples:
  simpartner talk Position GET                          a reading of the device Position
  simpartner talk WheelMotor1 '<1000,1000,100,0,0,1>'   a command to an actuator; prints its state before and after
  simpartner talk WheelMotor1 velocity=1                the same field by name; the other fields do not change
  simpartner talk control STEP 10                       a request to the clock
  simpartner talk --wait WorkPartner/Position SUB 500   readings until Ctrl-C
  simpartner talk control < requests.txt                one request per line
A device's port sends a greeting first. HELP lists the requests that a port accepts.";

#[derive(Debug, Args)]
#[command(after_help = HELP_EXAMPLES)]
pub(super) struct TalkArguments {
    /// Port to talk to: `control`, a device as NAME or ROBOT/NAME, a robot for its combined port, or a port number
    whom: String,
    /// Line to send [default: the lines of standard input]
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    line: Vec<String>,
    /// Keep printing answers after the last line was sent: for this time in seconds, or as 500ms or 500steps; without a
    /// time, until Ctrl-C
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = Moment::or_seconds)]
    wait: Option<Option<Moment>>,
    /// Address of the server's control port [default: from --ports-file, otherwise from the settings]
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,
    /// Token of the server, if it requires one [default: the setting server.token]
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
}

/// Sends the lines and prints the answers, until the server has answered all of them.
pub(super) fn talk(arguments: &TalkArguments) -> Result<ExitStatus, CliError> {
    let config = arguments.configuration.config(&[])?;
    let wait = match arguments.wait {
        None => Some(Duration::ZERO),
        Some(None) => None,
        // A time that is too long for the operating system counts as no limit.
        Some(Some(time)) => Duration::try_from_secs_f64(time.seconds(config.simulation.timestep)).ok(),
    };
    let control = match &arguments.server {
        Some(server) => resolve_server(server)?,
        None => ports::control_address(&config)?,
    };
    let token = arguments.token.clone().or(config.server.token);
    let address = match (arguments.whom.as_str(), arguments.whom.parse::<u16>()) {
        ("control", _) => control,
        (_, Ok(port)) => SocketAddr::new(control.ip(), port),
        (name, Err(_)) => SocketAddr::new(control.ip(), find_port(control, token.as_deref(), name)?),
    };
    let stream = connect(address, &arguments.whom, token.as_deref())?;
    let line = arguments.line.join(" ");
    if is_frame(&line) && arguments.whom != "control" {
        return send_command(stream, &arguments.whom, &line, wait);
    }
    let sending = stream.try_clone()?;
    // This thread is never joined, because standard input may never end.
    std::thread::spawn(move || {
        let sent = match line.is_empty() {
            true => forward_stdin(&sending),
            false => (&sending).write_all(format!("{line}\n").as_bytes()),
        };
        // If the server is gone, it has closed the other direction as well, and an error does not matter.
        if let (Ok(()), Some(wait)) = (sent, wait) {
            std::thread::sleep(wait);
            let _ = sending.shutdown(Shutdown::Write);
        }
    });
    print_answers(&mut BufReader::new(stream), &arguments.whom)
}

/// True if a line is a command of numbers or of named fields, in brackets or not.
fn is_frame(line: &str) -> bool {
    let numbers = line.trim_start_matches(['<', ' ']);
    let word = numbers.split_whitespace().next().unwrap_or_default();
    numbers.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) || word.contains('=')
}

/// Sends a command to an actuator, and prints the actuator's state before and after it. The port's greeting, which is
/// the state before the command too, is not printed, because it would look as if the command had no effect.
fn send_command(mut stream: TcpStream, whom: &str, line: &str, wait: Option<Duration>) -> Result<ExitStatus, CliError> {
    let lost = |error: io::Error| CliError::Talk(format!("the connection to '{whom}' is lost: {error}"));
    let mut reader = BufReader::new(stream.try_clone()?);
    stream.write_all(format!("{line}\n").as_bytes()).map_err(lost)?;
    let mut lines = || {
        let mut text = Vec::new();
        let read = (&mut reader).take(MAX_LINE_LENGTH).read_until(b'\n', &mut text);
        read.map_err(lost).map(|_| String::from_utf8_lossy(&text).into_owned())
    };
    let (greeting, answer) = (lines()?, lines()?);
    let is_state = answer.starts_with('<') && greeting.starts_with('<');
    if !is_state {
        print(&greeting);
    }
    let mut status = if [&greeting, &answer].iter().any(|text| text.starts_with("ERR ")) {
        ExitStatus::Refused
    } else {
        ExitStatus::Success
    };
    print(&answer);
    if is_state {
        stream.write_all(b"<>\n").map_err(lost)?;
        print(lines()?);
    }
    // Without --wait the conversation ends at once.
    match wait {
        Some(Duration::ZERO) => stream.shutdown(Shutdown::Write).map_err(lost)?,
        Some(wait) => drop(std::thread::spawn(move || {
            std::thread::sleep(wait);
            // If the server is gone, it has closed the other direction as well, and an error does not matter.
            let _ = stream.shutdown(Shutdown::Write);
        })),
        None => {}
    }
    let rest = print_answers(&mut reader, whom)?;
    if rest != ExitStatus::Success {
        status = rest;
    }
    Ok(status)
}

/// Sends each line of standard input as soon as it is read.
fn forward_stdin(mut stream: &TcpStream) -> io::Result<()> {
    let mut lines = io::stdin().lock();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        stream.write_all(&line)?;
        line.clear();
    }
    Ok(())
}

/// Prints the server's lines until it closes the connection, or until standard output is closed.
fn print_answers(reader: &mut BufReader<TcpStream>, whom: &str) -> Result<ExitStatus, CliError> {
    let mut status = ExitStatus::Success;
    let mut line = Vec::new();
    while !output::has_ended() {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_LENGTH).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            // A server that closes before it has read all of our lines resets the connection.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(CliError::Talk(format!("the connection to '{whom}' is lost: {error}"))),
        }
        let text = String::from_utf8_lossy(&line);
        if text.starts_with("ERR ") {
            status = ExitStatus::Refused;
        }
        print(text);
    }
    Ok(status)
}

/// Asks the control port for the port of a device or a robot.
fn find_port(control: SocketAddr, token: Option<&str>, name: &str) -> Result<u16, CliError> {
    let lost = |error: io::Error| CliError::Talk(format!("the control port at {control} does not answer: {error}"));
    let mut stream = connect(control, "control", token)?;
    stream.set_read_timeout(Some(LIST_TIMEOUT)).map_err(lost)?;
    stream.write_all(b"DEVICES\nROBOTS\n").map_err(lost)?;
    let mut ends = 0;
    let mut known: Vec<(String, u16)> = Vec::new();
    for line in BufReader::new(stream).take(MAX_LINE_LENGTH).lines() {
        let line = line.map_err(lost)?;
        let word = |key| protocol::word(&line, key);
        if line.starts_with("ERR ") {
            return Err(CliError::Talk(format!("the control port at {control} answers: {line}")));
        }
        if let (Some(name), Some(port)) = (word("name"), word("bound").and_then(|port| port.parse().ok())) {
            known.push((word("robot").map_or(name.to_owned(), |robot| format!("{robot}/{name}")), port));
        }
        ends += usize::from(line.starts_with("OK "));
        if ends == 2 {
            break;
        }
    }
    port_of(&known, name)
}

/// The port of a device or robot with this full name, or with this last part of the name if that is unique.
fn port_of(known: &[(String, u16)], name: &str) -> Result<u16, CliError> {
    if let Some((_, port)) = known.iter().find(|(full, _)| full == name) {
        return Ok(*port);
    }
    let named: Vec<_> = known.iter().filter(|(full, _)| full.rsplit('/').next() == Some(name)).collect();
    match named[..] {
        [(_, port)] => Ok(*port),
        [] => {
            let all: Vec<&str> =
                std::iter::once("control").chain(known.iter().map(|(full, _)| full.as_str())).collect();
            let last_parts = all.iter().filter_map(|full| full.rsplit('/').next());
            let meant = did_you_mean(name, all.iter().copied().chain(last_parts));
            Err(CliError::Usage(format!(
                "the server has no device or robot '{name}'{meant}{} {}",
                if meant.is_empty() { "; it has" } else { " It has" },
                all.join(", ")
            )))
        }
        _ => {
            let all: Vec<&str> = named.iter().map(|(full, _)| full.as_str()).collect();
            Err(CliError::Usage(format!("several devices are called '{name}'; name one of {}", all.join(", "))))
        }
    }
}

/// Resolves the text of --server to an address.
fn resolve_server(server: &str) -> Result<SocketAddr, CliError> {
    let found = server.to_socket_addrs().map(|mut found| found.next());
    found.ok().flatten().ok_or_else(|| CliError::Usage(format!("--server: expected HOST:PORT, got '{server}'")))
}

/// Connects, and sends the token if there is one.
fn connect(address: SocketAddr, whom: &str, token: Option<&str>) -> Result<TcpStream, CliError> {
    let failed = |error: io::Error| {
        CliError::Talk(format!(
            "cannot connect to '{whom}' at {address}: {error}\n\
             help: start a server with `simpartner run`, or name its address with --server HOST:PORT or --ports-file FILE"
        ))
    };
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    if let Some(token) = token {
        stream.write_all(format!("TOKEN {token}\n").as_bytes()).map_err(failed)?;
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_port_alone() {
        let known = [("A/Position", 1), ("B/Position", 2), ("A/Motor", 3), ("A", 4)]
            .map(|(name, port)| (name.to_owned(), port));
        assert_eq!(port_of(&known, "B/Position").ok(), Some(2));
        assert_eq!(port_of(&known, "Motor").ok(), Some(3));
        assert_eq!(port_of(&known, "A").ok(), Some(4));
        let said = |name| port_of(&known, name).unwrap_err().to_string();
        assert_eq!(said("Position"), "several devices are called 'Position'; name one of A/Position, B/Position");
        assert_eq!(
            said("Claw"),
            "the server has no device or robot 'Claw'; it has control, A/Position, B/Position, A/Motor, A"
        );
        assert!(
            said("positon")
                .starts_with("the server has no device or robot 'positon'; did you mean 'Position'? It has control, ")
        );
        let none = port_of(&[], "Motor").unwrap_err().to_string();
        assert_eq!(none, "the server has no device or robot 'Motor'; it has control");
    }
}
