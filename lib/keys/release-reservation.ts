import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import type { Reservation } from './reservation.js';
import type { KeyTransitions } from './key-transitions.js';
import { persist } from '../postgres/retries.js';

const logger = new Logger('IdempotencyModule');

/**
 * Releases what a given-up reservation may have taken. `unsure` are its
 * statements without a reply; each settles when it can no longer take effect.
 *
 * It waits for a reply for at most half the lease: after the lease, a retry would
 * find a dead attempt and an unknown outcome.
 */
export async function releaseReservation(
  keys: KeyTransitions,
  reservation: Reservation,
  unsure: readonly Promise<unknown>[],
): Promise<void> {
  const { lease } = reservation;
  const giveBack = () =>
    persist(() => keys.giveBack(reservation), { within: lease, again: () => !keys.areClosed });
  const over = Promise.all(unsure).then(() => true);
  try {
    const settled = await Promise.race([over, pause(lease / 2, false, { ref: false })]);
    await giveBack();
    if (settled) return;
    await over;
    await giveBack();
  } catch (error) {
    // The shutdown did not wait so long, and has said so.
    if (keys.areClosed) return;
    logger.warn(
      `A reservation that was given up could not be withdrawn; if it was made, its lease lapses: ${errorLine(error)}`,
    );
  }
}
