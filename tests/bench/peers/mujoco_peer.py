"""The scene of a text file in MuJoCo: builds it, warms up, and measures a round for every line read."""

import sys
import time
from xml.sax.saxutils import quoteattr

import mujoco
import numpy

def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def rotate(q, v):
    w, u = q[0], numpy.array(q[1:])
    return v + 2.0 * numpy.cross(u, numpy.cross(u, v) + w * v)


def conjugate(q):
    return numpy.array([q[0], -q[1], -q[2], -q[3]])


def multiply(p, q):
    w, u, s, v = p[0], numpy.array(p[1:]), q[0], numpy.array(q[1:])
    return numpy.concatenate([[w * s - u @ v], w * v + s * u + numpy.cross(u, v)])


def read(path):
    bodies, hinges, ground = {}, [], {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            word, *rest = line.split()
            values = [float(value) for value in rest]
            if word == "body":
                bodies[int(values[0])] = {
                    "robot": int(values[1]), "mass": values[2], "moments": values[3:6],
                    "at": numpy.array(values[6:9]), "turn": numpy.array(values[9:13]), "geoms": [], "joint": None,
                }
            elif word in ("sphere", "box", "cylinder"):
                bodies[int(values[0])]["geoms"].append((word, values[1:]))
            elif word == "hinge":
                hinges.append(values)
            else:
                ground[word] = values
    return bodies, hinges, ground


def model(path):
    bodies, hinges, ground = read(path)
    children, motors = {}, []
    for values in hinges:
        parent, child = int(values[0]), int(values[1])
        bodies[child]["joint"] = values[2:]
        children.setdefault(parent, []).append(child)
    out = ['<mujoco><option timestep="0.001" integrator="implicitfast" gravity=%s/>' % quoteattr(numbers(ground["gravity"]))]
    out.append('<size memory="1G"/><compiler angle="radian"/>')
    field = ground.get("field")
    if field:
        rows, columns = int(field[1]), int(field[0])
        heights = numpy.array(ground["heights"]).reshape(columns, rows).T[::-1]
        low, high = heights.min(), max(heights.max(), heights.min() + 1e-6)
        size = numbers([field[2] / 2, field[3] / 2, high - low, 1.0])
        out.append('<asset><hfield name="field" nrow="%d" ncol="%d" size="%s"/></asset>' % (rows, columns, size))
    out.append("<worldbody>")
    contact = 'contype="1" conaffinity="1"'
    if "plane" in ground:
        out.append('<geom type="plane" size="100 100 1" zaxis="0 1 0" friction="0.8 0 0" %s/>' % contact)
    if field:
        turn = numbers([0.5**0.5, -(0.5**0.5), 0, 0])
        out.append(
            '<geom type="hfield" hfield="field" pos="0 %r 0" quat="%s" friction="0.8 0 0" %s/>' % (float(low), turn, contact)
        )

    def emit(index, parent):
        body = bodies[index]
        at, turn = body["at"], body["turn"]
        if parent is not None:
            base = bodies[parent]
            at = rotate(conjugate(base["turn"]), at - base["at"])
            turn = multiply(conjugate(base["turn"]), turn)
        out.append('<body name="b%d" pos="%s" quat="%s">' % (index, numbers(at), numbers(turn)))
        out.append('<inertial pos="0 0 0" mass="%r" diaginertia="%s"/>' % (body["mass"], numbers(body["moments"])))
        if parent is None:
            out.append("<freejoint/>")
        else:
            joint = body["joint"]
            anchor = rotate(conjugate(body["turn"]), numpy.array(joint[0:3]) - body["at"])
            axis = rotate(conjugate(body["turn"]), numpy.array(joint[3:6]))
            out.append('<joint name="j%d" type="hinge" pos="%s" axis="%s"/>' % (index, numbers(anchor), numbers(axis)))
            motors.append((index, *joint[6:11]))
        # Parts of a robot meet the ground only.
        mask = contact if body["robot"] < 0 else 'contype="0" conaffinity="1"'
        for kind, values in body["geoms"]:
            size = {"sphere": values[:1], "box": values[:3], "cylinder": values[:2]}[kind]
            out.append(
                '<geom type="%s" size="%s" pos="%s" quat="%s" friction="%r 0 0" mass="0" %s/>'
                % (kind, numbers(size), numbers(values[3:6]), numbers(values[6:10]), values[10], mask)
            )
        for child in children.get(index, []):
            emit(child, index)
        out.append("</body>")

    for index, body in bodies.items():
        if body["joint"] is None:
            emit(index, None)
    out.append("</worldbody><actuator>")
    for index, _, _, stiffness, damping, limit in motors:
        force = 'forcelimited="true" forcerange="%r %r"' % (-limit, limit)
        if stiffness > 0.0:
            out.append('<position joint="j%d" kp="%r" kv="%r" %s/>' % (index, stiffness, damping, force))
        else:
            out.append('<velocity joint="j%d" kv="%r" %s/>' % (index, damping, force))
    out.append("</actuator></mujoco>")
    built = mujoco.MjModel.from_xml_string("".join(out))
    if field:
        built.hfield_data[:] = ((heights - low) / (high - low)).ravel()
    data = mujoco.MjData(built)
    data.ctrl[:] = [motor[1] if motor[3] > 0.0 else motor[2] for motor in motors]
    return built, data


def main():
    path, warm_up, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    built, data = model(path)
    mujoco.mj_step(built, data, nstep=warm_up)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        mujoco.mj_step(built, data, nstep=steps)
        print((time.perf_counter() - start) * 1e6 / steps, flush=True)


main()
