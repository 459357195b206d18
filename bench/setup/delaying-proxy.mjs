// Stands between the servers under test and their stores, in a process of its own. What a store
// answers is handed on later by the delay; what it is told is handed on at once. For protocols of
// questions and answers that is the same as half of the delay each way, with half of the work.
import { connect, createServer } from 'node:net';
import { Clock } from './clock.mjs';

/** What the way through this process takes by itself, in milliseconds: it is part of the delay. */
const HOPS = 0.1;
const DELAY = Number(process.argv[2]) - HOPS;
/** What a sleeping thread and its message may take too long, in milliseconds. */
const EARLY = 0.2;

/** @type {{ due: number, hand: () => void }[]} in the order of their times, as all wait equally long */
const waiting = [];

const clock = new Clock(handOn);

/** @param {() => void} hand */
function later(hand) {
  waiting.push({ due: performance.now() + DELAY, hand });
  if (waiting.length === 1) clock.ringIn(DELAY - EARLY);
}

function handOn() {
  let next = waiting[0];
  while (next && next.due <= performance.now()) {
    waiting.shift();
    next.hand();
    next = waiting[0];
  }
  if (!next) return;
  const left = next.due - performance.now();
  if (left > EARLY) clock.ringIn(left - EARLY);
  else setImmediate(handOn);
}

/** @param {{ host: string, port: number }} target */
function proxyTo(target) {
  return createServer({ noDelay: true }, (near) => {
    const far = connect({ ...target, noDelay: true });
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => later(() => near.write(chunk)));
    near.on('close', () => far.destroy());
    far.on('close', () => later(() => near.destroy()));
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  });
}

process.on('message', (/** @type {{ host: string, port: number }} */ target) => {
  const server = proxyTo(target).listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    process.send?.(port);
  });
});
process.once('disconnect', () => process.exit());
