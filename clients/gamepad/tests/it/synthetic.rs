//! A virtual gamepad of the kernel (uinput), read through gilrs. Most containers have no uinput; there the test is
//! skipped.

use std::time::{Duration, Instant};

use evdev::{
    AbsInfo, AbsoluteAxisCode, AttributeSet, BusType, EventType, InputEvent, InputId, KeyCode, UinputAbsSetup,
    uinput::VirtualDevice,
};
use simpartner_gamepad::{
    pad::{Axis, Backend, Button, Event},
    real::RealPad,
};

use crate::needs::{Need, met};

/// Vendor and product of a common gamepad.
const XBOX_360: (u16, u16) = (0x045e, 0x028e);

fn plug_in() -> std::io::Result<VirtualDevice> {
    let keys = [
        KeyCode::BTN_SOUTH,
        KeyCode::BTN_EAST,
        KeyCode::BTN_NORTH,
        KeyCode::BTN_WEST,
        KeyCode::BTN_TL,
        KeyCode::BTN_TR,
        KeyCode::BTN_SELECT,
        KeyCode::BTN_START,
        KeyCode::BTN_MODE,
        KeyCode::BTN_THUMBL,
        KeyCode::BTN_THUMBR,
    ];
    let stick = |axis| UinputAbsSetup::new(axis, AbsInfo::new(0, -32_768, 32_767, 0, 0, 0));
    VirtualDevice::builder()?
        .name("SimPartner test pad")
        .input_id(InputId::new(BusType::BUS_USB, XBOX_360.0, XBOX_360.1, 0x0110))
        .with_keys(&keys.into_iter().collect::<AttributeSet<KeyCode>>())?
        .with_absolute_axis(&stick(AbsoluteAxisCode::ABS_X))?
        .with_absolute_axis(&stick(AbsoluteAxisCode::ABS_Y))?
        .with_absolute_axis(&stick(AbsoluteAxisCode::ABS_RX))?
        .with_absolute_axis(&stick(AbsoluteAxisCode::ABS_RY))?
        .build()
}

/// Polls until an event is as wanted.
fn wait_for(pad: &mut RealPad, is_so: impl Fn(&Event) -> bool) -> bool {
    let start = Instant::now();
    let mut events = Vec::new();
    while start.elapsed() < Duration::from_secs(10) {
        pad.poll(start.elapsed(), &mut events).unwrap();
        if events.drain(..).any(|event| is_so(&event)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_synthetic_pad_is_found_felt_and_missed() {
    let device = plug_in().map_err(|error| format!("there is no uinput: {error}"));
    let Some(mut device) = met(Need::Gamepad, device) else { return };
    let Some(mut pad) = met(Need::Gamepad, RealPad::open(true)) else { return };
    let found = wait_for(&mut pad, |event| matches!(event, Event::Found(_)));
    let found = found.then_some(()).ok_or("udev does not tell of the pad; GILRS_DISABLE_UDEV=1 looks without it");
    let Some(()) = met(Need::Gamepad, found) else { return };
    // The kernel's y points down, ours up.
    let push = InputEvent::new(EventType::ABSOLUTE.0, AbsoluteAxisCode::ABS_Y.0, -32_768);
    device.emit(&[push]).unwrap();
    assert!(wait_for(&mut pad, |event| matches!(event, Event::Axis(Axis::LeftStickY, value) if *value > 0.99)));
    for is_down in [true, false] {
        device.emit(&[InputEvent::new(EventType::KEY.0, KeyCode::BTN_SOUTH.0, i32::from(is_down))]).unwrap();
        assert!(wait_for(&mut pad, |event| *event == Event::Button(Button::South, is_down)));
    }
    drop(device);
    assert!(wait_for(&mut pad, |event| *event == Event::Lost));
}
