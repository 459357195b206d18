/** A multipart body as a client writes it, under a boundary of its own for each request. */
export function formData(
  boundary: string,
  { fields, file }: { fields: Record<string, string>; file?: string },
): { body: Buffer; headers: { 'content-type': string } } {
  const parts = Object.entries(fields).map(
    ([name, value]) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`,
  );
  if (file !== undefined) {
    parts.push(
      'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n' +
        `Content-Type: text/plain\r\n\r\n${file}`,
    );
  }
  const body = parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('');
  return {
    body: Buffer.from(`${body}--${boundary}--\r\n`),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}
