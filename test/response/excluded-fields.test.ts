import { ClassSerializerInterceptor, Controller, Post, SerializeOptions } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Exclude, Expose } from 'class-transformer';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { Recorder } from './recorder.js';

class User {
  name = 'Ada';

  @Exclude()
  password = 'secret';

  @Expose({ groups: ['admin'] })
  salary = 1000;
}

@Controller()
class Users {
  @Post('user')
  @SerializeOptions({ groups: ['visitor'] })
  user() {
    return new User();
  }
}

const serializer = { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor };

forEachPlatform('Excluded fields', (platform) => {
  describe.each(['outside', 'inside'])('with the serializer %s of the recorder', (place) => {
    const recorder = new Recorder();
    let server: TestApp;
    beforeAll(async () => {
      const providers = [serializer, recorder.interceptor()];
      if (place === 'inside') providers.reverse();
      server = await platform.start({ controllers: [Users], providers });
    });

    it('are neither in the answer, nor in the record, nor in the replay', async () => {
      const first = await send(`${server.url}/user`, { key: 'k' });
      const replay = await send(`${server.url}/user`, { key: 'k' });
      const recorded = recorder.answers.get('k')!.body.toString();
      for (const text of [first.text, recorded, replay.text]) expect(text).toBe('{"name":"Ada"}');
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
    });
  });
});
