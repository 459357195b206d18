/** Of this package. A test compares it with package.json, which no import reaches from both formats. */
export const VERSION = '0.1.0';
