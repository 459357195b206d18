/**
 * The version of this package. A test compares it with package.json, which cannot
 * be imported in both module formats.
 */
export const VERSION = '0.1.0';
