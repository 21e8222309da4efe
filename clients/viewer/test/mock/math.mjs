// Vectors and quaternions (x, y, z, w) for the mock server.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, factor) => [a[0] * factor, a[1] * factor, a[2] * factor];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** The rotation by an angle about a unit vector. */
export function turn(axis, angle) {
  const sine = Math.sin(angle / 2);
  return [axis[0] * sine, axis[1] * sine, axis[2] * sine, Math.cos(angle / 2)];
}

/** First b, then a. */
export function times(a, b) {
  const [x, y, z, w] = a;
  const [p, q, r, s] = b;
  return [w * p + x * s + y * r - z * q, w * q - x * r + y * s + z * p, w * r + x * q - y * p + z * s, w * s - x * p - y * q - z * r];
}

export const inverse = (q) => [-q[0], -q[1], -q[2], q[3]];

export function rotate(q, vector) {
  const twice = scale(cross(q, vector), 2);
  return add(add(vector, scale(twice, q[3])), cross(q, twice));
}
