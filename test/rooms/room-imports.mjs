import { ROOT, run } from '../checks/run.mjs';

const CRUISER = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';

/**
 * @typedef {object} Imports
 * @property {string} from the room that imports
 * @property {string} to
 * @property {number} count how many imports of a file by a file, types included
 */

/** @returns {Promise<Imports[]>} between the rooms of lib */
export async function roomImports() {
  const config = ['--config', '.dependency-cruiser.mjs'];
  const cruised = await run(process.execPath, [CRUISER, 'lib', ...config, '-T', 'json'], {
    cwd: ROOT,
  });
  /** @type {{ modules: { source: string, dependencies: { resolved: string }[] }[] }} */
  const { modules } = JSON.parse(cruised);
  /** @type {Map<string, Imports>} */
  const found = new Map();
  for (const { source, dependencies } of modules) {
    const from = roomOf(source);
    // A file that imports values and types of another one is listed twice.
    for (const resolved of new Set(dependencies.map((each) => each.resolved))) {
      const to = roomOf(resolved);
      if (from === undefined || to === undefined || from === to) continue;
      const imports = found.get(`${from} ${to}`) ?? { from, to, count: 0 };
      imports.count += 1;
      found.set(`${from} ${to}`, imports);
    }
  }
  return [...found.values()];
}

/** @param {string} file in a folder of a room as well */
function roomOf(file) {
  const [, room = '(root)'] = /^lib\/(?:([^/]+)\/.*)?[^/]+$/.exec(file) ?? [undefined, 'none'];
  return room === 'none' ? undefined : room;
}
