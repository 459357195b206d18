/**
 * PostgreSQL parses JSON with a bounded stack; at several thousand levels it
 * refuses the statement.
 */
export const DEEPEST_JSON = 1_000;

/** Whether a JSON text has more levels of lists and objects than the columns accept. */
export function isTooDeep(json: string): boolean {
  // Each level takes two characters.
  if (json.length <= 2 * DEEPEST_JSON) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (inString) {
      if (character === '\\') i++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '[' || character === '{') {
      if (++depth > DEEPEST_JSON) return true;
    } else if (character === ']' || character === '}') depth--;
  }
  return false;
}
