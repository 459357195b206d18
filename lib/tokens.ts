/** The data source that holds the keys and the business data. */
export const DATA_SOURCE = Symbol('IdempotencyModule data source');

/** The PostgreSQL schema of the tables, if it is not the data source's own. */
export const SCHEMA = Symbol('IdempotencyModule schema');

/** Present in every module that imports the library's, even if other providers have failed. */
export const IMPORTED = Symbol('IdempotencyModule is imported');

/** The options of the operator page, or undefined. */
export const OPERATOR_PAGE = Symbol('IdempotencyModule operator page');
