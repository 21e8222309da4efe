"""Files of other simulators' packages, and what their own readers make of them: `list` and `compare FOLDER`; see main.rs."""

import os
import re
import sys
import warnings
import xml.etree.ElementTree

import numpy as np

warnings.filterwarnings("ignore")
TOLERANCE = 1e-9


def packages():
    """The folders of the packages that are installed, and what `robot_descriptions` has fetched of the robots it names."""
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", os.path.expanduser("~/.cache/robot_descriptions"))
    found = [cache] if os.path.isdir(cache) else []
    for name in ["pybullet_data", "mujoco", "dm_control", "gymnasium"]:
        try:
            found.append(os.path.dirname(__import__(name).__file__))
        except ImportError:
            print(f"skipped: {name} is not installed", file=sys.stderr)
    return found


def of_packages():
    for root in packages():
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".urdf", ".sdf")):
                    yield name.rsplit(".")[-1], path
                elif name.endswith((".xml", ".mjcf")) and "<mujoco" in open(path, errors="ignore").read():
                    yield "mjcf", path


def load_mjcf(path):
    import mujoco

    model = mujoco.MjModel.from_xml_path(path)
    flags = mujoco.mjtDisableBit
    for name in ["CONTACT", "EQUALITY", "LIMIT", "FRICTIONLOSS", "ACTUATION", "CLAMPCTRL", "WARMSTART"]:
        model.opt.disableflags |= int(getattr(flags, f"mjDSBL_{name}"))
    model.opt.density = model.opt.viscosity = 0
    # Rotors and losses of what floats are left out, and the import says so.
    for joint in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        floats = slice(model.jnt_dofadr[joint], model.jnt_dofadr[joint] + 6)
        model.dof_armature[floats] = model.dof_damping[floats] = model.dof_frictionloss[floats] = 0
    model.tendon_stiffness[:] = 0
    model.tendon_damping[:] = 0
    return model


def load_urdf(path):
    import yourdfpy

    return yourdfpy.URDF.load(path, load_meshes=False, load_collision_meshes=False, build_scene_graph=True)


def why_refused(kind, path):
    try:
        if kind == "mjcf":
            model = load_mjcf(path)
            return "" if model.nbody > 1 or model.ngeom > 0 else "a part of a model, with nothing in it"
        if kind == "urdf":
            load_urdf(path)
        return ""
    except Exception as error:
        return " ".join(str(error).split())[:80] or type(error).__name__


def read(path):
    figures = {"joint": [], "state": []}
    for line in open(path):
        word, rest = line.rstrip("\n").split(" ", 1)
        if word in ("file", "format"):
            figures[word] = rest
        elif word == "joint":
            name, *numbers = rest.split()
            figures["joint"].append((name, *map(float, numbers)))
        elif word == "changed":
            figures["changed"] = rest
        elif word == "state":
            figures["state"].append(np.array(rest.split(), float))
        else:
            figures[word] = np.array(rest.split(), float)
    return figures


def moments(parts):
    """Mass, first moment and inertia about the origin of (mass, centre, rotation, tensor)."""
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for m, c, turn, tensor in parts:
        mass += m
        first += m * c
        second += turn @ tensor @ turn.T + m * (c @ c * np.eye(3) - np.outer(c, c))
    return mass, first, second


def check_moments(figures, parts):
    mass, first, second = moments(parts)
    scale = max(abs(mass), 1e-300)
    yield "mass", abs(figures["mass"][0] - mass) / scale
    yield "first moment", np.abs(figures["first"] - first).max() / max(np.abs(first).max(), scale * 1e-3)
    yield "inertia", np.abs(figures["second"].reshape(3, 3) - second).max() / max(np.abs(second).max(), 1e-300)


def check_limits(figures, limits):
    worst = 0.0
    for (_, low, high, _), theirs in zip(figures["joint"], limits, strict=True):
        for own, other in zip((low, high), theirs):
            worst = max(worst, 0.0 if own == other else abs(own - other) / max(1.0, abs(other)))
    yield "limits", worst


def check_states(figures, acceleration):
    count, worst = len(figures["joint"]), 0.0
    for state in figures["state"]:
        theirs = acceleration(state[0 : 2 * count : 2], state[1 : 2 * count : 2])
        if theirs is None:
            return
        worst = max(worst, np.abs(state[2 * count :] - theirs).max() / max(np.abs(theirs).max(), 1.0))
    if figures["state"]:
        yield "accelerations", worst


def against_mujoco(figures):
    import mujoco

    model = load_mjcf(figures["file"])
    data = mujoco.MjData(model)
    single = [j for j in range(model.njnt) if model.jnt_type[j] in (2, 3)]
    if len(single) != len(figures["joint"]):
        yield "joints", abs(len(single) - len(figures["joint"]))
        return
    for j, (_, _, _, initial) in zip(single, figures["joint"]):
        data.qpos[model.jnt_qposadr[j]] = initial
    mujoco.mj_forward(model, data)
    moving = [b for b in range(model.nbody) if model.body_weldid[b] != 0 and model.body_mocapid[b] < 0]
    parts = [
        (model.body_mass[b], data.xipos[b], data.ximat[b].reshape(3, 3), np.diag(model.body_inertia[b])) for b in moving
    ]
    yield from check_moments(figures, parts)
    unlimited = (-np.inf, np.inf)
    yield from check_limits(figures, [tuple(model.jnt_range[j]) if model.jnt_limited[j] else unlimited for j in single])
    positions, rates = [model.jnt_qposadr[j] for j in single], [model.jnt_dofadr[j] for j in single]
    mujoco.mj_resetData(model, data)

    def acceleration(q, v):
        data.qpos[positions], data.qvel[rates] = q, v
        mujoco.mj_forward(model, data)
        return data.qacc[rates]

    yield from check_states(figures, acceleration)


def against_urdf(figures):
    import pinocchio

    robot = load_urdf(figures["file"])
    # The names that ours has in place of those that the file has.
    names = {re.sub(r"[\s<>,/]", "_", name): name for name in robot.joint_map}
    figures["joint"] = [(names.get(name, name), *numbers) for name, *numbers in figures["joint"]]
    own = {name: initial for name, _, _, initial in figures["joint"]}
    # What follows a joint that is not there stays at 0 in every reader but this one.
    lost = [joint for joint in robot.robot.joints if joint.mimic and joint.mimic.joint not in robot.joint_map]
    for joint in lost:
        joint.mimic = None
    moving = [*robot.actuated_joint_names, *(joint.name for joint in lost)]
    robot.update_cfg({name: own.get(name, 0.0) for name in moving})
    parts = []
    for link in robot.robot.links:
        inertial = link.inertial
        if inertial is None or not inertial.mass:
            continue
        frame = robot.get_transform(link.name) @ (np.eye(4) if inertial.origin is None else inertial.origin)
        tensor = np.zeros((3, 3)) if inertial.inertia is None else inertial.inertia
        parts.append((inertial.mass, frame[:3, 3], frame[:3, :3], tensor))
    yield from check_moments(figures, parts)
    joints = [robot.joint_map.get(name) for name, *_ in figures["joint"]]

    def limits(joint):
        limit = joint.limit
        if joint.type == "continuous" or limit is None or (limit.lower is None and limit.upper is None):
            return (-np.inf, np.inf)
        return (limit.lower or 0.0, limit.upper or 0.0)

    if None in joints:
        yield "joints", 1
        return
    yield from check_limits(figures, [limits(joint) for joint in joints])
    if not figures["state"]:
        return
    model = pinocchio.buildModelFromUrdf(figures["file"])
    data, names = model.createData(), list(model.names)
    inertias = xml.etree.ElementTree.parse(figures["file"]).iter("inertia")
    if any(value != value.strip() for inertia in inertias for value in inertia.attrib.values()):
        print(f"not compared {figures['file']}: accelerations: pinocchio leaves out an inertia with a space behind its number")
        return
    if any(name not in names for name, *_ in figures["joint"]) or model.nv != len(joints):
        return
    places = [names.index(name) for name, *_ in figures["joint"]]
    damping = {joint.name: float(joint.dynamics.damping or 0) if joint.dynamics else 0.0 for joint in joints}
    losses = np.array([damping[name] for name, *_ in figures["joint"]])

    def acceleration(q, v):
        position, rate, effort = pinocchio.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for place, angle, speed, loss in zip(places, q, v, losses):
            joint = model.joints[place]
            position[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
            rate[joint.idx_v], effort[joint.idx_v] = speed, -loss * speed
        theirs = pinocchio.aba(model, data, position, rate, effort)
        return np.array([theirs[model.joints[place].idx_v] for place in places])

    yield from check_states(figures, acceleration)


def compare(folder):
    """How many files agree within the tolerance in each figure; those that do not, with how far they are off."""
    counts, changed = {}, 0
    for name in sorted(os.listdir(folder)):
        figures = read(os.path.join(folder, name))
        kind = figures["format"]
        if kind == "sdf":  # No other reader on PyPI tells masses and limits of these.
            continue
        try:
            results = list((against_mujoco if kind == "mjcf" else against_urdf)(figures))
        except Exception as error:
            print(f"not compared {figures['file']}: {' '.join(str(error).split())[:200]}")
            continue
        for what, error in results:
            if error > TOLERANCE and what != "limits" and "changed" in figures:
                changed += 1
                print(f"changed {figures['file']}: {what} by {error:.2e}: {figures['changed']}")
                continue
            total, close = counts.get((kind, what), (0, 0))
            is_close = error <= TOLERANCE
            counts[(kind, what)] = (total + 1, close + is_close)
            if not is_close:
                print(f"differs {figures['file']}: {what} by {error:.2e}")
    for (kind, what), (total, close) in counts.items():
        print(f"{kind}: {what}: {close} of {total} files within {TOLERANCE:g}")
    print(f"beside these, {changed} figures that our reader changes, and says so: masses and inertias that no body can have")


if __name__ == "__main__":
    if sys.argv[1] == "list":
        for kind, path in of_packages():
            print(kind, path, why_refused(kind, path), sep="\t", flush=True)
    else:
        compare(sys.argv[2])
