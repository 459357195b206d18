/** What a process of the sample tells the one that started it. */
export interface ReadyMessage {
  kind: 'ready';
  url: string;
}

/**
 * Tells whoever started this process that it now answers at `url`, and ties its
 * life to theirs: when the starter dies, even by `kill -9`, the channel between
 * them closes, and this process ends too. Nothing is left behind.
 */
export function announceReady(url: string): void {
  if (!process.send) {
    console.log(`Listening on ${url}`);
    return;
  }
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The listener alone must not keep a process alive that has closed its server.
  process.channel?.unref();
  process.send({ kind: 'ready', url } satisfies ReadyMessage);
}
