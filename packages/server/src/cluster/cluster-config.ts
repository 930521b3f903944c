// The configuration of a node of a cluster, and what a node refuses at the start: settings that it cannot serve with, and a
// NATS that anyone on the network could read.
import { hostname } from 'node:os'
import type { BucketPlace } from '../backups/bucket-place.ts'

/** How a node reaches its cluster. */
export interface ClusterConfig {
  /** NATS servers: `nats://127.0.0.1:4222`, `tls://nats-1:4222`. */
  readonly urls: readonly string[]
  /** Name of the cluster: nodes with the same name and NATS share one log. */
  readonly name: string
  readonly node: string
  /** What other nodes and clients reach this node under. Empty: the address that it listens on. */
  readonly url: string
  /** File with credentials of NATS: `.creds`, or `USER:PASSWORD`. */
  readonly credentials: string | undefined
  /** File with the certificates, in PEM format, that sign those of the NATS servers. */
  readonly ca: string | undefined
  /** Monitors of the NATS servers, which tell whether they sync every message. */
  readonly monitorUrls: readonly string[]
  /** NATS servers that keep each record. */
  readonly replicas: number
  readonly leaseMs: number
  /** How long the reply to a write waits for its outcome, in milliseconds. */
  readonly writeMs: number
  /** A follower that has not heard from the log for longer refuses reads of tokens, in milliseconds. */
  readonly stalenessMs: number
  /** Bucket for images, backups, and snapshots. Undefined: JetStream keeps them. */
  readonly filesBucket: BucketPlace | undefined
  /** How much of them JetStream keeps, in bytes. */
  readonly filesBytesMax: number
  /** A snapshot is due after so many bytes of the log. 0: after every change. */
  readonly snapshotLogBytes: number
  /** How long the log is kept for a node that is away, in milliseconds. */
  readonly retentionMs: number
}

/** The values of the settings of a cluster. */
export interface ClusterValues {
  readonly clusterUrls: readonly string[]
  readonly clusterName: string
  readonly nodeName: string
  readonly nodeUrl: string
  readonly clusterCredentials: string | undefined
  readonly clusterCa: string | undefined
  readonly clusterMonitorUrls: readonly string[]
  readonly clusterReplicas: number
  readonly clusterLeaseMs: number
  readonly clusterWriteMs: number
  readonly clusterStalenessMs: number
  readonly clusterFilesBucket: BucketPlace | undefined
  readonly clusterFilesMegabytes: number
  readonly clusterSnapshotMegabytes: number
  readonly clusterRetentionHours: number
}

/** Settings that a node of a cluster does not support, by whether they are set. */
export interface UnsupportedSettings {
  readonly [name: string]: boolean
}

const nodeNameForm = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?$/
const anyAddress = /^(0\.0\.0\.0|::)$/

/** Returns the configuration, or undefined without NDD_CLUSTER_URL. Adds problems to `problems`. */
export function readCluster(
  values: ClusterValues,
  host: string,
  unsupported: UnsupportedSettings,
  problems: string[],
): ClusterConfig | undefined {
  if (values.clusterUrls.length === 0) return undefined
  const node = values.nodeName || hostname()
  const config: ClusterConfig = {
    urls: values.clusterUrls,
    name: values.clusterName,
    node,
    url: values.nodeUrl,
    credentials: values.clusterCredentials,
    ca: values.clusterCa,
    monitorUrls: values.clusterMonitorUrls,
    replicas: values.clusterReplicas,
    leaseMs: values.clusterLeaseMs,
    writeMs: values.clusterWriteMs,
    stalenessMs: values.clusterStalenessMs,
    filesBucket: values.clusterFilesBucket,
    filesBytesMax: values.clusterFilesMegabytes * 1_000_000,
    snapshotLogBytes: values.clusterSnapshotMegabytes * 1_000_000,
    retentionMs: values.clusterRetentionHours * 3_600_000,
  }
  if (!isNodeName(node))
    problems.push(
      `NDD_NODE_NAME must consist of up to 64 letters, digits, dots, hyphens, and underscores, not "${node}"`,
    )
  if (config.url === '' && anyAddress.test(host))
    problems.push(`NDD_NODE_URL must be set: other nodes cannot reach this one under NDD_HOST ${host}`)
  for (const [name, isSet] of Object.entries(unsupported))
    if (isSet)
      problems.push(`a node of a cluster does not support ${name} in this version; unset it or NDD_CLUSTER_URL`)
  problems.push(...exposed(config))
  return config
}

/** Whether a text can be the name of a node. */
export function isNodeName(text: string): boolean {
  return nodeNameForm.test(text) && !text.includes('..')
}

/** Whether the connection to NATS is encrypted. */
export function usesTls({ urls, ca }: Pick<ClusterConfig, 'urls' | 'ca'>): boolean {
  return ca !== undefined || urls.some((url) => url.startsWith('tls://'))
}

/** Messages of NATS have the data of every tenant, so beyond this machine a node needs TLS and credentials. */
function exposed(config: ClusterConfig): string[] {
  const remote = config.urls.find((url) => !isLoopbackUrl(url))
  if (remote === undefined) return []
  const missing = [
    ...(usesTls(config) ? [] : ['TLS (tls:// in NDD_CLUSTER_URL, or NDD_CLUSTER_CA)']),
    ...(config.credentials === undefined ? ['credentials (NDD_CLUSTER_CREDENTIALS)'] : []),
  ]
  if (missing.length === 0) return []
  return [
    `NDD_CLUSTER_URL names ${remote}, which is beyond this machine, without ${missing.join(' and ')}: NATS carries the data of every tenant`,
  ]
}

function isLoopbackUrl(url: string): boolean {
  const { hostname: host } = new URL(url.replace(/^(nats|tls):/, 'http:'))
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host)
}

/** Parses the address of a NATS server. */
export function parseNatsUrl(entry: string): string | undefined {
  const [, scheme, rest = ''] = /^(nats|tls):\/\/([^/?#@]+)\/?$/i.exec(entry) ?? []
  const url = scheme === undefined ? null : URL.parse(`http://${rest}`)
  if (url === null || url.hostname === '') return undefined
  // The parser removes the default port of HTTP.
  const port = url.port || (rest.endsWith(':80') ? '80' : '4222')
  return `${scheme?.toLowerCase()}://${url.hostname}:${port}`
}

/** Parses an HTTP address without a path. */
export function parseHttpUrl(entry: string): string | undefined {
  const url = URL.parse(entry)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.pathname !== '/') return undefined
  return url.search === '' && url.hash === '' ? url.origin : undefined
}
