import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyStore, StoredKey } from './key-store.js';

/**
 * Keys in a folder, one file for each name, readable by this user alone. Several
 * processes may share it. The file system has to know hard links: they are how
 * one of two processes comes first.
 */
export function fileKeys(folder: string): KeyStore {
  // Names may be long, and hold what no file name may.
  const fileOf = (operation: string) =>
    join(folder, `${createHash('sha256').update(operation).digest('hex')}.json`);

  const read = async (operation: string): Promise<StoredKey | undefined> => {
    const text = await readFile(fileOf(operation), 'utf8').catch(unless('ENOENT'));
    if (text === undefined) return undefined;
    const { operation: _, ...key } = JSON.parse(text) as StoredKey & { operation: string };
    return key;
  };

  /** Whole and on disk under a name of its own, then moved to its place in one step. */
  const place = async (
    operation: string,
    key: StoredKey,
    move: (from: string, to: string) => Promise<void>,
  ): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const draft = join(folder, `${randomUUID()}.draft`);
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify({ operation, ...key }));
        await file.sync();
      } finally {
        await file.close();
      }
      await move(draft, fileOf(operation));
    } finally {
      await rm(draft, { force: true });
    }
    await syncFolder(folder);
  };

  return {
    async add(operation, key) {
      for (;;) {
        const there = await read(operation);
        if (there) return there;
        let first = true;
        await place(operation, key, async (from, to) => {
          await link(from, to).catch((error: NodeJS.ErrnoException) => {
            if (error.code !== 'EEXIST') throw error;
            first = false;
          });
        });
        if (first) return key;
      }
    },
    async update(operation, key) {
      if ((await read(operation))?.key === key.key) await place(operation, key, rename);
    },
    async remove(operation, key) {
      if (key !== undefined && (await read(operation))?.key !== key) return;
      await rm(fileOf(operation), { force: true });
    },
  };
}

/** A new name is on disk once its folder is. Windows does not open folders, and needs none of it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unless(code: string) {
  return (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== code) throw error;
  };
}
