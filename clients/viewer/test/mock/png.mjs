// PNG files, and the images of the mock's cameras.

import { deflateSync } from "node:zlib";

/** The checksum of PNG; the crc32 of node:zlib needs a newer Node. */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

function chunk(kind, content) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(content.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** A PNG file of rows of bytes, each with a filter before it; `color` is 0 for grey and 2 for red, green and blue. */
export function png(width, height, bits, color, rows) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bits, color, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(rows))), chunk("IEND", Buffer.alloc(0))]);
}

/** Millimetres at each place, as a file in which the rows have the filters of PNG in turn. */
export function depthPng(width, height, at) {
  const lines = Array.from({ length: height }, (_, row) => {
    const line = Buffer.alloc(2 * width);
    for (let column = 0; column < width; column += 1) line.writeUInt16BE(at(column, row), 2 * column);
    return line;
  });
  const rows = lines.map((line, row) => {
    const above = row > 0 ? lines[row - 1] : Buffer.alloc(2 * width);
    const filter = row % 5;
    const filtered = Buffer.alloc(2 * width + 1);
    filtered[0] = filter;
    line.forEach((value, place) => {
      const left = place >= 2 ? line[place - 2] : 0;
      const corner = place >= 2 ? above[place - 2] : 0;
      const guess = left + above[place] - corner;
      const nearest = [left, above[place], corner].map((one) => [Math.abs(guess - one), one]).reduce((best, one) => (one[0] < best[0] ? one : best))[1];
      filtered[place + 1] = value - [0, left, above[place], (left + above[place]) >> 1, nearest][filter];
    });
    return filtered;
  });
  return png(width, height, 16, 0, rows);
}

/** A picture with a bar that moves with the steps, over a sky and a ground. */
export function colorPng(width, height, step) {
  const bar = Math.floor(step / 40) % width;
  const rows = Array.from({ length: height }, (_, row) => {
    const line = Buffer.alloc(3 * width + 1);
    for (let column = 0; column < width; column += 1) {
      const ground = row > height / 2;
      const color = Math.abs(column - bar) < 4 ? [220, 60, 40] : ground ? [90, 110, 80] : [150 - row / 2, 180, 220];
      line.set(color, 1 + 3 * column);
    }
    return line;
  });
  return png(width, height, 8, 2, rows);
}

/** Depths of a floor: near at the bottom, too near in the lowest rows, and beyond the range in the upper half. */
export function floorDepths(width, height) {
  const at = (_, row) => (row < height / 2 ? 65535 : row >= height - 3 ? 0 : Math.round((1000 * height) / (2 * row - height + 1) / 2));
  return depthPng(width, height, at);
}
