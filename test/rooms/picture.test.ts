import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { ROOMS } from '../../.dependency-cruiser.mjs';
import { drawRooms } from './draw-rooms.mjs';
import { roomsPicture } from './rooms-picture.mjs';

const picture = await readFile(new URL('../../docs/rooms.svg', import.meta.url), 'utf8');

describe('The picture of the rooms', () => {
  it('docs/rooms.svg is what the code gives: if not, run `npm run docs:rooms`', async () => {
    expect(await drawRooms()).toBe(picture);
  });

  it('a room more, or an import more between two rooms, is another picture', () => {
    const imports = [{ from: 'keys', to: 'schema', count: 1 }];
    const drawn = roomsPicture(ROOMS, imports);
    expect(roomsPicture([...ROOMS, 'attic'], imports)).not.toBe(drawn);
    expect(roomsPicture(ROOMS, [...imports, { from: 'keys', to: 'policy', count: 1 }])).not.toBe(
      drawn,
    );
  });

  it('CONTRIBUTING.md has a row for each room, in their order', async () => {
    const text = await readFile(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `(\w+)\/`( itself)? +\|/gm)].map(([, room, itself]) =>
      itself ? '(root)' : room,
    );
    expect(rows).toEqual(ROOMS);
  });
});
