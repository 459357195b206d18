import type { Chapter } from '../chapter.js';
import { aLostReceipt } from './a-lost-receipt.js';
import { aDoubt } from './a-doubt.js';
import { aLostAnswer } from './a-lost-answer.js';
import { aRide } from './a-ride.js';
import { aWebhook } from './a-webhook.js';
import { anotherBody } from './another-body.js';
import { killedAfterTheCharge } from './killed-after-the-charge.js';
import { twoAtOnce } from './two-at-once.js';

export const CHAPTERS: readonly Chapter[] = [
  aRide,
  aLostAnswer,
  twoAtOnce,
  anotherBody,
  killedAfterTheCharge,
  aLostReceipt,
  aWebhook,
  aDoubt,
];
