// Nodes of a cluster for tests of the page, from the tests of the server.
import type { Test } from 'tap'

/** What the tests use of a node in `packages/server/test/cluster/http-nodes.ts`. */
export interface ClusterNode {
  readonly name: string
  readonly url: string
  /** What the node knows about the cluster, as a test sets it. */
  readonly view: {
    role: string
    version: string | undefined
    reason: string | undefined
    known: { readonly node: string; readonly url: string } | undefined
    lag: number
    digestLsn: number
    stalenessMs: number
    failovers: number
    syncInterval: 'always' | 'unverified' | 'weak'
    others: () => readonly object[]
    stepsDown: () => Promise<void>
    status(): object
  }
}

type StartNodes = (
  t: Test,
  options: { readonly count: number; readonly authToken: string },
) => Promise<{ readonly nodes: readonly ClusterNode[]; readonly lead: (index: number) => Promise<void> }>

/** The name is a value, because the types of the engine are those of Node, which conflict with those of a browser. */
const source: string = '../../server/test/cluster/http-nodes.ts'

/** Starts real servers that are nodes of a cluster; the first one leads. */
export const clusterNodes: StartNodes = async (t, options) => {
  const { startNodes } = (await import(source)) as { readonly startNodes: StartNodes }
  return startNodes(t, options)
}
