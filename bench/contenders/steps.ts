/** The durable steps of one run. */
export const STEPS = ['first', 'second', 'third', 'fourth', 'fifth'] as const;
