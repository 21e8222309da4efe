// The ruts of the running world as the server tells them: how deep each cell of soil was left, in square tiles. The layout of a message
// is told in PROTOCOL.md.

const HEADER = 24;
const MAGIC = 0x31525053; // "SPR1"

export interface RutTile {
  /** The ground, by its place in the scene. */
  ground: number;
  /** Its number along each of the ground's axes. */
  tile: [number, number];
  /** Metres below the surface that was there at first; the first axis runs within a row. */
  depths: Float32Array;
}

/** A message of ruts. It looks into the buffer it was read from. */
export class RutMessage {
  readonly sequence: number;
  /** True if all earlier messages are void. */
  readonly anew: boolean;
  readonly tiles: RutTile[] = [];

  /** True if a binary message is one of ruts. */
  static is(buffer: ArrayBuffer): boolean {
    return buffer.byteLength >= HEADER && new DataView(buffer).getUint32(0, true) === MAGIC;
  }

  constructor(buffer: ArrayBuffer) {
    const view = new DataView(buffer);
    this.sequence = view.getUint32(8, true);
    this.anew = view.getUint32(12, true) === 1;
    const cells = view.getUint32(16, true) ** 2;
    let at = HEADER;
    for (let count = view.getUint32(20, true); count > 0; count -= 1, at += 16 + 4 * cells) {
      const tile: [number, number] = [view.getInt32(at + 4, true), view.getInt32(at + 8, true)];
      this.tiles.push({ ground: view.getUint32(at, true), tile, depths: new Float32Array(buffer, at + 16, cells) });
    }
  }
}

export const keyOf = (ground: number, tile: [number, number]): string => `${ground} ${tile[0]} ${tile[1]}`;

/** All that was told of the ruts of a world. */
export class RutMap {
  readonly tiles = new Map<string, RutTile>();

  take(message: RutMessage): void {
    if (message.anew) this.tiles.clear();
    for (const tile of message.tiles) this.tiles.set(keyOf(tile.ground, tile.tile), { ...tile, depths: tile.depths.slice() });
  }

  at(ground: number, first: number, second: number): RutTile | undefined {
    return this.tiles.get(keyOf(ground, [first, second]));
  }
}

/**
 * How deep the corners of every `stride`th cell of a tile are, row by row, both ends included: the mean of the four cells that meet there, of
 * coarser corners that of their deepest. A corner that touches a tile where nothing is known lies at the old surface, so that no gap opens.
 */
export function cornerDepths(map: RutMap, { ground, tile: [first, second] }: RutTile, side: number, stride: number): Float32Array {
  const around: (RutTile | undefined)[] = [];
  for (let row = -1; row <= 1; row += 1) for (let column = -1; column <= 1; column += 1) around.push(map.at(ground, first + column, second + row));
  const which = (cell: number) => (cell < 0 ? 0 : cell < side ? 1 : 2);
  const depth = (column: number, row: number): number => {
    const tile = around[which(row) * 3 + which(column)];
    return tile ? tile.depths[((row + side) % side) * side + ((column + side) % side)] : NaN;
  };
  const half = Math.max(1, stride / 2);
  const corners = new Float32Array((side / stride + 1) ** 2);
  let at = 0;
  for (let row = 0; row <= side; row += stride) {
    for (let column = 0; column <= side; column += stride) {
      let sum = 0;
      let most = 0;
      for (let j = row - half; j < row + half; j += 1) {
        for (let i = column - half; i < column + half; i += 1) {
          const value = depth(i, j);
          sum += value;
          if (value > most) most = value;
        }
      }
      corners[at++] = Number.isNaN(sum) ? 0 : stride === 1 ? sum / 4 : most;
    }
  }
  return corners;
}
