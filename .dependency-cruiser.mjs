/**
 * The rooms of lib, lowest first. A room imports only from rooms above it in this
 * list; types count too. CONTRIBUTING.md says what each room is for, and why the
 * order is as it is. `(root)` stands for the files of lib itself.
 */
export const ROOMS = [
  'client',
  'telemetry',
  'answers',
  'policy',
  'faults',
  'postgres',
  'schema',
  'encryption',
  'request',
  'response',
  'limits',
  'keys',
  'coverage',
  'openapi',
  'phases',
  'calls',
  'messages',
  'graphql',
  'resolution',
  'background',
  'outbox',
  'operator',
  '(root)',
  'cli',
  'opentelemetry',
  'testing',
];

/** @param {string} room */
const folder = (room) => (room === '(root)' ? '^lib/[^/]+$' : `^lib/${room}/`);

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...ROOMS.slice(0, -1).map(
      (room, index) =>
        /** @type {const} */ ({
          name: `room-order-${room}`,
          severity: 'error',
          comment: `lib/${room} imports from rooms above it in the list only (.dependency-cruiser.mjs). Hand in what it needs, or move it up.`,
          from: { path: folder(room) },
          to: { path: ROOMS.slice(index + 1).map(folder) },
        }),
    ),
    {
      name: 'room-unknown',
      severity: 'error',
      comment: 'A folder of lib is a room: name it in .dependency-cruiser.mjs and CONTRIBUTING.md.',
      from: { path: '^lib/', pathNot: ROOMS.map(folder) },
      to: {},
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'Two files that need each other are one concept, or hide a third.',
      from: { path: '^lib/' },
      // An entity and its relation know each other by nature, through types alone.
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'opentelemetry-optional',
      severity: 'error',
      comment: 'OpenTelemetry is an optional peer: only its own entry point may import it.',
      from: { path: '^lib/', pathNot: folder('opentelemetry') },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'graphql-optional',
      severity: 'error',
      comment:
        'GraphQL is an optional peer, and a second copy of it would not know the schema of the first: take what is needed from what a resolver is given.',
      from: { path: '^lib/' },
      to: { path: 'node_modules/(@nestjs/(graphql|apollo|mercurius)|@apollo|graphql|mercurius)/' },
    },
    {
      name: 'microservices-optional',
      severity: 'error',
      comment:
        "Nest's microservices are an optional peer: load them when a message is there, with import().",
      from: { path: '^lib/' },
      to: { path: 'node_modules/@nestjs/microservices', dynamic: false },
    },
    {
      name: 'swagger-optional',
      severity: 'error',
      comment:
        'Swagger is an optional peer: its metadata has plain names, so nothing of it is imported.',
      from: { path: '^lib/' },
      to: { path: 'node_modules/@nestjs/swagger/' },
    },
    {
      name: 'client-alone',
      severity: 'error',
      comment:
        'The client runs in browsers and without Nest: it imports nothing but itself. Its store of files has an entry point of its own.',
      from: { path: folder('client'), pathNot: '^lib/client/file' },
      to: { pathNot: '^lib/client/(?!file)' },
    },
    {
      name: 'lib-alone',
      severity: 'error',
      comment: 'The library knows nothing of its tests, its sample and its benchmark.',
      from: { path: '^(lib|migrations)/' },
      to: { path: '^(test|sample-app|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Types are a dependency as well: a change of a type is a change of whoever uses it.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs'] },
  },
};
