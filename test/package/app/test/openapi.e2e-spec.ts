import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { fernIdempotencyHeaders } from 'nestjs-atomic-idempotency';
import { AppModule } from './../src/app.module.js';

const VALIDATOR = '../node_modules/@seriousme/openapi-schema-validator/bin/validate-api-cli.js';

describe('The document of the installed swagger (e2e)', () => {
  let app: INestApplication;
  let document: ReturnType<typeof SwaggerModule.createDocument>;
  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = module.createNestApplication();
    const config = new DocumentBuilder()
      .addExtension('x-fern-idempotency-headers', fernIdempotencyHeaders(app))
      .build();
    document = SwaggerModule.createDocument(app, config);
    await app.init();
  });
  afterAll(async () => {
    await app.close();
  });

  it('shows the header, the answers and the extensions of an idempotent route', () => {
    const { post, get } = document.paths['/orders']!;
    expect(post!.parameters).toEqual([
      expect.objectContaining({ name: 'Idempotency-Key', in: 'header', required: true }),
    ]);
    expect(post!.description).toContain('For 24 hours after that, a retry gets the same answer.');
    expect(Object.keys(post!.responses)).toEqual(
      expect.arrayContaining(['201', '400', '408', '409', '410', '422', '503']),
    );
    expect(post!.responses['201']).toMatchObject({
      headers: { 'Idempotent-Replayed': {}, 'Idempotency-Key-Expires': {} },
    });
    expect(post!.responses['409']).toMatchObject({
      headers: { 'Retry-After': {} },
      content: { 'application/problem+json': {} },
    });
    expect(post).toMatchObject({ 'x-fern-idempotent': true });
    expect(document).toMatchObject({
      'x-fern-idempotency-headers': [{ header: 'Idempotency-Key', name: 'idempotency_key' }],
    });
    expect(document.components!.schemas).toHaveProperty('IdempotencyProblem');
    expect(get!.parameters).toEqual([]);
    expect(get!.description).toBeUndefined();
  });

  it('is valid', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    // In a process of its own: it is an ES module, and not every test runner loads one.
    const { stdout } = await promisify(execFile)(process.execPath, [VALIDATOR, file]);
    expect(JSON.parse(stdout)).toMatchObject({ valid: true });
    await rm(folder, { recursive: true });
  });
});
