import { SAMPLE_SECRET } from '../configuration.js';

/** What the provider has to be told once, as you would on its settings page. */
export function webhookEndpoint(appUrl: string): { url: string; secret: string } {
  return { url: `${appUrl}/webhooks/payments`, secret: SAMPLE_SECRET };
}
