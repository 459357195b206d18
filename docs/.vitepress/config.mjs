import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { slug } from './slug.mjs';

/** @param {string} text @param {string} page under docs/ */
const item = (text, page) => ({ text, link: `/docs/${page}` });

/**
 * The site of the book: `npm run docs`. Its source is the repository itself, so
 * that a link from the book to the bench or the changelog leads to the same file
 * on the site, on GitHub and in the package.
 */
export default defineConfig({
  title: 'nestjs-atomic-idempotency',
  description: 'Idempotency keys for NestJS that survive a crash',
  lang: 'en',
  // For a site that is not at the top of its server.
  base: process.env.DOCS_BASE ?? '/',

  srcDir: '..',
  srcExclude: ['lib/**', 'migrations/**', 'test/**', 'bench/peers/**', 'coverage/**'],
  // The README is the first page.
  rewrites: { 'README.md': 'index.md' },
  buildEnd({ outDir }) {
    // Some pages link to the README by its name.
    copyFileSync(join(outDir, 'index.html'), join(outDir, 'README.html'));
  },

  // A link that leads nowhere fails the build.
  markdown: { anchor: { slugify: slug } },
  vite: { publicDir: false, build: { chunkSizeWarningLimit: 4_000 } },

  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    // Each page names the next one itself, for readers on GitHub as well.
    docFooter: { prev: false, next: false },
    nav: [
      item('Getting started', 'getting-started'),
      item('Guides', 'guides/in-doubt'),
      item('Reference', 'reference/options'),
      item('Operations', 'operations'),
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'Overview', link: '/' },
          item('Contents', 'index'),
          item('Getting started', 'getting-started'),
        ],
      },
      {
        text: 'Concepts',
        items: [
          item('Glossary', 'concepts/glossary'),
          item('The life of a request', 'concepts/life-of-a-request'),
          item('States', 'concepts/states'),
          item('Phases', 'concepts/phases'),
          item('Under the hood', 'concepts/under-the-hood'),
        ],
      },
      {
        text: 'Guides',
        items: [
          item('Choosing inDoubt', 'guides/in-doubt'),
          item('Stripe', 'guides/stripe'),
          item('Webhooks', 'guides/webhooks'),
          item('Background work', 'guides/background-work'),
          item('Outbox', 'guides/outbox'),
          item('Messages', 'guides/messages'),
          item('Cron jobs and queues', 'guides/calls'),
          item('A worker process', 'guides/worker-process'),
          item('Least privilege', 'guides/least-privilege'),
          item('Operator page', 'guides/operator-page'),
          item('Health', 'guides/health'),
          item('Failover', 'guides/failover'),
          item('Observability', 'guides/observability'),
          item('Coverage', 'guides/coverage'),
          item('GraphQL', 'guides/graphql'),
          item('Key hygiene', 'guides/key-hygiene'),
          item('Testing', 'guides/testing'),
          item('Is my endpoint crash-safe?', 'guides/crash-safety'),
          item('Multi-tenant scopes', 'guides/multi-tenant-scopes'),
          item('Citus', 'guides/citus'),
          item('Encryption and erasure', 'guides/encryption'),
          item('Limits', 'guides/limits'),
          item('Migrating', 'guides/migrating'),
          item('OpenAPI and discovery', 'guides/swagger'),
          item('Error envelopes', 'guides/error-envelopes'),
          item('The client', 'guides/client'),
          item('For your clients', 'guides/for-your-clients'),
          item('CommonJS and Jest', 'guides/commonjs-and-jest'),
        ],
      },
      {
        text: 'Reference',
        items: [
          item('Options', 'reference/options'),
          item('Policies', 'reference/policies'),
          item('Errors and codes', 'reference/errors'),
          item('Headers', 'reference/headers'),
          item('Tables', 'reference/tables'),
          item('IdempotencyOperator', 'reference/operator'),
          item('Versions', 'reference/versions'),
          {
            text: 'API',
            collapsed: true,
            items: [
              item('The package', 'reference/api/nestjs-atomic-idempotency/index'),
              item('/client', 'reference/api/nestjs-atomic-idempotency/client/index'),
              item('/client/file', 'reference/api/nestjs-atomic-idempotency/client/file/index'),
              item('/migrations', 'reference/api/nestjs-atomic-idempotency/migrations/index'),
              item('/testing', 'reference/api/nestjs-atomic-idempotency/testing/index'),
            ],
          },
        ],
      },
      {
        text: 'Running it',
        items: [
          item('Guarantees', 'guarantees'),
          item('Security', 'security'),
          item('Operations', 'operations'),
          item('Performance', 'performance'),
          { text: 'How it is measured', link: '/bench/README' },
          item('Scale', 'scale'),
          item('Questions and answers', 'faq'),
        ],
      },
    ],
  },
});
