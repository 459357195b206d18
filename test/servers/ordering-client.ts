// A client that keeps its keys in a folder, for a test that kills it.
import { createIdempotentFetch, resultOf } from 'nestjs-atomic-idempotency/client';
import { fileKeys } from 'nestjs-atomic-idempotency/client/file';

const { KEYS = '', SHOP = '' } = process.env;

const send = createIdempotentFetch({ keys: fileKeys(KEYS) });
const response = await send(SHOP, { method: 'POST', body: 'rocket', operation: 'order-1' });
process.send!(await resultOf(response), () => process.disconnect());
