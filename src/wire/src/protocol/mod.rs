//! The wire, as seen by any client in any language: plain text over TCP, one port for every sensor and actuator, one for every
//! robot as a whole, and one for the clock. This page is the contract.
//!
//! The module is sans-IO: bytes, records and time are arguments. It knows nothing of sockets, threads and the physics. Start at
//! [`DeviceSession`], then [`RobotSession`].
//!
//! A client in Rust needs little more than a socket and this:
//!
//! ```
//! use simpartner_wire::protocol::{Decoder, Message, frame, read_numbers};
//!
//! // What arrives is split into messages, wherever the segments of the stream begin and end.
//! let mut decoder = Decoder::default();
//! let bytes = b"<1000,1000,100,0,0,0>\r\nOK\n";
//! let (taken, message) = decoder.feed(bytes);
//! let Some(Message::Text(state)) = message else { panic!("{message:?}") };
//! assert_eq!(read_numbers(state)?[2], 100.0);
//! assert!(matches!(decoder.feed(&bytes[taken..]), (_, Some(Message::Text("OK")))));
//!
//! // Numbers are written in the fewest digits that read back as the same f64.
//! assert_eq!(frame(&[1000.0, 1000.0, 100.0, 0.0, 0.0, 0.1]), "<1000,1000,100,0,0,0.1>");
//! # Ok::<(), simpartner_wire::protocol::Refusal>(())
//! ```
//!
//! # Connecting
//! The server listens, on loopback by default. On a device port the server sends first: a sensor its reading, an actuator its
//! present state, as one frame. Any number of clients may use a device; the latest command wins, and every command is logged. A
//! server that is bound to another address requires `TOKEN xxxx` as the first line of every connection, and sends nothing before. A line that opens an HTTP request closes the connection without an answer, so that no web page drives a robot. The
//! viewer's page has a port of its own, where the same messages travel in JSON (`clients/viewer/PROTOCOL.md`).
//!
//! # Messages
//! A message is a line ending in LF (a CR before it is ignored) or a frame `<...>` with or without a line end. It is UTF-8 and
//! has at most 4096 bytes. Messages may follow each other in one segment and may be split anywhere. Numbers are finite
//! decimals; those the server sends read back as the same f64.
//!
//! | client sends | server answers | meaning |
//! |---|---|---|
//! | `<>` or an empty line | `<v,v,...>` | poll: a sensor's newest reading, an actuator's present state |
//! | `<v,v,...>` or `v,v,...` | `<v,v,...>` | a command for an actuator; the answer is its previous state |
//! | `GET` | `S step time v,v,...` | poll with step and simulated time in seconds; of an actuator the state that acted in that step |
//! | `SUB n` | `OK`, then `S ...` | stream every n-th step; a reader that is late is sent the newest, with ` dropped=k` at the end |
//! | `SUB n all` | `OK`, then `S ...` | the same, but a reader that is late is sent all that it missed: 4 s of simulated time at most, less where a step is longer than 64 kB |
//! | `SUB 0` | `OK` | end of the stream |
//! | `INFO` | `OK name=.. kind=.. robot=.. body=.. port=.. rate=.. fields=x[m],..` | what the device is; blanks in units are written as dots |
//! | `SET @step v,v,...` | `OK` | a command that takes effect at exactly that step |
//! | `CFG rate=100 range=5` | `OK` | parameters of a sensor, see below |
//! | `FAULT mode [value]` | `OK` | makes the device fail, or mends it, see below |
//! | `ACK [step[+n]] [v,v,...]` | an `S` line, or nothing | joins the lockstep, or has seen this step, see below |
//! | anything else | `ERR code text` | nothing has changed and the connection stays open |
//!
//! # Devices
//! | device | command | state or reading |
//! |---|---|---|
//! | `EchoSensor` | any text | the last text it was sent |
//! | all other sensors | | the fields that `INFO` lists; `robots/REFERENCE.md` tells unit, frame, range, and what each reads at rest and in free fall |
//! | `JointController` | 3 maximum forces, 3 velocities | the same six |
//! | `AngleController` | 3 maximum forces, 3 angles, P, I, D; or 3 angles, P, I, D | all nine |
//! | `PositionController` | 3 maximum forces, 3 positions; or 3 positions | all six |
//! | `EffortController` | 3 torques or forces | the same three |
//! | `ForceActuator` | force along x, y, z, torque about x, y, z, on its body | the same six |
//! | `ConveyorController` | velocity of its body's surface along the body's x, y, z | the same three |
//!
//! Of actuators that drive joints, three values belong to the joint's three coordinates: a hinge and a slider have the third, a
//! cylindrical joint slides in the second and turns in the third, a planar one slides in the first two and turns in the third; the
//! others turn about their local axes. The coordinates of a ball joint are its rotation vector, its rates and forces are along its axes as
//! its parent carries them. `INFO` tells the unit of each. A value for a coordinate that the joint locks is accepted,
//! stored and reported, and moves nothing. Until its first command an actuator holds its initial pose with at most 1000 N (N m) an
//! axis; a `ForceActuator` pushes and a `ConveyorController` moves its surface
//! as its model says.
//!
//! An actuator with a watchdog that has had a command and then none for so long lapses, as its model says, until the next one;
//! its state stays the last command, and the `event` table has a row `watchdog`.
//!
//! # The combined port of a robot
//! A controller that cannot hold a connection for each device has one for the whole robot. `ROBOTS` on the control port lists
//! these ports; the world's `combinedPort` asks for a number. A combined port takes the messages of a device port except `CFG` and
//! `FAULT`, up to 65536 bytes long. The server sends first, all readings.
//!
//! | client sends | server answers | meaning |
//! |---|---|---|
//! | `<>` or an empty line | `<v,v,...>` | the newest readings of all sensors, in the order of the model |
//! | `GET`, `SUB n [all]` | `S step time v,v,...` | the same with step and time; at the end ` dropped=k`, and ` off=Name,Name` if devices are off |
//! | `INFO` | `OK name=.. kind=Robot port=.. readings=Device.field[unit],.. commands=Device.field[unit],..` | what the numbers are |
//! | `v,v,...`, in `<>` or not | `OK` | all numbers of all actuators, in the order of `commands` |
//! | `Name=v,v,...;Name2=v,v,...`, in `<>` or not | `OK` | commands for some actuators, of any length that each takes |
//! | `SET @step` and either | `OK` | the same for exactly that step |
//! | `ACK [step[+n]]` and either | an `S` line, or nothing | joins the lockstep, or has seen this step |
//!
//! A line is taken whole or not at all: when one of its commands is refused, none acts, and the refusal names the actuator. Each
//! command is logged as its device's own. An `EchoSensor` has no readings. The last readings of a device that is off are repeated;
//! commands for one that is off are forgotten, the others act.
//!
//! # Lockstep
//! In `MODE lockstep` a step is made when every member has acknowledged the one before. A member is a port: a device's
//! (`robot/device`) or a robot's combined one (`robot`).
//!
//! 1. The first `ACK` on a connection, with a step or without, takes the member's place. Its answer is the `S` line of the present
//!    step, and every step that follows is sent as by `SUB 1`; after a reset that is step 0.
//! 2. Until all members have joined, the clock runs at the pace of `realtime`. A clock that was paused before that runs not at
//!    all, so a run that is to be repeated bit for bit starts with `PAUSE` (or `--paused`), all `ACK`s and their answers, `PLAY`. Who
//!    joins a clock that runs may answer for a step that is over; `ERR 7` says so, and the present step has been sent too.
//! 3. To `S k` a member answers `ACK k`, or a command on the same connection that acts in step k+1: a frame, or `SET @k+1`. `ACK k` has
//!    no answer but the next `S` line. `CFG`, `FAULT` and commands for later steps are not answers. Send what belongs to the step
//!    first; a command on another connection has arrived when its answer has.
//!    - `ACK k v,v,...` is both in one line, with all commands that the port takes: they act in step k+1, and the answer is the next
//!      `S` line alone. So a step costs one line there and one line back. A line that is refused answers for nothing; its `ERR` is
//!      the only answer, and the step still waits.
//!    - `ACK k+n`, with commands or without, lets n steps go: the next `S` line is that of step k+n, and the clock does not wait for
//!      this member before. After a reset it is asked at step 0 all the same. A controller that is slower than the step says so
//!      with it. The first `ACK` only joins, so it has neither commands nor n.
//! 4. `STEP` and `RUNTO` wait for members as `PLAY` does. A member that a fault has put off is sent nothing and not waited for.
//! 5. One that has not answered in `lockstep.timeout_s` is named in an event `lockstepTimeout`, on the terminal and in `STATE`; then the
//!    clock holds on, pauses or ends the run, as `lockstep.on_timeout` says. One that disconnects has that long to come back: the
//!    `ACK` of a later connection takes its place and is asked for the present step. Who joins and leaves is in events `lockstep`.
//! 6. The clock also waits for the log. Other clients' commands act when they come, which is not the same step every time.
//!
//! `STATE` then has ` lockstep=`: `joining:` and who has yet to join, `waiting:` and who has yet to answer, `overdue:` and who has not
//! answered in time, or `answered`.
//!
//! # Parameters of a sensor
//! `CFG` takes any of these, from the next step on and until a reset: `rate` in Hz; `range` in metres of a sensor that sees, up
//! to the model's; `latency` in seconds, up to 10; `dropout`, the probability that a reading is lost; and of the noise
//! `noise` (standard deviation), `bias`, `drift` (by the root of a second) and `quantisation`, in the unit of what is read, of
//! all quantities, or of one as in `CFG angularVelocity.noise=0.01`. A reading that is late is that of an earlier step; one that
//! is lost leaves the one before in its place, which the log does not repeat. No more than 16 million numbers of a sensor are
//! under way at once; what comes on top is lost.
//!
//! # Faults
//! `FAULT` acts at the next step boundary like a command, is logged like one, so that a replay can do it again, and leaves a row
//! `fault` in the `event` table. `SET @step FAULT mode` names the step.
//!
//! | mode | a sensor | an actuator |
//! |---|---|---|
//! | `ok` | works | works, with the last command that it took |
//! | `off` | has no readings | exerts nothing, and forgets the commands it is sent |
//! | `stuck` | tells its last reading as if it were new | goes on, and forgets the commands it is sent |
//! | `garbage` | reads anything within the range of its fields | exerts anything within the maximum forces of its last command, 1000 N (N m) of an effort controller, anew in each step |
//! | `delayed s` | readings come so many seconds later, up to 60 | commands act so many seconds later |
//! | `intermittent p` | readings are lost with this probability | commands are lost with this probability |
//!
//! A device that is off answers polls, frames, `GET`, `SET` and `CFG` with `ERR 10` and sends a subscriber nothing; when it is
//! back, the next sample counts what was missed. `FAULT`, `SUB` and `INFO` it still understands. An `EchoSensor` has no faults.
//!
//! # The control port
//! | client sends | server answers | meaning |
//! |---|---|---|
//! | `STATE` or an empty line | `OK state=PLAYING step=.. time=.. timestep=.. mode=.. rate=.. rtf=.. slips=.. epoch=..` | where the simulation stands |
//! | `PLAY [rate]` | `OK state=..` | let the clock run |
//! | `PAUSE` | `OK state=..` | stop it after the step under way |
//! | `STEP [n]` | `OK state=..` when the steps are made | from pause: n steps at once |
//! | `RUNTO t` | `OK state=..` when it is t | from pause: play until simulated time t, then pause |
//! | `RESET` | `OK state=..` | rebuild the world; equal to a fresh start bit for bit |
//! | `DEVICES` | a line `DEVICE name=.. kind=.. robot=.. joint=.. port=.. bound=..` for each, then `OK n` | what there is; `port` is the model's, `bound` the one to connect to |
//! | `ROBOTS` | a line `ROBOT name=.. port=.. bound=..` for each, then `OK n` | where the combined ports are |
//! | `SCENE` | `OK` and the world in one line of JSON | its bodies, joints and devices, as `clients/viewer/PROTOCOL.md` describes them |
//! | `TRUTH` | `OK step=.. time=.. epoch=.. world=.. bodies=v,v,.. joints=v,v,..` | ground truth, see below |
//! | `MODE realtime`, `MODE fast` | `OK state=..` | whether steps have deadlines |
//! | `MODE lockstep [member ...]` | `OK state=.. lockstep=joining:..` | another lockstep with these members, or with those of `lockstep.members`; without either all combined ports |
//! | `SYNC token` | `DONE step token` | all commands sent before have been taken in; they act from step + 1 on |
//! | `FAULT robot/device mode [value]` | `OK` | what `FAULT mode` does on the device's own port; without `robot/` where one robot alone has the device |
//! | `PLACE name position=x,y,z ..` | `OK` | puts a robot or an object elsewhere, see below |
//! | `SPAWN file=name ..` | `OK name=..` when it is there | a robot comes to the world, see below |
//! | `REMOVE name` | `OK` when it is gone | a robot or an object of the world's file goes |
//! | `SPAWNABLES` | a line `SPAWNABLE file=..` for each, then `OK n` | the robot files that `SPAWN` finds |
//! | `QUIT` | `OK state=QUITTING ..` | end the run cleanly |
//! | `HELP` | `OK` and the verbs | |
//!
//! A clock that has real-time priority at the moment adds ` priority=..` to its state. While a step takes long, the state is that
//! before it, with ` making=` (the step's number) and ` making_s=` (seconds since it began). A request
//! that changes the clock is then answered with ` pending=true`: it is carried out when the step is made. `QUIT` ends the run
//! without that step; `STEP`, `RUNTO` and `SYNC` are answered when they are done.
//!
//! # Ground truth
//! `TRUTH` tells where everything is after the newest step, in the order of the lists that `SCENE` gives. Of each body 13 numbers: position
//! x, y, z of its origin in m and quaternion x, y, z, w (world from body); linear velocity of its centre of mass in m/s and angular velocity
//! in rad/s, both in world axes. Of each joint 9: position (rad or m), rate (rad/s or m/s) and motor effort (N m or N) of its three
//! coordinates, one after the other; a locked coordinate reads 0. A list without entries has no numbers. `world` counts how often something
//! has come or gone: where it is another one than before, so is `SCENE`.
//!
//! # Placing
//! `PLACE name key=numbers ...` puts a robot or an object elsewhere, as Gazebo's `set_pose` or writing MuJoCo's `qpos` does. `name` is a robot,
//! which stands for its first body, `robot/body`, or an object. What is named changes, the rest stays as it is at the step boundary:
//!
//! | key | numbers | |
//! |---|---|---|
//! | `position` | x, y, z | of the body's origin, m, each -1e5 to 1e5 |
//! | `orientation` | x, y, z, w | quaternion, world from body, of length 1 within 0.001 |
//! | `linearVelocity` | x, y, z | of its centre of mass in world axes, m/s, each -1e4 to 1e4 |
//! | `angularVelocity` | x, y, z | in world axes, rad/s, likewise |
//!
//! So what `TRUTH` tells of a body puts it back there. All that joints tie to it comes along as one rigid piece, turning velocities with
//! it; joint positions and rates stay as they are, and so do the targets of actuators. `PLACE` acts at the next step boundary like a
//! command, is logged like one, so that a replay can do it again, and leaves a row `place` in the `event` table. It is no motion: nothing on
//! the way is touched, no accelerometer feels it, contacts begin anew. What is static, or tied to something that is, is refused with `ERR
//! 7`; so is everything by the engine `rapier`.
//!
//! # Coming and going
//! `SPAWN` puts a robot into the running world, as Gazebo's `create` does: the world is read anew with a `<robot>` more, by the reader that
//! reads it at the start. `REMOVE` is the same with a robot or an object less. All that is in both worlds goes on as it would have gone on:
//! bodies, joints, devices with their noise, faults and readings under way, ruts, members of the lockstep, the clock, connections.
//!
//! | key | value | |
//! |---|---|---|
//! | `file` | a name | a robot file (of any format that is read) beside the world, in `robots` beside its folder, or built in; no `..`, no `/` in front |
//! | `text` | a JSON string | in place of it its text, the last of the line; files that it names are looked for in the same folders only |
//! | `name` | a name | of the robot; without it that of its model |
//! | `rename` | `true` | it gets a number behind its name where that is taken |
//! | `position`, `orientation` | as in `PLACE` | where its origin is; without them that of the world |
//! | `portOffset` | a number | is added to its ports; without it the first multiple of 100 with which all are free |
//! | `fixedBase` | `true` | of an imported robot: its root is fixed |
//!
//! The answer comes when the world has it; `DEVICES`, `ROBOTS`, `SCENE` and the file of ports then have it, too, and its ports are open. A client of a port
//! whose device is gone reads `ERR 7` with the reason, and the connection is closed. A deleted member of the lockstep is not waited for any
//! more. A world that begins so is a run of its own in the log, with its own texts and the state that it began with, and its steps and its time go on;
//! so a replay can make it again. `RESET` goes back to step 0 of the world as it is then. Whatever is refused has changed nothing. Both need the
//! engine `dynamics` and `server.spawn`.
//!
//! # Refusals
//! `ERR 1` unknown verb, `2` wrong number of numbers, `3` not a finite decimal, `4` out of range, `5` too long or no text,
//! `6` too much waits or is connected already, `7` not in this state, `8` wrong parameter, `9` no token, `10` the device is off. The text says what was expected and what came.
//!
//! # Bounds
//! All queues are bounded, for each client and in all, so that no client takes memory, time or connections from the others. What
//! was acknowledged is carried out; what exceeds a bound is refused with `ERR 6`, and the text names the bound and a remedy.
//!
//! - A step takes in 64 commands and two for each device of the world, a text of 64 bytes counting as one more; the others wait in
//!   the order in which they came. A client that has 64 waiting is not read until some have acted, for a second at most.
//! - Commands that wait for a later step or for `PLAY`, and those that the log has not taken yet, may hold 256 MB in all; one client
//!   a quarter of what is free, and 64 kB in any case. A command takes about 400 bytes and its text twice.
//! - 1024 commands may be scheduled for one step.
//! - Answers are made one after the other, as they are read. A client that takes nothing of one for two seconds (and a second more
//!   for every 64 kB of it) is disconnected; so is one that leaves a message unfinished for 30 s, or the control port without a
//!   first request for 5 minutes.
//! - 256 connections to one port and 4096 in all (`server.connections_per_port`, `server.connections`), fewer where the operating
//!   system allows fewer open files; where other machines connect, one address may have half of them. Beyond that a newcomer takes
//!   the place of the client that has sent nothing for longest since it connected, at least 5 s, or else of one that has sent
//!   nothing for a minute and is sent nothing; only if there is none it is refused.
//!
//! # What makes a run repeatable
//! A command takes effect at a step boundary only, and the log holds step, order, client, text and answer. Simulated time is
//! the step's number times the timestep. Clients never delay the physics, except in lockstep. A slow reader gets the latest
//! value and the number of those that it missed, or with `SUB n all` all of them for a while.

mod answer;
mod board;
mod combined;
mod configure;
mod control;
mod device;
mod fault;
mod framing;
mod number;
mod place;
mod refusal;
mod robot;
mod session;
mod spawn;
mod stream;
mod truth;

pub use answer::word;
pub use board::{CommandBoard, Order};
pub use control::{
    CONTROL_VERBS, ControlRequest, device_named, faulty_device, lockstep_member, placement_of, read_control,
};
pub use device::{action, command, describe, reply};
pub use framing::{Decoder, Flow, MAX_COMBINED, MAX_MESSAGE, Message};
pub use number::{excerpt, frame, read_numbers};
pub use place::placeable_body;
pub use refusal::Refusal;
pub use robot::RobotSession;
pub use session::{Accepted, DeviceSession, Request, Session};
pub use spawn::{MAX_GIVEN, Spawn, SpawnSource};
pub use truth::{TRUTH_OF_BODY, TRUTH_OF_JOINT, write_truth};
