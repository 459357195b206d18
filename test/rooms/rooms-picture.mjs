/** @typedef {import('./room-imports.mjs').Imports} Imports */

// In pixels: what a name needs in width, and a line of text in height.
const COLUMN = 42;
const ROW = 32;
const BOX = { width: 96, height: 24 };
const MARGIN = 16;

const STYLE = `
  .card { fill: #ffffff; stroke: #d0d7de; }
  .line { stroke: #c4ccd4; fill: none; }
  .box { fill: #eaf2ff; stroke: #3b6fb6; }
  .dot, .head { fill: #3b6fb6; }
  text { fill: #1f2937; font: 13px ui-sans-serif, system-ui, sans-serif; }
  .quiet { fill: #59636e; font-size: 12px; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d; }
    .line { stroke: #3d444d; }
    .box { fill: #15233b; stroke: #6ea0e6; }
    .dot, .head { fill: #6ea0e6; }
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
  }`;

/**
 * The rooms as a staircase, in their order. A line goes left from each room to the
 * columns of the rooms that it imports from, and from the dots there up to those
 * rooms: all arrows point left and up, or the import rule is broken.
 *
 * @param {string[]} rooms lowest first
 * @param {Imports[]} imports
 * @returns {string} SVG, the same for the same code
 */
export function roomsPicture(rooms, imports) {
  const places = new Map(rooms.map((room, at) => [room, { at, ...placeOf(at) }]));
  const lines = rooms.flatMap((room) => linesOf(room, places, imports));
  const dots = imports
    .map((each) => ({ ...each, x: columnOf(places.get(each.to)), y: rowOf(places.get(each.from)) }))
    .toSorted((a, b) => a.y - b.y || a.x - b.x)
    .map(
      ({ from, to, count, x, y }) =>
        `<circle class="dot" cx="${x}" cy="${y}" r="${radius(count)}"><title>${nameOf(from)} imports from ${nameOf(to)}</title></circle>`,
    );
  const boxes = rooms.map((room, at) => {
    const { x, y } = placeOf(at);
    return (
      `<rect class="box" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="5"/>` +
      `<text x="${x + BOX.width / 2}" y="${y + 16.5}" text-anchor="middle">${nameOf(room)}</text>`
    );
  });
  const last = placeOf(rooms.length - 1);
  const width = last.x + BOX.width + MARGIN;
  const height = last.y + BOX.height + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The rooms of lib, lowest first, and which of them import from which">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...legend(width),
    ...lines,
    ...dots,
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}

/** @param {number} width */
function legend(width) {
  const texts = [
    'A room imports only from rooms above it: follow its line to the left,',
    'and from each dot up. A larger dot stands for more imports.',
  ];
  return texts.map(
    (text, line) =>
      `<text class="quiet" x="${width - MARGIN}" y="${MARGIN + 14 + line * 18}" text-anchor="end">${text}</text>`,
  );
}

/**
 * The way left from a room to all that it imports from, and the way up to it from
 * all that import from it.
 *
 * @param {string} room
 * @param {Map<string, { at: number, x: number, y: number }>} places
 * @param {Imports[]} imports
 */
function linesOf(room, places, imports) {
  const place = places.get(room);
  const lefts = imports
    .filter(({ from }) => from === room)
    .map(({ to }) => columnOf(places.get(to)));
  const downs = imports.filter(({ to }) => to === room).map(({ from }) => rowOf(places.get(from)));
  const lines = [];
  if (lefts.length > 0) {
    lines.push(`<path class="line" d="M${place?.x} ${rowOf(place)}H${Math.min(...lefts)}"/>`);
  }
  if (downs.length > 0) {
    const x = columnOf(place);
    const top = (place?.y ?? 0) + BOX.height;
    lines.push(`<path class="line" d="M${x} ${Math.max(...downs)}V${top + 5}"/>`);
    lines.push(`<path class="head" d="M${x} ${top + 1}l-3.5 6h7z"/>`);
  }
  return lines;
}

/** @param {number} at */
function placeOf(at) {
  return { x: MARGIN + at * COLUMN, y: MARGIN + at * ROW };
}

/** @param {{ x: number } | undefined} place of a room: where those that import from it meet */
function columnOf(place) {
  return (place?.x ?? 0) + 14;
}

/** @param {{ y: number } | undefined} place */
function rowOf(place) {
  return (place?.y ?? 0) + BOX.height / 2;
}

/**
 * In three sizes, so that one import more does not change the picture.
 *
 * @param {number} count
 */
function radius(count) {
  if (count < 3) return 3;
  return count < 10 ? 4.5 : 6.5;
}

/** @param {string} room */
function nameOf(room) {
  return room === '(root)' ? 'lib itself' : room;
}
