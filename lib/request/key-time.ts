const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Crockford's alphabet: no I, L, O and U. 48 bits of time leave 0 to 7 for the first letter. */
const ULID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** ULIDs did not exist before this: what seems older is another kind of key, such as 26 digits. */
const FIRST_ULID = Date.UTC(2016, 0, 1);

/** When the client made a key, in milliseconds, if the key says so: a UUIDv7 or a ULID. */
export function keyTime(key: string): number | undefined {
  const uuid = UUID_V7.exec(key);
  if (uuid) return Number.parseInt(`${uuid[1]}${uuid[2]}`, 16);
  if (!ULID.test(key)) return undefined;
  let time = 0;
  for (const letter of key.slice(0, 10).toUpperCase()) {
    time = time * 32 + CROCKFORD.indexOf(letter);
  }
  return time < FIRST_ULID ? undefined : time;
}
