import { connect } from 'node:net';

/** Sends header lines byte for byte, also those that no HTTP client would send, and returns the raw answer. */
export function sendRaw(url: string, lines: string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  });
}
