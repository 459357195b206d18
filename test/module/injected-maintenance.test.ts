import { Injectable, Module } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { Maintenance } from 'nestjs-atomic-idempotency';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

@Injectable()
class Scheduler {
  constructor(private readonly maintenance: Maintenance) {}

  everyNight(): Promise<number> {
    return this.maintenance.runOnce('reaper');
  }
}

@Module({ providers: [Scheduler] })
class SchedulerModule {}

forEachPlatform('Maintenance', (platform) => {
  it('can be injected into a scheduler of the application, which runs a job', async () => {
    const app = await startIdempotentApp(platform, { imports: [SchedulerModule] });
    expect(await app.app.get(Scheduler, { strict: false }).everyNight()).toBe(0);
    await app.close();
  });
});
