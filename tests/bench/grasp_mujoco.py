"""Grasps a second and core, beside MuJoCo stepping the same scene: `grasp_mujoco.py PROGRAM [FILE] [TASKS] [SEED]`, from the repository's root.

PROGRAM makes a batch with one thread; then MuJoCo makes as many steps of the same length of the world that PROGRAM exports, with the hand led along the same
ramps, the fingers closed with the same effort at the same rate, and the object pulled by the same force, each from the moment it was in PROGRAM. PROGRAM's time is
all of it: start, targets, engines, collisions, measures of quality, rows. MuJoCo's is that of its steps alone, in C (`mujoco.rollout`), and tasks that collide
at their start cost it nothing. Both are processor time, which a busy machine changes little. It needs `mujoco` and `numpy`, and a world whose gripper is robots/parallel_gripper.xml.
"""

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy
from mujoco import rollout

# Contacts as stiff as the steps allow, which hold best (tests/bench/peers/grasp_peer.py), and those that a model has by default.
HOLDS = {"integrator": "discrete", "cone": "elliptic", "impratio": "100", "noslip_iterations": "50", "jacobian": "dense"}
SETTINGS = {
    "MuJoCo, discrete, elliptic, impratio 100, noslip 50": (HOLDS, "0.00001 1"),
    "MuJoCo, implicitfast, pyramidal, default contacts": ({"integrator": "implicitfast"}, "0.02 1"),
}
# Stiffness of the slides that lead the hand of 1.1 kg, N/m: 40 Hz. Of the fingers: their effort at a lag of 4 mm.
SLIDE, FINGER = 7e4, 1e4
SPEC = mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_XFRC_APPLIED
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


class Task:
    """What of a task file is used here; the rest has its defaults, as worlds/grasps/tasks/box.xml and cylinder.xml leave them."""

    def __init__(self, path):
        root = ElementTree.parse(path).getroot()
        vector = lambda node, default: numpy.array(default if node is None else [float(node.get(k, 0)) for k in "xyz"])
        self.world = path.parent / root.get("world")
        self.timestep = float(root.get("timestep"))
        self.tool = vector(root.find("tool/pose"), [0, 0, 0])
        self.object = root.get("object")
        self.fingers = [(node.get("joint"), float(node.get("closed")), float(node.get("maxEffort"))) for node in root.findall("finger")]
        self.approach = vector(root.find("approach"), [0, 0, 0.05])
        self.retract = vector(root.find("retract"), [0, 0.1, 0])
        self.acceleration = vector(root.find("acceleration"), [0, 0, 0])


def rotation(x, y, z, w):
    matrix = numpy.zeros(9)
    mujoco.mju_quat2Mat(matrix, numpy.array([w, x, y, z]))
    return matrix.reshape(3, 3)


def ramp(start, goal, steps, dt, speed=0.5, acceleration=1.0):
    """Where the hand is led to at the end of each step: as the program leads it."""
    places, place, rate = [], numpy.array(start, float), 0.0
    for _ in range(steps):
        left = goal - place
        distance, begin, lag = numpy.linalg.norm(left), rate, acceleration * dt / 2
        square = lag * lag + 2 * acceleration * (distance - begin * dt / 2)
        rate = min(begin + acceleration * dt, speed, max(math.sqrt(max(square, 0.0)) - lag, 0.0))
        way = (begin + rate) / 2 * dt
        if distance - way < 1e-9:
            place, rate = numpy.array(goal, float), 0.0
        else:
            place = place + left * (way / distance)
        places.append(place)
    return places


def scene(path, task, options, solref):
    """The exported world with motors that are as stiff as ours."""
    root = ElementTree.parse(path).getroot()
    option = root.find("option")
    option.set("timestep", repr(task.timestep))
    for name, value in options.items():
        option.set(name, value)
    for node in [*root.iter("geom"), *root.find("equality")]:
        node.set("solref", solref)
    actuators = root.find("actuator")
    for node in list(actuators):
        actuators.remove(node)
    for joint in ("SlideX", "SlideY", "SlideZ"):
        ElementTree.SubElement(actuators, "position", joint=joint, kp=repr(SLIDE), dampratio="1")
    for joint, _, effort in task.fingers:
        ElementTree.SubElement(actuators, "position", joint=joint, kp=repr(FINGER), dampratio="1", forcerange=f"-{effort} {effort}")
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


class Grasp:
    """The start of a task and what acts in each of its steps."""

    def __init__(self, model, task, row):
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self.palm, self.object = model.body("Palm").id, model.body(task.object).id
        world_from_palm = data.xmat[self.palm].reshape(3, 3)
        tool = data.xpos[self.palm] + world_from_palm @ task.tool
        place, turn = numpy.array(row["target"][:3]), rotation(*row["target"][3:])
        # The object as the tool has it before the approach; the program turns the gripper instead.
        seen = -turn.T @ (place - turn @ task.approach)
        quaternion = numpy.zeros(4)
        mujoco.mju_mat2Quat(quaternion, (world_from_palm @ turn.T).ravel())
        first = model.jnt_qposadr[model.body_jntadr[self.object]]
        data.qpos[first : first + 7] = numpy.concatenate([tool + world_from_palm @ seen, quaternion])
        self.start = numpy.zeros(mujoco.mj_stateSize(model, FULL))
        mujoco.mj_getState(model, data, self.start, FULL)
        dt, times = task.timestep, row["times"]
        steps = times["steps"]
        approached = steps if times["approached"] is None else round(times["approached"] / dt)
        grasped = steps if times["grasped"] is None else round(times["grasped"] / dt)
        self.grasped, self.steps = grasped, steps
        hand = ramp(numpy.zeros(3), task.approach, grasped, dt)
        lift = hand[-1] if hand else numpy.zeros(3)
        hand += ramp(lift, task.approach + turn.T @ task.retract, steps - grasped, dt)
        self.control = numpy.zeros((steps, model.nu + 6 * model.nbody))
        self.control[:, 0:3] = hand
        for index, (_, closed, _) in enumerate(task.fingers):
            since = numpy.arange(1, steps + 1) - approached
            self.control[:, 3 + index] = numpy.clip(0.1 * dt * since, 0.0, closed)
        force = world_from_palm @ turn.T @ task.acceleration * model.body_mass[self.object]
        at = model.nu + 6 * self.object
        self.control[grasped:, at : at + 3] = force

    def is_lifted(self, model, data, states):
        """Whether something touches the object in the end, whose middle moved by less than 1 cm in the hand while it was lifted."""
        places = []
        for step in (self.grasped - 1, self.steps - 1):
            mujoco.mj_setState(model, data, states[step], FULL)
            mujoco.mj_forward(model, data)
            palm = data.xmat[self.palm].reshape(3, 3)
            places.append(palm.T @ (data.xpos[self.object] - data.xpos[self.palm]))
        touched = any(self.object in model.geom_bodyid[contact.geom] for contact in data.contact)
        return touched and numpy.linalg.norm(places[1] - places[0]) < 0.01


def children():
    """Processor time of all programs that were started and have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    program = sys.argv[1]
    path = Path(sys.argv[2] if len(sys.argv) > 2 else "worlds/grasps/tasks/box.xml")
    count, seed = [int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((3, 200), (4, 2026))]
    task = Task(path)
    with tempfile.TemporaryDirectory() as folder:
        rows_file, exported = Path(folder) / "rows", Path(folder) / "world.xml"
        call = [program, "grasp", "run", str(path), "--tasks", str(count), "--seed", str(seed), "--jobs", "1", "--output", str(rows_file)]
        began = children()
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        ours = children() - began
        rows = [json.loads(line) for line in rows_file.read_text().splitlines()[1:]]
        subprocess.run([program, "convert", str(task.world), "-o", str(exported)], check=True, capture_output=True)
        steps = sum(row["times"]["steps"] for row in rows)
        lifts = sum(row["status"] == "Success" for row in rows)
        print(f"{path}: {count} tasks, seed {seed}, {steps} steps of {task.timestep * 1e3:g} ms")
        print(f"  SimPartner, all of it: {count / ours:.1f} grasps a second and core, {lifts} lifted")
        for name, settings in SETTINGS.items():
            model = scene(exported, task, *settings)
            data, spent, lifted, alike = mujoco.MjData(model), 0.0, 0, 0
            for row in rows:
                if row["times"]["steps"] == 0:
                    alike += 1
                    continue
                grasp = Grasp(model, task, row)
                began = time.process_time()
                states, _ = rollout.rollout(model, data, grasp.start[None], grasp.control[None], control_spec=SPEC, skip_checks=False)
                spent += time.process_time() - began
                success = row["times"]["grasped"] is not None and grasp.is_lifted(model, data, states[0])
                lifted += success
                alike += success == (row["status"] == "Success")
            print(
                f"  {name}: its steps alone {count / spent:.1f} a second and core, {lifted} lifted, {alike} of {count} end alike; "
                f"SimPartner's grasps a second are {spent / ours:.2f} of that"
            )


if __name__ == "__main__":
    main()
