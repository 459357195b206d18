/**
 * Round trips of this process to its store, PostgreSQL and Redis alike. A trip begins with what is
 * written after something was read; what is written meanwhile travels with it.
 */
import { Socket } from 'node:net';

const { connect } = Socket.prototype;

let trips = 0;

// The sockets that this process opens lead to a store; those of HTTP are accepted.
Socket.prototype.connect = function (this: Socket, ...args: never[]) {
  const connecting = Reflect.apply(connect, this, args);
  // Not before: connect() puts back the write() of its class.
  watch(this);
  return connecting;
} as typeof connect;

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
