import { Socket } from 'node:net';

type Listener = (reason: unknown, promise: Promise<unknown>) => void;

/**
 * The process itself. Test runners that isolate test files (Jest) give them a
 * copy, which hears nothing; but Node's own classes are of the outer world, and
 * so is what their constructor makes.
 */
function theProcess(): NodeJS.Process {
  try {
    return ((Socket as Function).constructor as FunctionConstructor)(
      'return process',
    )() as NodeJS.Process;
  } catch {
    return process;
  }
}

/**
 * Hears of promises that were rejected and that nobody awaits. In production one
 * of them ends the process; in a test it must not end the run of the kit, or be
 * taken for a failure of some other test.
 *
 * @param heard whether the rejection is the kit's business; all others go to whom they went before
 * @returns what ends it
 */
export function watchRejections(heard: (reason: unknown) => boolean): () => void {
  const itself = theProcess();
  const before = itself.listeners('unhandledRejection') as Listener[];
  const listener: Listener = (reason, promise) => {
    if (heard(reason)) return;
    for (const other of before) other.call(itself, reason, promise);
    // Without a listener, Node would have ended the process.
    if (before.length === 0) throw reason;
  };
  itself.removeAllListeners('unhandledRejection');
  itself.on('unhandledRejection', listener);
  return () => {
    itself.removeListener('unhandledRejection', listener);
    for (const other of before) itself.on('unhandledRejection', other);
  };
}
