import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Controller, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  IdempotencyCoverage,
  Idempotent,
  NotIdempotent,
  type EntryPoint,
} from 'nestjs-atomic-idempotency';
import {
  AppModule,
  CoveredModule,
  ExemptController,
  OrdersController,
  SafeController,
} from '../servers/audited.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

const controllers = [OrdersController, ExemptController, SafeController];

/** Each entry point in one line. */
function linesOf(entries: readonly EntryPoint[]): string[] {
  return entries.map(({ kind, name, handler, coverage }) =>
    [kind, name, handler, coverage].join(' | '),
  );
}

const EXPECTED = [
  'http | POST /orders | OrdersController.create | idempotent',
  'http | POST /purchases | OrdersController.create | idempotent',
  'http | PUT /orders/:id | OrdersController.replace | by_method',
  'http | PUT /purchases/:id | OrdersController.replace | by_method',
  'http | DELETE /orders/:id | OrdersController.remove | by_method',
  'http | DELETE /purchases/:id | OrdersController.remove | by_method',
  'http | PATCH /orders/:id (version 2) | OrdersController.change | missing',
  'http | PATCH /purchases/:id (version 2) | OrdersController.change | missing',
  'http | ALL /orders/anything | OrdersController.anything | missing',
  'http | ALL /purchases/anything | OrdersController.anything | missing',
  'http | POST /orders/search | OrdersController.search | exempt',
  'http | POST /purchases/search | OrdersController.search | exempt',
  'message | {"cmd":"order"} | OrdersController.ordered | missing',
  'event | order.paid | OrdersController.paid | missing',
  'http | POST /orders/inherited | OrdersController.inherited | missing',
  'http | POST /purchases/inherited | OrdersController.inherited | missing',
  'http | POST /exempt | ExemptController.create | exempt',
  'http | POST /safe | SafeController.create | idempotent',
];

describe('Coverage', () => {
  onEachPlatform((platform) => {
    it('lists every entry point that changes something, with its policy or its absence', async () => {
      const app = await startIdempotentApp(platform, {
        controllers,
        idempotency: {
          operatorPage: { path: 'operator', access: () => undefined },
        } as object,
      });
      const coverage = app.app.get(IdempotencyCoverage);
      const { entries } = coverage;
      expect(linesOf(entries.slice(0, EXPECTED.length))).toEqual(EXPECTED);
      const ours = entries.slice(EXPECTED.length);
      expect(ours.map(({ name, coverage: by }) => `${name} ${by}`)).toEqual([
        'POST /operator/decide exempt',
        'POST /operator/bulk exempt',
        'POST /operator/requeue exempt',
      ]);
      expect(coverage.missing).toHaveLength(8);

      const [first] = coverage.toJSON();
      expect(first).toEqual({
        kind: 'http',
        name: 'POST /orders',
        handler: 'OrdersController.create',
        coverage: 'idempotent',
        policy: { retention: '48h' },
      });
      expect(coverage.table().split('\n')[0]).toMatch(/^MISSING +PATCH \/orders\/:id/);
      expect(coverage.table()).toContain('retention: 48h, isFinal: (function)');
      await app.close();
    });
  });

  onEachPlatform(
    (platform) => {
      it('ends the boot with coverage: error, and names each of them', async () => {
        const start = startIdempotentApp(platform, {
          controllers,
          idempotency: { coverage: 'error' },
          logger: false,
        });
        await expect(start).rejects.toThrow(
          /coverage: 8 entry points change something[^]*ALL \/orders\/anything[^]*Put @Idempotent\(\) on each/,
        );
      });

      it('starts with coverage: error where nothing is missing', async () => {
        const app = await startIdempotentApp(platform, {
          controllers: [SafeController, ExemptController],
          idempotency: { coverage: 'error' },
        });
        expect(app.app.get(IdempotencyCoverage).missing).toEqual([]);
        await app.close();
      });

      it('logs one warning with coverage: warn', async () => {
        const logger = recordingLogger();
        const idempotency = { coverage: 'warn' } as const;
        const app = await startIdempotentApp(platform, { controllers, idempotency, logger });
        expect(
          logger.warnings.filter((line) => line.includes('Coverage: 8 entry points')),
        ).toHaveLength(1);
        await app.close();
      });

      it('refuses both decorators on one handler, and a missing reason', async () => {
        @Controller()
        class Both {
          @Post('both')
          @Idempotent()
          @NotIdempotent('why?')
          both() {}
        }
        const start = startIdempotentApp(platform, { controllers: [Both], logger: false });
        await expect(start).rejects.toThrow(/Both.both has @Idempotent\(\) and @NotIdempotent\(\)/);
        expect(() => NotIdempotent(' ')).toThrow(/needs a reason/);
        const wrong = { coverage: 'yes' as 'warn' };
        await expect(
          startIdempotentApp(platform, { idempotency: wrong, logger: false }),
        ).rejects.toThrow(/coverage is 'yes'. Use 'ignore', 'warn' or 'error'/);
      });
    },
    ['fastify'],
  );

  it('is printed by the command line, which starts nothing', async () => {
    const build = process.env.TEST_BUILD!;
    const audited = join(build, 'test/servers/audited.js');
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, [join(build, 'lib/cli/main.js'), ...args]).then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
    const [json, covered, unknown, empty] = await Promise.all([
      run('coverage', audited, '--json'),
      run('coverage', audited, '--export', 'dynamic'),
      run('coverage', audited, '--export', 'Nothing'),
      run('coverage', audited, '--export', 'EmptyModule'),
    ]);
    expect([json.code, covered.code]).toEqual([1, 0]);
    expect(linesOf(JSON.parse(json.stdout) as EntryPoint[])).toEqual(EXPECTED);
    expect(covered.stdout).toContain('POST /safe');
    expect(covered.stdout).toContain('2 entry point(s), 0 missing');
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('has no module called Nothing'),
    ]);
    expect([empty.code, empty.stderr]).toEqual([
      2,
      expect.stringContaining('no entry point was found, so nothing was checked'),
    ]);
    expect([AppModule.name, CoveredModule.name]).toEqual(['AppModule', 'CoveredModule']);
  });
});
