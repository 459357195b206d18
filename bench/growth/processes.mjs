import { interleave } from './interleave.mjs';

/**
 * Several server processes on one database, with the same load spread over them.
 *
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {import('../progress.mjs').Progress} progress
 * @returns {Promise<import('./growth-report.mjs').Section>}
 */
export async function processes(stage, progress) {
  const databaseUrl = await stage.database.create();
  /** @type {import('../setup/server.mjs').Server[]} */
  const servers = [];
  // One after the other: the first one makes the tables.
  for (let i = 0; i < 4; i++) servers.push(await stage.start('ours', 'fastify', { databaseUrl }));
  const rows = await interleave(
    stage,
    progress,
    [1, 2, 4].map((count) => ({
      label: count === 1 ? 'one process' : `${count} processes`,
      servers: servers.slice(0, count),
      job: { connections: 32 },
    })),
  );
  return {
    title: 'Several processes on one database (32 connections in all)',
    rows,
    notes: [],
    targets: [],
  };
}
