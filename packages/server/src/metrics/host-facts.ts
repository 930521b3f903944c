// Metrics for alerts about the machine and the deployment: health, the disk, the limit of memory, and when the license and the certificate end.
import { X509Certificate } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import type { EngineHealth } from '@annal/engine'
import { type Family, family, gauge } from './family.ts'

export interface HostFacts {
  readonly health: EngineHealth['status']
  /** Undefined if the file system cannot be read. */
  readonly disk: { readonly freeBytes: number; readonly bytes: number } | undefined
  readonly memoryLimitBytes: number
  /** Milliseconds since 1970; undefined without a root token, 0 if no license is active. */
  readonly licenseEndMs: number | undefined
  /** Milliseconds since 1970; undefined without TLS. */
  readonly certificateEndMs: number | undefined
}

const states: readonly EngineHealth['status'][] = ['ok', 'degraded', 'read-only', 'starting', 'failed']

/** What this user may still write in the file system of a directory. */
export async function readDisk(directory: string): Promise<HostFacts['disk']> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory)
    return { freeBytes: bavail * bsize, bytes: blocks * bsize }
  } catch {
    // The directory is created when the engine is opened.
    return undefined
  }
}

/** When the first certificate of a PEM file ends, in milliseconds since 1970. */
export function certificateEnd(pem: Buffer): number {
  return Date.parse(new X509Certificate(pem).validTo)
}

export function hostFamilies(facts: HostFacts): Family[] {
  const { disk, licenseEndMs, certificateEndMs } = facts
  return [
    family(
      'gauge',
      'annal_health',
      'Health of the server, by status: 1 for the one that it has, 0 for the others.',
      states.map((status) => ({ labels: { status }, value: status === facts.health ? 1 : 0 })),
    ),
    ...(disk === undefined
      ? []
      : [
          gauge(
            'annal_disk_free_bytes',
            'Free space in the file system of the data directory, for this user.',
            disk.freeBytes,
          ),
          gauge('annal_disk_bytes', 'Size of the file system of the data directory.', disk.bytes),
        ]),
    gauge(
      'annal_memory_limit_bytes',
      'Memory that this process may use: the limit of its control group, or the memory of the machine.',
      facts.memoryLimitBytes,
    ),
    ...(licenseEndMs === undefined
      ? []
      : [
          gauge(
            'annal_license_end_timestamp_seconds',
            'When the active license ends; 0 if none is active.',
            licenseEndMs / 1_000,
          ),
        ]),
    ...(certificateEndMs === undefined
      ? []
      : [
          gauge(
            'annal_tls_certificate_end_timestamp_seconds',
            'When the certificate in use ends.',
            certificateEndMs / 1_000,
          ),
        ]),
  ]
}
