// Collects what the metrics show besides the requests.
import type { RouteContext } from '../http/route-context.ts'
import { healthStatus } from '../routes/system.ts'
import { memoryLimit, readDisk } from './host-facts.ts'
import type { MetricsState } from './metrics.ts'

export async function readMetricsState(context: RouteContext): Promise<MetricsState> {
  const { slot, shared, serving, config, licensing } = context
  const { bodies, largeReplies } = shared.budgets
  const disk = await readDisk(config.dataDir)
  const isOpen = slot.isOpen()
  return {
    stats: isOpen ? slot.engine().stats() : undefined,
    bodyBytes: bodies.small.taken + bodies.large.taken + bodies.embedding.taken,
    replyBytes: largeReplies.taken,
    serving: serving(),
    archive: slot.archive?.figures(),
    providers: slot.providers?.figures(),
    cluster: slot.cluster?.status(),
    follow: slot.follower?.status(),
    host: {
      health: healthStatus(context),
      disk,
      memoryLimitBytes: memoryLimit(),
      licenseEndMs: isOpen ? licensing?.endMs() : undefined,
      certificateEndMs: slot.certificateEndMs,
    },
  }
}
