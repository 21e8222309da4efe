"""Reads a .rwtask.xml by the rules of RobWork's format, without any code of SimPartner, and prints what it found as JSON.

A CartesianTask has Targets (CartesianTarget: Transform3D, PropertyMap) and Entities (nested tasks); a Property has a Name and a Value, whose only
child is String, Integer, Double, DoubleList, Q or Transform3D.
"""

import json
import math
import sys
import xml.etree.ElementTree as ElementTree


def numbers(element):
    return [float(word) for word in (element.text or "").split()]


def transform(element):
    position = [0.0, 0.0, 0.0]
    rows = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    for part in element:
        if part.tag == "Pos":
            position = numbers(part)
            assert len(position) == 3
        elif part.tag == "Rotation3D":
            rows = numbers(part)
            assert len(rows) == 9
        else:
            raise ValueError(part.tag)
    return position, rows


def quaternion(rows):
    """x, y, z, w of a rotation matrix given by rows (Shepperd, 1978)."""
    m = [rows[0:3], rows[3:6], rows[6:9]]
    squares = [
        1 + m[0][0] - m[1][1] - m[2][2],
        1 - m[0][0] + m[1][1] - m[2][2],
        1 - m[0][0] - m[1][1] + m[2][2],
        1 + m[0][0] + m[1][1] + m[2][2],
    ]
    largest = max(range(4), key=lambda k: squares[k])
    s = 2 * math.sqrt(squares[largest])
    x, y, z = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    xy, xz, yz = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
    columns = [[s * s / 4, xy, xz, x], [xy, s * s / 4, yz, y], [xz, yz, s * s / 4, z], [x, y, z, s * s / 4]]
    return [value / s for value in columns[largest]]


def properties(element):
    found = {}
    for entry in element.find("PropertyMap"):
        (value,) = entry.find("Value")
        name = entry.find("Name").text
        if value.tag == "String":
            found[name] = value.text or ""
        elif value.tag == "Integer":
            found[name] = int(value.text)
        elif value.tag == "Double":
            found[name] = float(value.text)
        elif value.tag in ("DoubleList", "Q"):
            found[name] = numbers(value)
        elif value.tag == "Transform3D":
            found[name] = transform(value)
        else:
            raise ValueError(value.tag)
    return found


def target(element):
    position, rows = transform(element.find("Transform3D"))
    return {"position": position, "quaternion": quaternion(rows), "properties": properties(element)}


def task(element):
    assert element.tag == "CartesianTask"
    assert [child.tag for child in element] == ["Targets", "Entities", "Id", "Index", "PropertyMap"]
    targets = list(element.find("Targets"))
    assert [int(entry.get("id")) for entry in targets] == list(range(len(targets)))
    return {
        "properties": properties(element),
        "targets": [target(entry) for entry in targets],
        "subtasks": [task(entry) for entry in element.find("Entities")],
    }


print(json.dumps(task(ElementTree.parse(sys.argv[1]).getroot())))
