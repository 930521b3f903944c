// Health, from what the main thread wrote to shared memory a moment ago.

import { healthJson } from '../wire/health-reply.ts'
import type { HotReply, HotRoute } from './contract.ts'
import { jsonType } from './pieces-reply.ts'
import type { SharedHealth } from './shared-health.ts'

/** By URL. */
export const healthRoutes: ReadonlyMap<string, HotRoute> = new Map(
  ['/api/v1/health', '/api/v2/health'].map((url) => [
    url,
    { name: 'health', pattern: url, collection: '', bodyBytesMax: 0 },
  ]),
)

/** Undefined if the state is not fresh. */
export function answerHealth({ pattern }: HotRoute, health: Pick<SharedHealth, 'read'>): HotReply | undefined {
  const facts = health.read()
  if (facts === undefined) return undefined
  const version = pattern.startsWith('/api/v1/') ? 'v1' : 'v2'
  return { status: 200, contentType: jsonType, body: Buffer.from(healthJson(facts, version, new Date())) }
}
