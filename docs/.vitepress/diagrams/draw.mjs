// Draws the pictures of the book into docs/images. They are committed, because
// they are shown on GitHub and in the package too; a test compares them.
//
//   node docs/.vitepress/diagrams/draw.mjs
import { writeFileSync } from 'node:fs';
import { requestDiagram } from './request.mjs';
import { statesDiagram } from './states.mjs';

const images = new URL('../../images/', import.meta.url);
writeFileSync(new URL('states.svg', images), statesDiagram());
writeFileSync(new URL('request.svg', images), requestDiagram());
