import { interleave } from './interleave.mjs';

const SIZES = { '1 KB': 1_000, '100 KB': 100_000, '1 MB': 1_000_000 };
/** Enough to keep the server busy without filling the sockets' buffers with megabytes. */
const CONNECTIONS = 8;
/** Of large bodies, fewer will do. */
const KEYS = 50;

/**
 * Request and answer of about the same size: hashed, stored, replayed.
 *
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {import('../progress.mjs').Progress} progress
 * @returns {Promise<import('./growth-report.mjs').Section>}
 */
export async function bodySize(stage, progress) {
  const bare = [await stage.start('bare', 'fastify')];
  const ours = [await stage.start('ours', 'fastify')];
  const rows = [];
  // Size by size: a server replays the keys that were finished last.
  for (const [size, noteSize] of Object.entries(SIZES)) {
    const job = { connections: CONNECTIONS, noteSize };
    rows.push(
      ...(await interleave(stage, progress, [
        { label: `${size}, bare`, servers: bare, job },
        { label: `${size}, ours, fresh`, servers: ours, job },
        {
          label: `${size}, ours, replay`,
          servers: ours,
          job: { ...job, replay: true, replayedKeys: KEYS },
        },
      ])),
    );
  }
  return {
    title: `Bodies of different size (${CONNECTIONS} connections)`,
    rows,
    notes: [],
    targets: [],
  };
}
