/** The data source that holds the keys and the business data. */
export const DATA_SOURCE = Symbol('IdempotencyModule data source');

/** The PostgreSQL schema of the tables, if it is not the data source's own. */
export const SCHEMA = Symbol('IdempotencyModule schema');

/** There in every module that sees ours, whatever becomes of the other providers. */
export const IMPORTED = Symbol('IdempotencyModule is imported');
