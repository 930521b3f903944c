// Collects what the metrics show besides the requests.

import { memoryLimit } from '../memory-limit.ts'
import { readDisk } from '../metrics/host-facts.ts'
import type { MetricsState } from '../metrics/metrics.ts'
import type { RouteContext } from '../route-context.ts'
import { healthStatus } from './system.ts'

export async function readMetricsState(context: RouteContext): Promise<MetricsState> {
  const { slot, shared, serving, config, licensing } = context
  const { bodies, largeReplies } = shared.budgets
  const disk = await readDisk(config.dataDir)
  const isOpen = slot.isOpen()
  return {
    stats: isOpen ? slot.engine().stats() : undefined,
    bodyBytes: bodies.small.taken + bodies.queries.taken + bodies.large.taken + bodies.embedding.taken,
    replyBytes: largeReplies.taken,
    serving: serving(),
    archive: slot.archive?.figures(),
    providers: slot.providers?.figures(),
    cluster: slot.cluster?.status(),
    follow: slot.follower?.status(),
    host: {
      health: healthStatus(context),
      disk,
      memoryLimitBytes: memoryLimit(config.memoryMegabytesMax),
      licenseEndMs: isOpen ? licensing?.endMs() : undefined,
      certificateEndMs: slot.certificateEndMs,
    },
  }
}
