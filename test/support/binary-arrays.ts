/** The values of an array parameter in PostgreSQL's binary format, as their bytes. */
export function valuesOf(array: Buffer): Buffer[] {
  const values: Buffer[] = [];
  // After the head of 20 bytes, the size of each value and the value.
  for (let offset = 20; offset < array.length; offset += 4 + values.at(-1)!.length) {
    const size = array.readInt32BE(offset);
    values.push(array.subarray(offset + 4, offset + 4 + size));
  }
  return values;
}
