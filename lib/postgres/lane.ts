/**
 * Where a statement gets its connection. `reserved`: from a connection that the
 * application cannot use, so that a heartbeat does not wait for its work.
 * `urgent`: from there if the pool has none for a moment. A known outcome has to
 * be recorded even while handlers hold every connection.
 */
export type Lane = 'pool' | 'urgent' | 'reserved';
