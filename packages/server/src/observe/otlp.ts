// What the exports of traces, metrics, and logs have in common.
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Resource } from '@opentelemetry/resources'

const closeMsMax = 2_000

/** Who sends: the name, the version, and the host, and what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say. */
export async function senderResource(version: string): Promise<Resource> {
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources')
  const ours = { 'service.name': 'annal', 'service.version': version, 'host.name': os.hostname() }
  return resourceFromAttributes(ours).merge(detectResources({ detectors: [envDetector] }))
}

/** Sends what was not sent yet. A collector that does not respond must not keep the server from stopping. */
export async function closeExport(provider: { shutdown(): Promise<void> }): Promise<void> {
  await Promise.race([provider.shutdown().catch(() => undefined), sleep(closeMsMax, undefined, { ref: false })])
}
