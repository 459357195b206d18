// Draws the rooms of lib and their imports into docs/rooms.svg: `npm run docs:rooms`.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ROOMS } from '../../.dependency-cruiser.mjs';
import { roomImports } from './room-imports.mjs';
import { roomsPicture } from './rooms-picture.mjs';

/** The picture that the code gives now. */
export async function drawRooms() {
  return roomsPicture(ROOMS, await roomImports());
}

const PICTURE = new URL('../../docs/rooms.svg', import.meta.url);

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(PICTURE, await drawRooms());
