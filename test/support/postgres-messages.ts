// PostgreSQL's wire protocol, as far as a proxy has to read it: where a message
// ends, and which statement it carries.

export interface Message {
  /** `Q`, `P`, `S`, … or `startup` for the first one of a client, which has no type. */
  type: string;
  /** The whole message, to be passed on. */
  bytes: Buffer;
}

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;

/** Cuts a stream of bytes into messages; the rest waits for more. */
export class MessageReader {
  private rest: Buffer = Buffer.alloc(0);

  /** @param startup the stream begins with an untyped message, as a client's does */
  constructor(private startup: boolean) {}

  read(chunk: Buffer): Message[] {
    this.rest = Buffer.concat([this.rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const head = this.startup ? 0 : 1;
      if (this.rest.length < head + 4) return messages;
      const end = head + this.rest.readInt32BE(head);
      if (this.rest.length < end) return messages;
      const bytes = this.rest.subarray(0, end);
      this.rest = this.rest.subarray(end);
      if (this.startup) {
        // A client that asks for encryption sends its real first message afterwards.
        const code = bytes.readInt32BE(4);
        if (code === SSL_REQUEST || code === GSS_REQUEST) {
          throw new Error('The proxy of the tests reads plain connections only.');
        }
        this.startup = false;
        messages.push({ type: 'startup', bytes });
      } else {
        messages.push({ type: String.fromCharCode(bytes[0]!), bytes });
      }
    }
  }
}

/** The text of a simple query (`Q`) or of a statement to parse (`P`), and the latter's name. */
export function statementOf({ type, bytes }: Message): { sql: string; name: string } | undefined {
  if (type === 'Q') return { sql: text(bytes, 5), name: '' };
  if (type !== 'P') return undefined;
  const name = text(bytes, 5);
  return { name, sql: text(bytes, 5 + Buffer.byteLength(name) + 1) };
}

/** The name of the prepared statement that is executed, where it was parsed by an earlier request. */
export function preparedNameOf({ type, bytes }: Message): string | undefined {
  if (type !== 'B') return undefined;
  const portal = text(bytes, 5);
  return text(bytes, 5 + Buffer.byteLength(portal) + 1);
}

/** A client's turn ends here, and the server's begins. */
export function endsRequest({ type }: Message): boolean {
  return type === 'Q' || type === 'S' || type === 'startup' || type === 'p' || type === 'X';
}

/** The server has done all of a request, and committed it unless a transaction is open. */
export function endsReply({ type }: Message): boolean {
  return type === 'Z';
}

function text(bytes: Buffer, from: number): string {
  return bytes.toString('utf8', from, bytes.indexOf(0, from));
}
