import { connect } from 'node:net';

/** After this time without a byte a server counts as stuck. */
const PATIENCE = 15_000;

/**
 * One keep-alive connection with one request at a time. A plain socket: the load
 * shares the machine with the server, so what a full HTTP client would cost is
 * taken from the one that is measured.
 */
export class HttpConnection {
  /** @type {Buffer[]} */
  #chunks = [];
  #size = 0;
  /** Of the whole answer, known once its head is there. */
  #expected = Infinity;
  #bodyStart = 0;
  #status = 0;
  /** @type {((error: Error | undefined, status: number, body: Buffer) => void) | undefined} */
  #answered;

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.setTimeout(PATIENCE, () => this.#fail(new Error('The server does not answer.')));
    socket.on('close', () => this.#fail(new Error('The server closed the connection.')));
  }

  /**
   * @param {number} port
   * @returns {Promise<HttpConnection>}
   */
  static open(port) {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket));
      });
    });
  }

  /**
   * @param {string} request the whole message, ASCII
   * @param {(error: Error | undefined, status: number, body: Buffer) => void} answered
   */
  send(request, answered) {
    this.#answered = answered;
    this.socket.write(request, 'latin1');
  }

  close() {
    this.#answered = undefined;
    this.socket.destroy();
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#expected === Infinity) this.#readHead();
    if (this.#size < this.#expected) return;
    const body = this.#whole().subarray(this.#bodyStart);
    const answered = this.#answered;
    this.#chunks = [];
    this.#size = 0;
    this.#expected = Infinity;
    answered?.(undefined, this.#status, body);
  }

  #readHead() {
    const bytes = this.#whole();
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = bytes.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (!length) return this.#fail(new Error(`An answer without a length:\n${head}`));
    this.#status = Number(head.slice(9, 12));
    this.#bodyStart = end + 4;
    this.#expected = this.#bodyStart + Number(length[1]);
  }

  #whole() {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return /** @type {Buffer} */ (this.#chunks[0]);
  }

  /** @param {Error} error */
  #fail(error) {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(error, 0, Buffer.alloc(0));
  }
}
