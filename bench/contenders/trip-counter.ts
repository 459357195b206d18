import { Socket } from 'node:net';

/** Set only on sockets that this process opens, and those lead to a store: HTTP sockets are accepted. */
const { connect } = Socket.prototype;

let trips = 0;

Socket.prototype.connect = function (this: Socket, ...args: never[]) {
  watch(this);
  return Reflect.apply(connect, this, args);
} as typeof connect;

/**
 * Round trips of this process to its store, PostgreSQL and Redis alike. A trip begins with what is
 * written after something was read; what is written meanwhile travels with it.
 */
export function roundTripsSoFar(): number {
  return trips;
}

function watch(socket: Socket): void {
  const { write } = socket;
  let readBefore = -1;
  socket.write = function (...args: never[]) {
    if (socket.bytesRead !== readBefore) {
      readBefore = socket.bytesRead;
      trips += 1;
    }
    return Reflect.apply(write, socket, args);
  } as typeof write;
}
