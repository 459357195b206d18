/** A UUID that begins with the time at which it was made (RFC 9562), so that a server can tell an old one. */
export function uuidV7(now = Date.now()): string {
  // Not randomUUID(): browsers have that one on https pages only.
  const random = crypto.getRandomValues(new Uint8Array(10));
  random[0] = (random[0]! & 0x0f) | 0x70;
  random[2] = (random[2]! & 0x3f) | 0x80;
  const hex = Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return (now.toString(16).padStart(12, '0') + hex).replace(
    /(.{8})(.{4})(.{4})(.{4})(.+)/,
    '$1-$2-$3-$4-$5',
  );
}
