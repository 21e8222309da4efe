// Depths from a PNG file of 16-bit greys. A canvas would keep 8 of the 16 bits.

/** Distances along the optical axis, row by row, whole millimetres: 0 is nearer than the camera sees, 65535 is beyond its range. */
export interface Depths {
  width: number;
  height: number;
  millimetres: Uint16Array;
}

export const TOO_NEAR = 0;
export const BEYOND = 65535;

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const DEPTH_BITS = 16;
const GREY = 0;
/** Bytes of a pixel. */
const STRIDE = 2;

/** Reads a PNG file with one channel of 16 bits. */
export async function readDepths(file: ArrayBuffer): Promise<Depths> {
  const bytes = new Uint8Array(file);
  const view = new DataView(file);
  if (bytes.length < 33 || !SIGNATURE.every((byte, index) => bytes[index] === byte)) throw new Error("the image is no PNG file");
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  if (bytes[24] !== DEPTH_BITS || bytes[25] !== GREY || bytes[28] !== 0) throw new Error("the image has no depths of 16 bits");
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = SIGNATURE.length; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if (kind === "IDAT") parts.push(bytes.slice(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const unpacked = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  const rows = new Uint8Array(await new Response(unpacked).arrayBuffer());
  if (rows.length !== height * (1 + width * STRIDE)) throw new Error("the image ends too early");
  return { width, height, millimetres: unfiltered(rows, width, height) };
}

/** Undoes the filter of each row. */
function unfiltered(rows: Uint8Array, width: number, height: number): Uint16Array {
  const line = width * STRIDE;
  const numbers = new Uint16Array(width * height);
  let above = new Uint8Array(line);
  for (let row = 0; row < height; row += 1) {
    const start = row * (line + 1);
    const filter = rows[start];
    const own = rows.slice(start + 1, start + 1 + line);
    for (let place = 0; place < line; place += 1) {
      const left = place >= STRIDE ? own[place - STRIDE] : 0;
      const corner = place >= STRIDE ? above[place - STRIDE] : 0;
      own[place] += predicted(filter, left, above[place], corner);
    }
    for (let column = 0; column < width; column += 1) numbers[row * width + column] = (own[2 * column] << 8) | own[2 * column + 1];
    above = own;
  }
  return numbers;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  const estimate = left + above - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - above), Math.abs(estimate - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** The least and the largest distance that was measured, metres; null where none was. */
export function range({ millimetres }: Depths): [number, number] | null {
  let [least, most] = [BEYOND, TOO_NEAR];
  for (const value of millimetres) {
    if (value === TOO_NEAR || value === BEYOND) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return least > most ? null : [least / 1000, most / 1000];
}

/** Colours from near, yellow, by red to far, dark blue: as many as there are bytes, red, green and blue. The lightness falls all the way. */
export const RAMP: Uint8Array = (() => {
  const stops = [[252, 236, 130], [250, 170, 60], [222, 90, 75], [150, 45, 120], [70, 25, 120], [15, 12, 60]];
  const ramp = new Uint8Array(256 * 3);
  for (let step = 0; step < 256; step += 1) {
    const at = (step / 255) * (stops.length - 1);
    const stop = Math.min(stops.length - 2, Math.floor(at));
    for (let channel = 0; channel < 3; channel += 1) {
      ramp[3 * step + channel] = Math.round(stops[stop][channel] + (stops[stop + 1][channel] - stops[stop][channel]) * (at - stop));
    }
  }
  return ramp;
})();

/** A picture of the depths: near is light, on a logarithmic scale, so that what is near keeps its shape beside what is far. What is too
 * near is white, and what is beyond the range is black. */
export function paint(depths: Depths, [near, far]: [number, number]): ImageData {
  const image = new ImageData(depths.width, depths.height);
  const scale = 255 / Math.max(1e-3, Math.log(far / near));
  depths.millimetres.forEach((value, pixel) => {
    const at = 4 * pixel;
    image.data[at + 3] = 255;
    if (value === BEYOND) return;
    if (value === TOO_NEAR) return void image.data.fill(255, at, at + 3);
    const step = 3 * Math.max(0, Math.min(255, Math.round(Math.log(value / (1000 * near)) * scale)));
    for (let channel = 0; channel < 3; channel += 1) image.data[at + channel] = RAMP[step + channel];
  });
  return image;
}
