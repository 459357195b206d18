import 'reflect-metadata';
import { lastValueFrom } from 'rxjs';
import { BOOK_RIDE } from './agency.controller.js';
import { agencyClient } from './queue.js';

/** An agency: `node dist/sample-app/rabbitmq/book.js booking-0001 moon` */
const [, , reference = 'booking-0001', target = 'moon'] = process.argv;
const client = agencyClient(process.env['AMQP_URL'] ?? 'amqp://127.0.0.1');
const booking = {
  agency: 'far-away-travel',
  reference,
  email: 'grace@example.com',
  origin: 'earth',
  target,
};
try {
  console.log(await lastValueFrom(client.send<unknown>(BOOK_RIDE, booking)));
} catch (refused) {
  console.error(refused);
  process.exitCode = 1;
} finally {
  await client.close();
}
