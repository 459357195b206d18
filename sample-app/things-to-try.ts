import { randomBytes } from 'node:crypto';
import { TOKENS } from './auth/user.js';
import { OPERATOR_PATH, SAMPLE_OPERATOR, SAMPLE_PASSWORD } from './configuration.js';

export interface Addresses {
  platform: string;
  appUrl: string;
  providerUrl: string;
  ledger: string;
  graphql?: boolean;
  amqpUrl?: string | undefined;
}

/** What `npm start` prints: the curl lines of a first walk through the sample. */
export function thingsToTry(addresses: Addresses): string {
  const { platform, appUrl, providerUrl, ledger, graphql = false, amqpUrl } = addresses;
  const [ada, grace] = TOKENS;
  // New ones for each start, because the data of earlier starts is still there.
  const key = (name: string) => `${name}-${randomBytes(3).toString('hex')}`;
  const post = (path: string, token: string | undefined, idempotencyKey: string, body: object) =>
    `curl -i ${appUrl}${path} -H 'Authorization: Bearer ${token}' ` +
    `-H 'Idempotency-Key: ${idempotencyKey}' ` +
    `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  const nextBehaviour = (behaviour: string) =>
    `curl ${providerUrl}/control/next -d '["${behaviour}"]'`;

  const page = new URL(OPERATOR_PATH, appUrl);
  const first = key('ride');
  const ride = { origin: 'earth', target: 'moon' };
  const query = 'mutation { requestRide(origin: "earth", target: moon) { id fare chargeId } }';
  const mutation = graphql
    ? `# The same over GraphQL. Run it twice, too.\n${post('/graphql', ada, key('mutation'), { query })}\n\n`
    : '';
  const booking = amqpUrl
    ? `# A booking by message. Run it twice, too.\nAMQP_URL=${amqpUrl} node dist/sample-app/rabbitmq/book.js ${key('booking')} moon\n\n`
    : '';
  return `
Rocket Rides on ${platform}: ${appUrl}
Payment provider:        ${providerUrl} (its books: ${ledger})
Operator page:           ${page.href} (user ${SAMPLE_OPERATOR}, password ${SAMPLE_PASSWORD})

# A ride. Run it twice: the second answer is the stored first one.
${post('/rides', ada, first, ride)}

# The same key with another body is refused.
${post('/rides', ada, first, { ...ride, target: 'mars' })}

# The same key of another user is another key.
${post('/rides', grace, first, ride)}

# A declined card: a final answer, on each retry too.
${post('/rides', ada, key('broke'), { ...ride, card: 'card_declined' })}

# The provider charges, and its answer is lost. Run the second line twice: 502, then the ride.
${nextBehaviour('drop_after')}
${post('/rides', ada, key('lost'), ride)}

# Tips go through an interface without keys (put in the id of a ride of Ada's). If that answer is
# lost, it is 409 "outcome_unknown", now and on every retry: nothing is sent again by guesswork.
${nextBehaviour('drop_after')}
${post('/rides/1/tips', ada, key('tip'), { amount: 500 })}
# Now open the operator page: the tip is in doubt. Look into the books of the provider, tell what
# became of it ({"transferId":"…","declined":null} as its result), and retry: 201.

${mutation}${booking}# What the provider's books say.
curl ${providerUrl}/charges
curl ${providerUrl}/transfers
curl ${providerUrl}/receipts

Ctrl-C ends everything. "npm run demo" tells the whole story by itself.
`;
}
