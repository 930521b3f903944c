// `annal cluster verify`: compares the data of all nodes by digests of the same records. A collection that is written to has digests at
// few records, so the command requests some that every node makes as of one record of the log.
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandEnd, exitCode } from '../exit-code.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { type Cluster, type ClusterOptions, call, type NodeStatus, silentMs } from './cluster.ts'

export interface VerifyOptions extends ClusterOptions {
  /** How long to wait for digests that can be compared, in seconds. */
  readonly timeout: number
}

/** 0 is the catalog. */
interface Part {
  readonly part: number
  readonly collection?: string
  readonly lsn: number
}

interface Digests {
  readonly nodes: readonly {
    readonly node: string
    readonly digests: readonly (Part & { readonly digest: string })[]
  }[]
}

/** What is known of one part: the record at which all nodes have a digest, and the digest of each. */
interface Comparison {
  readonly part: number
  readonly name: string
  /** Undefined: not every node has a digest of one record. */
  readonly lsn?: number
  readonly digests: ReadonlyMap<string, string>
  readonly isEqual: boolean
  /** The newest record before it at which all nodes were equal; 0 if none is known. */
  readonly lsnEqual: number
}

const lookEveryMs = 500
/** A node that starts replays requests without hashing, so they are repeated. */
const requestEveryMs = 4_000
/** A node that has begun to serve learns of the others within this time. */
const unknownMs = 5_000

/**
 * Ends with `attention` if nodes differ or one has left service, and with `unavailable` if not everything could be compared in time, also
 * because no node leads.
 */
export async function clusterVerify(options: VerifyOptions, terminal: Terminal): Promise<number> {
  const startMs = performance.now()
  const deadlineMs = startMs + options.timeout * 1_000
  let requestedMs = Number.NEGATIVE_INFINITY
  let found: Found | undefined
  /** The newest record of each part when it was first seen: digests of it or later ones count. */
  let wanted = new Map<number, Part>()
  let looks = 0
  do {
    if (looks++ > 0) await sleep(lookEveryMs)
    if (performance.now() - requestedMs > requestEveryMs) {
      const parts = await requestDigests(options)
      if (parts === undefined) continue
      wanted = new Map(parts.map((each) => [each.part, wanted.get(each.part) ?? each]))
      requestedMs = performance.now()
    }
    found = await look(options, [...wanted.values()])
  } while ((found === undefined || !isSettled(found, performance.now() - startMs)) && performance.now() < deadlineMs)
  if (found === undefined) throw new CommandEnd(exitCode.unavailable, withoutLeader(options))
  return report(found, options, terminal)
}

function withoutLeader({ timeout }: VerifyOptions): string {
  return `no node led within ${timeout} s, so nothing was compared. \`annal cluster status\` shows why`
}

/** Undefined while no node leads. */
async function requestDigests(options: ClusterOptions): Promise<readonly Part[] | undefined> {
  try {
    return (await call<{ readonly parts: readonly Part[] }>('POST', '/api/v2/cluster/digests', options)).parts
  } catch (error) {
    if (error instanceof CommandEnd && error.code === 'not_leader') return undefined
    throw error
  }
}

interface Found {
  readonly cluster: Cluster
  /** The nodes that are compared. */
  readonly nodes: readonly string[]
  readonly silent: readonly NodeStatus[]
  readonly out: readonly NodeStatus[]
  readonly comparisons: readonly Comparison[]
}

async function look(options: VerifyOptions, parts: readonly Part[]): Promise<Found> {
  const cluster = await call<Cluster>('GET', '/api/v2/cluster', options)
  const digests = await call<Digests>('GET', '/api/v2/cluster/digests', options)
  const out = cluster.nodes.filter(({ role }) => role === 'out-of-service')
  const others = cluster.nodes.filter((node) => !out.includes(node))
  const silent = others.filter(({ seen_ms_ago: seen }) => seen > silentMs)
  const nodes = others.filter((node) => !silent.includes(node)).map(({ node }) => node)
  return { cluster, nodes, silent, out, comparisons: parts.map((part) => compare(part, nodes, digests)) }
}

/** Compares the newest digests that all nodes have of one record of a part. */
function compare({ part, collection, lsn: from }: Part, nodes: readonly string[], { nodes: all }: Digests): Comparison {
  const byNode = nodes.map((name) => {
    const { digests = [] } = all.find(({ node }) => node === name) ?? {}
    return new Map(digests.filter((each) => each.part === part).map(({ lsn, digest }) => [lsn, digest]))
  })
  const [first = new Map<number, string>(), ...others] = byNode
  const common = [...first.keys()].filter((lsn) => others.every((each) => each.has(lsn))).sort((a, b) => a - b)
  const isEqualAt = (lsn: number) => others.every((each) => each.get(lsn) === first.get(lsn))
  const differs = common.find((lsn) => !isEqualAt(lsn))
  const newest = common.at(-1)
  const lsn = differs ?? (newest !== undefined && newest >= from ? newest : undefined)
  return {
    part,
    name: part === 0 ? 'the catalog' : `collection "${collection ?? part}"`,
    ...(lsn !== undefined && { lsn }),
    digests: new Map(nodes.map((node, i) => [node, (lsn !== undefined && byNode[i]?.get(lsn)) || ''])),
    isEqual: differs === undefined,
    lsnEqual: common.filter((each) => lsn !== undefined && each < lsn && isEqualAt(each)).at(-1) ?? 0,
  }
}

/** More looks would find nothing else, after `lookedMs`. */
function isSettled({ nodes, silent, out, comparisons }: Found, lookedMs: number): boolean {
  if (nodes.length < 2 && silent.length === 0 && out.length === 0) return lookedMs > unknownMs
  return (
    out.length > 0 || comparisons.some(({ isEqual }) => !isEqual) || comparisons.every(({ lsn }) => lsn !== undefined)
  )
}

function report(found: Found, options: VerifyOptions, terminal: Terminal): number {
  const { cluster, nodes, silent, out, comparisons } = found
  const differing = comparisons.filter(({ isEqual }) => !isEqual)
  const missing = comparisons.filter(({ lsn, isEqual }) => isEqual && lsn === undefined)
  if (options.json) terminal.line(jsonOf(found))
  else {
    const rows = comparisons.map(({ name, lsn, digests, isEqual }) => [
      ...[name, lsn === undefined ? '-' : String(lsn)],
      ...nodes.map((node) => cellOf(digests.get(node) ?? '', { isEqual, isCompared: lsn !== undefined })),
    ])
    for (const line of aligned([['part', 'LSN', ...nodes], ...rows])) terminal.line(line)
    for (const { name, lsn = 0, lsnEqual } of differing)
      terminal.line(`${name} differs after record ${lsn}: look at records ${lsnEqual + 1} to ${lsn}`)
    for (const { node, reason = 'it does not say why' } of out) terminal.line(`${node} is out of service: ${reason}`)
    for (const { node } of silent) terminal.line(`${node} does not answer, and was not compared`)
    if (missing.length > 0 && nodes.length > 1)
      terminal.line(`not compared within ${options.timeout} s: ${missing.map(({ name }) => name).join(', ')}`)
    if (nodes.length < 2) terminal.line(`${cluster.node} knows no other node in service: nothing was compared`)
  }
  if (differing.length > 0 || out.length > 0) return exitCode.attention
  return missing.length > 0 || silent.length > 0 || nodes.length < 2 ? exitCode.unavailable : exitCode.good
}

function cellOf(digest: string, { isEqual, isCompared }: { readonly isEqual: boolean; readonly isCompared: boolean }) {
  if (!isCompared) return '-'
  return isEqual ? 'equal' : digest.slice(0, 16)
}

function jsonOf({ nodes, silent, out, comparisons }: Found): string {
  return JSON.stringify({
    nodes,
    silent: silent.map(({ node }) => node),
    out_of_service: out.map(({ node, reason }) => ({ node, reason })),
    parts: comparisons.map(({ part, name, lsn, digests, isEqual, lsnEqual }) => ({
      ...{ part, name, lsn, equal: lsn === undefined ? undefined : isEqual, lsn_equal: lsnEqual },
      digests: Object.fromEntries(digests),
    })),
  })
}
