// The mask of the tiles of a ground that are drawn as ruts.

import * as THREE from "three";

/** Which tiles of a ground are drawn as ruts, for its shader: a texture with a texel for each tile of a rectangle that grows. */
export class RutMask {
  /** x and y: the tile of the first texel; z and w: how many there are each way. */
  readonly place = { value: new THREE.Vector4(0, 0, 0, 0) };
  readonly texture = { value: blank(1, 1) };

  set([first, second]: [number, number]): void {
    const { x, y, z, w } = this.place.value;
    if (first < x || second < y || first >= x + z || second >= y + w) this.grow(first, second);
    const { x: left, y: top, z: width } = this.place.value;
    (this.texture.value.image.data as Uint8Array)[(second - top) * width + first - left] = 255;
    this.texture.value.needsUpdate = true;
  }

  clear(): void {
    this.texture.value.dispose();
    this.texture.value = blank(1, 1);
    this.place.value.set(0, 0, 0, 0);
  }

  dispose(): void {
    this.texture.value.dispose();
  }

  /** Makes room for a tile, and for as many again beyond it. */
  private grow(first: number, second: number): void {
    const { x, y, z, w } = this.place.value;
    const reach = (at: number, start: number, length: number): [number, number] => {
      if (length === 0) return [at - 8, 16];
      if (at >= start && at < start + length) return [start, length];
      const [low, high] = [Math.min(at, start), Math.max(at + 1, start + length)];
      return at < start ? [high - 2 * (high - low), 2 * (high - low)] : [low, 2 * (high - low)];
    };
    const [left, width] = reach(first, x, z);
    const [top, height] = reach(second, y, w);
    const larger = blank(width, height);
    const [from, to] = [this.texture.value.image.data as Uint8Array, larger.image.data as Uint8Array];
    for (let row = 0; row < w; row += 1) to.set(from.subarray(row * z, (row + 1) * z), (row + y - top) * width + x - left);
    this.texture.value.dispose();
    this.texture.value = larger;
    this.place.value.set(left, top, width, height);
  }
}

function blank(width: number, height: number): THREE.DataTexture {
  const texture = new THREE.DataTexture(new Uint8Array(width * height), width, height, THREE.RedFormat);
  // Rows of texels have no padding.
  texture.unpackAlignment = 1;
  texture.needsUpdate = true;
  return texture;
}
