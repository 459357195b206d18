import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { bundleForBrowsers } from './bundle.js';

describe('The client in a bundle', () => {
  it('is under 6 KB as it travels, with all its exports', async () => {
    const bundle = await bundleForBrowsers(`export * from './lib/client/index.js';`);
    expect(gzipSync(bundle).length).toBeLessThan(6_000);
    // As it is parsed.
    expect(Buffer.byteLength(bundle)).toBeLessThan(11_000);
  });

  it('holds only what is used of it', async () => {
    const bundle = await bundleForBrowsers(
      `import { createIdempotentFetch } from './lib/client/index.js'; createIdempotentFetch();`,
    );
    expect(bundle).not.toContain('indexedDB');
    expect(gzipSync(bundle).length).toBeLessThan(4_500);
  });
});
