import type { Problem } from '../verification-error.js';
import type { Counts } from '../changes/effect-watch.js';

/** A message to deliver. */
export interface KitMessage {
  topic: string;
  payload?: unknown;
  orderingKey?: string;
}

export interface DeliveryOptions {
  /**
   * The message to deliver, or what makes one for each run: with a number that is
   * new each time, for unique columns and limited stock. It may prepare rows that
   * the handler needs.
   */
  message?: KitMessage | ((n: number) => KitMessage | Promise<KitMessage>);

  /** Instead of `message`: code of your own that adds one message in a transaction. */
  send?: (n: number) => unknown;

  /**
   * A later message with the same ordering key, for the same number. With it, or
   * with a `message` that is always the same, the order is verified too.
   */
  later?: (n: number) => KitMessage | Promise<KitMessage>;

  /** With `send`: which of several messages it is about. */
  topic?: string;

  /** Counts of what happens outside the database: mails sent, charges made. */
  observe?: () => Counts | Promise<Counts>;

  /** By how much one delivery changes each of these counts. */
  expected?: Counts;

  /**
   * Tables (`'page_views'`) and columns (`'orders.last_seen'`) that may differ.
   * Columns that differ between two undisturbed deliveries are set aside anyway.
   */
  ignore?: readonly string[];

  /**
   * How long one delivery may take, in milliseconds.
   * @default 10000
   */
  timeout?: number;
}

export type DeliveryProblemCode =
  /** A second delivery has an effect of its own. */
  | 'effect_repeated'
  /** Two deliveries at the same time have two effects, two in turn do not. */
  | 'effect_raced'
  /** After a failure, a part of the effect is missing. */
  | 'effect_lost'
  /** The effect is another one. */
  | 'effect_differs'
  /** An earlier message that comes again undoes a later one. */
  | 'out_of_order'
  /** It never gets through. */
  | 'never_delivered'
  /** The handler goes on after its promise has settled. */
  | 'not_awaited'
  /** Two undisturbed deliveries change different things. */
  | 'unstable'
  /** One delivery does not change what `expected` says. */
  | 'not_as_expected'
  /** One delivery changes nothing that can be seen. */
  | 'nothing_changed';

/** What became of one message, or of two with one ordering key. */
export interface DeliveryRun {
  /** What was done to it. */
  name: string;
  /** How often the handler was called. */
  deliveries: number;
  outcome: 'delivered' | 'failed';
  counts: Counts;
  /** How many rows of the application's tables were changed. */
  rows: number;
}

export interface DeliveryReport {
  runs: DeliveryRun[];
  /** What was not verified, and why. */
  skipped: string[];
  /** Empty: otherwise the verification rejects. */
  problems: Problem<DeliveryProblemCode>[];
  /** The runs as a table, to print. */
  table: string;
}
