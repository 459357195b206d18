import { register } from 'node:module';

register('./trace-calls.mjs', import.meta.url);
