// Ruts as the server tells them, pressed by the mock's wheels.

const CELL = 0.01;
const SIDE = 32;
const TILE = 16 + 4 * SIDE * SIDE;
const HEADER = 24;
/** Tiles in a message; few, so that some need several. */
const MOST = 8;

export const CELLS = { cell: CELL, tile: SIDE, axes: [[1, 0, 0], [0, 0, 1]] };

export class Ruts {
  /** The revision at which the world was built, and that of the newest tile. */
  beginning = 1;
  revision = 1;
  tiles = new Map();

  clear() {
    this.revision += 1;
    this.beginning = this.revision;
    this.tiles.clear();
  }

  press(x, z, depth) {
    const [i, j] = [Math.floor(x / CELL), Math.floor(z / CELL)];
    const tile = [Math.floor(i / SIDE), Math.floor(j / SIDE)];
    const key = tile.join(" ");
    if (!this.tiles.has(key)) this.tiles.set(key, { tile, depths: new Float32Array(SIDE * SIDE), revision: 0 });
    const kept = this.tiles.get(key);
    const cell = (j - tile[1] * SIDE) * SIDE + i - tile[0] * SIDE;
    if (kept.depths[cell] >= Math.fround(depth)) return;
    kept.depths[cell] = depth;
    kept.revision = this.revision += 1;
  }

  /** What a page wants that has what was known at a revision, and the revision it then has; null for nothing new. */
  message(number, page) {
    const anew = page < this.beginning;
    const news = [...this.tiles.values()].filter(({ revision }) => anew || revision > page).sort((one, other) => one.revision - other.revision);
    if (!anew && news.length === 0) return null;
    const sent = news.slice(0, MOST);
    const bytes = new ArrayBuffer(HEADER + sent.length * TILE);
    const view = new DataView(bytes);
    [0x31525053, bytes.byteLength, number, anew ? 1 : 0, SIDE, sent.length].forEach((word, index) => view.setUint32(4 * index, word, true));
    sent.forEach(({ tile, depths }, index) => {
      const at = HEADER + index * TILE;
      [0, ...tile, 0].forEach((word, place) => view.setInt32(at + 4 * place, word, true));
      new Float32Array(bytes, at + 16, SIDE * SIDE).set(depths);
    });
    return { bytes, revision: sent.at(-1)?.revision ?? this.revision };
  }
}
