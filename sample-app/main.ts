import 'reflect-metadata';
import { createApp } from './app.js';
import { readConfiguration } from './configuration.js';
import { announceReady } from './processes/announce-ready.js';

/** The app's own process. `npm start` provides the database and the payment provider. */
const configuration = readConfiguration(process.env);
const app = await createApp(configuration);
// So that a deploy lets requests finish, instead of leaving their keys to the lease.
app.enableShutdownHooks();
await app.listen(configuration.port, '127.0.0.1').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error;
  console.error(`Port ${configuration.port} is in use. Set PORT to another one.`);
  process.exit(1);
});
announceReady(await app.getUrl());
