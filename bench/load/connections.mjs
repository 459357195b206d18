// What every kind of load has in common.
import { quantile } from '../statistics.mjs';
import { HttpConnection } from './http-connection.mjs';

/** Milliseconds that do not count: the connections start in step and spread out only with time. */
export const RAMP = 100;

/** @param {{ ports: number[], connections: number }} job the connections are spread over the ports */
export function open({ ports, connections }) {
  return Promise.all(
    Array.from({ length: connections }, (_, i) =>
      HttpConnection.open(/** @type {number} */ (ports[i % ports.length])),
    ),
  );
}

/**
 * @param {HttpConnection} connection
 * @param {string} message
 * @returns {Promise<Buffer>} the body of an answer 201
 */
export function send(connection, message) {
  return new Promise((resolve, reject) => {
    connection.send(message, (error, status, body) => {
      if (error) reject(error);
      else if (status === 201) resolve(body);
      else reject(new Error(`Answered ${status}: ${body.toString().slice(0, 300)}`));
    });
  });
}

/** @param {number[]} latencies */
export function summary(latencies) {
  const sorted = Float64Array.from(latencies).sort();
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
