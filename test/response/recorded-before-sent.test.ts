import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { KINDS, KindsOfAnswers } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

forEachPlatform('Recorded before sent', (platform) => {
  describe('Before the answer is recorded', () => {
    let gate: Barrier;
    const recorder = new Recorder({
      decide: async () => {
        await gate.pass();
        return { kind: 'release', headers: { 'X-Recorded': 'yes' } };
      },
    });
    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        { controllers: [KindsOfAnswers], providers: [recorder.interceptor()] },
        { logger: false },
      );
    });

    it.each(Object.keys(KINDS))('no byte of it is sent: %s', async (kind) => {
      gate = barrier();
      const { port, host } = new URL(server.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `POST /${kind} HTTP/1.1\r\nHost: ${host}\r\nIdempotency-Key: ${kind}\r\n` +
          'Content-Length: 0\r\nConnection: close\r\n\r\n',
      );
      let received = '';
      socket.setEncoding('latin1').on('data', (text) => (received += text));

      await recorder.recorded(kind);
      // Whatever was sent before this exchange would have arrived by its end.
      await send(`${server.url}/empty`);
      expect(received).toBe('');

      gate.open();
      await once(socket, 'close');
      expect(received).toContain(`HTTP/1.1 ${KINDS[kind]!.status} `);
      expect(received.toLowerCase()).toContain('x-recorded: yes');
      expect(recorder.observed.get(kind)).toHaveLength(1);
    });
  });
});
